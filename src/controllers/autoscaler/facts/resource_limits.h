// How much the cluster may grow: cores, memory, GPUs and nodes, over the whole cluster (flags) and over the nodes that a
// selector means (quotas). What is there is counted once, then kept with every node that a plan adds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controllers/autoscaler/options/options.h"
#include "kube/selector.h"
#include "kube/types.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr const char* kClusterWideQuota = "cluster-wide";

/// Upper limits by resource: "cpu" in whole cores, "memory" in bytes, "nodes", a GPU type, or any resource that nodes have.
struct Quota {
  std::string id;
  std::map<std::string, int64_t> limits;
  kube::LabelSelector nodes{};  ///< by the labels of nodes
};

/// The quota that --cores-total, --memory-total and --gpu-total make.
Quota ClusterWideQuota(const Options& options);

struct QuotaExcess {
  std::string quota;
  std::vector<std::string> resources;  ///< sorted
};
/// `exceeded quota: "ID", resources: cpu, memory`; several joined by "; ".
std::string Describe(const std::vector<QuotaExcess>& excesses);

class ResourceLimits {
 public:
  ResourceLimits(std::vector<Quota> quotas, std::string gpu_label);

  /// A node that is there. Virtual kubelets are not counted.
  void Count(const kube::Node& node) { Consume(node, 1); }
  /// `nodes` more like this one.
  void Consume(const kube::Node& node, int64_t nodes);
  /// Which quotas `nodes` more would break; none: all is well.
  std::vector<QuotaExcess> Check(const kube::Node& node, int64_t nodes) const;
  /// The most of `nodes` more like this one that every quota allows.
  int64_t Fitting(const kube::Node& node, int64_t nodes) const;

 private:
  struct Usage {
    Quota quota;
    std::map<std::string, int64_t> left;
  };
  int64_t AmountOf(const kube::Node& node, const std::string& resource) const;
  static bool Counts(const Usage& usage, const kube::Node& node);

  std::vector<Usage> quotas_;
  std::string gpu_label_;
};

}  // namespace evenkeel::controllers::autoscaler
