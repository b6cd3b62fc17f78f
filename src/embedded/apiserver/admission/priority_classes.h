// Which priority pods get, as Kubernetes' admission plugin Priority: that of their PriorityClass, or of the one that is the
// default. There is only one of those.
#pragma once

#include <map>
#include <shared_mutex>
#include <string>

#include "base/json.h"
#include "embedded/apiserver/access/store_follower.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// Knows all PriorityClasses. Thread-safe once it has been started.
class PriorityClasses {
 public:
  /// `served`: the kind PriorityClass. The store must outlive it.
  PriorityClasses(store::Store& store, ServedPointer served, base::Executor* executor);

  /// Once.
  base::Status Start();
  bool current() const { return follower_.current(); }

  /// Fills in name, priority and preemption policy of a pod that is being made. kForbidden when its class is not there or when
  /// the pod names others than that of its class.
  base::Status Assign(const Call& call, base::Json& pod) const;
  /// kForbidden when another class is the default already. `object` is a class that is written; other kinds pass.
  base::Status Check(const Call& call, const base::Json& object) const;

 private:
  struct Class {
    std::string name;
    int64_t priority = 0;
    std::string policy = "PreemptLowerPriority";
    bool is_default = false;
  };
  static Class ReadClass(const base::Json& object);
  /// Of several, which only come of a race, the one of the lowest priority; without a name where there is none.
  Class Default() const;

  store::Store& store_;
  const ServedPointer served_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Class> defaults_;  // by name; guarded by mutex_
  StoreFollower follower_;
};

}  // namespace evenkeel::embedded::apiserver
