// Which node.
#include <algorithm>

#include "controllers/scheduler/scheduler.h"

namespace evenkeel::controllers::scheduler {

using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

bool Scheduler::HasPromises(const kube::Pod& pod, const std::vector<ReservationBook::Key>& reserved) const {
  if (!reserved.empty() || book_.AnyBelow(static_cast<int32_t>(pod.priority))) return true;
  return !nominated_.empty() && (nominated_.size() > 1 || nominated_.begin()->first != pod.meta.Key());
}

Scheduler::Choice Scheduler::Choose(const kube::Pod& pod, PodId id) {
  const std::vector<ReservationBook::Key> reserved = book_.For(pod);
  if (!HasPromises(pod, reserved)) return ChooseNow(pod, id, reserved);
  messages_.clear();
  scheduling::WhatIf promised(snapshot_);
  book_.Lift(reserved, static_cast<int32_t>(pod.priority));
  // Pods that are promised a node count there, but for those that are less important than this one.
  for (const auto& [key, name] : nominated_) {
    const PodId other = snapshot_.FindPod(key);
    const NodeId node = snapshot_.FindNodeByName(name);
    if (other == kNone || other == id || node == kNone || !snapshot_.Present(node)) continue;
    if (snapshot_.NodeOf(other) == kNone && snapshot_.PriorityOf(other) >= pod.priority) snapshot_.Place(other, node);
  }
  Choice choice = ChooseNow(pod, id, reserved);
  messages_.clear();
  return choice;
}

Scheduler::Choice Scheduler::ChooseNow(const kube::Pod& pod, PodId id, const std::vector<ReservationBook::Key>& reserved) {
  const ClassId pod_class = snapshot_.ClassOf(id);
  const auto preferred = [&](const std::string& name) {
    const NodeId node = snapshot_.FindNodeByName(name);
    return node != kNone && snapshot_.Present(node) && snapshot_.Fits(pod_class, node) ? node : kNone;
  };
  if (!pod.nominated_node.empty()) {
    if (const NodeId node = preferred(pod.nominated_node); node != kNone) return {node, ""};
  }
  for (const ReservationBook::Key& key : reserved) {
    if (const NodeId node = preferred(book_.TargetOf(key)); node != kNone) return {node, ""};
  }
  if (const NodeId node = BestNode(pod_class); node != kNone) return {node, ""};
  const int32_t priority = snapshot_.PriorityOf(id);
  const auto [known, added] = messages_.try_emplace({pod_class, priority});
  if (added) known->second = snapshot_.FailureMessage(pod_class, priority);
  return {kNone, known->second};
}

NodeId Scheduler::BestNode(ClassId pod_class) {
  // Knows at once when nothing has changed since one of its like did not fit.
  const NodeId first = snapshot_.FindNode(pod_class);
  if (first == kNone || !snapshot_.classes()[pod_class].pinned_node.empty()) return first;
  int64_t cpu = 0, memory = 0;
  for (const scheduling::Amount& amount : snapshot_.Requests(pod_class)) {
    if (amount.resource == scheduling::kCpu) cpu = amount.amount;
    if (amount.resource == scheduling::kMemory) memory = amount.amount;
  }
  NodeId best = kNone;
  int64_t best_score = -1;
  for (const NodeId node : snapshot_.order()) {
    if (node == kNone) continue;
    const int64_t score = Score(node, cpu, memory);
    if (score <= best_score || !snapshot_.Fits(pod_class, node)) continue;
    best = node;
    best_score = score;
  }
  return best;
}

// What share of cpu and memory would be left with the pod on the node: more is better.
int64_t Scheduler::Score(NodeId node, int64_t cpu, int64_t memory) const {
  const auto left = [&](scheduling::ResourceId resource, int64_t asked) -> int64_t {
    const int64_t all = snapshot_.Allocatable(node, resource);
    if (all <= 0) return 0;
    const int64_t rest = std::max<int64_t>(0, snapshot_.Free(node, resource) - asked);
    return static_cast<int64_t>(1000.0 * static_cast<double>(rest) / static_cast<double>(all));
  };
  const int64_t score = left(scheduling::kCpu, cpu) + left(scheduling::kMemory, memory);
  // Pods that ask for nothing spread by number.
  const int64_t all = snapshot_.Allocatable(node, scheduling::kPods);
  const int64_t pods = all - snapshot_.Free(node, scheduling::kPods);
  return score * 1000 + 999 - std::clamp<int64_t>(999 * pods / std::max<int64_t>(1, all), 0, 999);
}

}  // namespace evenkeel::controllers::scheduler
