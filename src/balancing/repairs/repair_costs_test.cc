// What movements cost in repairs: with UseMoveCostReports replicas' and exchanges' own costs, else one each.
#include <gtest/gtest.h>

#include "balancing/model/cluster_testing.h"
#include "balancing/repairs/constraint_fixes.h"
#include "balancing/search/search_testing.h"

namespace evenkeel::balancing::repair_costs_test {
namespace {

using testing::Nodes;
using testing::Partitions;
using testing::Scene;
using Texts = std::vector<std::string>;

Settings Reported() {
  Settings settings;
  settings.use_move_cost_reports = true;
  return settings;
}

// A service of one metric M, whose replicas all have this load and this move cost.
std::string Service(const std::string& name, const std::string& kind, int load, const std::string& move_cost,
                    const std::string& rest = "") {
  const std::string loads =
      kind == "stateful" ? fmt::format("primaryLoad: {}, secondaryLoad: {}", load, load) : fmt::format("load: {}", load);
  return fmt::format("- {{name: {}, kind: {}, metrics: [{{name: M, weight: 1, {}}}], moveCost: {}{}{}}}\n", name, kind, loads,
                     move_cost, rest.empty() ? "" : ", ", rest);
}

struct Repaired {
  Texts changes;
  size_t left = 0;
};

Repaired Repair(const std::string& state, const Settings& settings) {
  Scene scene(Scene::Read(state), settings);
  Repaired repaired;
  for (const ServiceGroup& group : scene.groups()) repaired.left += FixViolations(scene.arrangement(), group, {}).left.size();
  repaired.changes = scene.Changes();
  return repaired;
}

TEST(RepairCostsTest, RolesAreExchangedWhereThatIsCheaperThanAMovement) {
  const std::string state = Nodes(3) + "services:\n" +
                            Service("s", "stateful", 10, "Low", "placementConstraints: 'NodeName !^P n0'") + "partitions:\n" +
                            Partitions("s", 1, "P/0,S/1");
  for (const bool preferred : {true, false}) {
    Settings settings = Reported();
    settings.enable_preferred_swap_solution_in_constraint_check = preferred;
    EXPECT_EQ(Repair(state, settings).changes, Texts{"0 swap primary 0<=>1"}) << preferred;
    settings.swap_cost = 200;
    EXPECT_EQ(Repair(state, settings).changes, Texts{"0 move primary 0=>2"}) << preferred;
    settings.use_move_cost_reports = false;
    EXPECT_EQ(Repair(state, settings).changes, Texts{preferred ? "0 swap primary 0<=>1" : "0 move primary 0=>2"});
  }
}

TEST(RepairCostsTest, OfUnevenDomainsTheCheapestReplicaLeaves) {
  Texts nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(fmt::format("upgradeDomain: u{}", i / 2));
  const auto state = [&](const std::string& primary, const std::string& secondary) {
    return Nodes(nodes) + "services:\n" +
           Service("s", "stateful", 10, fmt::format("{{primary: {}, secondary: {}}}", primary, secondary)) + "partitions:\n" +
           Partitions("s", 1, "P/0,S/1");
  };
  const auto moves = [&](const std::string& primary, const std::string& secondary, const Settings& settings) {
    const Repaired repaired = Repair(state(primary, secondary), settings);
    EXPECT_EQ(repaired.left, 0u);
    EXPECT_EQ(repaired.changes.size(), 1u);
    return repaired.changes.empty() ? "" : repaired.changes[0].substr(7, repaired.changes[0].find(' ', 7) - 7);
  };
  const Settings reported = Reported();
  EXPECT_EQ(moves("High", "Low", reported), "secondary");
  EXPECT_EQ(moves("Low", "High", reported), "primary");
  EXPECT_EQ(moves("Medium", "High", reported), "primary");
  EXPECT_EQ(moves("Zero", "Low", reported), "primary");
  EXPECT_EQ(moves("VeryHigh", "High", reported), "secondary");
  EXPECT_EQ(moves("High", "VeryHigh", reported), "primary");
  EXPECT_EQ(moves("High", "Low", {}), moves("Low", "High", {})) << "costs that nobody counts";
}

// Of an overload of 20 one replica of 20 is rid of by one movement, and two of 10 by two.
std::string OneDearOrTwoCheap() {
  return Nodes({"capacities: {M: 60}", "capacities: {M: 1000}"}) + "services:\n" + Service("dear", "stateless", 20, "High") +
         Service("cheap", "stateless", 10, "Low") + Service("fixed", "stateless", 20, "VeryHigh") + "partitions:\n" +
         Partitions("dear", 1, "I/0") + Partitions("cheap", 2, "I/0") + Partitions("fixed", 2, "I/0");
}

TEST(RepairCostsTest, TheScoreOrTheNumberOfMovementsDecides) {
  Settings settings = Reported();
  EXPECT_EQ(Repair(OneDearOrTwoCheap(), settings).changes, (Texts{"1 move instance 0=>1", "2 move instance 0=>1"}));
  settings.use_score_in_constraint_check = false;
  EXPECT_EQ(Repair(OneDearOrTwoCheap(), settings).changes, Texts{"0 move instance 0=>1"});
}

TEST(RepairCostsTest, ADearMovementEarnsItsCostByALowerDeviation) {
  // Five too much. Of those that are enough by themselves the heavy one makes both nodes even.
  const std::string state = Nodes({"capacities: {M: 105}", "capacities: {M: 1000}"}) + "services:\n" +
                            Service("heavy", "stateless", 50, "High") + Service("light", "stateless", 5, "Low") +
                            Service("other", "stateless", 55, "VeryHigh") + "partitions:\n" + Partitions("heavy", 1, "I/0") +
                            Partitions("light", 1, "I/0") + Partitions("other", 1, "I/0");
  Settings settings = Reported();
  EXPECT_EQ(Repair(state, settings).changes, Texts{"0 move instance 0=>1"});
  settings.move_cost_high_value = 1'000'000;
  EXPECT_EQ(Repair(state, settings).changes, Texts{"1 move instance 0=>1"});
}

TEST(RepairCostsTest, WhatIsCheapMakesRoom) {
  const auto state = [](const std::string& first, const std::string& second, int of_second) {
    return Nodes({"capacities: {M: 10}", "capacities: {M: 120}", "capacities: {M: 40}"}) + "services:\n" +
           Service("a", "stateless", 80, "Low") + Service("b", "stateless", 30, first) +
           Service("c", "stateless", of_second, second) + "partitions:\n" + Partitions("a", 1, "I/0") +
           Partitions("b", 1, "I/1") + Partitions("c", of_second == 30 ? 1 : 2, "I/1");
  };
  const Settings reported = Reported();
  EXPECT_EQ(Repair(state("High", "Low", 30), reported).changes, (Texts{"0 move instance 0=>1", "2 move instance 1=>2"}));
  EXPECT_EQ(Repair(state("Low", "High", 30), reported).changes, (Texts{"0 move instance 0=>1", "1 move instance 1=>2"}));
  // Two of the other together make as much room.
  EXPECT_EQ(Repair(state("VeryHigh", "Low", 15), reported).changes,
            (Texts{"0 move instance 0=>1", "2 move instance 1=>2", "3 move instance 1=>2"}));
  EXPECT_EQ(Repair(state("VeryHigh", "Low", 15), {}).changes.size(), 2u);
}

TEST(RepairCostsTest, AnApplicationLeavesTheNodeThatIsCheapestToLeave) {
  const std::string state = Nodes(2) + "applications: [{name: app, maxNodes: 1}]\nservices:\n" +
                            Service("dear", "stateless", 10, "High", "application: app") +
                            Service("cheap", "stateless", 10, "Low", "application: app") + "partitions:\n" +
                            Partitions("dear", 1, "I/1") + Partitions("cheap", 2, "I/0");
  EXPECT_EQ(Repair(state, Reported()).changes, (Texts{"1 move instance 0=>1", "2 move instance 0=>1"}));
  EXPECT_EQ(Repair(state, {}).changes, Texts{"0 move instance 1=>0"});
}

TEST(RepairCostsTest, CostsLeaveNoViolationThatWouldBeMendedWithoutThem) {
  base::Random random(7);
  double cost = 0, without = 0;
  for (int run = 0; run < 300; ++run) {
    Cluster cluster = testing::RandomCluster(random);
    for (Replica& replica : cluster.replicas) replica.move_cost = static_cast<MoveCost>(random.Below(kMoveCostLevels));
    const auto repair = [&](const Settings& settings, double& sum) {
      Scene scene(cluster, settings);
      int64_t moves = 0, left = 0;
      for (const ServiceGroup& group : scene.groups()) {
        const FixResult result = FixViolations(scene.arrangement(), group, {});
        moves += result.moves;
        left += static_cast<int64_t>(result.left.size());
      }
      const std::vector<Violation> after =
          Constraints(scene.arrangement(), {.purpose = Purpose::kConstraintCheck}).Violations();
      EXPECT_EQ(static_cast<int64_t>(after.size()), left) << run;
      EXPECT_EQ(moves == 0, scene.Changes().empty()) << run;
      for (ReplicaId replica = 0; replica < cluster.replicas.size(); ++replica) {
        const bool moved = scene.arrangement().NodeOf(replica) != cluster.replicas[replica].node;
        if (moved) sum += CostOfMove(Reported(), cluster.replicas[replica].move_cost);
      }
      return Summarize(after);
    };
    const ViolationSummary plain = repair({}, without);
    EXPECT_FALSE(Better(plain, repair(Reported(), cost))) << run;
  }
  EXPECT_LT(cost, without * 0.95);
}

}  // namespace
}  // namespace evenkeel::balancing::repair_costs_test
