#include "embedded/workloads/node_fit.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace evenkeel::embedded::workloads {
namespace {

std::optional<int64_t> WholeNumber(const std::string& text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Holds(const kube::NodeSelectorRequirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  const bool listed = value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  if (value == nullptr || values.size() != 1) return false;
  const auto left = WholeNumber(*value), right = WholeNumber(values[0]);
  if (!left || !right) return false;
  return requirement.op == "Gt" ? *left > *right : requirement.op == "Lt" && *left < *right;
}

bool Holds(const kube::NodeSelectorTerm& term, const kube::Node& node) {
  // A term that says nothing matches nothing.
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const auto& requirement : term.expressions) {
    auto found = node.meta.labels.find(requirement.key);
    if (!Holds(requirement, found == node.meta.labels.end() ? nullptr : &found->second)) return false;
  }
  return std::all_of(term.fields.begin(), term.fields.end(), [&](const auto& requirement) {
    return requirement.key == "metadata.name" && Holds(requirement, &node.meta.name);
  });
}

}  // namespace

bool MatchesNodeAffinity(const kube::Pod& pod, const kube::Node& node) {
  for (const auto& [key, value] : pod.node_selector) {
    auto found = node.meta.labels.find(key);
    if (found == node.meta.labels.end() || found->second != value) return false;
  }
  if (pod.required_node_terms.empty()) return true;
  return std::any_of(pod.required_node_terms.begin(), pod.required_node_terms.end(),
                     [&](const kube::NodeSelectorTerm& term) { return Holds(term, node); });
}

const kube::Taint* UntoleratedTaint(const kube::Pod& pod, const std::vector<kube::Taint>& taints, bool no_schedule,
                                    bool no_execute) {
  for (const kube::Taint& taint : taints) {
    if (!(no_schedule && taint.effect == "NoSchedule") && !(no_execute && taint.effect == "NoExecute")) continue;
    const bool tolerated = std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                                       [&](const kube::Toleration& toleration) { return toleration.Tolerates(taint); });
    if (!tolerated) return &taint;
  }
  return nullptr;
}

}  // namespace evenkeel::embedded::workloads
