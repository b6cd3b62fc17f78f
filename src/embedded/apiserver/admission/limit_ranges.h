// What LimitRanges do to the pods and claims of their namespace, as Kubernetes' admission plugin LimitRanger: containers that
// name no amounts get the defaults, before webhooks see the pod, and what is outside of the bounds is refused.
// Follows: kubernetes@1.36 plugin/pkg/admission/limitranger/admission.go
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "base/json.h"
#include "embedded/apiserver/access/store_follower.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// Fills in what the LimitRange's entries of type Container give to containers that name none, and tells of it in the pod's
/// annotation kubernetes.io/limit-ranger. Pure.
void SetLimitDefaults(const base::Json& range, base::Json& pod);
/// What is wrong with a Pod or a PersistentVolumeClaim by one LimitRange, in upstream's words; "" when nothing is. Pure.
std::string LimitViolation(const base::Json& range, std::string_view kind, const base::Json& object);

/// Knows the LimitRanges of all namespaces. Thread-safe once it has been started; where there are none it costs one atomic.
class LimitRanges {
 public:
  /// `served`: the kind LimitRange. The store must outlive it.
  LimitRanges(store::Store& store, ServedPointer served, base::Executor* executor);

  /// Once.
  base::Status Start();
  bool current() const { return follower_.current(); }

  /// The defaults for a pod that is being made, which has been ingested; other kinds stay as they are.
  void SetDefaults(const Call& call, base::Json& object) const;
  /// kForbidden when a pod or claim is outside of the bounds. `old`: of an update; only claims have any.
  base::Status Check(const Call& call, const base::Json& object, const base::Json* old) const;

 private:
  /// By name.
  using Ranges = std::map<std::string, std::shared_ptr<const base::Json>>;

  void Put(const store::KeyValue& item);
  void Remove(const std::string& key);
  /// Of the namespace; empty where the call is not about pods or claims.
  Ranges Concerning(const Call& call) const;

  const ServedPointer served_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Ranges> ranges_;  // by namespace; guarded by mutex_
  std::atomic<bool> any_ = false;
  StoreFollower follower_;
};

}  // namespace evenkeel::embedded::apiserver
