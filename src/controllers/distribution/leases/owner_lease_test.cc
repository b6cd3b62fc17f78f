#include "controllers/distribution/leases/owner_lease.h"

#include "controllers/distribution/leases/owner_lease_testing.h"

namespace evenkeel::controllers::distribution::owner_lease_test {
namespace {

using base::Duration;
using enum MemberRole;
using namespace std::chrono_literals;

constexpr Duration kPatience = 18s;  // duration and margin by default

TEST_F(OwnerLeaseTest, AnAbsentLeaseIsTakenAtOnce) {
  Party& a = Join("a");
  a.SetDesired(kOwner, 7);
  Run(0s);
  EXPECT_EQ(a.log, Lines{"won 7"});
  EXPECT_EQ(Owner(), "a");
  EXPECT_EQ(Present().lease.holder, "a");
  EXPECT_EQ(Present().lease.duration, 15s);
  EXPECT_EQ(Present().lease.transitions, 0);
  EXPECT_EQ(Present().epoch, 7);
  EXPECT_EQ(a.lease->state(), (OwnerLeaseState{true, 7, "a", kStart, {}, "", ""}));
}

TEST_F(OwnerLeaseTest, AFreeLeaseIsTakenAtOnceWithAGreaterEpoch) {
  PutLease("", 41);
  Party& a = Join("a");
  a.SetDesired(kOwner, 7);
  Run(0s);
  EXPECT_EQ(a.log, Lines{"won 42"});
  EXPECT_EQ(Present().epoch, 42);
  EXPECT_EQ(Present().lease.transitions, 1);
}

TEST_F(OwnerLeaseTest, WhoIsNotAskedMakesNoCalls) {
  Party& a = Join("a");
  a.SetDesired(kNone, 7);
  Run(1min);
  EXPECT_EQ(a.member.fake.calls, Lines{});
  EXPECT_FALSE(Exists());
}

TEST_F(OwnerLeaseTest, ATenureIsKeptWithOneWritePerPeriod) {
  Party& a = Join("a");
  Slow(a, 50ms);
  a.SetDesired(kOwner, 7);
  Run(10min);
  EXPECT_EQ(a.log, Lines{"won 7"});
  EXPECT_EQ(longest_gap, 0s);
  EXPECT_GE(Present().lease.renew_time, executor.clock().Now() - 4s);
  EXPECT_EQ(Present().lease.acquire_time, kStart);
  EXPECT_EQ(Present().lease.transitions, 0);
  EXPECT_EQ(a.member.fake.Count("get"), 1);
  EXPECT_NEAR(a.member.fake.Count("update"), 200, 5);
}

TEST_F(OwnerLeaseTest, ARequestWithANewerPlanHandsOverWithinASecond) {
  Party &a = Join("a"), &b = Join("b");
  Slow(a, 50ms);
  Slow(b, 50ms);
  a.work = 200ms;
  a.SetDesired(kOwner, 1);
  Run(1min);
  b.SetDesired(kOwner, 2);
  Run(1min);
  EXPECT_EQ(a.log, (Lines{"won 1", "lost: handed over to b"}));
  EXPECT_EQ(b.log, Lines{"won 2"});
  EXPECT_LE(longest_gap, 1s);
  EXPECT_EQ(Present().wanted_by, "a") << "by its old plan a wants it back";
  EXPECT_EQ(Present().lease.transitions, 1);
  a.SetDesired(kNone, 2);
  Run(1min);
  EXPECT_EQ(b.log, Lines{"won 2"});
}

TEST_F(OwnerLeaseTest, AHolderThatIsNoLongerToOwnWaitsForItsSuccessor) {
  for (const MemberRole role : {kNone, kStandby}) {
    SCOPED_TRACE(role == kNone);
    Party &a = Join("a"), &b = Join("b");
    const int64_t epoch = Present().epoch + 1;
    a.SetDesired(kOwner, epoch);
    RunUntilOwner("a", 1min);
    a.SetDesired(role, epoch + 1, true);
    Run(5min);
    EXPECT_EQ(a.log.size(), 1u);
    b.SetDesired(kOwner, epoch + 1);
    EXPECT_LE(RunUntilOwner("b", 1min), 1s);
    EXPECT_EQ(a.last(), "lost: handed over to b");
    EXPECT_EQ(Present().wanted_by, "") << "the new tenure takes the request away";
    b.SetDesired(kNone, epoch + 2);
    Run(0s);
    parties.clear();
    shut_since.reset();
  }
}

TEST_F(OwnerLeaseTest, AHolderThatIsNotToWaitLetsGoAtOnce) {
  for (const MemberRole role : {kNone, kStandby}) {
    Party& a = Join("a");
    a.SetDesired(kOwner, 1);
    RunUntilOwner("a", 1min);
    a.SetDesired(role, 2);
    Run(0s);
    EXPECT_EQ(a.last(), "lost: no longer to own the member");
    EXPECT_EQ(Present().lease.holder, "");
    EXPECT_GT(Present().epoch, 0) << "the epoch stays";
    EXPECT_EQ(a.lease->state().holding, false);
    parties.clear();
  }
}

TEST_F(OwnerLeaseTest, AnOwnerYieldsOnlyToANewerPlan) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 5);
  Run(0s);
  b.SetDesired(kOwner, 5);
  Run(1min);
  EXPECT_EQ(a.log, Lines{"won 5"});
  EXPECT_EQ(Present().wanted_by, "b");
  EXPECT_EQ(b.lease->state().waiting_for, "held by a, asked to hand over");
  EXPECT_EQ(b.lease->state().holder, "a");
  EXPECT_EQ(b.lease->state().epoch, 5);
  EXPECT_EQ(b.member.fake.Count("update"), 1) << "one request";
  b.SetDesired(kOwner, 6);
  EXPECT_LE(RunUntilOwner("b", 1min), 1s);
}

