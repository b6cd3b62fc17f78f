#include "client/lease.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::lease_test {
namespace {

class LeaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<LeaseKeeper> NewKeeper(bool overrides = false) {
    return std::make_unique<LeaseKeeper>(
        client, LeaseKeeperOptions{.ns = "kube-node-lease", .name = "n1", .identity = "n1", .overrides_others = overrides},
        strand, executor.clock(),
        LeaseKeeper::Callbacks{[this](const base::Error& error) { log.push_back("lost: " + error.message()); },
                               [this] { log.push_back("held"); },
                               [](Json& lease) { base::Ensure(lease, {"metadata", "labels", "made-by"}) = "test"; }});
  }
  Json& Stored() { return client.api().objects["leases"]["kube-node-lease/n1"]; }

  using Lines = std::vector<std::string>;
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("node");
  FakeClient client;
  Lines log;
};

TEST_F(LeaseTest, ReadsWhatItWritesAndKeepsTheRest) {
  Json object = {{"metadata", {{"name", "x"}, {"namespace", "y"}}}, {"spec", {{"strategy", "OldestEmulationVersion"}}}};
  Lease{{}, "me", 14500ms, base::Time{} + 1s, base::Time{} + 2500us, 3}.WriteTo(object);
  const Lease read = Lease::Decode(object);
  EXPECT_EQ(read.holder, "me");
  EXPECT_EQ(read.duration, 15s);
  EXPECT_EQ(read.acquire_time, base::Time{} + 1s);
  EXPECT_EQ(read.renew_time, base::Time{} + 2500us);
  EXPECT_EQ(read.transitions, 3);
  EXPECT_EQ(read.meta.Key(), "y/x");
  EXPECT_EQ(base::FindString(object, {"spec", "strategy"}), "OldestEmulationVersion");
}

TEST_F(LeaseTest, DecodesNonsenseAsNothing) {
  const Lease lease =
      Lease::Decode({{"spec", {{"holderIdentity", 5}, {"renewTime", "yesterday"}, {"leaseDurationSeconds", -7}}}});
  EXPECT_EQ(lease.holder, "");
  EXPECT_EQ(lease.renew_time, base::Time{});
  EXPECT_EQ(lease.duration, 0s);
}

TEST_F(LeaseTest, KeeperCreatesAndRenewsEveryPeriod) {
  const auto keeper = NewKeeper();
  keeper->Start();
  executor.RunFor(1s);
  EXPECT_EQ(log, Lines{"held"});
  EXPECT_EQ(base::FindString(Stored(), {"metadata", "labels", "made-by"}), "test");
  executor.RunFor(100s);
  EXPECT_EQ(client.Count("update"), 10);
  EXPECT_EQ(client.Count("get"), 1);
  EXPECT_EQ(Lease::Decode(Stored()).renew_time, base::Time{} + 100s);
  EXPECT_TRUE(keeper->holds());
}

TEST_F(LeaseTest, KeeperSaysOnceThatItIsLostAndWhenItIsHeldAgain) {
  const auto keeper = NewKeeper();
  keeper->Start();
  executor.RunFor(15s);
  client.CutOff(true);
  executor.RunFor(34s);
  EXPECT_TRUE(keeper->holds());
  executor.RunFor(5min);
  EXPECT_FALSE(keeper->holds());
  EXPECT_EQ(log, (Lines{"held", "lost: connection refused"}));
  client.CutOff(false);
  executor.RunFor(10s);
  EXPECT_EQ(log, (Lines{"held", "lost: connection refused", "held"}));
}

TEST_F(LeaseTest, KeeperSurvivesOtherWritersAndADeletedLease) {
  const auto keeper = NewKeeper();
  keeper->Start();
  executor.RunFor(15s);
  Json edited = Stored();
  base::Ensure(edited, {"metadata", "labels", "other"}) = "kept";
  client.api().Put(kube::resources::Leases(), edited);
  executor.RunFor(10s);
  EXPECT_EQ(base::FindString(Stored(), {"metadata", "labels", "other"}), "kept");
  EXPECT_EQ(Lease::Decode(Stored()).renew_time, base::Time{} + 20s);
  client.api().Remove(kube::resources::Leases(), "kube-node-lease/n1");
  executor.RunFor(10s);
  EXPECT_EQ(Lease::Decode(Stored()).renew_time, base::Time{} + 30s);
  EXPECT_EQ(log, Lines{"held"});
}

TEST_F(LeaseTest, KeeperTakesAnothersLeaseOnlyWhenToldTo) {
  Json other = kube::NewObject(kube::resources::Leases(), "kube-node-lease", "n1");
  Lease{{}, "somebody", 40s, {}, {}, 0}.WriteTo(other);
  client.api().Put(kube::resources::Leases(), other);
  const auto modest = NewKeeper();
  modest->Start();
  executor.RunFor(1min);
  EXPECT_EQ(log, Lines{"lost: lease kube-node-lease/n1 is held by somebody"});
  modest->Stop();
  const auto bold = NewKeeper(true);
  bold->Start();
  executor.RunFor(1s);
  EXPECT_TRUE(bold->holds());
  EXPECT_EQ(Lease::Decode(Stored()).holder, "n1");
  EXPECT_EQ(Lease::Decode(Stored()).transitions, 1);
}

}  // namespace
}  // namespace evenkeel::client::lease_test
