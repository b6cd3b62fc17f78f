#include "cli/commands/balance_tables.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "balancing/model/amount_text.h"
#include "cli/terminal/printable.h"

namespace evenkeel::cli {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using TableRows = std::vector<std::vector<std::string>>;

/// More than this is for -o json.
constexpr size_t kShownRows = 50;

std::string Cell(const Json* value) {
  if (value == nullptr || value->is_null()) return "-";
  if (value->is_string()) return Printable(value->get_string());
  if (value->is_bool()) return value->get_bool() ? "yes" : "no";
  if (value->is_number()) {
    const auto number = value->to_number<double>();
    return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
  }
  return base::ToText(*value);
}

std::string Cell(const Json& object, std::string_view key) { return Cell(Find(object, {key})); }

/// Amounts of one metric.
class Amounts {
 public:
  Amounts(const balancing::Cluster& cluster, std::string_view metric) {
    const balancing::MetricId id = cluster.FindMetric(metric);
    if (id != balancing::kNoId) metric_ = &cluster.metrics[id];
  }

  std::string Of(const Json& object, std::string_view key) const {
    const Json* value = Find(object, {key});
    if (metric_ == nullptr || value == nullptr || !value->is_int64()) return Cell(value);
    return AmountText(*metric_, value->get_int64());
  }
  std::string WithNode(const Json& object, std::string_view key, std::string_view node) const {
    const std::string name = Cell(object, node);
    return name == "-" ? Of(object, key) : Of(object, key) + " on " + name;
  }
  std::string Change(const Json& change) const {
    const std::string before = Of(change, "before"), after = Of(change, "after");
    return before == after ? before : before + " -> " + after;
  }

 private:
  const balancing::Metric* metric_ = nullptr;
};

std::string Change(const Json& object, std::string_view key) {
  const std::string before = Cell(Find(object, {key, "before"})), after = Cell(Find(object, {key, "after"}));
  return before == after ? before : before + " -> " + after;
}

void PrintRows(std::ostream& out, const std::vector<std::string>& header, TableRows rows) {
  if (rows.empty()) return;
  const size_t all = rows.size();
  if (all > kShownRows) rows.resize(kShownRows);
  out << '\n';
  PrintTable(out, header, rows);
  if (all > kShownRows) out << "... and " << all - kShownRows << " more\n";
}

std::string Joined(const JsonArray& texts) {
  constexpr size_t kNamed = 4;
  std::string text;
  for (size_t i = 0; i < texts.size() && i < kNamed; ++i) text += (i == 0 ? "" : ", ") + Cell(&texts[i]);
  return texts.size() > kNamed ? fmt::format("{}, ... ({})", text, texts.size()) : text;
}

void PrintGroupPlans(std::ostream& out, const Json& plan) {
  TableRows rows;
  const JsonArray& groups = FindArray(plan, {"groups"});
  const JsonArray& plans = FindArray(plan, {"groupPlans"});
  for (size_t i = 0; i < groups.size() && i < plans.size(); ++i) {
    rows.push_back({Joined(groups[i].as_array()), Cell(plans[i], "phase"), Cell(plans[i], "actions"),
                    Change(plans[i], "deviation"), Cell(plans[i], "why").empty() ? "-" : Cell(plans[i], "why")});
  }
  PrintTable(out, {"SERVICES", "PHASE", "ACTIONS", "DEVIATION", "WHY"}, rows);
}

void PrintImbalanced(std::ostream& out, const Json& plan, const balancing::Cluster& cluster) {
  TableRows rows;
  for (const Json& item : FindArray(plan, {"imbalanced"})) {
    const Amounts amounts(cluster, FindString(item, {"metric"}));
    rows.push_back({Cell(item, "metric"), Cell(item, "service"), Cell(item, "nodeType"),
                    amounts.WithNode(item, "max", "maxNode"), amounts.WithNode(item, "min", "minNode"), Cell(item, "ratio"),
                    Cell(item, "threshold"), amounts.Of(item, "activityThreshold")});
  }
  PrintRows(out, {"IMBALANCED", "SERVICE", "NODE TYPE", "MAX", "MIN", "RATIO", "THRESHOLD", "ACTIVITY"}, std::move(rows));
}

std::string LoadsText(const Json& action, const balancing::Cluster& cluster) {
  std::string text;
  for (const Json& load : FindArray(action, {"loads"})) {
    const Amounts amounts(cluster, FindString(load, {"metric"}));
    for (const std::string_view side : {"source", "target"}) {
      const Json* change = Find(load, {side});
      if (change == nullptr) continue;
      text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", Cell(*change, "node"), Cell(load, "metric"),
                          amounts.Change(*change));
    }
  }
  return text.empty() ? "-" : text;
}

