#include "controllers/autoscaler/facts/eligibility.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::eligibility_test {
namespace {

using namespace std::chrono_literals;
using testing::World;

class EligibilityTest : public ::testing::Test {
 protected:
  EligibilityTest() { world_.Node("n", 1000, 10); }
  NodeFacts& Facts() { return world_.nodes[world_.NodeOf("n")]; }
  Unremovable Check(std::optional<base::Time> recently = std::nullopt) {
    const ClusterView view = world_.View();
    UtilizationCalculator utilization(view);
    const scheduling::NodeId node = world_.NodeOf("n");
    return EligibilityChecker(view, options_, utilization)
        .Check(node, DigestOf(view, node), view.groups.Find(Facts().group), recently);
  }
  std::string Why() { return std::string(Name(Check().reason)); }

  World world_;
  Options options_;
};

TEST_F(EligibilityTest, V26AnEmptyNodeIsEligible) { EXPECT_EQ(Why(), "NoReason"); }

TEST_F(EligibilityTest, V26ANodeBeingDeletedIsNotUntilItsTaintIsOld) {
  Facts().to_be_deleted = world_.now - 30s;
  EXPECT_EQ(Why(), "CurrentlyBeingDeleted");
  Facts().to_be_deleted = world_.now - 5min;
  EXPECT_EQ(Why(), "NoReason");
}

TEST_F(EligibilityTest, V26TheAnnotationKeepsANode) {
  Facts().scale_down_disabled = true;
  EXPECT_EQ(Why(), "ScaleDownDisabledAnnotation");
}

TEST_F(EligibilityTest, V26OnlyUseAboveTheThresholdKeepsANode) {
  world_.Pod("p", 600, 1, "n");
  EXPECT_EQ(Why(), "NotUnderutilized");
  EXPECT_DOUBLE_EQ(Check().utilization.value, 0.6);
  world_.Remove("p");
  world_.Pod("p", 500, 1, "n");
  EXPECT_EQ(Why(), "NoReason") << "equal to the threshold";
  world_.Group("ng").options.scale_down_utilization_threshold = 0.4;
  EXPECT_EQ(Why(), "NotUnderutilized") << "the group's own threshold";
}

TEST_F(EligibilityTest, V26ASmallPodDoesNotKeepANode) {
  world_.Pod("p", 100, 1, "n");
  EXPECT_EQ(Why(), "NoReason");
}

TEST_F(EligibilityTest, V26ANodeWithoutRoomAtAllCannotBeJudged) {
  world_.snapshot.RemoveNode("n");
  world_.Node("n", 0, 0);
  EXPECT_EQ(Why(), "UnexpectedError");
}

TEST_F(EligibilityTest, V26UnreadyNodesAreEligibleUnlessTheFlagSaysNo) {
  Facts().ready = false;
  EXPECT_EQ(Why(), "NoReason");
  options_.scale_down_unready_enabled = false;
  EXPECT_EQ(Why(), "ScaleDownUnreadyDisabled");
}

TEST_F(EligibilityTest, V26DaemonsCountUnlessIgnored) {
  world_.Pod("p", 100, 1, "n");
  world_.Pod("ds", 500, 1, "n").daemon = true;
  EXPECT_EQ(Why(), "NotUnderutilized");
  world_.Group("ng").options.ignore_daemonsets_utilization = true;
  EXPECT_EQ(Why(), "NoReason");
  EXPECT_DOUBLE_EQ(Check().utilization.value, 0.2);
}

TEST_F(EligibilityTest, V26OnlyIgnoredDaemonsAreNoUseAtAll) {
  world_.Pod("ds", 500, 1, "n").daemon = true;
  options_.ignore_daemonsets_utilization = true;
  options_.scale_down_utilization_threshold = 0;
  EXPECT_EQ(Why(), "NoReason");
}

TEST_F(EligibilityTest, TheFirstReasonWins) {
  Facts().group = "";
  EXPECT_EQ(Why(), "NotAutoscaled");
  Facts().scale_down_disabled = true;
  EXPECT_EQ(Why(), "ScaleDownDisabledAnnotation");
  Facts().to_be_deleted = world_.now;
  EXPECT_EQ(Why(), "CurrentlyBeingDeleted");
  EXPECT_EQ(Check(world_.now + 1min).reason, UnremovableReason::kRecentlyUnremovable);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::eligibility_test
