// How many pods of a kind there are per zone, host or whatever label divides the nodes: the counters that make affinity and
// spread cost what other filters cost. A counter belongs to a term of some pods' specs and is kept with every pod that comes or
// goes; a filter then looks at one number of the node's domain.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/{interpodaffinity,podtopologyspread}/filtering.go
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kube/selector.h"
#include "scheduling/ids.h"
#include "scheduling/node_shape.h"
#include "scheduling/pod_constraints.h"

namespace evenkeel::scheduling {

using DomainId = uint32_t;  ///< a value of a topology key

/// One label of nodes as a division of them. Domains are numbered from 0; the number of one that no node has any more is used
/// again.
class TopologyKey {
 public:
  explicit TopologyKey(std::string key) : key_(std::move(key)) {}
  const std::string& key() const { return key_; }
  DomainId Of(NodeId node) const { return node < of_node_.size() ? of_node_[node] : kNone; }
  /// Null: the node lacks the label, or is gone.
  void Set(NodeId node, const std::string* value);

 private:
  std::string key_;
  std::vector<DomainId> of_node_;
  std::unordered_map<std::string, DomainId, TextHash, std::equal_to<>> by_value_;
  std::vector<std::string> values_;
  std::vector<uint32_t> nodes_;  // per domain
  std::vector<DomainId> free_;
};

/// Which pods a term means.
struct TermMatcher {
  std::vector<std::string> namespaces;  ///< sorted
  std::optional<kube::LabelSelector> namespace_selector;
  kube::LabelSelector selector;

  bool Matches(const std::string& ns, const kube::Labels& ns_labels, const kube::Labels& labels) const;
  void AddTo(TextKey& key) const;
};

/// A pod's namespace and labels as a few of 64 bits. A term can only mean pods that have all the bits which it requires, so
/// most pairs of terms and classes need no second look.
uint64_t LabelBits(std::string_view key, std::string_view value);
uint64_t LabelBits(const std::string& ns, const kube::Labels& labels);

/// Which nodes a spread constraint looks at.
struct Eligibility {
  std::vector<uint32_t> keys;  ///< indices of topology keys that the node must have
  NodeSelection nodes;         ///< everything() when nodeAffinityPolicy is Ignore
  std::string pinned;
  bool honor_taints = false;
  std::vector<kube::Toleration> tolerations;
  /// Verdict per shape: 0 unknown, 1 eligible, 2 not.
  std::vector<uint8_t> verdicts;

  bool depends_on_shape() const { return honor_taints || !nodes.everything() || !pinned.empty(); }
  bool depends_on_node() const { return !pinned.empty() || nodes.UsesIdentity(); }
  bool Allows(const NodeShape& shape, const NodeLabels& node) const;
};

/// Pods counted per domain of one topology key.
class Counter {
 public:
  enum class Kind : uint8_t {
    kMatching,  ///< pods that `terms` mean, all of them
    kHolding,   ///< pods that have the anti-affinity term; `terms` (one) mean the pods that they keep away
  };

  Counter(Kind what, uint32_t by_key, std::vector<TermMatcher> meant) : kind(what), key(by_key), terms(std::move(meant)) {}

  const Kind kind;
  const uint32_t key;
  const std::vector<TermMatcher> terms;
  bool skip_terminating = false;           ///< spread does not count pods on their way out
  bool counts_nothing = false;             ///< spread with an empty selector
  std::optional<Eligibility> eligibility;  ///< for spread; then the smallest count is known
  uint32_t users = 0;                      ///< classes with the term
  std::string text;                        ///< equal for equal counters

  bool Matches(const std::string& ns, const kube::Labels& ns_labels, const kube::Labels& labels, bool terminating) const;
  /// Labels that a pod must have to match; see LabelBits.
  uint64_t RequiredBits() const;

  int64_t Count(DomainId domain) const { return domain < counts_.size() ? counts_[domain] : 0; }
  int64_t total() const { return total_; }
  /// Domains with at least one pod.
  int64_t used_domains() const { return used_domains_; }
  /// Domains of eligible nodes, and the smallest count in any of them (0 when there is none).
  int64_t domains() const { return domains_; }
  int64_t smallest() const { return domains_ == 0 ? 0 : smallest_; }

  void AddPods(DomainId domain, int64_t pods);
  /// An eligible node comes to (goes from) the domain; only with eligibility, and while it has no pods.
  void AddNode(DomainId domain);
  void RemoveNode(DomainId domain);
  void Clear();

 private:
  void Grow(DomainId domain);
  void Raise();

  std::vector<int32_t> counts_;
  std::vector<uint32_t> nodes_;      // eligible, per domain
  std::vector<uint32_t> histogram_;  // domains by their count
  int64_t total_ = 0, used_domains_ = 0, domains_ = 0, smallest_ = 0;
};

/// A class of pods and the counters that concern it.
struct ClassTopology {
  struct Spread {
    CounterId counter;
    int64_t max_skew, min_domains;
    int64_t self;  ///< 1 if the class is meant by its own constraint
  };
  std::vector<CounterId> counted_by;               ///< a pod of the class counts here
  std::vector<CounterId> forbidden_by;             ///< existing pods' anti-affinity that concerns the class
  std::vector<CounterId> affinity, anti_affinity;  ///< one for each term, in the order of the terms
  std::vector<CounterId> own;                      ///< every use of a counter by the class's own terms
  bool first_of_its_group = false;                 ///< the class is meant by all of its own affinity terms
  std::vector<Spread> spread;                      ///< in the order of PodSpec::spread

  bool empty() const { return affinity.empty() && anti_affinity.empty() && spread.empty() && forbidden_by.empty(); }
};

}  // namespace evenkeel::scheduling
