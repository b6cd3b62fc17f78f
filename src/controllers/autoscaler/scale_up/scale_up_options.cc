// Which node groups may grow, whom they would help, and what that would take.
#include "controllers/autoscaler/facts/facts.h"
#include "controllers/autoscaler/scale_up/scale_up_planning.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr const char* kNotReady = "not ready for scale-up";
constexpr const char* kBackedOff = "in backoff after failed scale-up";
constexpr const char* kMaxSize = "max node group size reached";
constexpr const char* kAtomicTooLarge = "atomic scale-up exceeds cluster node count limit";

}  // namespace

std::string ScaleUpPlanning::WhyNot(const Candidate& candidate) const {
  const providers::NodeGroup& group = *candidate.group;
  if (!group.set_aside.empty()) return "set aside: " + group.set_aside;
  if (request_.excluded.contains(group.id)) return kBackedOff;
  if (const auto health = request_.health.find(group.id); group.exists && health != request_.health.end()) {
    if (!health->second.healthy) return kNotReady;
    if (health->second.backed_off) return kBackedOff;
  }
  if (candidate.left() == 0) return kMaxSize;
  const int64_t nodes = candidate.atomic ? candidate.left() : 1;
  if (const auto left = NodesLeft(); candidate.atomic && left && nodes > *left) return kAtomicTooLarge;
  if (candidate.node == nullptr) return kNotReady;
  return autoscaler::Describe(limits_.Check(candidate.node->node, nodes));
}

void ScaleUpPlanning::FindFits(bool first) {
  for (Candidate& candidate : candidates_) {
    if (candidate.skipped.empty()) FindFits(candidate, first);
  }
}

/// What a fresh node would take. For plain pods the answer holds for the whole plan: only the node decides.
void ScaleUpPlanning::FindFits(Candidate& candidate, bool first) {
  const scheduling::WhatIf fork(snapshot_);
  scheduling::NodeId node = scheduling::kNone;
  for (size_t i = 0; i < plan_.pod_groups.size(); ++i) {
    const PodGroup& pods = plan_.pod_groups[i];
    if (Waiting(i) == 0 || (!first && pods.plain)) continue;
    if (node == scheduling::kNone) node = AddTemplateNode(snapshot_, *candidate.node, candidate.node->node.meta.name);
    candidate.fits[i] = snapshot_.Fits(pods.pod_class, node) ? 1 : 0;
    anywhere_[i] |= candidate.fits[i];
    if (first && candidate.fits[i] == 0) {
      plan_.misfits[i].push_back({candidate.group->id, snapshot_.Check(pods.pod_class, node)});
    }
  }
}

std::vector<size_t> ScaleUpPlanning::SimilarTo(size_t candidate) const {
  std::vector<size_t> similar;
  const Candidate& chosen = candidates_[candidate];
  if (!options_.balance_similar_node_groups || chosen.atomic) return similar;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& other = candidates_[i];
    if (i == candidate || !other.skipped.empty() || other.atomic) continue;
    bool takes_all = true;
    for (size_t pods = 0; pods < chosen.fits.size() && takes_all; ++pods) {
      takes_all = chosen.fits[pods] == 0 || Waiting(pods) == 0 || other.fits[pods] != 0;
    }
    if (takes_all && similar_.Similar(*chosen.node, *other.node)) similar.push_back(i);
  }
  return similar;
}

std::vector<ScaleUpPlanning::Option> ScaleUpPlanning::MakeOptions() {
  estimates_.clear();
  std::vector<Option> options;
  const auto began = request_.clock == nullptr ? base::Instant{} : request_.clock->Monotonic();
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].skipped.empty() || !MayGrow(candidates_[i])) continue;
    if (request_.clock != nullptr && request_.clock->Monotonic() - began > options_.max_binpacking_time) {
      late_ = true;
      break;
    }
    if (std::optional<Option> option = MakeOption(i)) options.push_back(std::move(*option));
  }
  return options;
}

std::optional<ScaleUpPlanning::Option> ScaleUpPlanning::MakeOption(size_t index) {
  const Candidate& candidate = candidates_[index];
  Option option{index, SimilarTo(index), {}, nullptr, 0};
  std::vector<Demand> demands;
  int64_t waiting = 0;
  for (size_t i = 0; i < plan_.pod_groups.size(); ++i) {
    const int64_t pods = Waiting(i);
    waiting += pods;
    if (pods == 0 || candidate.fits[i] == 0) continue;
    demands.push_back({&plan_.pod_groups[i], pods});
    option.pod_groups.push_back(i);
  }
  if (demands.empty()) return std::nullopt;
  int64_t capacity = candidate.left();
  for (const size_t similar : option.similar) capacity += candidates_[similar].left();
  const std::optional<int64_t> left = NodesLeft();
  const int64_t limit =
      CombineLimits({options_.max_nodes_per_scaleup, capacity == 0 ? -1 : capacity, !left ? 0 : (*left <= 0 ? -1 : *left)});
  auto& estimate = estimates_[EstimateKey(snapshot_, *candidate.node, candidate.room, demands, limit)];
  if (estimate == nullptr) {
    estimate = std::make_shared<const Estimate>(EstimateNodes(snapshot_, *candidate.node, candidate.room, demands, limit,
                                                              {request_.clock, options_.max_nodegroup_binpacking_duration}));
  }
  option.estimate = estimate;
  option.nodes = estimate->nodes;
  if (candidate.atomic && option.nodes > 0) {
    if (options_.all_or_nothing && option.nodes > candidate.group->max_size) return std::nullopt;
    const bool rest_only = candidate.group->options.allow_non_atomic_scale_up_to_max.value_or(false);
    option.nodes = rest_only ? candidate.left() : candidate.group->max_size;
  }
  const int64_t pods = estimate->total_pods();
  if (option.nodes == 0 || pods == 0 || (options_.all_or_nothing && pods < waiting)) return std::nullopt;
  return option;
}

ExpanderOption ScaleUpPlanning::ForExpander(const Option& option) const {
  const Candidate& candidate = candidates_[option.candidate];
  ExpanderOption choice;
  choice.group = candidate.group;
  choice.node = candidate.node;
  choice.nodes = option.nodes;
  choice.pods.reserve(static_cast<size_t>(option.estimate->total_pods()));
  for (const uint32_t demand : option.estimate->order) {
    const size_t group = option.pod_groups[demand];
    const int64_t pods = option.estimate->pods[demand];
    const auto from = plan_.pod_groups[group].pods.begin() + static_cast<ptrdiff_t>(taken_[group]);
    choice.pods.insert(choice.pods.end(), from, from + pods);
    for (const scheduling::Amount& amount : snapshot_.Requests(plan_.pod_groups[group].pod_class)) {
      if (amount.resource == scheduling::kCpu) choice.cpu += amount.amount * pods;
      if (amount.resource == scheduling::kMemory) choice.memory += amount.amount * pods;
      if (IsGpuResource(snapshot_.ResourceName(amount.resource))) choice.gpus += amount.amount * pods;
    }
  }
  choice.debug = candidate.group->debug.empty() ? candidate.group->id : candidate.group->debug;
  return choice;
}

ScaleUpOption ScaleUpPlanning::Describe(const Option& option) const {
  ScaleUpOption described{candidates_[option.candidate].group->id, option.nodes, option.estimate->total_pods(), {}};
  for (const size_t similar : option.similar) described.similar.push_back(candidates_[similar].group->id);
  return described;
}

}  // namespace evenkeel::controllers::autoscaler
