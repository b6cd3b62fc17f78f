#include "sim/checkers/checkers.h"

#include <gtest/gtest.h>

#include "client/fenced_client.h"
#include "client/lease.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "sim/network/network.h"

namespace evenkeel::sim::checkers_test {
namespace {

using namespace std::chrono_literals;
using base::Instant;
using base::Json;

constexpr char kMember[] = "member-1";

/// A fleet that is whatever a test says.
class FakeFleet final : public FleetView {
 public:
  Instant now() const override { return time; }
  const std::vector<ReplicaView>& Replicas() const override { return replicas; }
  const std::map<std::string, Instant>& Registered() const override { return registered; }
  Condition ConditionOf(const std::string& user, const std::string&) const override { return conditions.at(user); }
  Instant HealthySince(const std::string&) const override { return {}; }
  std::string PlannedOwner(const std::string&) const override { return owner; }
  std::string Leader() const override { return leader; }
  Instant UnrestUntil() const override { return unrest_until; }
  const TenureBook& tenures() const override { return book; }
  base::Duration lease_duration() const override { return 15s; }
  base::Duration lease_margin() const override { return 3s; }
  base::Duration reassignment_bound() const override { return 29s; }
  int64_t moves_per_minute() const override { return moves; }

  int64_t moves = 1000;
  Instant time{};
  std::map<std::string, Condition> conditions;
  std::string owner, leader;
  Instant unrest_until{};
  std::vector<ReplicaView> replicas;
  std::map<std::string, Instant> registered{{kMember, Instant{}}};
  TenureBook book;
};

class CheckerTest : public ::testing::Test {
 protected:
  FakeFleet fleet;
  std::vector<std::string> violations;
  std::map<std::string, std::string> stored;  ///< by "API PLURAL NAME"
  int64_t clock = 0;

  void Attach(Checker& checker) {
    checker.Attach(fleet, [this](std::string what) { violations.push_back(std::move(what)); });
  }
  ReplicaView& Add(const std::string& user, std::set<std::string> owned = {}) {
    fleet.replicas.push_back({.user = user, .host = user});
    fleet.replicas.back().owned = std::move(owned);
    return fleet.replicas.back();
  }

