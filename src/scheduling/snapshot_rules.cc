// The filters that judge by fields which a pod keeps while it runs: taints, node affinity, spread, affinity of pods.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

constexpr const char* kSpreadText = "node(s) didn't match pod topology spread constraints";
constexpr const char* kSpreadLabelText = "node(s) didn't match pod topology spread constraints (missing required label)";
constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

Fit Refusal(Filter filter, bool resolvable, std::string text, std::string field, std::string detail) {
  Fit fit{filter, resolvable, false, {}, std::move(field)};
  fit.reasons.push_back({.text = std::move(text), .detail = std::move(detail)});
  return fit;
}

std::string TermField(std::string_view kind, size_t index) {
  return "spec.affinity." + std::string(kind) + "." + std::string(kRequired) + "[" + std::to_string(index) + "]";
}

}  // namespace

Fit Snapshot::CheckRule(ClassId id, NodeId node, Filter filter) const {
  const PodClass& pod_class = classes_[id];
  switch (filter) {
    case Filter::kTaintToleration:
      return CheckTaints(pod_class, node);
    case Filter::kNodeAffinity:
      return CheckNodeAffinity(pod_class, node);
    case Filter::kPodTopologySpread:
      return CheckSpread(pod_class, node);
    case Filter::kInterPodAffinity:
      return CheckPodAffinity(pod_class, node);
    default:
      return {};
  }
}

Fit Snapshot::CheckTaints(const PodClass& pod_class, NodeId node) const {
  const kube::Taint* taint = UntoleratedTaint(pod_class.spec->spec.tolerations, shapes_[shape_of_[node]].shape.taints);
  if (taint == nullptr) return {};
  const std::string value = taint->value.empty() ? "" : "=" + taint->value;
  return Refusal(Filter::kTaintToleration, false, "node(s) had untolerated taint {" + taint->key + ": " + taint->value + "}",
                 "spec.tolerations", "they do not tolerate the taint " + taint->key + value + ":" + taint->effect);
}

Fit Snapshot::CheckNodeAffinity(const PodClass& pod_class, NodeId node) const {
  const NodeLabels labels = LabelsOf(node);
  const NodeSelection& wanted = pod_class.spec->spec.nodes;
  const bool pinned_elsewhere = !pod_class.pinned_node.empty() && pod_class.pinned_node != labels.name;
  if (!pinned_elsewhere && wanted.Matches(labels)) return {};
  const bool selector = !wanted.SelectorMatches(labels);
  return Refusal(Filter::kNodeAffinity, false, "node(s) didn't match Pod's node affinity/selector",
                 selector ? "spec.nodeSelector" : "spec.affinity.nodeAffinity." + std::string(kRequired),
                 "the labels of the node do not match it");
}

std::string Snapshot::DomainText(const Counter& counter, NodeId node) const {
  const std::string& key = keys_[counter.key].key();
  const std::string* value = LabelsOf(node).Find(key);
  return value == nullptr ? "a node without the label " + key : key + "=" + *value;
}

std::optional<size_t> Snapshot::SpreadMisfit(const PodClass& pod_class, NodeId node) const {
  const std::vector<ClassTopology::Spread>& constraints = pod_class.topology.spread;
  for (size_t i = 0; i < constraints.size(); ++i) {
    const Counter& counter = *counters_[constraints[i].counter];
    const DomainId domain = keys_[counter.key].Of(node);
    if (domain == kNone) return i;
    const int64_t smallest = counter.domains() < constraints[i].min_domains ? 0 : counter.smallest();
    if (counter.Count(domain) + constraints[i].self - smallest > constraints[i].max_skew) return i;
  }
  return std::nullopt;
}

Fit Snapshot::CheckSpread(const PodClass& pod_class, NodeId node) const {
  const std::optional<size_t> misfit = SpreadMisfit(pod_class, node);
  if (!misfit) return {};
  const ClassTopology::Spread& spread = pod_class.topology.spread[*misfit];
  const Counter& counter = *counters_[spread.counter];
  const DomainId domain = keys_[counter.key].Of(node);
  std::string field = "spec.topologySpreadConstraints[" + std::to_string(pod_class.spec->spec.spread[*misfit].index) + "]";
  if (domain == kNone) {
    return Refusal(Filter::kPodTopologySpread, false, kSpreadLabelText, std::move(field),
                   "it is on " + DomainText(counter, node));
  }
  const int64_t smallest = counter.domains() < spread.min_domains ? 0 : counter.smallest();
  return Refusal(Filter::kPodTopologySpread, true, kSpreadText, std::move(field),
                 DomainText(counter, node) + " has " + std::to_string(counter.Count(domain) + spread.self) +
                     " such pods with it where the fewest are " + std::to_string(smallest) + ", and maxSkew is " +
                     std::to_string(spread.max_skew));
}

std::optional<size_t> Snapshot::AffinityMisfit(const ClassTopology& topology, NodeId node) const {
  std::optional<size_t> alone;
  bool none_anywhere = true;
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    const Counter& counter = *counters_[topology.affinity[i]];
    const DomainId domain = keys_[counter.key].Of(node);
    if (domain == kNone) return i;
    if (!alone && counter.Count(domain) == 0) alone = i;
    none_anywhere &= counter.total() == 0;
  }
  // The first pod of a group that wants to be together has nobody to be with.
  return none_anywhere && topology.first_of_its_group ? std::nullopt : alone;
}

std::optional<size_t> Snapshot::OwnAntiAffinityMisfit(const ClassTopology& topology, NodeId node) const {
  for (size_t i = 0; i < topology.anti_affinity.size(); ++i) {
    const Counter& counter = *counters_[topology.anti_affinity[i]];
    const DomainId domain = keys_[counter.key].Of(node);
    if (domain != kNone && counter.Count(domain) > 0) return i;
  }
  return std::nullopt;
}

std::optional<size_t> Snapshot::OthersAntiAffinityMisfit(const ClassTopology& topology, NodeId node) const {
  for (size_t i = 0; i < topology.forbidden_by.size(); ++i) {
    const Counter& counter = *counters_[topology.forbidden_by[i]];
    const DomainId domain = keys_[counter.key].Of(node);
    if (domain != kNone && counter.Count(domain) > 0) return i;
  }
  return std::nullopt;
}

Fit Snapshot::CheckPodAffinity(const PodClass& pod_class, NodeId node) const {
  const ClassTopology& topology = pod_class.topology;
  if (const auto term = AffinityMisfit(topology, node)) {
    return Refusal(Filter::kInterPodAffinity, false, "node(s) didn't match pod affinity rules", TermField("podAffinity", *term),
                   "none of the pods that it wants to be with is in " + DomainText(*counters_[topology.affinity[*term]], node));
  }
  if (const auto term = OwnAntiAffinityMisfit(topology, node)) {
    const Counter& counter = *counters_[topology.anti_affinity[*term]];
    return Refusal(Filter::kInterPodAffinity, true, "node(s) didn't match pod anti-affinity rules",
                   TermField("podAntiAffinity", *term),
                   "pods that it does not want to be with are in " + DomainText(counter, node));
  }
  if (const auto other = OthersAntiAffinityMisfit(topology, node)) {
    return Refusal(Filter::kInterPodAffinity, true, "node(s) didn't satisfy existing pods anti-affinity rules", "",
                   "a pod in " + DomainText(*counters_[topology.forbidden_by[*other]], node) +
                       " does not want to be with it (spec.affinity.podAntiAffinity of that pod)");
  }
  return {};
}

}  // namespace evenkeel::scheduling
