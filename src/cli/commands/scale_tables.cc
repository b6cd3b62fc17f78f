#include "cli/commands/scale_tables.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/terminal/output.h"
#include "cli/terminal/printable.h"

namespace evenkeel::cli {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using controllers::autoscaler::OneRefusal;
using controllers::autoscaler::PendingPods;
using controllers::autoscaler::PodExplanation;
using controllers::autoscaler::ScaleOutput;

using Rows = std::vector<std::vector<std::string>>;
using Owners = std::map<std::string, std::string, std::less<>>;

std::string Number(const Json& value, std::string_view key) { return std::to_string(FindInt(value, {key})); }

/// The first few, and how many more there are; "-": none.
std::string Some(const std::vector<std::string>& texts, size_t shown) {
  // One more takes no more room than the words that one is left out.
  if (texts.size() == shown + 1) ++shown;
  std::string text;
  for (size_t i = 0; i < texts.size() && i < shown; ++i) text += (text.empty() ? "" : ", ") + texts[i];
  if (texts.size() > shown) text += fmt::format(" and {} more", texts.size() - shown);
  return text.empty() ? "-" : text;
}

std::vector<std::string> Texts(const base::JsonArray& items) {
  std::vector<std::string> texts;
  for (const Json& item : items) texts.emplace_back(item.as_string());
  return texts;
}

/// Pods by controller, in the order of their first ones.
class PodCounts {
 public:
  explicit PodCounts(const Owners& owners) : owners_(owners) {}

  void Add(const std::string& pod) {
    const auto owner = owners_.find(pod);
    const std::string name = owner == owners_.end() ? "" : owner->second;
    auto found = std::ranges::find(counts_, name, &Count::owner);
    if (found == counts_.end()) found = counts_.insert(found, {name, pod, 0});
    ++found->pods;
  }
  /// "48 of ReplicaSet default/web, default/alone"
  std::string Text() const {
    constexpr size_t kShown = 5;
    std::vector<std::string> texts;
    for (const Count& count : counts_) {
      if (count.pods == 1) {
        texts.push_back(count.first);
      } else if (count.owner.empty()) {
        texts.push_back(fmt::format("{} and {} more", count.first, count.pods - 1));
      } else {
        texts.push_back(fmt::format("{} of {}", count.pods, count.owner));
      }
    }
    return Some(texts, kShown);
  }

