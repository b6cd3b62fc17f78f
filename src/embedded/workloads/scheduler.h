// A simple scheduler: binds pods without a node, one after the other, to the least allocated node they fit on.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "embedded/workloads/reconciler.h"

namespace evenkeel::embedded::workloads {

/// What a pod asks for, with what nearly every pod asks for at hand.
struct PodAsk {
  explicit PodAsk(const kube::Pod& pod);
  int64_t cpu = 0, memory = 0;
  bool more = false;   ///< asks for other resources
  bool ports = false;  ///< asks for host ports
  kube::ResourceList requests;
};

/// What is taken on one node. Kept incrementally.
class NodeLoad {
 public:
  void Set(const NodePointer& node);
  void Add(const kube::Pod& pod);
  void Remove(const kube::Pod& pod);

  const NodePointer& node() const { return node_; }
  /// Why the pod does not fit, in upstream's words ("Insufficient cpu", "node(s) had untolerated taint {...}"); several only
  /// for resources. Empty: it fits.
  std::vector<std::string> Misfits(const kube::Pod& pod, const PodAsk& ask) const;
  bool Fits(const kube::Pod& pod, const PodAsk& ask) const;
  /// What share of cpu and memory would be left with the pod on it: more is better. Comparable between nodes only.
  int64_t Score(const PodAsk& ask) const;

 private:
  struct Amounts {
    int64_t cpu = 0, memory = 0, pods = 0;
  };
  bool PortsTaken(const kube::Pod& pod) const;
  NodePointer node_;
  Amounts all_, taken_;  // the same as in the lists, without a search
  kube::ResourceList used_;
  std::map<std::string, int> ports_;
};

/// Cost of binding one pod: O(nodes).
class Scheduler final : public Reconciler {
 public:
  explicit Scheduler(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  bool Wants(const kube::Pod& pod) const;
  void OnPod(const PodPointer& before, const PodPointer& after);
  void Account(const kube::Pod& pod, const std::string& node);
  void Forget(const std::string& key);
  void RetryUnschedulable();
  base::Result<Again> Bind(const kube::Pod& pod, const std::string& node);
  base::Result<Again> MarkUnschedulable(const kube::Pod& pod, const PodAsk& ask);

  struct Placed {
    std::string node;
    PodPointer pod;
  };
  std::map<std::string, NodeLoad> loads_;  // by node name, also of nodes that are not there (yet)
  std::map<std::string, Placed> placed_;   // by pod key
  std::set<std::string> unschedulable_;    // pod keys that wait for a change
};

}  // namespace evenkeel::embedded::workloads
