// Node groups whose nodes are alike, such as one per zone, grow together: which are alike, and how a scale-up is shared so that
// their sizes become equal.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/processors/nodegroupset/compare_nodegroups.go, balancing_processor.go
#pragma once

#include <string>
#include <vector>

#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// Decides whether nodes of two groups are alike: the same resources, memory within 1.5 %, allocatable and free amounts within
/// 5 %, the same devices, equal labels but for zone, region, host name, names of the groups themselves and those that the flags
/// name; with
/// --balancing-label only those labels.
class SimilarGroups {
 public:
  explicit SimilarGroups(const Options& options);
  bool Similar(const NodeTemplate& a, const NodeTemplate& b) const;

 private:
  bool LabelsAlike(const kube::Labels& a, const kube::Labels& b) const;

  std::set<std::string, std::less<>> ignored_labels_;
  std::vector<std::string> only_labels_;
  double memory_ratio_, free_ratio_, allocatable_ratio_;
};

struct GroupSize {
  std::string group;
  int64_t size = 0, max = 0;
};
struct GroupDelta {
  std::string group;
  int64_t from = 0, to = 0;
  bool operator==(const GroupDelta&) const = default;
};

/// Shares `nodes` more nodes so that the sizes become as equal as the maxima allow; the smallest groups come first, of equal
/// ones the first by name. Only groups that change are in the answer. O(groups log groups + nodes).
std::vector<GroupDelta> Balance(std::vector<GroupSize> groups, int64_t nodes);

}  // namespace evenkeel::controllers::autoscaler
