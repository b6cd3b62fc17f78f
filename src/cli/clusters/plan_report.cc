#include "cli/clusters/plan_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "balancing/measures/node_loads.h"
#include "balancing/model/node_sets.h"
#include "sim/report/report_parts.h"

namespace evenkeel::cli {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using sim::kReportRowsMax;
using sim::PutMoves;
using sim::ReportFact;
using sim::ReportHead;
using sim::ReportTables;

/// More side by side, or more of such pictures, and nobody sees anything: the largest are shown.
constexpr size_t kBarsMax = 40, kMetricsMax = 6;
Json CellAt(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = Find(object, path);
  if (value == nullptr || value->is_null()) return Json();
  if (value->is_string() || value->is_number()) return *value;
  return Json(base::ToText(*value));
}

std::string NumberText(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = Find(object, path);
  return value != nullptr && value->is_number() ? fmt::format("{:.6g}", value->to_number<double>()) : "-";
}

std::string JoinedTexts(const JsonArray& texts) {
  std::string text;
  for (const Json& item : texts) text += (text.empty() ? "" : ", ") + std::string(item.as_string());
  return text;
}

/// What stands side by side under one name.
struct Bar {
  std::string name;
  double before = 0, after = 0;
};

/// @param before  the names of the two lines; without the first there is only the second.
Json Bars(std::string title, std::string_view unit, std::string_view x, std::vector<Bar> bars, std::string_view before,
          std::string_view after) {
  const size_t all = bars.size();
  if (all > kBarsMax) {
    std::ranges::stable_sort(bars, std::greater(), [](const Bar& bar) { return std::max(bar.before, bar.after); });
    bars.resize(kBarsMax);
    title += fmt::format(" (the highest {} of {})", kBarsMax, all);
  }
  JsonArray names, from, to;
  for (const Bar& bar : bars) {
    names.push_back(Json(bar.name));
    from.push_back(bar.before);
    to.push_back(bar.after);
  }
  JsonArray lines;
  if (!before.empty()) lines.push_back(JsonObject{{"name", before}, {"values", std::move(from)}});
  lines.push_back(JsonObject{{"name", after}, {"values", std::move(to)}});
  JsonObject series{{"title", title}, {"x", x}, {"t", JsonArray()}, {"names", std::move(names)}, {"lines", std::move(lines)}};
  if (!unit.empty()) series["unit"] = unit;
  return series;
}

Json ShardBars(const char* field, const char* title, const char* unit, const Json& plan, const Json& current) {
  std::map<int64_t, Bar> bars;
  const auto take = [&](const Json& of, double Bar::* side) {
    for (const Json& shard : FindArray(of, {"shards"})) {
      const int64_t number = FindInt(shard, {"shard"});
      Bar& bar = bars[number];
      bar.name = fmt::format("shard {}", number);
      bar.*side = static_cast<double>(FindInt(shard, {field}));
    }
  };
  take(current, &Bar::before);
  take(plan, &Bar::after);
  std::vector<Bar> list;
  for (auto& [number, bar] : bars) list.push_back(std::move(bar));
  return Bars(title, unit, "shard", std::move(list), FindArray(current, {"shards"}).empty() ? "" : "now", "planned");
}

/// "24 of 60 weight"; "-" without shards.
std::string HeaviestShard(const Json& plan) {
  int64_t most = 0, all = 0;
  for (const Json& shard : FindArray(plan, {"shards"})) {
    most = std::max(most, FindInt(shard, {"weight"}));
    all += FindInt(shard, {"weight"});
  }
  return FindArray(plan, {"shards"}).empty() ? "-" : fmt::format("{} of {} weight", most, all);
}

/// What nodes carry of one metric, before and after; as a share where each has a capacity.
Json LoadBars(const balancing::Cluster& cluster, const balancing::NodeLoads& loads, balancing::MetricId metric,
              const std::vector<balancing::Action>& actions) {
  const std::span<const int64_t> column = loads.Column(metric);
  std::vector<int64_t> after(column.begin(), column.end());
  for (const balancing::Action& action : actions) {
    const auto change = std::ranges::find(action.loads, metric, &balancing::LoadChange::metric);
    if (change == action.loads.end()) continue;
    if (action.from != balancing::kNoId) after[action.from] = change->source_after;
    if (action.to != balancing::kNoId) after[action.to] = change->target_after;
  }
  std::vector<Bar> bars, shares;
  for (balancing::NodeId id = 0; id < cluster.nodes.size(); ++id) {
    const balancing::Node& node = cluster.nodes[id];
    const auto before = static_cast<double>(column[id]), then = static_cast<double>(after[id]);
    bars.push_back({node.name, before, then});
    const auto capacity = std::ranges::find(node.capacities, metric, &balancing::Capacity::metric);
    if (capacity == node.capacities.end() || capacity->amount <= 0) continue;
    const auto amount = static_cast<double>(capacity->amount);
    shares.push_back({node.name, before / amount, then / amount});
  }
  const std::string title = cluster.metrics[metric].name + " by node";
  if (shares.size() == bars.size()) return Bars(title, "share", "node", std::move(shares), "now", "planned");
  return Bars(title, "", "node", std::move(bars), "now", "planned");
}

/// Those with a weight first, the heaviest of them before.
std::vector<balancing::MetricId> ShownMetrics(const balancing::Cluster& cluster) {
  std::vector<balancing::MetricId> metrics;
  for (balancing::MetricId id = 0; id < cluster.metrics.size(); ++id) {
    if (cluster.metrics[id].services > 0) metrics.push_back(id);
  }
  const auto weight = [&](balancing::MetricId id) { return cluster.metrics[id].weight_sum; };
  std::ranges::stable_sort(metrics, std::greater(), weight);
  if (metrics.size() > kMetricsMax) metrics.resize(kMetricsMax);
  return metrics;
}

JsonArray ActionMoves(const Json& plan) {
  JsonArray moves;
  for (const Json& action : FindArray(plan, {"actions"})) {
    if (moves.size() == kReportRowsMax) break;
    moves.push_back(
        JsonObject{{"t", 0},
                   {"cluster", ""},
                   {"object", fmt::format("{} {}", FindString(action, {"partition"}), FindString(action, {"action"}))},
                   {"from", FindString(action, {"from"})},
                   {"to", FindString(action, {"to"})},
                   {"reason", FindString(action, {"reason"})},
                   {"gain", CellAt(action, {"energyGain"})}});
  }
  return moves;
}

}  // namespace