TEST_F(OwnerLeaseTest, ARequestWithAnOlderPlanDoesNotReplaceANewerOne) {
  Party &a = Join("a"), &b = Join("b"), &c = Join("c");
  a.SetDesired(kOwner, 9);
  Run(0s);
  b.SetDesired(kOwner, 8);
  Run(0s);
  c.SetDesired(kOwner, 7);
  Run(1min);
  EXPECT_EQ(Present().wanted_by, "b");
  EXPECT_EQ(Present().wanted_epoch, 8);
  EXPECT_EQ(c.member.fake.Count("update"), 0);
  EXPECT_EQ(a.log, Lines{"won 9"});
}

TEST_F(OwnerLeaseTest, TwoThatWantItByTheSamePlanAskOnceEach) {
  Party &a = Join("a"), &b = Join("b"), &c = Join("c");
  a.SetDesired(kOwner, 5);
  Run(0s);
  b.SetDesired(kOwner, 5);
  c.SetDesired(kOwner, 5);
  Run(1min);
  EXPECT_EQ(b.member.fake.Count("update") + c.member.fake.Count("update"), 2);
}

OwnerLeaseOptions KnownAs(const std::string& server, const std::string& name, const std::string& fleet) {
  return {.identity = "", .member = {.server = server, .name = name, .fleet = fleet}};
}

TEST_F(OwnerLeaseTest, AnotherNameOfTheSameClusterTakesNothingFromAWorkingOwner) {
  Party& a = Join("a", KnownAs("https://one", "m1", "our hub"));
  Party& alias = Join("alias", KnownAs("https://two", "m1-team", "our hub"));
  Party& elsewhere = Join("elsewhere", KnownAs("https://one", "m1", "their hub"));
  a.SetDesired(kOwner, 5);
  Run(0s);
  alias.SetDesired(kOwner, 900);
  elsewhere.SetDesired(kOwner, 800);
  Run(10min);
  EXPECT_EQ(a.log, Lines{"won 5"});
  EXPECT_EQ(longest_gap, 0s);
  EXPECT_EQ(alias.member.fake.Count("update") + elsewhere.member.fake.Count("update"), 0) << "no request";
  EXPECT_EQ(alias.lease->state().waiting_for, "it is the same cluster as m1 at https://one, which is held by a");
  EXPECT_EQ(alias.lease->state().other, (MemberName{"https://one", "m1", "our hub"}));
  EXPECT_EQ(elsewhere.lease->state().waiting_for,
            "it is the same cluster as m1 at https://one of fleet our hub, which is held by a");
  EXPECT_EQ(a.lease->state().other, MemberName());
}

TEST_F(OwnerLeaseTest, ItIsHandedOverAndInheritedUnderTheNameThatItHas) {
  const OwnerLeaseOptions own = KnownAs("https://one", "m1", "hub");
  Party &a = Join("a", own), &b = Join("b", own), &c = Join("c", own);
  Party& alias = Join("alias", KnownAs("https://two", "m1-team", "hub"));
  a.SetDesired(kOwner, 5);
  Run(0s);
  alias.SetDesired(kOwner, 900);
  Run(1min);
  a.SetDesired(MemberRole::kNone);
  Run(5s);
  b.SetDesired(kOwner, 6);
  Run(1min);
  EXPECT_EQ(b.last(), "won 6") << "it was free, and left to those of its name";
  c.SetDesired(MemberRole::kStandby, 6);
  Run(1min);
  parties.erase("b");
  EXPECT_LE(RunUntilOwner("c", 1min), 19s);
  Run(1min);
  EXPECT_EQ(alias.log, Lines{});
}

