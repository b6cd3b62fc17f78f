#include "controllers/distribution/sharding/replica_settings.h"

#include "client/lease.h"
#include "controllers/distribution/distributor/distributor_testing.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution::replica_settings_test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST(ReplicaSettingsTest, NamesEverySettingInWhichReplicasDiffer) {
  EXPECT_EQ(Disagreements({{"a", {{"x", "1"}, {"y", "2"}}}, {"b", {{"x", "1"}, {"y", "2"}}}}), Lines{});
  EXPECT_EQ(Disagreements({{"a", {{"x", "1"}, {"y", ""}}}, {"b", {{"x", "2"}, {"y", "3"}}}, {"c", {{"x", "1"}}}, {"old", {}}}),
            (Lines{"x: 1 (a, c), 2 (b)", "y: none (a), 3 (b)"}));
  EXPECT_EQ(Disagreements({}), Lines{});
}

TEST(ReplicaSettingsTest, ReadsOnlyTextsFromALease) {
  const auto in = [](const std::string& text) {
    base::Json lease = base::JsonObject{};
    base::Ensure(lease, {"metadata", "annotations", kSettingsAnnotation}) = text;
    return SettingsIn(lease);
  };
  EXPECT_EQ(in(R"({"a": "1", "b": 2, "c": null})"), (SettingsByName{{"a", "1"}}));
  for (const char* broken : {"", "{", "[1]", "7", "null"}) EXPECT_EQ(in(broken), SettingsByName{}) << broken;
  EXPECT_EQ(SettingsIn(base::JsonObject{}), SettingsByName{});
}

class DisagreeingTest : public DistributorTest {
 protected:
  double Metric(const std::string& host, const std::string& name) const {
    const std::string text = "\n" + replicas.at(host).metrics->Render();
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  static constexpr char kDisagreeing[] = "evenkeel_distribution_disagreeing_replicas";
};

TEST_F(DisagreeingTest, ThreeMethodsInOneFleetAreTold) {
  PutClusters(4);
  Scale(3);
  options.method = Method::kLegacy;
  Start("a");
  options.method = Method::kRoundRobin;
  Start("b");
  options.method = Method::kConsistentHashing;
  Start("c");
  Run(20s);
  EXPECT_EQ(Events("ReplicasDisagree").size(), 0u) << "a rolling update is no fault";
  Run(60s);
  const auto told = Events("ReplicasDisagree");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].about, "evenkeel-controller");
  EXPECT_EQ(
      told[0].message,
      "replicas of this fleet were told different things: sharding-method: consistent-hashing (c), legacy (a), round-robin "
      "(b); tell all the same");
  for (const char* host : {"a", "b", "c"}) EXPECT_EQ(Metric(host, kDisagreeing), 2) << host;
  const FleetView view = View();
  EXPECT_EQ(view.options.mode, Mode::kCompatible);
  for (const FleetView::Row& row : view.rows) EXPECT_EQ(row.owner, "") << row.cluster;
  ASSERT_FALSE(view.findings.empty());
  EXPECT_EQ(view.findings[0].reason, "ReplicasDisagree");
  Stop("a");
  Stop("c");
  Run(60s);
  EXPECT_EQ(Metric("b", kDisagreeing), 0);
  EXPECT_TRUE(View().findings.empty());
}

TEST_F(DisagreeingTest, TwoModesInOneFleetAreTold) {
  PutClusters(2);
  Scale(2);
  Start("a");
  options.mode = Mode::kCoordinated;
  options.settings = {{"balancer", "true"}};
  Start("b");
  Run(90s);
  EXPECT_EQ(Metric("a", kDisagreeing), 1);
  EXPECT_EQ(Metric("b", kDisagreeing), 1);
  ASSERT_FALSE(Events("ReplicasDisagree").empty());
  EXPECT_NE(Events("ReplicasDisagree")[0].message.find("sharding-mode: compatible (a), coordinated (b)"), std::string::npos);
}

TEST_F(DisagreeingTest, ReplicasThatAgreeSaySoToNobody) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(2min);
  EXPECT_EQ(Metric("a", kDisagreeing), 0);
  EXPECT_TRUE(Events("ReplicasDisagree").empty());
}

TEST_F(DisagreeingTest, TheLeaseOfACompatibleReplicaGoesWithItOrAfterAWhile) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(20s);
  EXPECT_EQ(hub->objects["leases"].size(), 2u);
  Stop("b");
  EXPECT_EQ(hub->objects["leases"].size(), 1u);
  Start("b");
  Run(20s);
  Crash(HolderOf(1));
  Run(2min);
  EXPECT_EQ(hub->objects["leases"].size(), 2u) << "left for people to see";
  Run(2min);
  EXPECT_EQ(hub->objects["leases"].size(), 1u);
}

TEST_F(DisagreeingTest, TheFleetThatLivesIsShown) {
  PutClusters(2);
  Scale(1);
  options.mode = Mode::kCoordinated;
  Start("a");
  Run(20s);
  EXPECT_EQ(View().options.mode, Mode::kCoordinated);
  Crash("a");
  options.mode = Mode::kCompatible;
  Start("b");
  Run(60s);
  EXPECT_EQ(View().options.mode, Mode::kCompatible) << "the plan of the fleet before is still there";
  for (const FleetView::Row& row : View().rows) EXPECT_EQ(row.owner, "b");
}

TEST_F(DisagreeingTest, CompatibleReplicasCountOwners) {
  PutClusters(2);
  Scale(2);
  for (const char* host : {"a", "b"}) Start(host);
  Run(60s);
  const std::string first = HolderOf(0) == "a" ? "a" : "b", second = first == "a" ? "b" : "a";
  const auto owners = [this](const std::string& host, const std::string& cluster) {
    return Metric(host,
                  "evenkeel_distribution_cluster_owners{cluster=\"" + cluster + "\",server=\"" + ServerOf(cluster) + "\"}");
  };
  EXPECT_EQ(owners(first, "member-1"), 1);
  EXPECT_EQ(owners(first, "member-2"), -1) << "the other replica tells of it";
  EXPECT_EQ(owners(second, "member-2"), 1);
  Scale(3);
  Crash(second);
  Run(60s);
  EXPECT_EQ(owners(first, "member-2"), 0) << "nobody claims its shard";
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::replica_settings_test