void PrintActions(std::ostream& out, const Json& plan, const balancing::Cluster& cluster) {
  TableRows rows;
  for (const Json& action : FindArray(plan, {"actions"})) {
    rows.push_back({Cell(action, "action"), Cell(action, "partition"), Cell(action, "from"), Cell(action, "to"),
                    LoadsText(action, cluster), Cell(action, "reason")});
  }
  PrintRows(out, {"ACTION", "PARTITION", "FROM", "TO", "LOADS", "REASON"}, std::move(rows));
}

void PrintSkipped(std::ostream& out, const JsonArray& items) {
  TableRows rows;
  for (const Json& item : items) rows.push_back({Cell(item, "what"), Cell(item, "why")});
  PrintRows(out, {"NOT DONE", "WHY"}, std::move(rows));
}

void PrintMetrics(std::ostream& out, const Json& explanation) {
  TableRows rows;
  for (const Json& item : FindArray(explanation, {"metrics"})) {
    rows.push_back({Cell(item, "metric"), Cell(item, "nodeType"), Cell(item, "balanced"), Cell(item, "why")});
  }
  PrintRows(out, {"METRIC", "NODE TYPE", "BALANCED", "WHY"}, std::move(rows));
}

void PrintReplicas(std::ostream& out, const Json& explanation) {
  TableRows rows;
  for (const Json& item : FindArray(explanation, {"replicas"})) {
    rows.push_back({Cell(item, "partition"), Cell(item, "role"), Cell(item, "node"), Cell(item, "to"), Cell(item, "why")});
  }
  PrintRows(out, {"PARTITION", "ROLE", "NODE", "GOES TO", "WHY"}, std::move(rows));
  if (const int64_t more = base::FindInt(explanation, {"replicasLeftOut"}); more > 0) {
    out << "... and " << more << " replicas more\n";
  }
}

void PrintEliminated(std::ostream& out, const Json& explanation) {
  TableRows rows;
  for (const Json& item : FindArray(explanation, {"replicas"})) {
    const std::string replica = Cell(item, "partition") + " " + Cell(item, "role") + " on " + Cell(item, "node");
    for (const Json& step : FindArray(item, {"eliminated"})) {
      rows.push_back({replica, Cell(step, "constraint"), Cell(step, "priority"), Cell(step, "count"),
                      Joined(FindArray(step, {"nodes"})), Cell(step, "detail")});
    }
  }
  PrintRows(out, {"REPLICA", "RULED OUT BY", "PRIORITY", "NODES", "THESE", "FOR EXAMPLE"}, std::move(rows));
}

}  // namespace

void PrintBalancePlan(std::ostream& out, const Json& plan, const balancing::Cluster& cluster) {
  out << fmt::format("{}: {} actions, deviation {}\n\n", Cell(plan, "phase"), FindArray(plan, {"actions"}).size(),
                     Change(plan, "deviation"));
  PrintGroupPlans(out, plan);
  PrintImbalanced(out, plan, cluster);
  TableRows violations;
  for (const Json& item : FindArray(plan, {"violations"})) {
    violations.push_back(
        {Cell(item, "constraint"), Cell(item, "priority"), Cell(item, "node"), Cell(item, "metric"), Cell(item, "detail")});
  }
  PrintRows(out, {"VIOLATED", "PRIORITY", "NODE", "METRIC", "DETAIL"}, std::move(violations));
  PrintActions(out, plan, cluster);
  PrintSkipped(out, FindArray(plan, {"skipped"}));
}

