// What a node looks like to the filters that only look at the node: labels, taints, cordon. Nodes of one group share a shape;
// the host name, which tells them apart, is kept beside it.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,nodeunschedulable,nodename}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "kube/types.h"
#include "scheduling/ids.h"

namespace evenkeel::scheduling {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

struct NodeShape {
  kube::Labels labels;  ///< without kubernetes.io/hostname
  std::vector<kube::Taint> taints;
  bool unschedulable = false;
  std::vector<std::string> features;  ///< status.declaredFeatures, sorted

  std::string Key() const;
};

/// The labels of one node.
struct NodeLabels {
  const kube::Labels& shared;
  const std::string* hostname;  ///< null: no such label
  std::string_view name;        ///< metadata.name

  const std::string* Find(std::string_view key) const;
};

/// {matchExpressions, matchFields} as node affinity and volumes have them; a term without conditions, or with a wrong one,
/// matches nothing.
bool Matches(const kube::NodeSelectorTerm& term, const NodeLabels& node);
/// Any of them; false when there are none.
bool MatchesAny(const std::vector<kube::NodeSelectorTerm>& terms, const NodeLabels& node);
std::vector<kube::NodeSelectorTerm> DecodeNodeSelectorTerms(const base::JsonArray& terms);
void AddTo(TextKey& key, const std::vector<kube::NodeSelectorTerm>& terms);

/// nodeSelector and required node affinity of a pod.
struct NodeSelection {
  kube::Labels equal;
  bool required = false;  ///< there is a required node affinity: one of `terms` holds
  std::vector<kube::NodeSelectorTerm> terms;

  bool Matches(const NodeLabels& node) const;
  bool SelectorMatches(const NodeLabels& node) const;  ///< nodeSelector alone
  bool everything() const { return equal.empty() && !required; }
  /// Asks for the host name or the node's name, so nodes of one shape can differ.
  bool UsesIdentity() const;
  /// The nodes that matchFields name, when every term names some (upstream narrows its search to them); sorted.
  std::optional<std::vector<std::string>> Named() const;
  void AddTo(TextKey& key) const;
};

/// The first taint with effect NoSchedule or NoExecute that is not tolerated; null when there is none.
const kube::Taint* UntoleratedTaint(const std::vector<kube::Toleration>& tolerations, const std::vector<kube::Taint>& taints);

}  // namespace evenkeel::scheduling
