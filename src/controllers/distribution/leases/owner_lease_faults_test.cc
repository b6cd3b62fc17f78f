// The Lease of a member's owner when things fail: pauses, outages, lost answers, conflicts, people who edit.
#include "controllers/distribution/leases/owner_lease_testing.h"

namespace evenkeel::controllers::distribution::owner_lease_faults_test {
namespace {

using base::Code;
using base::Duration;
using enum MemberRole;
using namespace std::chrono_literals;

constexpr Duration kPatience = 18s;  // duration and margin by default

class OwnerLeaseFaultsTest : public OwnerLeaseTest {
 protected:
  /// The strand does nothing for so long.
  void Pause(Party& party, Duration duration) {
    party.strand->Post([&party, duration] { party.strand->Charge(duration); });
    Run(0s);
  }
  void CutOffAll(bool off) {
    for (const auto& [name, party] : parties) party->member.fake.CutOff(off);
  }
};

TEST_F(OwnerLeaseFaultsTest, APausedHolderFindsItsFenceShut) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kStandby, 1);
  Run(1min);
  Pause(a, 60s);
  Run(14s);
  EXPECT_EQ(Owner(), "a");
  Run(2s);
  EXPECT_EQ(Owner(), "");
  EXPECT_LE(RunUntilOwner("b", 1min), 5s);
  Run(1min);
  EXPECT_EQ(b.log, (Lines{"won 2", "lost: handed over to a"}));
  EXPECT_EQ(Owner(), "a") << "b hands it back to the owner by the plan";
  EXPECT_EQ(a.log, (Lines{"won 1", "lost: not renewed for 15s", "won 3"}));
}

TEST_F(OwnerLeaseFaultsTest, ACallThatHangsDoesNotKeepTheFenceOpen) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(1min);
  a.member.fake.CutOff(true);
  Slow(a, 4s);
  Run(14s);
  EXPECT_EQ(Owner(), "a");
  Run(2s);
  EXPECT_EQ(Owner(), "");
  Run(4s);
  EXPECT_EQ(a.last(), "lost: not renewed for 15s: cannot update the Lease kube-system/evenkeel-owner: connection refused");
}

TEST_F(OwnerLeaseFaultsTest, AfterAnOutageTheFormerHolderGetsItBackWithAGreaterEpoch) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kStandby, 1);
  Run(1min);
  CutOffAll(true);
  Run(1min);
  EXPECT_EQ(Owner(), "");
  EXPECT_EQ(a.lease->state().waiting_for, "cannot update the Lease kube-system/evenkeel-owner: connection refused");
  CutOffAll(false);
  EXPECT_LE(RunUntilOwner("a", 1min), 4s);
  Run(5min);
  EXPECT_EQ(a.log.size(), 3u);
  EXPECT_EQ(a.last(), "won 2");
  EXPECT_EQ(b.log, Lines{});
}

TEST_F(OwnerLeaseFaultsTest, AShortOutageDoesNotEndATenure) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(1min);
  for (int i = 0; i < 10; ++i) {
    a.member.fake.CutOff(true);
    Run(8s);
    EXPECT_EQ(a.lease->state().error, "cannot update the Lease kube-system/evenkeel-owner: connection refused");
    a.member.fake.CutOff(false);
    Run(8s);
    EXPECT_EQ(a.lease->state().error, "");
  }
  EXPECT_EQ(a.log, Lines{"won 1"});
}

TEST_F(OwnerLeaseFaultsTest, SilenceCountsOnlyWhileTheApiAnswers) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kOwner, 1);
  Run(1min);
  a.strand->Close();
  Run(5s);
  b.member.fake.CutOff(true);
  Run(1min);
  b.member.fake.CutOff(false);
  const Duration took = RunUntilOwner("b", 1min);
  EXPECT_GE(took, kPatience);
  EXPECT_LE(took, kPatience + 4s);
}