  struct Given {
    std::string user, plural, ns, name, verb = "update";
    int64_t epoch = 0;
    std::string api = kMember;
  };
  /// A write that takes effect. `object` null: a deletion.
  void Write(Checker& checker, const Given& given, const std::optional<Json>& object) {
    embedded::apiserver::AuditRecord record;
    record.user.name = given.user;
    record.plural = given.plural;
    record.ns = given.ns;
    record.name = given.name;
    record.verb = given.verb;
    record.epoch = given.epoch;
    const std::string key = given.api + " " + given.plural + " " + given.name;
    const auto before = stored.find(key);
    ApiWrite write{.api = given.api, .record = record, .key = key, .value = nullptr, .previous = nullptr, .took_effect = true};
    if (before != stored.end()) write.previous = std::make_shared<const std::string>(before->second);
    if (object) write.value = std::make_shared<const std::string>(stored[key] = base::ToText(*object));
    const LeaseChange change = fleet.book.See(write, fleet.time);
    checker.OnWrite(write, change);
  }
  /// A write of the member's Lease.
  void Lease(Checker& checker, const std::string& user, const std::string& holder, int64_t epoch, int64_t transitions = 1) {
    Json object = kube::NewObject(kube::resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
    client::Lease lease{.meta = {},
                        .holder = holder,
                        .duration = 15s,
                        .renew_time = base::Time(std::chrono::seconds(++clock)),
                        .transitions = transitions};
    lease.WriteTo(object);
    base::Ensure(object, {"metadata", "annotations", client::kEpochAnnotation}) = std::to_string(epoch);
    Write(checker, {.user = user, .plural = "leases", .ns = client::kOwnerLeaseNamespace, .name = client::kOwnerLease}, object);
  }
  void Pod(Checker& checker, const std::string& user, int64_t epoch) {
    Write(checker, {.user = user, .plural = "pods", .ns = "default", .name = "p", .epoch = epoch}, Json(base::JsonObject{}));
  }
  /// The only violation so far; forgets it.
  std::string Only() {
    EXPECT_EQ(violations.size(), 1u);
    std::string only = violations.empty() ? "" : violations.front();
    violations.clear();
    return only;
  }
  static bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
};

TEST_F(CheckerTest, OneWriterAcceptsAnOrderlyHandOver) {
  OneWriterChecker checker;
  Attach(checker);
  Add("a", {kMember});
  Add("b");
  Lease(checker, "a", "id-a", 1);
  Pod(checker, "a", 1);
  Lease(checker, "a", "id-a", 1);
  Pod(checker, "system:controller", 0);
  Write(checker, {.user = "b", .plural = "leases", .ns = "evenkeel", .name = "evenkeel-b", .api = kHub},
        Json(base::JsonObject{}));
  fleet.replicas[0].owned.clear();
  Lease(checker, "a", "", 1);
  Lease(checker, "b", "id-b", 4, 2);
  fleet.replicas[1].owned = {kMember};
  Pod(checker, "b", 4);
  checker.OnSecond();
  EXPECT_EQ(violations, std::vector<std::string>{});
}

TEST_F(CheckerTest, OneWriterSeesTwoOpenFences) {
  OneWriterChecker checker;
  Attach(checker);
  Add("a", {kMember, "member-2"});
  Add("b", {kMember});
  checker.OnSecond();
  EXPECT_EQ(Only(), "member-1 has two open fences: a and b");
}

TEST_F(CheckerTest, OneWriterSeesATakeOverWhileAFenceIsOpen) {
  OneWriterChecker checker;
  Attach(checker);
  Add("a", {kMember}).paused = true;
  Add("b");
  Lease(checker, "a", "id-a", 1);
  Lease(checker, "b", "id-b", 2, 2);
  EXPECT_EQ(Only(), "b took member-1 while the fence of a is open");
}

TEST_F(CheckerTest, OneWriterSeesEpochsThatDoNotGrow) {
  OneWriterChecker checker;
  Attach(checker);
  Lease(checker, "a", "id-a", 5);
  Lease(checker, "b", "id-b", 5, 2);
  EXPECT_TRUE(Has(Only(), "with epoch 5, but epoch 5 has been there"));
  Lease(checker, "b", "id-b", 4, 3);
  EXPECT_TRUE(Has(Only(), "with epoch 4, but epoch 5 has been there"));
}

TEST_F(CheckerTest, OneWriterSeesWritesByOthersThanTheHolder) {
  OneWriterChecker checker;
  Attach(checker);
  Pod(checker, "a", 1);
  EXPECT_TRUE(Has(Only(), "whose Lease is free"));
  Lease(checker, "a", "id-a", 1);
  Lease(checker, "b", "id-b", 2, 2);
  Pod(checker, "a", 1);
  EXPECT_TRUE(Has(Only(), "update member-1 pods p by a took effect on member-1, whose Lease is held by b since epoch 2"));
  Pod(checker, "b", 1);
  EXPECT_TRUE(Has(Only(), "with epoch 1 instead of 2"));
  Pod(checker, "b", 0);
  EXPECT_TRUE(Has(Only(), "with epoch 0 instead of 2"));
}

TEST_F(CheckerTest, OneWriterSeesOthersTouchTheLease) {
  OneWriterChecker checker;
  Attach(checker);
  Lease(checker, "a", "id-a", 1);
  Lease(checker, "b", "id-a", 1);
  EXPECT_EQ(Only(), "b renewed the Lease of member-1, which is held by a");
  Lease(checker, "b", "", 1);
  EXPECT_EQ(Only(), "b freed the Lease of member-1, which is held by a");
  Write(checker,
        {.user = "b", .plural = "leases", .ns = client::kOwnerLeaseNamespace, .name = client::kOwnerLease, .verb = "delete"},
        std::nullopt);
  EXPECT_EQ(Only(), "b deleted the Lease of member-1");
}

class NoOrphanTest : public CheckerTest {
 protected:
  NoOrphanChecker checker;
  NoOrphanTest() { Attach(checker); }
  void Pass(base::Duration duration) {
    for (; duration > 0s; duration -= 1s) {
      fleet.time += 1s;
      checker.OnSecond();
    }
  }
};

TEST_F(NoOrphanTest, FiresOnceTheBoundHasPassed) {
  Add("a", {kMember});
  fleet.owner = fleet.leader = "a";
  fleet.conditions["a"] = {};
  Pass(100s);
  fleet.replicas[0].owned.clear();
  Pass(checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(Only(), "member-1 has had no owner for 37s, although for 37s nothing has been wrong with a");
  EXPECT_EQ(checker.longest(), checker.Bound() + 1s);
}

TEST_F(NoOrphanTest, WaitsUntilOwnerAndLeaderAreAsTheyShouldBe) {
  fleet.owner = "a";
  fleet.leader = "b";
  for (const char* disturbed : {"a", "b"}) {
    fleet.conditions["a"] = fleet.conditions["b"] = {};
    for (int i = 0; i < 200; ++i) {
      fleet.conditions[disturbed].since = fleet.time + 1s;
      Pass(1s);
    }
    EXPECT_TRUE(violations.empty()) << disturbed;
  }
  Pass(checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, ThePlanMustNotCountOnAProcessThatIsGone) {
  fleet.owner = "a";
  fleet.leader = "b";
  fleet.conditions["b"] = {};
  fleet.conditions["a"] = {.gone = true};
  Pass(checker.PlanBound() + checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, ALeaderThatCannotSeeDoesNotNoticeWhoIsGone) {
  fleet.owner = "a";
  fleet.leader = "b";
  fleet.conditions["a"] = {.gone = true};
  fleet.conditions["b"] = {};
  for (int i = 0; i < 200; ++i) {
    fleet.conditions["b"].since = fleet.time + 1s;
    Pass(1s);
  }
  Pass(checker.PlanBound() + checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, APlanThatNamesNobodyHasToBeMadeAnew) {
  fleet.leader = "b";
  fleet.conditions["b"] = {.since = fleet.time};
  Pass(checker.PlanBound() + checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, WhoeverFollowsALeaderThatIsGoneNeedsPeace) {
  fleet.owner = "a";
  fleet.leader = "b";
  fleet.conditions["a"] = {};
  fleet.conditions["b"] = {.gone = true};
  for (int i = 0; i < 200; ++i) {
    fleet.unrest_until = fleet.time;
    Pass(1s);
  }
  Pass(checker.PlanBound() + checker.Bound() - 1s);
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, WithoutPlansEverybodyIsResponsible) {
  Add("a");
  Add("b");
  fleet.conditions["a"] = fleet.conditions["b"] = {};
  for (int i = 0; i < 200; ++i) {
    fleet.conditions["b"].since = fleet.time + 1s;
    Pass(1s);
  }
  Pass(checker.PlanBound() + checker.Bound() - 1s);
  EXPECT_TRUE(violations.empty()) << "a claim has to run out first";
  Pass(2s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, WithoutPlansAStoppedReplicaKeepsItsClaim) {
  Add("a");
  Add("b");
  fleet.conditions["a"] = {};
  fleet.conditions["b"] = {.gone = true};
  Pass(1000s);
  EXPECT_TRUE(violations.empty());
  fleet.conditions["b"] = {.since = fleet.time};
  Pass(checker.PlanBound() + checker.Bound() + 1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(NoOrphanTest, ANewMemberWaitsForThePlanAndAForeignOneForNothing) {
  fleet.leader = "a";
  fleet.conditions["a"] = {};
  fleet.registered.clear();
  Pass(500s);
  fleet.registered[kMember] = fleet.time;
  Pass(checker.PlanBound() + checker.Bound());
  EXPECT_TRUE(violations.empty());
  Pass(1s);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(CheckerTest, RevisionsFiresOnAStepBackAndOnAGap) {
  RevisionsChecker checker;
  Attach(checker);
  auto event = [](int64_t revision) {
    embedded::store::Event made;
    made.current.key = "/k";
    made.revision = revision;
    return made;
  };
  checker.OnStored("hub", event(7));
  checker.OnStored("hub", event(8));
  checker.OnStored(kMember, event(3));
  EXPECT_TRUE(violations.empty());
  checker.OnStored("hub", event(8));
  EXPECT_EQ(Only(), "hub: revision 8 of /k came after 8");
  checker.OnStored(kMember, event(5));
  EXPECT_EQ(Only(), "member-1: revision 5 of /k came after 3");
}

TEST_F(CheckerTest, NoOlderFiresOnAnOlderVersionOfTheSameObject) {
  NoOlderChecker checker;
  Attach(checker);
  checker.Delivered("a", "hub secrets x", "uid-1", "9");
  checker.Delivered("a", "hub secrets x", "uid-1", "10");
  checker.Delivered("a", "hub secrets y", "uid-2", "3");
  checker.Delivered("b", "hub secrets x", "uid-1", "9");
  checker.Delivered("a", "hub secrets y", "uid-3", "2");
  EXPECT_TRUE(violations.empty()) << "made anew it starts again";
  checker.Delivered("a", "hub secrets x", "uid-1", "9");
  EXPECT_EQ(Only(), "a was told of hub secrets x at version 9 after 10");
  checker.Forget("a");
  checker.Delivered("a", "hub secrets x", "uid-1", "9");
  EXPECT_TRUE(violations.empty());
}

TEST_F(CheckerTest, QuietFiresOnWritesAfterConvergence) {
  for (const int writes : {6, 7}) {
    violations.clear();
    QuietChecker checker;
    Attach(checker);
    auto report = [&](const std::string& user, const std::string& plural, int times) {
      for (int i = 0; i < times; ++i) {
        Write(checker, {.user = user, .plural = plural, .ns = "evenkeel", .name = "x", .api = kHub}, Json(base::JsonObject{}));
      }
    };
    report("a", "shardplans", 100);
    checker.OnConverged();
    report("a", "leases", 100);
    report("system:hub", "pods", 100);
    Write(checker, {.user = "a", .plural = "configmaps", .ns = "default", .name = "simulation"}, Json(base::JsonObject{}));
    report("a", "shardplans", writes);
    fleet.time += 1min;
    checker.AtEnd();
    if (writes == 6) {
      EXPECT_TRUE(violations.empty());
    } else {
      EXPECT_TRUE(Only().starts_with("7 writes in 1.0 min although nothing happened any more: 7 x hub update shardplans;"));
    }
  }
}

TEST_F(CheckerTest, QuietAllowsTheMovesThatAreStillDueAtTheirPaceOrFollowTheSameLoads) {
  for (const auto& [pace, apart, quiet] : {std::tuple(1000, 5s, false), {1000, 0s, true}, {2, 5s, true}, {1, 5s, false}}) {
    fleet.moves = pace;
    violations.clear();
    QuietChecker checker;
    Attach(checker);
    checker.OnConverged();
    for (int64_t epoch = 1; epoch <= 4; ++epoch) {
      fleet.time += apart;
      Json plan{{"spec", {{"epoch", epoch}}}};
      controllers::distribution::PublishedPlan moved;
      moved.epoch = epoch;
      moved.moves.push_back({kMember, 0, 1, epoch, {}, "balance", true});
      moved.WriteTo(plan);
      Write(checker, {.user = "a", .plural = "shardplans", .ns = "evenkeel", .name = "evenkeel", .api = kHub}, plan);
      for (int i = 0; i < 4; ++i) {
        Write(checker, {.user = "a", .plural = "events", .ns = "evenkeel", .name = "e", .api = kHub}, Json(base::JsonObject{}));
      }
    }
    fleet.time += 1min - 4 * apart;
    checker.AtEnd();
    EXPECT_EQ(violations.empty(), quiet) << pace << ": four moves in a minute, one more than due at the beginning";
  }
}

class WritesTest : public CheckerTest {
 protected:
  WritesChecker checker;
  WritesTest() { Attach(checker); }
  void Count(const std::string& author, int64_t counter) {
    Json object = kube::NewObject(kube::resources::ConfigMaps(), "default", "simulation");
    base::Ensure(object, {"data"}) = base::JsonObject{{"author", author}, {"counter", std::to_string(counter)}};
    Write(checker, {.user = author, .plural = "configmaps", .ns = "default", .name = "simulation"}, object);
  }
};

TEST_F(WritesTest, AcceptsCountingAcrossAHandOver) {
  Lease(checker, "a", "id-a", 1);
  Count("a", 1);
  checker.Acknowledged(kMember, "a", 1);
  Count("a", 2);
  Lease(checker, "b", "id-b", 2, 2);
  Count("b", 3);
  checker.Acknowledged(kMember, "b", 3);
  checker.Acknowledged(kMember, "a", 2);
  EXPECT_EQ(violations, std::vector<std::string>{});
}

TEST_F(WritesTest, FiresOnALostWrite) {
  Lease(checker, "a", "id-a", 1);
  Count("a", 1);
  Count("a", 2);
  checker.Acknowledged(kMember, "a", 2);
  Count("a", 2);
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0], "the counter of member-1 went from 2 to 2");
  EXPECT_EQ(violations[1], "member-1: a wrote 2 over the acknowledged 2");
}

TEST_F(WritesTest, FiresOnAnAcknowledgementOfNothing) {
  Lease(checker, "a", "id-a", 1);
  Count("a", 1);
  checker.Acknowledged(kMember, "a", 2);
  EXPECT_EQ(Only(), "member-1: a was told that its 2 is stored, but it is not");
  checker.Acknowledged(kMember, "b", 1);
  EXPECT_EQ(Only(), "member-1: b was told that its 1 is stored, but it is not");
}

TEST_F(WritesTest, FiresOnAnotherAuthorWithinATenure) {
  Lease(checker, "a", "id-a", 1);
  Count("a", 1);
  Count("b", 2);
  EXPECT_EQ(Only(), "member-1: the author changed from a to b without a change of owner");
}

}  // namespace
}  // namespace evenkeel::sim::checkers_test
