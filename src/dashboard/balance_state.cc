#include "dashboard/balance_state.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <tuple>

#include "balancing/measures/deviation.h"
#include "balancing/measures/imbalance.h"
#include "dashboard/actions/actions.h"
#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

namespace on_member = controllers::balancer;

/// The worse of two is the one to show.
bool Worse(const balancing::MetricBalance& a, const balancing::MetricBalance& b) {
  if (a.balanced() != b.balanced()) return !a.balanced();
  return a.ratio > b.ratio;
}

JsonObject MetricEntry(const balancing::Cluster& cluster, const balancing::MetricBalance& worst,
                       const balancing::LoadSummary& summary, int64_t scale, bool in_force) {
  JsonObject entry{{"balancingThreshold", worst.threshold},
                   {"activityThreshold", worst.activity_threshold * scale},
                   {"ratio", Rounded(std::min(kRatioMax, worst.ratio))},
                   {"max", worst.max * scale},
                   {"min", worst.min * scale},
                   {"imbalanced", in_force && !worst.balanced()},
                   {"deviation", Rounded(balancing::NormStdDev(summary.sums))},
                   {"message", Text(cluster, worst)}};
  if (worst.node_type != balancing::kNoId) entry["nodeType"] = cluster.node_types[worst.node_type];
  return entry;
}

/// Amounts per node that the moves of the plan still take away or bring.
std::map<std::string, std::map<std::string, int64_t>> ChangesOf(const Json* plan) {
  std::map<std::string, std::map<std::string, int64_t>> changes;
  if (plan == nullptr) return changes;
  const on_member::PlanObject object = on_member::PlanObject::Decode(*plan);
  if (on_member::IsFinal(object.state)) return changes;
  for (size_t i = 0; i < object.moves.size(); ++i) {
    if (on_member::IsFinal(object.status[i].state)) continue;
    // A pod that has been evicted is on its node no more.
    const bool left = object.status[i].state == on_member::MoveState::kEvicted;
    for (const auto& [metric, load] : object.moves[i].loads) {
      if (!left) changes[object.moves[i].from][metric] -= load;
      changes[object.moves[i].to][metric] += load;
    }
  }
  return changes;
}

}  // namespace

const Json* PlanToShow(const std::map<std::string, Json>& plans) {
  std::vector<std::pair<on_member::PlanObject, const Json*>> all;
  for (const auto& [name, plan] : plans) all.emplace_back(on_member::PlanObject::Decode(plan), &plan);
  std::ranges::sort(all, {}, [](const auto& each) { return std::tie(each.first.created, each.first.name); });
  for (const auto phase : {on_member::PlanPhase::kExecuting, on_member::PlanPhase::kPending}) {
    for (const auto& [object, json] : all) {
      if (object.state == phase) return json;
    }
  }
  return all.empty() ? nullptr : all.back().second;
}

Json PolicyEntry(const Json& policy) {
  std::string message;
  const Json* valid = kube::FindCondition(policy, "Valid");
  const Json* balanced = kube::FindCondition(policy, "Balanced");
  if (valid != nullptr && FindString(*valid, {"status"}) == "False") {
    message = FindString(*valid, {"message"});
  } else if (balanced != nullptr) {
    message = FindString(*balanced, {"message"});
  }
  return JsonObject{{"mode", base::FindBool(policy, {"spec", "dryRun"}) ? "DryRun" : "Auto"}, {"message", message}};
}

