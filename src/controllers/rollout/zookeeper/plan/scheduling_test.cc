#include "controllers/rollout/zookeeper/plan/scheduling.h"

#include <gtest/gtest.h>

#include <functional>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::scheduling_test {
namespace {

using base::FindString;
using base::Json;
using testing::Spec;
using namespace std::chrono_literals;

/// An ensemble whose binding leaves out m3, as Karmada leaves it once the cluster was not ready when it was asked.
class StaleScheduleTest : public ::testing::Test {
 protected:
  StaleScheduleTest() : fleet(Spec(testing::kThree)) {
    fleet.Settle();
    fleet.SetReachable("m3", true);
  }

  /// A reconcile, so much later, with that binding; `with`: what else is different.
  Plan After(base::Duration time, const std::function<void(PlanInput&)>& with = {}) {
    fleet.Later(time);
    PlanInput input = fleet.Input();
    if (input.fleet.binding != nullptr) binding = Json(*input.fleet.binding, {});
    base::Ensure(binding, {"spec", "clusters"}) =
        *base::ParseJson(R"([{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}])", "c");
    input.fleet.binding = &binding;
    if (with) with(input);
    auto plan = PlanRollout(input);
    EXPECT_TRUE(plan);
    base::Ensure(fleet.ensemble(), {"status"}) = plan->status;
    return *std::move(plan);
  }
  static std::string Attempt(const Plan& plan, const std::string& kind) {
    for (const Json& object : plan.apply) {
      if (FindString(object, {"kind"}) != kind) continue;
      if (kind == "ZooKeeper") return std::string(FindString(object, {"metadata", "annotations", kAttemptAnnotation}));
      for (const Json& one : base::FindArray(object, {"spec", "placement", "clusterTolerations"})) {
        if (FindString(one, {"key"}) == kAttemptAnnotation) return std::string(FindString(one, {"value"}));
      }
    }
    return "";
  }
  std::string Scheduled() const {
    return std::string(
        FindString(*kube::FindCondition(base::JsonObject{{"status", fleet.status()}}, "Scheduled"), {"message"}));
  }

  FakeFleet fleet;
  Json binding, cluster;
};

TEST_F(StaleScheduleTest, AReadyClusterThatIsMissingIsAskedForAgainWithBackOff) {
  EXPECT_NE(After(0s).reason, "ScheduleAskedAgain");
  EXPECT_NE(Scheduled().find("Karmada has not scheduled m3 since 2026-"), std::string::npos) << Scheduled();
  EXPECT_NE(After(50s).reason, "ScheduleAskedAgain");
  Plan plan = After(10s);
  EXPECT_EQ(plan.reason, "ScheduleAskedAgain");
  EXPECT_EQ(Attempt(plan, "ZooKeeper"), "1") << "the binding is made again, if it was deleted";
  EXPECT_EQ(Attempt(plan, "PropagationPolicy"), "1") << "another placement is scheduled anew";
  EXPECT_NE(Scheduled().find("asked again 1 times, last at 2026-"), std::string::npos) << Scheduled();
  std::vector<int> seconds;
  for (int since = 0, total = 0; total < 7200; total += 10) {
    since += 10;
    if (After(10s).reason != "ScheduleAskedAgain") continue;
    seconds.push_back(since);
    since = 0;
  }
  EXPECT_EQ(seconds, (std::vector<int>{120, 240, 480, 960, 1800, 1800, 1800}));
  EXPECT_EQ(FindString(base::JsonObject{{"s", fleet.status()}}, {"s", "phase"}), "Ready");
}

TEST_F(StaleScheduleTest, ANoteFromTheFutureCountsFromWhenItIsFirstSeen) {
  After(4h);
  EXPECT_NE(After(-4h).reason, "ScheduleAskedAgain") << "the leader before had a clock of its own";
  EXPECT_NE(After(50s).reason, "ScheduleAskedAgain");
  EXPECT_EQ(After(10s).reason, "ScheduleAskedAgain");
  After(4h - 3s);
  EXPECT_NE(After(-4h).reason, "ScheduleAskedAgain");
  EXPECT_EQ(After(20min).reason, "ScheduleAskedAgain");
}

TEST_F(StaleScheduleTest, NobodyIsAskedForWhomSomethingKeepsOut) {
  const auto with = [this](const std::string& spec, const char* ready) {
    return [this, spec, ready](PlanInput& input) {
      cluster = *base::ParseJson(R"({"metadata": {"name": "m3"}, "spec": )" + spec + "}", "cluster");
      kube::SetCondition(cluster, "Ready", ready, "", "", base::Time{});
      std::erase_if(input.fleet.clusters, [](const Json* one) { return kube::NameOf(*one) == "m3"; });
      input.fleet.clusters.push_back(&cluster);
    };
  };
  const auto tainted = with(R"({"taints": [{"key": "mine", "value": "yes", "effect": "NoSchedule"}]})", "True");
  After(0s, tainted);
  for (int i = 0; i < 10; ++i) EXPECT_NE(After(10min, tainted).reason, "ScheduleAskedAgain");
  EXPECT_NE(Scheduled().find("m3 has the taint mine=yes:NoSchedule"), std::string::npos) << Scheduled();
  const auto away = with("{}", "False");
  for (int i = 0; i < 10; ++i) EXPECT_NE(After(10min, away).reason, "ScheduleAskedAgain");
  EXPECT_NE(Scheduled().find("m3 is not ready"), std::string::npos) << Scheduled();
  // From when nothing keeps it out any more.
  const auto back = with(R"({"taints": [{"key": "passing", "effect": "NoExecute"}]})", "True");
  EXPECT_NE(After(1s, back).reason, "ScheduleAskedAgain");
  EXPECT_EQ(After(1min, back).reason, "ScheduleAskedAgain") << "what is tolerated keeps nobody out";
}

TEST_F(StaleScheduleTest, ABindingThatIsGoneIsAskedForAgain) {
  const auto gone = [](PlanInput& input) { input.fleet.binding = nullptr; };
  After(0s, gone);
  EXPECT_EQ(After(1min, gone).reason, "ScheduleAskedAgain");
}

TEST_F(StaleScheduleTest, AnEditedNoteDecidesNothingElse) {
  base::Ensure(fleet.ensemble(), {"status", "scheduling"}) =
      *base::ParseJson(R"({"attempt": -4, "asked": 99999999999, "since": "nonsense", "askedAt": 7})", "note");
  EXPECT_NE(After(0s).reason, "ScheduleAskedAgain");
  fleet.Settle();
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::scheduling_test
