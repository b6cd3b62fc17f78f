// The garbage collector: deletes what its owners have left behind. Owners are known by uid; kinds are all that are watched.
// Background: dependents go after their owner; foreground: an owner with the finalizer foregroundDeletion waits for the
// dependents that block it; orphan: an owner with the finalizer orphan lets its dependents go first.
// Follows: kubernetes@1.36 pkg/controller/garbagecollector/garbagecollector.go
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class GarbageCollector final : public Reconciler {
 public:
  explicit GarbageCollector(Context& context);

 private:
  struct Node {
    kube::Resource resource;
    std::string ns, name, uid;
    std::vector<kube::OwnerReference> owners;
    bool deleting = false;
    bool foreground = false;  ///< being deleted, waits for its dependents
    bool orphan = false;      ///< being deleted, its dependents are to be let go
  };
  enum class OwnerState { kSolid, kDangling, kWaiting };

  /// Keys are uids.
  base::Result<Again> Reconcile(const std::string& key) override;
  void OnChange(const kube::Resource& resource, const kube::ObjectMeta* before, const kube::ObjectMeta* after);
  void Put(const kube::Resource& resource, const kube::ObjectMeta& meta);
  void Drop(const std::string& uid);
  void EnqueueDependents(const std::string& uid);

  static bool Names(const kube::OwnerReference& owner, const Node& node);
  void TellOfNamespace(const Node& node, const kube::OwnerReference& owner);
  base::Result<OwnerState> StateOf(const Node& node, const kube::OwnerReference& owner);
  base::Result<Again> FinishForeground(const Node& node);
  base::Result<Again> OrphanDependents(const Node& node);
  base::Result<Again> CollectIfUnowned(const Node& node);
  base::Status RemoveOwners(const Node& node, const std::set<std::string>& uids);
  base::Status Unblock(const Node& node);
  base::Status RemoveFinalizer(const Node& node, const char* finalizer);
  base::Status Delete(const Node& node, const char* policy);

  std::map<std::string, Node> nodes_;                                     // by uid
  std::map<std::string, std::map<std::string, std::string>> dependents_;  // owner uid -> "KIND NAMESPACE/NAME" -> uid
};

}  // namespace evenkeel::embedded::workloads
