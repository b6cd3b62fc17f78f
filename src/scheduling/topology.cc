#include "scheduling/topology.h"

#include <algorithm>

#include "base/result.h"

namespace evenkeel::scheduling {

void TopologyKey::Set(NodeId node, const std::string* value) {
  if (node >= of_node_.size()) {
    if (value == nullptr) return;
    of_node_.resize(node + 1, kNone);
  }
  const DomainId before = of_node_[node];
  if (before != kNone) {
    if (value != nullptr && values_[before] == *value) return;
    if (--nodes_[before] == 0) {
      by_value_.erase(values_[before]);
      free_.push_back(before);
    }
    of_node_[node] = kNone;
  }
  if (value == nullptr) return;
  auto [found, added] = by_value_.try_emplace(*value, kNone);
  if (added) {
    if (free_.empty()) {
      found->second = static_cast<DomainId>(values_.size());
      values_.push_back(*value);
      nodes_.push_back(0);
    } else {
      found->second = free_.back();
      free_.pop_back();
      values_[found->second] = *value;
    }
  }
  ++nodes_[found->second];
  of_node_[node] = found->second;
}

bool TermMatcher::Matches(const std::string& ns, const kube::Labels& ns_labels, const kube::Labels& labels) const {
  const bool here = std::binary_search(namespaces.begin(), namespaces.end(), ns) ||
                    (namespace_selector && namespace_selector->Matches(ns_labels));
  return here && selector.Matches(labels);
}

void TermMatcher::AddTo(TextKey& key) const {
  key.Add(static_cast<int64_t>(namespaces.size()));
  for (const std::string& ns : namespaces) key.Add(ns);
  key.Add(namespace_selector ? (namespace_selector->nothing() ? 2 : 1) : 0);
  if (namespace_selector) key.Add(namespace_selector->ToString());
  key.Add(selector.nothing() ? 1 : 0).Add(selector.ToString());
}

bool Eligibility::Allows(const NodeShape& shape, const NodeLabels& node) const {
  if (!pinned.empty() && node.name != pinned) return false;
  if (!nodes.Matches(node)) return false;
  return !honor_taints || UntoleratedTaint(tolerations, shape.taints) == nullptr;
}

bool Counter::Matches(const std::string& ns, const kube::Labels& ns_labels, const kube::Labels& labels,
                      bool terminating) const {
  if (counts_nothing || (skip_terminating && terminating)) return false;
  return std::all_of(terms.begin(), terms.end(), [&](const TermMatcher& term) { return term.Matches(ns, ns_labels, labels); });
}

uint64_t LabelBits(std::string_view key, std::string_view value) {
  const size_t hash = std::hash<std::string_view>()(value) * 31 + std::hash<std::string_view>()(key);
  return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63);
}

uint64_t LabelBits(const std::string& ns, const kube::Labels& labels) {
  uint64_t bits = LabelBits("", ns);
  for (const auto& [key, value] : labels) bits |= LabelBits(key, value);
  return bits;
}

uint64_t Counter::RequiredBits() const {
  uint64_t bits = 0;
  for (const TermMatcher& term : terms) {
    if (!term.namespace_selector && term.namespaces.size() == 1) bits |= LabelBits("", term.namespaces.front());
    for (const kube::LabelRequirement& requirement : term.selector.requirements()) {
      const bool one = requirement.op == kube::LabelRequirement::Operator::kIn && requirement.values.size() == 1;
      if (one) bits |= LabelBits(requirement.key, requirement.values.front());
    }
  }
  return bits;
}

void Counter::Grow(DomainId domain) {
  if (domain < counts_.size()) return;
  counts_.resize(domain + 1, 0);
  if (eligibility) nodes_.resize(domain + 1, 0);
}

void Counter::Raise() {
  while (histogram_[static_cast<size_t>(smallest_)] == 0) ++smallest_;
}

void Counter::AddPods(DomainId domain, int64_t pods) {
  Grow(domain);
  const int64_t before = counts_[domain];
  const int64_t after = before + pods;
  EVENKEEL_CHECK(after >= 0);
  counts_[domain] = static_cast<int32_t>(after);
  total_ += pods;
  used_domains_ += (after > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
  if (!eligibility) return;
  if (histogram_.size() <= static_cast<size_t>(after)) histogram_.resize(static_cast<size_t>(after) + 1, 0);
  --histogram_[static_cast<size_t>(before)];
  ++histogram_[static_cast<size_t>(after)];
  smallest_ = std::min(smallest_, after);
  Raise();
}

void Counter::AddNode(DomainId domain) {
  Grow(domain);
  if (nodes_[domain]++ > 0) return;
  const int64_t count = counts_[domain];
  if (histogram_.size() <= static_cast<size_t>(count)) histogram_.resize(static_cast<size_t>(count) + 1, 0);
  ++histogram_[static_cast<size_t>(count)];
  smallest_ = domains_ == 0 ? count : std::min(smallest_, count);
  ++domains_;
}

void Counter::RemoveNode(DomainId domain) {
  if (--nodes_[domain] > 0) return;
  --histogram_[static_cast<size_t>(counts_[domain])];
  if (--domains_ > 0) Raise();
}

void Counter::Clear() {
  counts_.clear();
  nodes_.clear();
  histogram_.clear();
  total_ = used_domains_ = domains_ = smallest_ = 0;
}

}  // namespace evenkeel::scheduling
