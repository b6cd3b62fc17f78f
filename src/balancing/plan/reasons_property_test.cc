// What reasons count adds up, and the rules that they name are those that Constraints reports: of generated states.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <charconv>
#include <functional>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/odd_states_testing.h"
#include "balancing/model/cluster_order.h"
#include "balancing/plan/plan.h"
#include "balancing/plan/plan_apply.h"

namespace evenkeel::balancing::reasons_property_test {
namespace {

// The numbers behind `before` in a text, each directly.
std::vector<int64_t> NumbersBehind(std::string_view text, std::string_view before) {
  std::vector<int64_t> numbers;
  for (size_t at = text.find(before); at != std::string_view::npos; at = text.find(before, at + 1)) {
    int64_t number = 0;
    const char* begin = text.data() + at + before.size();
    if (std::from_chars(begin, text.data() + text.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  return numbers;
}

int64_t Sum(const std::vector<int64_t>& numbers) {
  int64_t sum = 0;
  for (const int64_t number : numbers) sum += number;
  return sum;
}

int64_t RuledOut(std::string_view text) {
  int64_t sum = 0;
  for (size_t i = 0; i < kConstraints; ++i) {
    sum += Sum(NumbersBehind(text, " " + std::string(Name(static_cast<Constraint>(i))) + " rules out "));
  }
  return sum;
}

// "of 7 nodes n0 is its own, Capacity rules out 4 (...); 2 remain".
void CheckElimination(const std::string& text) {
  const std::vector<int64_t> remaining = NumbersBehind(text, "; ");
  if (!text.contains(" remain")) return;
  const std::vector<int64_t> nodes = NumbersBehind(text, "of ");
  RC_ASSERT(!nodes.empty());
  RC_ASSERT(!remaining.empty());
  const int64_t own = text.contains(" is its own") ? 1 : 0;
  RC_ASSERT(own + RuledOut(text) + remaining.back() == nodes.front());
  const bool none =
      text.starts_with("no other node") || text.starts_with("no node for it") || text.starts_with("no node can take");
  RC_ASSERT(!none || remaining.back() == 0);
}

// "9 replicas report what is imbalanced: 2 stay because ..., of 7 that could move ...".
void CheckObstacles(const std::string& text) {
  const size_t at = text.find(" replicas report what is imbalanced");
  if (at == std::string::npos) return;
  const size_t begin = text.rfind(' ', at - 1) + 1;
  int64_t replicas = 0, stay = 0;
  std::from_chars(text.data() + begin, text.data() + at, replicas);
  for (size_t next = text.find(" stay because"); next != std::string::npos; next = text.find(" stay because", next + 1)) {
    int64_t number = 0;
    std::from_chars(text.data() + text.rfind(' ', next - 1) + 1, text.data() + next, number);
    stay += number;
  }
  const std::vector<int64_t> of = NumbersBehind(text, "of ");
  const int64_t could = text.contains(" that could move") ? of.front() : 0;
  RC_ASSERT(replicas == stay + could);
  if (could == 0) return;
  RC_ASSERT(RuledOut(text) <= of.back());
  if (!text.contains("what is left")) RC_ASSERT(RuledOut(text) == of.back());
}

struct Generated {
  Cluster cluster;
  Settings settings;
};

std::optional<Generated> Generate() {
  const auto bytes = *rc::gen::container<std::vector<uint8_t>>(400, rc::gen::arbitrary<uint8_t>());
  testing::Draws draws(bytes);
  Generated generated;
  generated.settings = testing::OddSettings(draws);
  auto file = ReadCluster(testing::OddState(draws).Text(), "s", {.settings = generated.settings, .node_types = {}});
  if (!file) return std::nullopt;
  generated.cluster = std::move(file->cluster);
  SortByName(generated.cluster);
  size_t replicas = generated.cluster.replicas.size();
  for (const Partition& partition : generated.cluster.partitions) {
    replicas += static_cast<size_t>(std::max(partition.missing, 0));
  }
  if (replicas > 300) return std::nullopt;
  return generated;
}

RC_GTEST_PROP(ReasonsPropertyTest, EveryNodeIsOwnRuledOutOrLeft, ()) {
  const std::optional<Generated> generated = Generate();
  RC_PRE(generated.has_value());
  const NodeSets sets(generated->cluster);
  const Arrangement arrangement(generated->cluster, generated->settings, sets);
  const auto purpose = *rc::gen::element(Purpose::kPlacement, Purpose::kConstraintCheck, Purpose::kBalancing);
  const Constraints constraints(arrangement, {.purpose = purpose, .max_priority = *rc::gen::inRange<int64_t>(0, 3)});
  for (ReplicaId replica = 0; replica < arrangement.replica_count(); ++replica) {
    const bool stateful = generated->cluster.services[arrangement.ServiceOf(replica)].stateful;
    const bool nowhere = arrangement.NodeOf(replica) == kNoId;
    if (nowhere && !arrangement.IsNew(replica)) continue;
    const Role role = !nowhere ? arrangement.RoleOf(replica) : stateful ? Role::kSecondary : Role::kInstance;
    const Elimination elimination = constraints.Eliminate(replica, role);
    int64_t sum = elimination.remaining + (elimination.own == kNoId ? 0 : 1);
    RC_ASSERT((elimination.own == kNoId) == nowhere);
    for (const Elimination::Step& step : elimination.steps) {
      RC_ASSERT(static_cast<size_t>(step.eliminated) == step.nodes.size());
      RC_ASSERT(!step.detail.empty());
      const int64_t priority = PriorityOf(generated->settings, step.constraint);
      RC_ASSERT(priority >= 0);
      RC_ASSERT(priority <= constraints.options().max_priority);
      for (const NodeId node : step.nodes) RC_ASSERT(constraints.Obstacle(replica, node, role) == step.constraint);
      sum += step.eliminated;
    }
    RC_ASSERT(sum == static_cast<int64_t>(generated->cluster.nodes.size()));
    CheckElimination(Text(arrangement, elimination));
  }
}

RC_GTEST_PROP(ReasonsPropertyTest, WhatAPlanSaysAddsUp, ()) {
  const std::optional<Generated> generated = Generate();
  RC_PRE(generated.has_value());
  PlannerMemory memory = MemoryOf(generated->settings, generated->cluster, 1000);
  for (const double now : {1000.0, 1010.0, 1020.0}) {
    const Plan plan = MakePlan(generated->cluster, generated->settings, {.now = now, .seed = 1, .evaluations = 300}, memory);
    for (const GroupPlan& group : plan.of_groups) {
      for (const SkippedItem& item : group.skipped) {
        RC_ASSERT(!item.why.empty());
        CheckElimination(item.why);
        CheckObstacles(item.why);
      }
      for (const Action& action : group.actions) {
        RC_ASSERT(!action.reason.empty());
        CheckElimination(action.reason);
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::balancing::reasons_property_test