JsonObject ShardsReport(const Json& plan, const Json& current) {
  JsonArray facts{ReportFact("Method", std::string(FindString(plan, {"method"}))),
                  ReportFact("Shards", NumberText(plan, {"replicas"})),
                  ReportFact("Clusters", std::to_string(FindArray(plan, {"assignments"}).size())),
                  ReportFact("Clusters that move", std::to_string(FindArray(plan, {"moves"}).size())),
                  ReportFact("Heaviest shard now", HeaviestShard(current)),
                  ReportFact("Heaviest shard planned", HeaviestShard(plan))};
  JsonArray moves, rows;
  for (const Json& move : FindArray(plan, {"moves"})) {
    if (moves.size() == kReportRowsMax) break;
    moves.push_back(JsonObject{{"t", 0},
                               {"cluster", ""},
                               {"object", FindString(move, {"cluster"})},
                               {"from", fmt::format("shard {}", FindInt(move, {"from"}))},
                               {"to", fmt::format("shard {}", FindInt(move, {"to"}))}});
  }
  for (const Json& item : FindArray(plan, {"assignments"})) {
    rows.push_back(JsonArray{CellAt(item, {"cluster"}), CellAt(item, {"shard"}), CellAt(item, {"server"})});
  }
  ReportTables tables;
  tables.Add("Clusters", {"Cluster", "Shard", "Server"}, std::move(rows));
  JsonObject data = ReportHead(
      "plan shards", "Which shard each cluster belongs to",
      fmt::format("{} clusters over {} shards", FindArray(plan, {"assignments"}).size(), FindArray(plan, {"shards"}).size()));
  data["facts"] = std::move(facts);
  data["series"] = JsonArray{ShardBars("weight", "Weight by shard", "weight", plan, current),
                             ShardBars("clusters", "Clusters by shard", "clusters", plan, current)};
  PutMoves(data, std::move(moves), FindArray(plan, {"moves"}).size());
  data["tables"] = tables.Take();
  return data;
}

