// Who controls what: adopting orphans that a selector finds and letting go of what it does not find any more.
// Follows: kubernetes@1.36 pkg/controller/controller_ref_manager.go
#pragma once

#include <string>
#include <vector>

#include "embedded/workloads/pods/pods.h"
#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// Takes a stray object as a dependent: a patch that holds only while its uid is the same.
base::Status Adopt(client::Client& client, const kube::Resource& resource, const kube::ObjectMeta& stray,
                   const kube::Resource& owner_kind, const kube::ObjectMeta& owner);
/// Removes the owner from the object's references; a vanished object is no error.
base::Status Release(client::Client& client, const kube::Resource& resource, const kube::ObjectMeta& object,
                     const std::string& owner_uid);
/// Whether the owner still lives, asked of the API and not the cache: adopting for a deleted owner would keep orphans from
/// being kept.
bool MayAdopt(client::Client& client, const kube::Resource& owner_kind, const kube::ObjectMeta& owner);

/// The objects under control of `owner` that match its selector, in the order of their keys, after adopting and releasing what
/// is needed. `filter` says which strays may be adopted at all (null: every one that is not being deleted).
template <typename T>
base::Result<std::vector<std::shared_ptr<const T>>> Claim(client::Client& client, const OwnedIndex<T>& index,
                                                          const kube::Resource& resource, const kube::Resource& owner_kind,
                                                          const kube::ObjectMeta& owner, const kube::LabelSelector& selector,
                                                          const std::function<bool(const T&)>& filter = nullptr) {
  std::vector<std::shared_ptr<const T>> claimed;
  // Copies: releasing and adopting may reach the index through the informers of a real-time strand only later, but never in
  // between.
  for (const auto& [key, item] : index.OwnedBy(owner.uid)) {
    if (item->meta.ns != owner.ns) continue;
    if (selector.Matches(item->meta.labels)) {
      claimed.push_back(item);
    } else if (!owner.deletion_time) {
      EVENKEEL_TRY(Release(client, resource, item->meta, owner.uid));
    }
  }
  if (owner.deletion_time) return claimed;
  bool asked = false;
  for (const auto& [key, item] : index.Orphans(owner.ns)) {
    if (item->meta.deletion_time || !selector.Matches(item->meta.labels) || (filter && !filter(*item))) continue;
    if (!asked && !MayAdopt(client, owner_kind, owner))
      return base::Fail(base::Code::kConflict, owner.Key() + " is not what it was");
    asked = true;
    EVENKEEL_TRY(Adopt(client, resource, item->meta, owner_kind, owner));
    claimed.push_back(item);
  }
  return claimed;
}

/// Deletes what is controlled here by an object that runs elsewhere (Reconciler::IsTemplate).
template <typename Items>
base::Result<Again> RemoveDependents(client::Client& client, const kube::Resource& resource, const Items& dependents) {
  for (const auto& [key, item] : Items(dependents)) {
    if (item->meta.deletion_time) continue;
    client::DeleteOptions options;
    options.uid = item->meta.uid;
    options.propagation_policy = "Background";
    EVENKEEL_TRY(UnlessGone(client.Delete(resource, item->meta.ns, item->meta.name, options)));
  }
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