TEST_F(OwnerLeaseFaultsTest, EvenAShortOutageStartsTheWaitingAnew) {
  PutLease("gone", 1);
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(11s);
  a.member.fake.CutOff(true);
  Run(2s);
  a.member.fake.CutOff(false);
  const Duration took = RunUntilOwner("a", 1min);
  EXPECT_GE(took, kPatience);
  EXPECT_LE(took, kPatience + 2s);
}

TEST_F(OwnerLeaseFaultsTest, WhoWasPausedHasNotSeenSilence) {
  PutLease("gone", 1);
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(5s);
  Pause(a, 30s);
  EXPECT_EQ(RunUntilOwner("a", 2min), 30s + kPatience);
}

TEST_F(OwnerLeaseFaultsTest, AStandbyThatWasPausedDoesNotTakeALeaseThatIsRenewed) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kStandby, 1);
  Run(1min);
  for (int i = 0; i < 5; ++i) {
    Pause(b, 40s);
    Run(1min);
  }
  EXPECT_EQ(a.log, Lines{"won 1"});
  EXPECT_EQ(b.log, Lines{});
}

TEST_F(OwnerLeaseFaultsTest, AWatchThatSaysNothingIsNotSilence) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kStandby, 1);
  Run(10s);
  api->watchers.clear();
  Run(3min);
  EXPECT_EQ(a.log, Lines{"won 1"});
  EXPECT_EQ(b.log, Lines{});
  b.SetDesired(kOwner, 2);
  EXPECT_LE(RunUntilOwner("b", 1min), 10s) << "the renewal meets the request, a read finds it free";
}

TEST_F(OwnerLeaseFaultsTest, ConflictsAreLookedAtAndTriedAgain) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(10s);
  int storm = 12;
  a.member.fake.before_write = [&](std::string_view, const base::Json&) {
    if (storm-- > 0) Put(HandOverRequested(Present(), "b", 0));
  };
  Run(1min);
  EXPECT_LT(storm, 0);
  EXPECT_EQ(a.log, Lines{"won 1"});
  EXPECT_GE(Present().lease.renew_time, executor.clock().Now() - 4s);
}

TEST_F(OwnerLeaseFaultsTest, EventsFromBeforeAnAnswerAreNotBelieved) {
  PutLease("", 1);
  Party& a = Join("a");
  int others = 1;
  a.member.fake.before_write = [&](std::string_view, const base::Json&) {
    if (others-- > 0) Put(HandOverRequested(Present(), "b", 0));
  };
  a.SetDesired(kStandby, 1);
  Run(5s);
  a.SetDesired(kOwner, 1);
  Run(1min);
  EXPECT_LT(others, 0);
  EXPECT_EQ(a.log, Lines{"won 2"}) << "when it was taken, the event of the write before was still on its way";
}

TEST_F(OwnerLeaseFaultsTest, OfTwoThatTakeAtTheSameTimeOneLoses) {
  Party &a = Join("a"), &b = Join("b");
  a.member.fake.before_write = [&](std::string_view verb, const base::Json&) {
    if (verb != "create" || Exists()) return;
    b.SetDesired(kOwner, 1);
    PutLease("b", 1);
  };
  a.SetDesired(kOwner, 1);
  Run(5s);
  EXPECT_EQ(Owner(), "b");
  EXPECT_EQ(a.log, Lines{});
}

TEST_F(OwnerLeaseFaultsTest, ALostAnswerToTheFirstWriteDelaysTheTenure) {
  Party& a = Join("a");
  a.member.lose_answers = 3;
  a.SetDesired(kOwner, 1);
  Run(0s);
  EXPECT_EQ(Present().lease.holder, "a");
  EXPECT_EQ(Owner(), "");
  EXPECT_LE(RunUntilOwner("a", 1min), 3s);
  EXPECT_EQ(a.log, Lines{"won 4"}) << "each that may have taken effect has its epoch";
}