 private:
  struct Count {
    std::string owner, first;
    size_t pods = 0;
  };
  const Owners& owners_;
  std::vector<Count> counts_;
};

Rows PendingRows(const std::vector<PendingPods>& pending) {
  constexpr size_t kShown = 3;
  Rows rows;
  for (const PendingPods& pods : pending) {
    std::string name = pods.owner.empty() ? fmt::format("{} and {} more", pods.first, pods.pods - 1) : pods.owner;
    if (pods.pods == 1) name = pods.first;
    std::string count = std::to_string(pods.pods);
    if (!pods.why.empty()) {
      rows.push_back({std::move(name), std::move(count), "-", pods.why});
      continue;
    }
    for (const OneRefusal& groups : pods.groups) {
      std::string reason = groups.nearest;
      if (groups.names.size() > 1 && groups.nearest != groups.reason) {
        reason += " in " + groups.names.front() + ", no less in the others";
      }
      rows.push_back({std::exchange(name, ""), std::exchange(count, ""), Some(groups.names, kShown), std::move(reason)});
    }
  }
  return rows;
}

Rows GrowthRows(const base::JsonArray& growths, const Owners& owners) {
  Rows rows;
  for (const Json& growth : growths) {
    PodCounts pods(owners);
    for (const Json& pod : FindArray(growth, {"pods"})) pods.Add(std::string(pod.as_string()));
    rows.push_back({std::string(FindString(growth, {"group"})), Number(growth, "from"), Number(growth, "to"), pods.Text()});
  }
  return rows;
}

void PrintSection(std::ostream& out, const std::vector<std::string>& header, const Rows& rows) {
  if (rows.empty()) return;
  out << '\n';
  PrintTable(out, header, rows);
}

void PrintPods(std::ostream& out, const Json& plan, const std::vector<PendingPods>& pending, const Owners& owners) {
  PrintSection(out, {"SCALE UP", "FROM", "TO", "PODS"}, GrowthRows(FindArray(plan, {"scaleUp"}), owners));
  PrintSection(out, {"PENDING", "PODS", "GROUP", "REASON"}, PendingRows(pending));
}

void PrintGroups(std::ostream& out, const Json& result) {
  Rows rows;
  for (const Json& group : FindArray(result, {"nodeGroups"})) {
    const std::string name(FindString(group, {"name"}));
    rows.push_back({name, Number(group, "target"), Number(group, "ready"), std::to_string(FindInt(result, {"upcoming", name})),
                    Number(group, "min"), Number(group, "max"), std::string(FindString(group, {"backoff"}, "-"))});
  }
  PrintTable(out, {"GROUP", "TARGET", "READY", "UPCOMING", "MIN", "MAX", "BACKOFF UNTIL"}, rows);
}

void PrintNodes(std::ostream& out, const Json& result) {
  constexpr size_t kShown = 5;
  Rows rows;
  for (const Json& node : FindArray(result, {"scaleDown", "empty"})) rows.push_back({std::string(node.as_string()), "-"});
  for (const Json& item : FindArray(result, {"scaleDown", "drain"})) {
    rows.push_back({std::string(FindString(item, {"node"})), Some(Texts(FindArray(item, {"pods"})), kShown)});
  }
  PrintSection(out, {"SCALE DOWN", "PODS TO MOVE"}, rows);
  rows.clear();
  for (const Json& item : FindArray(result, {"unneeded"})) {
    rows.push_back({std::string(FindString(item, {"node"})), std::string(FindString(item, {"since"}))});
  }
  PrintSection(out, {"UNNEEDED", "SINCE"}, rows);
  rows.clear();
  for (const Json& item : FindArray(result, {"leftAlone"})) {
    rows.push_back({std::string(FindString(item, {"name"}, "-")), std::string(FindString(item, {"message"}))});
  }
  PrintSection(out, {"LEFT ALONE", "WHY"}, rows);
  rows.clear();
  for (const Json& item : FindArray(result, {"unremovable"})) {
    rows.push_back({std::string(FindString(item, {"node"})), std::string(FindString(item, {"reason"})),
                    std::string(FindString(item, {"pod"}, "-"))});
  }
  PrintSection(out, {"STAYS", "REASON", "POD"}, rows);
}

std::string NodesText(const OneRefusal& nodes) {
  constexpr size_t kShown = 3;
  if (nodes.names.size() == 1) return fmt::format("node {}: {}", nodes.names.front(), nodes.nearest);
  const std::string text = fmt::format("{} nodes: {}", nodes.names.size(), nodes.nearest);
  if (nodes.reason.empty() || nodes.nearest == nodes.reason) return text + " (" + Some(nodes.names, kShown) + ")";
  const std::vector<std::string> others(nodes.names.begin() + 1, nodes.names.end());
  return text + " on " + nodes.names.front() + ", no less on " + Some(others, kShown);
}

}  // namespace

void PrintScalePlan(std::ostream& out, const ScaleOutput& plan) {
  const Json& result = plan.result;
  out << "cluster " << Printable(FindString(result, {"health", "status"})) << ": " << FindInt(result, {"health", "ready"})
      << " of " << FindInt(result, {"health", "registered"}) << " nodes ready\n";
  if (Find(result, {"stopped"}) != nullptr) {
    out << "stopped: " << Printable(FindString(result, {"stopped", "why"})) << '\n';
  }
  PrintGroups(out, result);
  PrintPods(out, result, plan.pending, plan.owners);
  if (const Json* next = Find(result, {"nextLoop"})) {
    out << "\nThe loop at " << Printable(FindString(*next, {"at"})) << ", when pods that are too young now are old enough:\n";
    const bool nothing = FindArray(*next, {"scaleUp"}).empty() && FindArray(*next, {"pending"}).empty();
    if (nothing) out << "no scale-up: the pods have room on what is there or on its way\n";
    PrintPods(out, *next, plan.next_pending, plan.owners);
  }
  PrintNodes(out, result);
}

void PrintPodExplanation(std::ostream& out, const PodExplanation& pod) {
  const Json& json = pod.json;
  out << Printable(fmt::format("pod {}: {}{}", FindString(json, {"pod"}), base::FindBool(json, {"pending"}) ? "pending; " : "",
                               FindString(json, {"why"})))
      << '\n';
  for (const Json& group : FindArray(json, {"groups"})) {
    out << Printable(fmt::format("  group {}: {} (size {}, maximum {})", FindString(group, {"group"}),
                                 FindString(group, {"why"}), FindInt(group, {"size"}), FindInt(group, {"max"})))
        << '\n';
  }
  for (const OneRefusal& nodes : pod.nodes) out << "  " << Printable(NodesText(nodes)) << '\n';
}

void PrintNodeExplanation(std::ostream& out, const Json& node) {
  const std::string_view group = FindString(node, {"group"});
  out << Printable(fmt::format("node {}{}: {}", FindString(node, {"node"}),
                               group.empty() ? "" : fmt::format(" (group {})", group), FindString(node, {"why"})))
      << '\n';
}

}  // namespace evenkeel::cli
