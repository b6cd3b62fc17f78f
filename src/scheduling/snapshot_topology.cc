// Counters of affinity and spread: which there are, and keeping them with every pod and node.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

const kube::Labels kNoLabels;

void AddOnce(std::vector<CounterId>& list, CounterId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

std::string TextOf(const Counter& counter) {
  TextKey key;
  key.Add(static_cast<int64_t>(counter.kind)).Add(counter.key);
  key.Add((counter.skip_terminating ? 1 : 0) + (counter.counts_nothing ? 2 : 0));
  key.Add(static_cast<int64_t>(counter.terms.size()));
  for (const TermMatcher& term : counter.terms) term.AddTo(key);
  if (!counter.eligibility) return key.Take();
  const Eligibility& eligibility = *counter.eligibility;
  for (const uint32_t required : eligibility.keys) key.Add(required);
  key.Add(eligibility.pinned);
  eligibility.nodes.AddTo(key);
  key.Add(eligibility.honor_taints ? 1 : 0);
  for (const kube::Toleration& toleration : eligibility.tolerations) {
    key.Add(toleration.key).Add(toleration.op).Add(toleration.value).Add(toleration.effect);
  }
  return key.Take();
}

/// Whether it only says which labels there must not be.
bool IsNegative(const kube::LabelSelector& selector) {
  using Operator = kube::LabelRequirement::Operator;
  return !selector.nothing() && std::ranges::all_of(selector.requirements(), [](const kube::LabelRequirement& requirement) {
    return requirement.op == Operator::kNotIn || requirement.op == Operator::kDoesNotExist;
  });
}

}  // namespace

bool Snapshot::Unconcerned(ClassId id) const {
  const ClassTopology& topology = classes_[id].topology;
  if (!topology.affinity.empty() || !topology.anti_affinity.empty() || !topology.spread.empty()) return false;
  return std::ranges::all_of(topology.forbidden_by,
                             [this](CounterId counter) { return counters_[counter]->used_domains() == 0; });
}

bool Snapshot::Eligible(Counter& counter, NodeId node) {
  Eligibility& eligibility = *counter.eligibility;
  for (const uint32_t key : eligibility.keys) {
    if (keys_[key].Of(node) == kNone) return false;
  }
  if (!eligibility.depends_on_shape()) return true;
  const ShapeId shape = shape_of_[node];
  if (eligibility.depends_on_node()) return eligibility.Allows(shapes_[shape].shape, LabelsOf(node));
  if (shape >= eligibility.verdicts.size()) eligibility.verdicts.resize(shapes_.size(), 0);
  uint8_t& verdict = eligibility.verdicts[shape];
  if (verdict == 0) verdict = eligibility.Allows(shapes_[shape].shape, LabelsOf(node)) ? 1 : 2;
  return verdict == 1;
}

void Snapshot::CountOne(Counter& counter, NodeId node, int64_t pods) {
  const DomainId domain = keys_[counter.key].Of(node);
  if (domain == kNone) return;
  if (counter.eligibility && !Eligible(counter, node)) return;
  counter.AddPods(domain, pods);
}

void Snapshot::Count(const PodClass& pod_class, NodeId node, int64_t pods) {
  if (!nodes_[node].present) return;
  for (const CounterId id : pod_class.topology.counted_by) CountOne(*counters_[id], node, pods);
  if (pod_class.volumes == nullptr) return;
  for (const PodClaim& claim : pod_class.volumes->claims) {
    const auto found = claim_users_.try_emplace(pod_class.ns + "/" + claim.name, 0).first;
    found->second += pods;
    if (found->second == 0) claim_users_.erase(found);
  }
}

bool Snapshot::CounterMatches(const Counter& counter, const PodClass& pod_class) const {
  const auto ns = namespaces_.find(pod_class.ns);
  const kube::Labels& ns_labels = ns == namespaces_.end() ? kNoLabels : ns->second;
  return counter.Matches(pod_class.ns, ns_labels, *pod_class.labels, pod_class.terminating);
}

void Snapshot::JoinCounter(CounterId id, PodClass& pod_class) {
  const Counter& counter = *counters_[id];
  if (!CounterMatches(counter, pod_class)) return;
  const bool holding = counter.kind == Counter::Kind::kHolding;
  AddOnce(holding ? pod_class.topology.forbidden_by : pod_class.topology.counted_by, id);
}

void Snapshot::RegisterClass(ClassId id) {
  WidenRows();
  PodClass& pod_class = classes_[id];
  const uint64_t bits = classes_.BitsOf(id);
  for (CounterId counter = 0; counter < counters_.size(); ++counter) {
    if ((counter_bits_[counter] & ~bits) == 0 && counters_[counter] != nullptr) JoinCounter(counter, pod_class);
  }
  RegisterTerms(id);
}

void Snapshot::RegisterTerms(ClassId id) {
  PodClass& pod_class = classes_[id];
  const PodSpec& spec = pod_class.spec->spec;
  const auto use = [&](Counter&& counter) {
    const CounterId used = UseCounter(std::move(counter));
    pod_class.topology.own.push_back(used);
    return used;
  };
  std::vector<TermMatcher> together;
  for (const AffinityTerm& term : spec.affinity) together.push_back(MatcherOf(term, pod_class));
  for (const AffinityTerm& term : spec.affinity) {
    const CounterId counter = use(Counter(Counter::Kind::kMatching, UseKey(term.topology_key), together));
    pod_class.topology.affinity.push_back(counter);
    pod_class.topology.first_of_its_group = CounterMatches(*counters_[counter], pod_class);
  }
  for (const AffinityTerm& term : spec.anti_affinity) {
    const uint32_t key = UseKey(term.topology_key);
    const TermMatcher matcher = MatcherOf(term, pod_class);
    pod_class.topology.anti_affinity.push_back(use(Counter(Counter::Kind::kMatching, key, {matcher})));
    AddOnce(pod_class.topology.counted_by, use(Counter(Counter::Kind::kHolding, key, {matcher})));
  }
  std::vector<uint32_t> keys;
  for (const SpreadConstraint& constraint : spec.spread) keys.push_back(UseKey(constraint.topology_key));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const SpreadConstraint& constraint : spec.spread) {
    const CounterId counter = use(SpreadCounter(constraint, pod_class, keys));
    const auto& terms = counters_[counter]->terms;
    const int64_t self = terms.front().selector.Matches(*pod_class.labels) ? 1 : 0;
    pod_class.topology.spread.push_back({counter, constraint.max_skew, constraint.min_domains, self});
  }
}