TEST_F(OwnerLeaseFaultsTest, ALostAnswerToARenewalIsTriedAgain) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(1min);
  for (int i = 0; i < 10; ++i) {
    a.member.lose_answers = 2;
    Run(10s);
  }
  EXPECT_EQ(a.log, Lines{"won 1"});
}

TEST_F(OwnerLeaseFaultsTest, LostAnswersDoNotHinderAHandOver) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(10s);
  b.SetDesired(kOwner, 0);
  Run(10s);
  b.member.lose_answers = 1;
  a.member.lose_answers = 2;
  b.SetDesired(kOwner, 2);
  EXPECT_LE(RunUntilOwner("b", 1min), 2s);
  Run(1min);
  EXPECT_EQ(a.log.size(), 2u);
  EXPECT_EQ(b.log.size(), 1u);
}

TEST_F(OwnerLeaseFaultsTest, ARequestThatTookEffectIsNotWrittenAgain) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 5);
  Run(0s);
  b.member.lose_answers = 1;
  b.SetDesired(kOwner, 4);
  Run(1min);
  EXPECT_EQ(Present().wanted_by, "b");
  EXPECT_EQ(b.member.fake.Count("update"), 1);
}

TEST_F(OwnerLeaseFaultsTest, WhoNoLongerWantsItGivesUpWhatALostAnswerLeftBehind) {
  Party& a = Join("a");
  a.member.lose_answers = 1;
  a.member.fake.FailNext("list", base::Error(Code::kUnavailable, "connection reset"));
  a.SetDesired(kOwner, 1);
  Run(0s);
  ASSERT_EQ(Present().lease.holder, "a");
  a.SetDesired(kNone, 2);
  Run(1s);
  EXPECT_EQ(Present().lease.holder, "");
  EXPECT_EQ(a.log, Lines{});
  const size_t calls = a.member.fake.calls.size();
  Run(10min);
  EXPECT_EQ(a.member.fake.calls.size(), calls) << "and then it is quiet";
}

TEST_F(OwnerLeaseFaultsTest, GivingUpIsTriedAFewTimes) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(10s);
  a.member.fake.FailNext("update", base::Error(Code::kUnavailable, "connection reset"), 3);
  a.SetDesired(kNone, 2);
  Run(5s);
  EXPECT_EQ(Present().lease.holder, "");
  b.SetDesired(kOwner, 2);
  Run(10s);
  b.member.fake.CutOff(true);
  b.SetDesired(kNone, 3);
  Run(10s);
  const size_t calls = b.member.fake.calls.size();
  Run(10min);
  EXPECT_EQ(b.member.fake.calls.size(), calls) << "then it runs out by itself";
  EXPECT_EQ(Present().lease.holder, "b");
}

TEST_F(OwnerLeaseFaultsTest, AnUnansweredWriteHoldsBackTheHandOver) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(10s);
  a.fences.back()->Unanswered();
  b.SetDesired(kOwner, 2);
  EXPECT_EQ(RunUntilOwner("b", 1min), 3s) << "the margin";
}

TEST_F(OwnerLeaseFaultsTest, WithoutAReleaseTheSuccessorWaitsUntilItHasRunOut) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(9s);
  a.fences.back()->Unanswered();
  a.SetDesired(kNone, 2);
  Run(0s);
  EXPECT_EQ(a.log.size(), 2u);
  a.lease.reset();
  b.SetDesired(kOwner, 2);
  EXPECT_EQ(RunUntilOwner("b", 1min), kPatience);
}

TEST_F(OwnerLeaseFaultsTest, ADeletedLeaseEndsTheTenureAndANewOneHasAGreaterEpoch) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 5);
  Run(0s);
  b.SetDesired(kStandby, 5);
  Run(10s);
  api->Remove(kube::resources::Leases(), kOwnerLeaseKey);
  Run(1min);
  EXPECT_EQ(a.log, (Lines{"won 5", "lost: the Lease was deleted", "won 6"}));
  EXPECT_EQ(Present().epoch, 6);
  EXPECT_EQ(b.log, Lines{});
}

