// Clusters that are let go while others wait for the same, pinned to lists with them.
#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::release_test {
namespace {

using base::FindString;
using Ids = std::set<int64_t>;

constexpr const char* kThreeOfFive = "m1:1 m2:1 m3:1";

std::string SpecOf(const std::string& placement, const std::string& more = "") {
  return testing::Spec(placement, "3.8.4", R"(, "rollout": {"allowDegraded": true})" + more);
}

class ReleaseTest : public ::testing::Test {
 protected:
  /// m5 is emptied, and m4 about to be.
  ReleaseTest() : fleet_(SpecOf("m1:1 m2:1 m3:1 m4:1 m5:1")) {
    fleet_.Settle();
    fleet_.SetSpec(SpecOf(kThreeOfFive));
    Until(3);
    EXPECT_EQ(fleet_.Servers(), (Ids{1, 11, 21, 31}));
  }
  void Until(size_t records, const std::string& status = "Deploying") {
    for (int i = 0; i < 60 && (fleet_.records().size() < records || FindString(fleet_.records().back(), {"status"}) != status);
         ++i) {
      fleet_.Tick();
      fleet_.Work();
    }
    EXPECT_EQ(fleet_.records().size(), records);
  }

  FakeFleet fleet_;
};

TEST_F(ReleaseTest, AnEmptiedClusterOutlivesTheClustersThatARecoveryGaveUp) {
  for (const char* cluster : {"m1", "m2"}) fleet_.Destroy(cluster);
  fleet_.Work();
  fleet_.Tick();
  fleet_.Later(std::chrono::minutes(2));
  fleet_.Tick();
  fleet_.SetSpec(SpecOf("m3:1 m4:1", R"(, "forceRecovery": {"request": "flood", "survivors": ["m3", "m4"],
      "lost": ["m1", "m2"], "acknowledgeDataLoss": true})"));
  ASSERT_EQ(fleet_.Tick().reason, "RecoveryStarted");
  fleet_.Settle();
  EXPECT_EQ(fleet_.Servers(), (Ids{21, 31}));
  EXPECT_FALSE(fleet_.children().contains("OverridePolicy/zk-m5")) << "it is released after them";
}

TEST_F(ReleaseTest, AnEmptiedClusterThatIsWantedBackOutlivesTheOneBesideIt) {
  Until(3, "Ready");
  fleet_.SetReachable("m5", false);
  fleet_.SetSpec(testing::Spec("m1:1 m2:1 m3:1 m5:1", "3.8.4", R"(, "rollout": {"allowDegraded": true, "paused": true})"));
  EXPECT_EQ(fleet_.Tick().reason, "ClusterReleased");
  EXPECT_EQ(testing::Mark(fleet_, "m5").substr(0, 16), FindString(fleet_.records().back(), {"revision"}));
  EXPECT_EQ(testing::Overridden(fleet_, "m5", "/spec/replicas"), base::Json(0));
  for (int i = 0; i < 3; ++i) fleet_.Tick();
  // There is nothing that it would have to confirm before others change.
  fleet_.SetSpec(testing::Spec("m1:1 m2:1 m3:1", "3.8.5", R"(, "rollout": {"allowDegraded": true})"));
  fleet_.Settle();
  fleet_.SetReachable("m5", true);
  fleet_.SetSpec(SpecOf("m1:1 m2:1 m3:1 m5:1"));
  fleet_.Settle();
  EXPECT_EQ(fleet_.Servers().size(), 4u);
}

TEST(RevisionsTest, AListWithoutServersIsTakenForNone) {
  FakeFleet fleet(testing::Spec(testing::kThree));
  fleet.Settle();
  const Revision empty = MakeRevision(base::JsonObject{}, {}, {});
  base::Json& status = base::Ensure(fleet.ensemble(), {"status"});
  status.as_object()["revisions"] = base::JsonArray{base::JsonObject{
      {"name", empty.name}, {"template", empty.body}, {"shares", base::JsonObject{}}, {"servers", base::JsonArray{}}}};
  status.as_object()["clusters"] = base::JsonArray{};
  base::Ensure(status, {"records"}).as_array()[0].as_object()["revision"] = empty.name;
  const auto plan = PlanRollout(fleet.Input());
  EXPECT_TRUE(plan) << plan.error().message();
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::release_test