Shown ShowLoads(Json loads, const balancing::Cluster& cluster) {
  Shown shown;
  shown.header = {"METRIC",   "BALANCED",  "DEVIATION", "THRESHOLD", "ACTIVITY", "LOAD",    "CAPACITY",
                  "BUFFERED", "REMAINING", "MIN",       "MAX",       "ACTION",   "VIOLATED"};
  shown.kind = "metric";
  shown.items = "LoadMetricInformation";
  shown.wide = 1;
  for (const Json& item : FindArray(loads, {"LoadMetricInformation"})) {
    const bool limited = base::FindInt(item, {"ClusterCapacity"}) > 0;
    const Amounts amounts(cluster, FindString(item, {"LoadMetricName"}));
    const auto capacity = [&](std::string_view key) { return limited ? amounts.Of(item, key) : std::string("-"); };
    const std::string before = Cell(item, "IsBalancedBefore"), after = Cell(item, "IsBalancedAfter");
    const std::string from = Cell(item, "DeviationBefore"), to = Cell(item, "DeviationAfter");
    shown.names.push_back(Cell(item, "LoadMetricName"));
    shown.rows.push_back({shown.names.back(), before == after ? before : before + " -> " + after,
                          from == to ? from : from + " -> " + to, Cell(item, "BalancingThreshold"),
                          amounts.Of(item, "ActivityThreshold"), amounts.Of(item, "ClusterLoad"), capacity("ClusterCapacity"),
                          capacity("ClusterBufferedCapacity"), capacity("ClusterRemainingBufferedCapacity"),
                          amounts.WithNode(item, "MinNodeLoadValue", "MinNodeLoadNodeId"),
                          amounts.WithNode(item, "MaxNodeLoadValue", "MaxNodeLoadNodeId"), Cell(item, "Action"),
                          Cell(item, "ClusterCapacityViolation")});
  }
  shown.json = std::move(loads);
  return shown;
}

std::string LastBalancing(const Json& loads) { return Cell(loads, "LastBalancingEndTimeUtc"); }

void PrintLoadsOfNodeTypes(std::ostream& out, const Json& loads, const balancing::Cluster& cluster) {
  TableRows types;
  for (const Json& item : FindArray(loads, {"LoadMetricInformation"})) {
    const Amounts amounts(cluster, FindString(item, {"LoadMetricName"}));
    for (const Json& type : FindArray(item, {"NodeTypes"})) {
      types.push_back({Cell(item, "LoadMetricName"), Cell(type, "NodeType"), Cell(type, "IsBalancedBefore"),
                       Cell(type, "BalancingThreshold"), amounts.Of(type, "ActivityThreshold"),
                       amounts.WithNode(type, "MinNodeLoadValue", "MinNodeLoadNodeId"),
                       amounts.WithNode(type, "MaxNodeLoadValue", "MaxNodeLoadNodeId")});
    }
  }
  PrintRows(out, {"METRIC", "NODE TYPE", "BALANCED", "THRESHOLD", "ACTIVITY", "MIN", "MAX"}, std::move(types));
}

void PrintServiceExplanation(std::ostream& out, const Json& explanation) {
  out << fmt::format("service {} ({}), balanced together with {}\n", Cell(explanation, "service"), Cell(explanation, "kind"),
                     FindArray(explanation, {"group"}).size() > 1 ? Joined(FindArray(explanation, {"group"})) : "no other");
  out << "phase: " << Cell(explanation, "phase");
  if (const std::string_view why = FindString(explanation, {"why"}); !why.empty()) out << ", because " << Printable(why);
  out << '\n';
  PrintMetrics(out, explanation);
  PrintReplicas(out, explanation);
  PrintEliminated(out, explanation);
  PrintSkipped(out, FindArray(explanation, {"skipped"}));
  for (const Json& hint : FindArray(explanation, {"hints"})) out << "\nhint: " << Cell(&hint) << '\n';
}

}  // namespace evenkeel::cli
