// Why the pods that a plan leaves over get no node: of each group the reason that holds when the plan has ended.
#include <spdlog/fmt/fmt.h>

#include "controllers/autoscaler/scale_up/scale_up_planning.h"

namespace evenkeel::controllers::autoscaler {
namespace {

/// Of a quota that flags make, the flags.
std::string WithFlags(const std::vector<QuotaExcess>& excesses) {
  std::string text = autoscaler::Describe(excesses);
  for (const QuotaExcess& excess : excesses) {
    if (excess.quota != kClusterWideQuota) continue;
    std::set<std::string> flags;
    for (const std::string& resource : excess.resources) {
      flags.insert(resource == "cpu" ? "--cores-total" : resource == "memory" ? "--memory-total" : "--gpu-total");
    }
    text += fmt::format(" ({})", fmt::join(flags, ", "));
  }
  return text;
}

}  // namespace

void ScaleUpPlanning::NoteLeft() {
  plan_.left.resize(plan_.pod_groups.size());
  if (!AnyWaiting()) return;
  for (Candidate& candidate : candidates_) {
    candidate.skipped = WhyNot(candidate);
    NoteLeft(candidate);
  }
}

void ScaleUpPlanning::NoteLeft(const Candidate& candidate) {
  const scheduling::WhatIf fork(snapshot_);
  scheduling::NodeId node = scheduling::kNone;
  std::string skipped = candidate.skipped;
  if (candidate.node != nullptr && candidate.left() > 0) {
    // What the flags are called is known here alone.
    const auto excesses = limits_.Check(candidate.node->node, candidate.atomic ? candidate.left() : 1);
    if (!excesses.empty() && skipped == autoscaler::Describe(excesses)) skipped = WithFlags(excesses);
  }
  for (size_t i = 0; i < plan_.pod_groups.size(); ++i) {
    if (Waiting(i) == 0) continue;
    if (!skipped.empty()) {
      plan_.left[i].push_back({candidate.group->id, skipped});
      continue;
    }
    // Then the misfit of the first step is what there is to say.
    if (plan_.pod_groups[i].plain && candidate.fits[i] == 0) continue;
    if (node == scheduling::kNone) node = AddTemplateNode(snapshot_, *candidate.node, candidate.node->node.meta.name);
    scheduling::Fit fit = snapshot_.Check(plan_.pod_groups[i].pod_class, node);
    std::string reason = fit.fits() ? WhyLeft(candidate) : "";
    plan_.left[i].push_back({candidate.group->id, std::move(reason), std::move(fit)});
  }
}

/// Of a group that may grow, and a new node of which would take the pods.
std::string ScaleUpPlanning::WhyLeft(const Candidate& candidate) const {
  if (const auto nodes = NodesLeft(); nodes && *nodes < 1) return "max node total count already reached (--max-nodes-total)";
  if (!MayGrow(candidate)) {
    return fmt::format("a new node would take it, but in this loop other groups grow (--max-groups-per-loop={})",
                       options_.max_groups_per_loop);
  }
  if (refused_.contains(static_cast<size_t>(&candidate - candidates_.data()))) {
    if (expander_.refused_by == "price" && !candidate.group->price_per_hour) {
      return "a new node would take it, but the group has no price, and --expander=price chooses by price";
    }
    return fmt::format("a new node would take it, but --expander={} wants none of the groups", expander_.refused_by);
  }
  if (options_.all_or_nothing) {
    return "a new node would take it, but not all pods that wait get nodes of the group (--all-or-nothing)";
  }
  if (candidate.atomic) return "the group grows to its maximum at once or not at all, and that is not possible now";
  if (late_) return "a new node would take it, but planning has taken too long (--max-binpacking-time)";
  return fmt::format(
      "a new node would take it, but the estimate of the nodes has ended before (--max-nodes-per-scaleup={}, "
      "--max-nodegroup-binpacking-duration={})",
      options_.max_nodes_per_scaleup, base::FormatDuration(options_.max_nodegroup_binpacking_duration));
}

}  // namespace evenkeel::controllers::autoscaler