JsonObject ScaleReport(const Json& plan) {
  std::vector<Bar> bars;
  JsonArray groups, ups, pending, downs, unneeded, stays;
  for (const Json& group : FindArray(plan, {"nodeGroups"})) {
    bars.push_back({std::string(FindString(group, {"name"})), static_cast<double>(FindInt(group, {"ready"})),
                    static_cast<double>(FindInt(group, {"target"}))});
    groups.push_back(JsonArray{CellAt(group, {"name"}), CellAt(group, {"ready"}), CellAt(group, {"target"}),
                               CellAt(group, {"min"}), CellAt(group, {"max"}), CellAt(group, {"backoff"})});
  }
  for (const Json& item : FindArray(plan, {"scaleUp"})) {
    ups.push_back(JsonArray{CellAt(item, {"group"}), CellAt(item, {"from"}), CellAt(item, {"to"}),
                            Json(JoinedTexts(FindArray(item, {"pods"})))});
  }
  for (const Json& item : FindArray(plan, {"pending"})) {
    if (base::Find(item, {"why"}) != nullptr) {
      pending.push_back(JsonArray{CellAt(item, {"pod"}), Json("-"), CellAt(item, {"why"})});
      continue;
    }
    for (const auto& [group, reason] : base::FindObject(item, {"reasons"})) {
      pending.push_back(JsonArray{CellAt(item, {"pod"}), Json(group), reason});
    }
  }
  for (const Json& node : FindArray(plan, {"scaleDown", "empty"})) downs.push_back(JsonArray{node, Json("it is empty")});
  for (const Json& item : FindArray(plan, {"scaleDown", "drain"})) {
    downs.push_back(JsonArray{CellAt(item, {"node"}), Json("its pods move: " + JoinedTexts(FindArray(item, {"pods"})))});
  }
  for (const Json& item : FindArray(plan, {"unneeded"})) {
    unneeded.push_back(JsonArray{CellAt(item, {"node"}), CellAt(item, {"since"})});
  }
  for (const Json& item : FindArray(plan, {"unremovable"})) {
    stays.push_back(JsonArray{CellAt(item, {"node"}), CellAt(item, {"reason"}), CellAt(item, {"pod"})});
  }
  JsonArray facts{ReportFact("Cluster", std::string(FindString(plan, {"health", "status"}))),
                  ReportFact("Nodes", NumberText(plan, {"health", "registered"})),
                  ReportFact("Unready", NumberText(plan, {"health", "unready"})),
                  ReportFact("Scale-ups", std::to_string(ups.size())), ReportFact("Nodes to go", std::to_string(downs.size()))};
  if (Find(plan, {"stopped"}) != nullptr)
    facts.push_back(ReportFact("Stopped", std::string(FindString(plan, {"stopped", "why"}))));
  ReportTables tables;
  tables.Add("Scale up", {"Group", "From", "To", "For these pods"}, std::move(ups));
  tables.Add("Pods that stay pending", {"Pod", "Group", "Why"}, std::move(pending));
  tables.Add("Scale down", {"Node", "Why"}, std::move(downs));
  tables.Add("Not needed", {"Node", "Since"}, std::move(unneeded));
  tables.Add("Nodes that stay", {"Node", "Why", "Pod"}, std::move(stays));
  tables.Add("Node groups", {"Group", "Ready", "Target", "Min", "Max", "Backed off until"}, std::move(groups));
  JsonObject data =
      ReportHead("plan scale", "How many nodes the cluster gets", "one loop of the autoscaler, which changes nothing");
  data["facts"] = std::move(facts);
  data["series"] = JsonArray{Bars("Nodes by group", "", "node group", std::move(bars), "ready", "planned")};
  data["tables"] = tables.Take();
  return data;
}