TEST_F(OwnerLeaseTest, ANameThatNobodyUsesAnyMoreGivesWayToAnother) {
  Party& a = Join("a", KnownAs("https://one", "m1", "hub"));
  Party& alias = Join("alias", KnownAs("https://two", "m1-team", "hub"));
  a.SetDesired(kOwner, 5);
  Run(0s);
  alias.SetDesired(kOwner, 6);
  Run(1min);
  a.SetDesired(MemberRole::kNone);
  EXPECT_LE(RunUntilOwner("alias", 1min), 37s);
  EXPECT_EQ(alias.last(), "won 6");
  EXPECT_EQ(alias.lease->state().other, MemberName());
  EXPECT_EQ(Present().member.name, "m1-team");
}

TEST_F(OwnerLeaseTest, CompatibleReplicasNeitherAskNorYield) {
  Party &a = Join("a"), &b = Join("b"), &c = Join("c");
  a.SetDesired(kOwner, 0);
  Run(0s);
  b.SetDesired(kOwner, 0);
  Run(1min);
  EXPECT_EQ(b.member.fake.Count("update"), 0);
  EXPECT_EQ(b.lease->state().waiting_for, "held by a");
  c.SetDesired(kOwner, 9);
  Run(1min);
  EXPECT_EQ(Present().wanted_by, "c");
  EXPECT_EQ(a.log, Lines{"won 1"});
  c.SetDesired(kNone);
  a.SetDesired(kNone);
  Run(0s);
  EXPECT_EQ(Owner(), "b");
  EXPECT_EQ(b.log, Lines{"won 2"});
}

TEST_F(OwnerLeaseTest, ARunOutLeaseIsTakenAfterDurationAndMarginAndNotBefore) {
  for (const Duration skew : {Duration(0h), Duration(-48h), Duration(48h)}) {
    Party &a = Join("a"), &b = Join("b");
    a.clock.skew = skew;
    b.clock.skew = -skew;
    a.SetDesired(kOwner, 1);
    RunUntilOwner("a", 1min);
    b.SetDesired(kOwner, 1);
    Run(1min);
    const base::Time renewed = Present().lease.renew_time - skew;
    a.strand->Close();
    RunUntilOwner("b", 1min);
    EXPECT_GE(executor.clock().Now() - renewed, kPatience);
    EXPECT_LE(executor.clock().Now() - renewed, kPatience + 1s);
    b.SetDesired(kNone);
    Run(0s);
    parties.clear();
    shut_since.reset();
  }
}

TEST_F(OwnerLeaseTest, TheHoldersOwnDurationCountsUnlessItIsAbsurd) {
  const std::map<int64_t, Duration> expected = {{40, 43s}, {0, kPatience}, {-3, kPatience}, {7200, kPatience}};
  for (const auto& [seconds, patience] : expected) {
    base::Json lease = Acquired(nullptr, "gone", 15s, 5, kStart);
    base::Ensure(lease, {"spec", "leaseDurationSeconds"}) = seconds;
    Put(lease);
    Party& a = Join("a");
    a.SetDesired(kOwner, 1);
    EXPECT_EQ(RunUntilOwner("a", 2min), patience) << seconds;
    a.SetDesired(kNone);
    Run(0s);
    parties.clear();
  }
}

TEST_F(OwnerLeaseTest, AStuckWallClockDoesNotLookLikeSilence) {
  Party &a = Join("a"), &b = Join("b");
  a.clock.stuck = kStart;
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kOwner, 1);
  Run(5min);
  EXPECT_EQ(a.log, Lines{"won 1"});
  EXPECT_EQ(b.log, Lines{});
}

TEST_F(OwnerLeaseTest, HandOverRequestsAndOtherWritesDoNotCountAsRenewals) {
  PutLease("gone", 5);
  Party& a = Join("a");
  a.SetDesired(kOwner, 1);
  std::vector<base::Timer> timers;
  for (int i = 1; i <= 20; ++i) {
    timers.push_back(a.strand->PostAfter(i * 1s, [&, i] {
      if (Present().lease.holder == "gone") Put(HandOverRequested(Present(), "b", i % 2));
    }));
  }
  EXPECT_EQ(RunUntilOwner("a", 1min), kPatience);
}