TermMatcher Snapshot::MatcherOf(const AffinityTerm& term, const PodClass& pod_class) const {
  TermMatcher matcher{term.namespaces, term.namespace_selector,
                      WithLabelKeys(term.selector, term.match_label_keys, term.mismatch_label_keys, *pod_class.labels)};
  if (negative_namespaces_match_all_ && matcher.namespace_selector && IsNegative(*matcher.namespace_selector)) {
    matcher.namespace_selector.emplace();
  }
  if (matcher.namespaces.empty() && !matcher.namespace_selector) matcher.namespaces = {pod_class.ns};
  return matcher;
}

Counter Snapshot::SpreadCounter(const SpreadConstraint& constraint, const PodClass& pod_class,
                                const std::vector<uint32_t>& keys) const {
  const PodSpec& spec = pod_class.spec->spec;
  TermMatcher matcher{
      {pod_class.ns}, {}, WithLabelKeys(constraint.selector, constraint.match_label_keys, {}, *pod_class.labels)};
  const bool everything = matcher.selector.everything();
  const uint32_t key = key_index_.at(constraint.topology_key);
  Counter counter(Counter::Kind::kMatching, key, {std::move(matcher)});
  counter.skip_terminating = true;
  counter.counts_nothing = everything;
  Eligibility& eligibility = counter.eligibility.emplace();
  eligibility.keys = keys;
  if (constraint.honor_affinity) {
    eligibility.nodes = spec.nodes;
    eligibility.pinned = pod_class.pinned_node;
  }
  eligibility.honor_taints = constraint.honor_taints;
  if (constraint.honor_taints) eligibility.tolerations = spec.tolerations;
  return counter;
}

uint32_t Snapshot::UseKey(const std::string& key) {
  const auto [found, added] = key_index_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
  if (!added) return found->second;
  keys_.emplace_back(key);
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].present) keys_.back().Set(node, LabelsOf(node).Find(key));
  }
  return found->second;
}

CounterId Snapshot::UseCounter(Counter&& counter) {
  counter.text = TextOf(counter);
  const auto [found, added] = counter_by_text_.try_emplace(counter.text, kNone);
  if (!added) {
    ++counters_[found->second]->users;
    return found->second;
  }
  CounterId id;
  if (free_counters_.empty()) {
    id = static_cast<CounterId>(counters_.size());
    counters_.emplace_back();
    counter_bits_.emplace_back();
  } else {
    id = free_counters_.back();
    free_counters_.pop_back();
  }
  found->second = id;
  counters_[id] = std::make_unique<Counter>(std::move(counter));
  counters_[id]->users = 1;
  if (counters_[id]->eligibility) spread_counters_.push_back(id);
  const uint64_t required = counter_bits_[id] = counters_[id]->RequiredBits();
  for (ClassId other = 0; other < classes_.slots(); ++other) {
    if ((required & ~classes_.BitsOf(other)) != 0) continue;
    if (PodClass* pod_class = classes_.Find(other)) JoinCounter(id, *pod_class);
  }
  if (counters_[id]->kind == Counter::Kind::kMatching) CountAll(id);
  return id;
}

void Snapshot::CountAll(CounterId id) {
  Counter& counter = *counters_[id];
  counter.Clear();
  for (NodeId node = 0; node < nodes_.size() && counter.eligibility; ++node) {
    if (nodes_[node].present && Eligible(counter, node)) counter.AddNode(keys_[counter.key].Of(node));
  }
  const auto counts = [&](const PodClass& pod_class) {
    const auto& list = pod_class.topology.counted_by;
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (ClassId other = 0; other < classes_.slots(); ++other) {
    if ((counter_bits_[id] & ~classes_.BitsOf(other)) != 0) continue;
    const PodClass* pod_class = classes_.Find(other);
    if (pod_class == nullptr || !counts(*pod_class)) continue;
    for (const PodId pod : pod_class->pods) {
      const NodeId node = pods_[pod].node;
      if (node != kNone && nodes_[node].present) CountOne(counter, node, 1);
    }
  }
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    for (const Copies& copies : nodes_[node].copies) {
      if (nodes_[node].present && counts(classes_[copies.pod_class])) CountOne(counter, node, copies.pods);
    }
  }
}

void Snapshot::ReleaseCounter(CounterId id) {
  if (--counters_[id]->users > 0) return;
  for (ClassId other = 0; other < classes_.slots(); ++other) {
    if (counters_[id]->kind == Counter::Kind::kMatching && (counter_bits_[id] & ~classes_.BitsOf(other)) != 0) continue;
    PodClass* pod_class = classes_.Find(other);
    if (pod_class == nullptr) continue;
    std::erase(pod_class->topology.counted_by, id);
    std::erase(pod_class->topology.forbidden_by, id);
  }
  std::erase(spread_counters_, id);
  counter_by_text_.erase(counters_[id]->text);
  counters_[id].reset();
  free_counters_.push_back(id);
}

}  // namespace evenkeel::scheduling