JsonObject BalanceReport(const balancing::Cluster& cluster, const balancing::Plan& plan, const Json& json) {
  const balancing::NodeSets sets(cluster);
  const balancing::NodeLoads loads(cluster, sets);
  const std::vector<balancing::Action> actions = plan.Actions();
  JsonArray series, groups, imbalanced, violations, skipped;
  for (const balancing::MetricId metric : ShownMetrics(cluster)) series.push_back(LoadBars(cluster, loads, metric, actions));
  for (const Json& item : FindArray(json, {"imbalanced"})) {
    imbalanced.push_back(JsonArray{CellAt(item, {"metric"}), CellAt(item, {"nodeType"}), CellAt(item, {"max"}),
                                   CellAt(item, {"min"}), CellAt(item, {"ratio"}), CellAt(item, {"threshold"}),
                                   CellAt(item, {"activityThreshold"})});
  }
  for (const Json& item : FindArray(json, {"violations"})) {
    violations.push_back(
        JsonArray{CellAt(item, {"constraint"}), CellAt(item, {"node"}), CellAt(item, {"metric"}), CellAt(item, {"detail"})});
  }
  for (const Json& item : FindArray(json, {"skipped"}))
    skipped.push_back(JsonArray{CellAt(item, {"what"}), CellAt(item, {"why"})});
  const JsonArray& names = FindArray(json, {"groups"});
  const JsonArray& plans = FindArray(json, {"groupPlans"});
  for (size_t i = 0; i < names.size() && i < plans.size(); ++i) {
    groups.push_back(JsonArray{Json(JoinedTexts(names[i].as_array())), CellAt(plans[i], {"phase"}),
                               CellAt(plans[i], {"deviation", "before"}), CellAt(plans[i], {"deviation", "after"}),
                               CellAt(plans[i], {"why"})});
  }
  ReportTables tables;
  tables.Add("Imbalanced", {"Metric", "Node type", "Most", "Least", "Ratio", "Threshold", "Activity threshold"},
             std::move(imbalanced));
  tables.Add("Violated", {"Constraint", "Node", "Metric", "What"}, std::move(violations));
  tables.Add("Groups of services", {"Services", "Phase", "Deviation now", "Planned", "Why"}, std::move(groups));
  tables.Add("Not done", {"What", "Why"}, std::move(skipped));
  JsonObject data = ReportHead("plan balance", "Which node runs what",
                               fmt::format("{} nodes, {} services", cluster.nodes.size(), cluster.services.size()));
  data["facts"] = JsonArray{ReportFact("Phase", std::string(FindString(json, {"phase"}))),
                            ReportFact("Actions", std::to_string(actions.size())),
                            ReportFact("Deviation now", NumberText(json, {"deviation", "before"})),
                            ReportFact("Planned", NumberText(json, {"deviation", "after"})),
                            ReportFact("Steps looked at", NumberText(json, {"evaluations"}))};
  data["series"] = std::move(series);
  PutMoves(data, ActionMoves(json), FindArray(json, {"actions"}).size());
  data["tables"] = tables.Take();
  return data;
}

JsonObject RolloutReport(const Json& plan) {
  const Json& status = plan.at("status");
  const JsonArray& records = FindArray(status, {"records"});
  JsonArray clusters, steps, then;
  for (const Json& cluster : FindArray(status, {"clusters"})) {
    clusters.push_back(JsonArray{CellAt(cluster, {"name"}), CellAt(cluster, {"replicas"}), CellAt(cluster, {"revision"})});
  }
  if (!records.empty()) {
    int step = 0;
    for (const char* place : {"completed", "deploying", "pending"}) {
      for (const Json& name : FindArray(records.back(), {"currentState", place})) {
        steps.push_back(JsonArray{Json(++step), name, Json(place)});
      }
    }
  }
  for (const Json& object : FindArray(plan, {"apply"})) {
    then.push_back(JsonArray{Json("apply"), CellAt(object, {"kind"}), CellAt(object, {"metadata", "name"})});
  }
  for (const Json& object : FindArray(plan, {"delete"})) {
    then.push_back(JsonArray{Json("delete"), CellAt(object, {"kind"}), CellAt(object, {"name"})});
  }
  ReportTables tables;
  tables.Add("Steps of the rollout", {"Step", "Cluster", "State"}, std::move(steps));
  tables.Add("Next", {"Do", "Kind", "Name"}, std::move(then));
  tables.Add("Clusters", {"Cluster", "Servers", "Revision"}, std::move(clusters));
  JsonObject data =
      ReportHead("plan rollout", "In which order the ensemble changes", std::string(FindString(plan, {"message"})));
  data["facts"] = JsonArray{ReportFact("Next", std::string(FindString(plan, {"reason"}))),
                            ReportFact("Phase", std::string(FindString(status, {"phase"}, "Pending"))),
                            ReportFact("Records", std::to_string(records.size()))};
  data["tables"] = tables.Take();
  return data;
}

}  // namespace evenkeel::cli