TEST_F(OwnerLeaseFaultsTest, WhoSawAnotherHoldADeletedLeaseWaits) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kOwner, 1);
  Run(10s);
  Pause(a, 1min);
  Run(1s);
  api->Remove(kube::resources::Leases(), kOwnerLeaseKey);
  Run(0s);
  EXPECT_TRUE(b.lease->state().waiting_for.starts_with("there is no Lease")) << b.lease->state().waiting_for;
  EXPECT_EQ(RunUntilOwner("b", 1min), kPatience);
  Run(2min);
  EXPECT_EQ(Owner(), "b");
  EXPECT_EQ(a.log, (Lines{"won 1", "lost: the Lease was deleted"}));
}

TEST_F(OwnerLeaseFaultsTest, AnEditedLeaseEndsTheTenure) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  Run(10s);
  base::Json edited(Present().json, {});
  base::Ensure(edited, {"metadata", "annotations", client::kEpochAnnotation}) = "77";
  Put(edited);
  Run(10s);
  EXPECT_EQ(a.log, (Lines{"won 1", "lost: the Lease was changed by somebody else", "won 78"}));
  base::Ensure(edited, {"spec", "holderIdentity"}) = "somebody";
  Put(edited);
  Run(0s);
  EXPECT_EQ(a.last(), "lost: taken by somebody");
  EXPECT_EQ(RunUntilOwner("a", 1min), kPatience);
}

TEST_F(OwnerLeaseFaultsTest, AServerRestoredFromABackupIsBelieved) {
  PutLease("z", 1);
  const base::Json old(Present().json, {});
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  RunUntilOwner("a", 1min);
  Run(10min);
  api->version = 200;
  Put(old);
  api->watchers.clear();
  Run(10s);
  EXPECT_EQ(a.last(), "lost: taken by z");
  RunUntilOwner("a", 1min);
  EXPECT_EQ(a.last(), "won 3") << "greater than any that it has had";
}

TEST_F(OwnerLeaseFaultsTest, AMissingRightIsToldAndTriedAgainSeldom) {
  Party& a = Join("a");
  a.member.fake.FailNext("", base::Error(Code::kForbidden, "leases is forbidden"), 100000);
  a.SetDesired(kOwner, 1);
  Run(10min);
  EXPECT_EQ(a.lease->state().waiting_for,
            "no right to get leases in kube-system (grant get, list, watch, create and update): leases is forbidden");
  EXPECT_LE(a.member.fake.Count("get"), 30);
  EXPECT_GE(a.member.fake.Count("get"), 15);
}

TEST_F(OwnerLeaseFaultsTest, ANewRoleIsTriedAtOnce) {
  Party& a = Join("a");
  a.member.fake.FailNext("get", base::Error(Code::kForbidden, "leases is forbidden"), 8);
  a.SetDesired(kStandby, 1);
  Run(30s);
  EXPECT_EQ(a.member.fake.Count("get"), 8);
  a.SetDesired(kOwner, 2);
  Run(0s);
  EXPECT_EQ(Owner(), "a");
}

TEST_F(OwnerLeaseFaultsTest, WithoutTheRightToWatchItWorksByReading) {
  Party &a = Join("a"), &b = Join("b");
  for (Party* party : {&a, &b}) {
    party->member.fake.FailNext("list", base::Error(Code::kForbidden, "leases is forbidden"), 100000);
  }
  a.SetDesired(kOwner, 1);
  Run(1min);
  b.SetDesired(kOwner, 1);
  Run(0s);
  EXPECT_TRUE(b.lease->state().waiting_for.starts_with("held by a")) << b.lease->state().waiting_for;
  Run(1s);
  b.SetDesired(kOwner, 2);
  EXPECT_LE(RunUntilOwner("b", 1min), 10s);
  b.strand->Close();
  a.SetDesired(kStandby, 2);
  EXPECT_LE(RunUntilOwner("a", 1min), 30s);
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::owner_lease_faults_test