TEST_F(OwnerLeaseTest, AStandbyTakesARunOutLeaseByItselfAndOnlyThat) {
  Party &a = Join("a"), &b = Join("b"), &c = Join("c");
  a.SetDesired(kOwner, 1);
  Run(0s);
  b.SetDesired(kStandby, 1);
  c.SetDesired(kNone, 1);
  Run(1min);
  EXPECT_EQ(b.lease->state().waiting_for, "");
  EXPECT_EQ(b.lease->state().holder, "a");
  a.strand->Close();
  Run(12s);
  EXPECT_TRUE(b.lease->state().waiting_for.starts_with("a silent for 1")) << b.lease->state().waiting_for;
  EXPECT_TRUE(b.lease->state().waiting_for.ends_with("s of 18s")) << b.lease->state().waiting_for;
  Run(5min);
  EXPECT_EQ(b.log, Lines{"won 2"}) << "and keeps it";
  EXPECT_EQ(c.log, Lines{});
  c.SetDesired(kOwner, 1);
  EXPECT_LE(RunUntilOwner("c", 1min), 1s) << "but not against an owner of the same plan";
}

TEST_F(OwnerLeaseTest, AStandbyLeavesAFreeOrAbsentLeaseToOwnersForAWhile) {
  for (const bool exists : {false, true}) {
    if (exists) PutLease("", 5);
    Party& a = Join("a");
    a.SetDesired(kStandby, 1);
    EXPECT_EQ(RunUntilOwner("a", 1min), kPatience);
    parties.clear();
    api->Remove(kube::resources::Leases(), kOwnerLeaseKey);
    last_epoch = 0;
  }
}

TEST_F(OwnerLeaseTest, AnOwnerLeavesAFreeLeaseToANewerPlanForAWhile) {
  PutLease("", 5);
  Put(HandOverRequested(Present(), "b", 9));
  Party& a = Join("a");
  a.SetDesired(kOwner, 8);
  Run(10s);
  EXPECT_EQ(a.lease->state().waiting_for, "free, but asked for by b, for 6s of 18s");
  Run(8s);
  EXPECT_EQ(Owner(), "a") << "b is gone";
  Run(5min);
  EXPECT_EQ(a.log, Lines{"won 8"});
}

TEST_F(OwnerLeaseTest, NoTenureBeginsBeforeTheOneBeforeIsReleased) {
  Party& a = Join("a");
  a.releases = false;
  a.SetDesired(kOwner, 1);
  Run(0s);
  a.SetDesired(kNone, 2);
  Run(0s);
  a.SetDesired(kOwner, 3);
  Run(10s);
  EXPECT_EQ(a.log, (Lines{"won 1", "lost: no longer to own the member"}));
  EXPECT_EQ(Present().lease.holder, "a") << "not given up either";
  EXPECT_EQ(a.lease->state().waiting_for, "the work of the tenure before has not ended");
  a.lease->Released();
  Run(0s);
  EXPECT_EQ(a.last(), "won 3") << "taken anew without being free in between";
  EXPECT_EQ(Owner(), "a");
}

TEST_F(OwnerLeaseTest, ChangesAreToldOnce) {
  Party &a = Join("a"), &b = Join("b");
  a.SetDesired(kOwner, 1);
  b.SetDesired(kStandby, 1);
  Run(10s);
  const int told = b.changes;
  EXPECT_GT(told, 0);
  Run(10min);
  EXPECT_EQ(b.changes, told) << "renewals are no news";
  a.SetDesired(kNone, 2);
  Run(0s);
  EXPECT_EQ(b.changes, told + 1);
}

TEST_F(OwnerLeaseTest, MayBeDestroyedFromWithinACallback) {
  MemberDouble member(api);
  const auto strand = executor.NewStrand("a");
  std::unique_ptr<OwnerLease> lease;
  std::shared_ptr<client::Fence> fence;
  const auto won = [&](std::shared_ptr<client::Fence> got) {
    fence = std::move(got);
    lease.reset();
  };
  lease = std::make_unique<OwnerLease>(member, OwnerLeaseOptions{.identity = "a"}, strand, executor.clock(), base::Random(1),
                                       OwnerLease::Callbacks{won, {}, {}});
  lease->SetDesired({kOwner, 1});
  Run(0s);
  ASSERT_TRUE(fence);
  EXPECT_FALSE(fence->open());
  Run(1min);
  EXPECT_EQ(member.fake.Count("update"), 0) << "the Lease runs out";
  EXPECT_EQ(Present().lease.holder, "a");
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::owner_lease_test