Json PlanDocument(const Json& plan) {
  const on_member::PlanObject object = on_member::PlanObject::Decode(plan);
  JsonObject movements;
  for (size_t i = 0; i < object.moves.size(); ++i) {
    const on_member::PlannedMove& move = object.moves[i];
    const on_member::MoveStatus& status = object.status[i];
    JsonObject entry{{"pod", move.pod},       {"from", move.from},
                     {"to", move.to},         {"state", Name(status.state)},
                     {"reason", move.reason}, {"gain", Rounded(move.energy_gain)}};
    if (!status.message.empty()) entry["message"] = status.message;
    if (!status.node.empty()) entry["node"] = status.node;
    movements[fmt::format("{:04}", i + 1)] = std::move(entry);
  }
  return JsonObject{
      {"name", object.name},
      {"uid", object.uid},
      {"hash", PlanHash(plan)},
      {"phase", Name(object.state)},
      {"reason", object.phase},
      {"message", object.message},
      {"created", TimeOrNull(object.created)},
      {"policy", object.policy},
      {"approvable", !object.approved && object.state == on_member::PlanPhase::kPending},
      {"movements", std::move(movements)},
      {"deviation", JsonObject{{"before", Rounded(object.deviation_before)}, {"after", Rounded(object.deviation_after)}}}};
}

Json PlanLine(const Json& plan) {
  const on_member::PlanObject object = on_member::PlanObject::Decode(plan);
  const auto done = std::ranges::count_if(object.status, [](const auto& status) { return on_member::IsFinal(status.state); });
  return JsonObject{{"created", TimeOrNull(object.created)},
                    {"phase", Name(object.state)},
                    {"movements", static_cast<int64_t>(object.moves.size())},
                    {"done", done},
                    {"message", object.message}};
}

Balance MeasureBalance(const BalanceInput& input) {
  static const on_member::PastMoves kNoMoves;
  const on_member::MemberCluster member =
      on_member::BuildCluster({input.objects, input.policy, input.usage, kNoMoves, input.now});
  const balancing::Cluster& cluster = member.cluster;
  const balancing::NodeSets sets(cluster);
  const balancing::NodeLoads loads(cluster, sets);
  std::map<balancing::MetricId, balancing::MetricBalance> worst;
  for (const balancing::ServiceGroup& group : balancing::GroupServices(cluster).groups) {
    for (const balancing::MetricBalance& metric : CheckBalance(cluster, member.settings, sets, loads, group).metrics) {
      const auto [at, fresh] = worst.try_emplace(metric.metric, metric);
      if (!fresh && Worse(metric, at->second)) at->second = metric;
    }
  }
  Balance balance;
  const auto changes = ChangesOf(input.plan);
  const auto scale_of = [&](balancing::MetricId metric) -> int64_t {
    for (size_t i = 0; i < input.policy.metrics.size() && i < member.scale.size(); ++i) {
      if (input.policy.metrics[i].name == cluster.metrics[metric].name) return member.scale[i];
    }
    return 1;
  };
  for (const auto& [metric, found] : worst) {
    const std::string& name = cluster.metrics[metric].name;
    balance.metrics[name] = MetricEntry(cluster, found, loads.Summary(metric), scale_of(metric), input.in_force);
    balance.ratios[name] = *base::Find(balance.metrics[name], {"ratio"});
  }
  for (balancing::NodeId node = 0; node < cluster.nodes.size(); ++node) {
    JsonObject amounts, capacity, after;
    const std::string& name = cluster.nodes[node].name;
    const auto change = changes.find(name);
    for (balancing::MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      const std::string& what = cluster.metrics[metric].name;
      const int64_t load = loads.Of(metric, node) * scale_of(metric);
      amounts[what] = load;
      if (const int64_t* room = cluster.CapacityOf(node, metric)) capacity[what] = *room * scale_of(metric);
      const bool moves = change != changes.end() && change->second.contains(what);
      after[what] = load + (moves ? change->second.at(what) : 0);
    }
    JsonObject entry{{"loads", std::move(amounts)}, {"capacity", std::move(capacity)}, {"after", nullptr}};
    entry["type"] = cluster.node_types[cluster.nodes[node].type];
    if (!changes.empty()) entry["after"] = std::move(after);
    balance.nodes[name] = std::move(entry);
  }
  return balance;
}

}  // namespace evenkeel::dashboard
