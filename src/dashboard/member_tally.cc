#include "dashboard/member_tally.h"

#include <cmath>

namespace evenkeel::dashboard {
namespace {

void AddTo(kube::ResourceList& sum, const kube::ResourceList& amounts, int64_t sign) {
  for (const auto& [resource, amount] : amounts) sum[resource] += sign * amount;
}

}  // namespace

double Rounded(double value) { return std::isfinite(value) ? std::round(value * 1e4) / 1e4 : 0; }

double Share(const kube::ResourceList& requested, const kube::ResourceList& allocatable, const std::string& resource) {
  const auto room = allocatable.find(resource);
  const auto asked = requested.find(resource);
  if (room == allocatable.end() || room->second <= 0 || asked == requested.end()) return 0;
  return Rounded(static_cast<double>(asked->second) / static_cast<double>(room->second));
}

void MemberTally::Count(const NodeRow& node, int64_t sign) {
  states_[node.state] += sign;
  AddTo(allocatable_, node.allocatable, sign);
}

void MemberTally::Node(const NodePointer& before, const NodePointer& after) {
  // What is counted is what is kept, which may have become older than what the informer remembers (Advance).
  Replace((after ? after : before)->name, after);
}

void MemberTally::Replace(const std::string& name, const NodePointer& node) {
  changed_nodes_.insert(name);
  const auto found = nodes_.find(name);
  if (found != nodes_.end()) {
    Count(*found->second, -1);
    on_their_way_.erase({found->second->created, name});
  }
  if (found == nodes_.end() && node) AddTo(requested_, On(name).requested, 1);
  if (found != nodes_.end() && !node) AddTo(requested_, On(name).requested, -1);
  if (node) {
    Count(*node, 1);
    if (node->state == "Upcoming") on_their_way_.emplace(node->created, name);
    nodes_[name] = node;
  } else if (found != nodes_.end()) {
    nodes_.erase(found);
  }
}

void MemberTally::Advance(base::Time now) {
  while (!on_their_way_.empty() && now - on_their_way_.begin()->first >= kOnItsWay) {
    const std::string name = on_their_way_.begin()->second;
    auto late = std::make_shared<NodeRow>(*nodes_.at(name));
    late->state = "NotReady";
    Replace(name, late);
  }
}

void MemberTally::Count(const PodRow& pod, int64_t sign) {
  if (pod.ended) return;
  pods_ += sign;
  if (pod.running) running_ += sign;
  if (pod.node.empty()) return;
  OnNode& there = on_nodes_[pod.node];
  there.pods += sign;
  AddTo(there.requested, pod.requests, sign);
  if (nodes_.contains(pod.node)) AddTo(requested_, pod.requests, sign);
  if (there.pods == 0) on_nodes_.erase(pod.node);
  changed_nodes_.insert(pod.node);
}

void MemberTally::Pod(const PodPointer& before, const PodPointer& after) {
  const std::string& key = (after ? after : before)->key;
  if (before) Count(*before, -1);
  if (after) Count(*after, 1);
  if ((before && before->waits()) || (after && after->waits())) changed_pods_.insert(key);
  if (after && after->waits()) {
    waiting_[key] = after;
  } else {
    waiting_.erase(key);
  }
}

const MemberTally::OnNode& MemberTally::On(const std::string& node) const {
  static const OnNode kNothing;
  const auto found = on_nodes_.find(node);
  return found == on_nodes_.end() ? kNothing : found->second;
}

int64_t MemberTally::Count(std::string_view state) const {
  const auto found = states_.find(state);
  return found == states_.end() ? 0 : found->second;
}

double MemberTally::Load(const std::string& resource) const { return Share(requested_, allocatable_, resource); }

}  // namespace evenkeel::dashboard
