#include "controllers/runtime/manager.h"

#include <gtest/gtest.h>

#include "client/fake_client.h"

namespace evenkeel::controllers::runtime::manager_test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class ManagerTest : public ::testing::Test {
 protected:
  Part Noted(const std::string& name) {
    return {[this, name] { log.push_back("+" + name); }, [this, name] { log.push_back("-" + name); },
            [this, name]() -> base::Status {
              if (sick == name) return base::Fail(base::Code::kUnavailable, "no heartbeat");
              return {};
            }};
  }
  void Elect(Manager& manager, client::FakeClient& client, const std::string& identity) {
    manager.ElectLeader(client, {.ns = "evenkeel", .name = "leader", .identity = identity}, executor.clock(),
                        base::Random(1).Fork(identity));
  }
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("manager");
  Lines log;
  std::string sick;
};

TEST_F(ManagerTest, StartsInOrderAndStopsInReverse) {
  Manager manager(strand);
  manager.Add("one", Noted("one"));
  manager.Add("two", Noted("two"), PartScope::kLeaderOnly);
  manager.Add("three", Noted("three"));
  manager.Start();
  EXPECT_EQ(manager.running(), (Lines{"one", "three", "two"}));
  EXPECT_TRUE(manager.leading()) << "nobody else there";
  manager.Stop();
  EXPECT_EQ(log, (Lines{"+one", "+three", "+two", "-two", "-three", "-one"}));
  EXPECT_TRUE(manager.running().empty());
}

TEST_F(ManagerTest, RunsLeaderOnlyPartsOnOneReplicaAtATime) {
  auto api = std::make_shared<client::FakeApi>();
  client::FakeClient client_a(api), client_b(api);
  auto strand_b = executor.NewStrand("b");
  Manager a(strand), b(strand_b);
  a.Add("common", Noted("common a"));
  a.Add("single", Noted("single a"), PartScope::kLeaderOnly);
  b.Add("common", Noted("common b"));
  b.Add("single", Noted("single b"), PartScope::kLeaderOnly);
  Elect(a, client_a, "a");
  Elect(b, client_b, "b");
  a.Start();
  executor.RunUntilIdle();
  b.Start();
  executor.RunFor(1min);
  EXPECT_EQ(log, (Lines{"+common a", "+single a", "+common b"}));
  EXPECT_FALSE(b.leading());
  client_a.CutOff(true);
  executor.RunFor(1min);
  EXPECT_EQ(log, (Lines{"+common a", "+single a", "+common b", "-single a", "+single b"}));
  client_a.CutOff(false);
  executor.RunFor(10s);
  log.clear();
  b.Stop();
  executor.RunFor(10s);
  EXPECT_EQ(log, (Lines{"-single b", "-common b", "+single a"}));
}

TEST_F(ManagerTest, IsHealthyWhenAllThatRunsIs) {
  Manager manager(strand);
  manager.Add("one", Noted("one"));
  manager.Add("two", Noted("two"));
  sick = "two";
  EXPECT_TRUE(manager.healthy()) << "not started yet";
  manager.Start();
  ASSERT_FALSE(manager.healthy());
  EXPECT_EQ(manager.healthy().error().message(), "two: no heartbeat");
  sick = "";
  EXPECT_TRUE(manager.healthy());
}

TEST_F(ManagerTest, RunsControllersOnTheirOwnStrands) {
  int here = 0;
  int there = 0;
  Controller same("same", strand, executor.clock(), [&](const std::string&) -> base::Result<ReconcileResult> {
    ++here;
    return ReconcileResult{1s};
  });
  auto other_strand = executor.NewStrand("other");
  Controller other("other", other_strand, executor.clock(), [&](const std::string&) -> base::Result<ReconcileResult> {
    ++there;
    return ReconcileResult{1s};
  });
  same.Enqueue("k");
  other.Enqueue("k");
  Manager manager(strand);
  manager.Add(same);
  manager.Add(other);
  manager.Start();
  executor.RunFor(9500ms);
  EXPECT_EQ(here, 10);
  EXPECT_EQ(there, 10);
  manager.Stop();
  executor.RunFor(10s);
  EXPECT_EQ(here, 10);
  EXPECT_EQ(there, 10);
}

TEST_F(ManagerTest, StopsWhatRunsWhenDestroyed) {
  {
    Manager manager(strand);
    manager.Add("one", Noted("one"));
    manager.Start();
  }
  EXPECT_EQ(log, (Lines{"+one", "-one"}));
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::manager_test
