#include "balancing/placement/upgrade_families.h"

#include <gtest/gtest.h>

#include "balancing/placement/placement_search.h"
#include "balancing/search/search_testing.h"

namespace evenkeel::balancing::upgrade_families_test {
namespace {

using testing::Nodes;
using testing::Scene;
using Texts = std::vector<std::string>;

constexpr std::string_view kMetrics = "metrics: [{name: M, primaryLoad: 10, secondaryLoad: 10}], targetReplicas: 1";

std::string Services(const std::string& parent = "", const std::string& children = "") {
  std::string text = fmt::format("services:\n- {{name: p, kind: stateful, {}{}}}\n", kMetrics, parent);
  for (const char* child : {"c", "d"}) {
    text += fmt::format("- {{name: {}, kind: stateful, {}, affinityTo: p{}}}\n", child, kMetrics, children);
  }
  return text + "partitions:\n";
}

// The one replica of a service: replaced by an upgrade, or just there.
std::string Replaced(const std::string& service, int node) {
  return fmt::format(
      "- {{name: {}/0, service: {}, replicas: [{{node: n{}, role: primary, flags: [PrimaryToBeSwappedOut]}}], missing: 1, "
      "flags: [InUpgrade]}}\n",
      service, service, node);
}
std::string There(const std::string& service, int node, const std::string& flags = "") {
  return fmt::format("- {{name: {}/0, service: {}, replicas: [{{node: n{}, role: primary{}}}], flags: [InUpgrade]}}\n", service,
                     service, node, flags.empty() ? "" : ", flags: [" + flags + "]");
}

struct Placed {
  Texts changes;
  PlacementResult result;
};

Placed Place(const std::string& state, const Settings& settings) {
  Scene scene(Scene::Read(state, settings), settings);
  Placed placed;
  placed.result = PlaceReplicas(scene.arrangement(), scene.groups()[0], {});
  placed.changes = scene.Changes();
  return placed;
}

Settings ByAffinity() {
  Settings settings;
  settings.check_affinity_for_upgrade_placement = true;
  return settings;
}

Settings ByApplication() {
  Settings settings;
  settings.relax_scaleout_constraint_during_upgrade = true;
  return settings;
}

TEST(UpgradeFamiliesTest, WhatIsNotReplacedGoesAlongWithWhatIs) {
  const std::string state = Nodes({"capacities: {M: 30}", "capacities: {M: 20}", "capacities: {M: 30}"}) + Services();
  const Placed parent = Place(state + Replaced("p", 0) + There("c", 0) + There("d", 0), ByAffinity());
  EXPECT_EQ(parent.changes, (Texts{"0 add secondary 2", "1 move primary 0=>2", "2 move primary 0=>2"}));
  EXPECT_EQ(parent.result.along.size(), 2u);
  EXPECT_TRUE(parent.result.families.empty());
  const Placed child = Place(state + There("p", 0) + Replaced("c", 0) + There("d", 0), ByAffinity());
  EXPECT_EQ(child.changes, (Texts{"0 move primary 0=>2", "1 add secondary 2", "2 move primary 0=>2"}));
}

TEST(UpgradeFamiliesTest, WithoutTheSettingWhatIsReplacedComesAlone) {
  const std::string state = Nodes(2) + Services();
  EXPECT_EQ(Place(state + Replaced("p", 0) + There("c", 0) + There("d", 0), {}).changes, Texts{"0 add secondary 1"});
}

TEST(UpgradeFamiliesTest, AFamilyThatFitsNowhereWaitsUnlessTheClusterItselfIsUpgraded) {
  const std::string state = Nodes({"capacities: {M: 30}", "capacities: {M: 20}"}) + Services() + Replaced("p", 0) +
                            Replaced("c", 0) + Replaced("d", 0);
  const Placed placed = Place(state, ByAffinity());
  EXPECT_EQ(placed.changes, Texts());
  ASSERT_EQ(placed.result.families.size(), 1u);
  EXPECT_EQ(placed.result.families[0].partitions, 3);
  EXPECT_EQ(placed.result.families[0].busy, kNoId);
  EXPECT_EQ(placed.result.waiting.size(), 3u);
  EXPECT_TRUE(placed.result.unplaced.empty()) << "they are not missed now";
  const std::string upgraded = state + "runtime: {balancingEnabled: false, constraintCheckEnabled: false}\n";
  EXPECT_EQ(Place(upgraded, ByAffinity()).changes.size(), 2u) << "as many as fit";
}

TEST(UpgradeFamiliesTest, AFamilyWaitsForReplicasOfItThatChangeAlready) {
  const std::string state = Nodes(3) + Services() + There("p", 0);
  const std::string building =
      "- {name: c/0, service: c, replicas: [{node: n0, role: primary}, {node: n1, role: secondary, flags: [InBuild]}], "
      "missing: 0}\n";
  const Placed placed = Place(state + building + Replaced("d", 0), ByAffinity());
  EXPECT_EQ(placed.changes, Texts());
  ASSERT_EQ(placed.result.families.size(), 1u);
  EXPECT_EQ(placed.result.families[0].busy, 1u);
  EXPECT_TRUE(Place(state + There("c", 0, "ToBePromoted") + Replaced("d", 0), ByAffinity()).changes.empty());
}

TEST(UpgradeFamiliesTest, TheLastOneOfAFamilyFollowsTheOthersWithoutMovingThem) {
  const std::string state = Nodes(4) + Services();
  EXPECT_EQ(Place(state + There("p", 3) + There("c", 3) + Replaced("d", 0), ByAffinity()).changes, Texts{"2 add secondary 3"});
  EXPECT_EQ(Place(state + Replaced("p", 0) + Replaced("c", 1) + Replaced("d", 1), ByAffinity()).changes.size(), 3u)
      << "also one that is torn already";
}

TEST(UpgradeFamiliesTest, AServiceOfSeveralReplicasIsNoneOfTheFamily) {
  const std::string two = Nodes(3) +
                          "services:\n- {name: p, kind: stateful, targetReplicas: 2}\n"
                          "- {name: c, kind: stateful, affinityTo: {service: p, aligned: false}, targetReplicas: 1}\n"
                          "partitions:\n- {name: p/0, service: p, replicas: [{node: n0, role: primary}, {node: n1, role: "
                          "secondary}], flags: [InUpgrade]}\n" +
                          Replaced("c", 0);
  EXPECT_EQ(Place(two, ByAffinity()).changes, Texts{"1 add secondary 1"});
}

TEST(UpgradeFamiliesTest, AnApplicationOnOneNodeGoesToAnotherTogether) {
  const std::string application =
      "applications: [{name: a, maxNodes: 1, inUpgrade: true, upgradedDomains: [u2], metrics: [{name: M, totalCapacity: 30, "
      "maxNodeCapacity: 30}]}]\n";
  const std::string services = fmt::format(
      "services:\n- {{name: p, kind: stateful, {0}, application: a}}\n- {{name: c, kind: stateful, {0}, application: a}}\n"
      "- {{name: d, kind: stateful, {0}, application: a}}\npartitions:\n",
      kMetrics);
  const std::string nodes = Nodes({"upgradeDomain: u0", "upgradeDomain: u1", "upgradeDomain: u2"});
  const std::string state = nodes + application + services;
  const Placed placed = Place(state + Replaced("p", 0) + There("c", 0) + Replaced("d", 0), ByApplication());
  EXPECT_EQ(placed.changes, (Texts{"0 add secondary 2", "1 move primary 0=>2", "2 add secondary 2"}))
      << "in the domain that is done; for a while the application has more than it may altogether";
  const Placed without = Place(state + Replaced("p", 0) + There("c", 0) + Replaced("d", 0), {});
  EXPECT_EQ(without.changes, Texts()) << "it may be on one node only";
}

}  // namespace
}  // namespace evenkeel::balancing::upgrade_families_test
