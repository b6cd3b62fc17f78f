#include "embedded/workloads/cluster/garbage_collector.h"

#include <algorithm>

namespace evenkeel::embedded::workloads {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;

constexpr const char* kForeground = "foregroundDeletion";
constexpr const char* kOrphan = "orphan";

std::string IdentityOf(const kube::Resource& resource, const std::string& ns, const std::string& name) {
  return resource.QualifiedPlural() + " " + ns + "/" + name;
}

}  // namespace

GarbageCollector::GarbageCollector(Context& context) : Reconciler(context, "garbage-collector") {
  informers().AddMetaHandler([this](const kube::Resource& resource, const kube::ObjectMeta* before,
                                    const kube::ObjectMeta* after) { OnChange(resource, before, after); });
  informers().WatchEverything();
}

void GarbageCollector::EnqueueDependents(const std::string& uid) {
  auto found = dependents_.find(uid);
  if (found == dependents_.end()) return;
  for (const auto& [identity, dependent] : found->second) Enqueue(dependent);
}

void GarbageCollector::Put(const kube::Resource& resource, const kube::ObjectMeta& meta) {
  Node& node = nodes_[meta.uid];
  const std::string identity = IdentityOf(resource, meta.ns, meta.name);
  for (const kube::OwnerReference& owner : node.owners) {
    auto found = dependents_.find(owner.uid);
    if (found != dependents_.end() && found->second.erase(identity) > 0 && found->second.empty()) dependents_.erase(found);
  }
  node.resource = resource;
  node.ns = meta.ns;
  node.name = meta.name;
  node.uid = meta.uid;
  node.owners = meta.owners;
  node.deleting = meta.deletion_time.has_value();
  node.foreground = node.deleting && meta.HasFinalizer(kForeground);
  node.orphan = node.deleting && meta.HasFinalizer(kOrphan);
  for (const kube::OwnerReference& owner : meta.owners) dependents_[owner.uid][identity] = meta.uid;
}

void GarbageCollector::Drop(const std::string& uid) {
  auto found = nodes_.find(uid);
  if (found == nodes_.end()) return;
  const std::string identity = IdentityOf(found->second.resource, found->second.ns, found->second.name);
  for (const kube::OwnerReference& owner : found->second.owners) {
    auto at = dependents_.find(owner.uid);
    if (at != dependents_.end()) {
      auto entry = at->second.find(identity);
      if (entry != at->second.end() && entry->second == uid) at->second.erase(entry);
      if (at->second.empty()) dependents_.erase(at);
    }
  }
  nodes_.erase(found);
}

void GarbageCollector::OnChange(const kube::Resource& resource, const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
  // Deleted and made again under one name between two looks: two objects.
  if (before != nullptr && (after == nullptr || after->uid != before->uid)) {
    for (const kube::OwnerReference& owner : before->owners) Enqueue(owner.uid);
    Drop(before->uid);
    EnqueueDependents(before->uid);
    before = nullptr;
  }
  if (after == nullptr) return;
  std::vector<kube::OwnerReference> old_owners;
  bool was_foreground = false;
  if (auto found = nodes_.find(after->uid); found != nodes_.end()) {
    old_owners = found->second.owners;
    was_foreground = found->second.foreground;
  }
  Put(resource, *after);
  const Node& node = nodes_[after->uid];
  for (const kube::OwnerReference& owner : old_owners) {
    const auto same =
        std::find_if(after->owners.begin(), after->owners.end(), [&](const auto& o) { return o.uid == owner.uid; });
    // An owner that waits may wait no longer.
    if (same == after->owners.end() || same->block_owner_deletion != owner.block_owner_deletion) Enqueue(owner.uid);
  }
  if (node.foreground || node.orphan ||
      (!node.owners.empty() && (before == nullptr || old_owners.size() != node.owners.size()))) {
    Enqueue(node.uid);
  }
  if (node.foreground && !was_foreground) EnqueueDependents(node.uid);
  // A new dependent of an owner that is already waiting.
  for (const kube::OwnerReference& owner : node.owners) {
    auto found = nodes_.find(owner.uid);
    if (found != nodes_.end() && found->second.foreground) Enqueue(node.uid);
  }
}

base::Result<Again> GarbageCollector::Reconcile(const std::string& key) {
  auto found = nodes_.find(key);
  if (found == nodes_.end()) return Again{};
  const Node node = found->second;
  if (node.orphan) return OrphanDependents(node);
  if (node.foreground) return FinishForeground(node);
  if (node.deleting || node.owners.empty()) return Again{};
  return CollectIfUnowned(node);
}

base::Result<Again> GarbageCollector::FinishForeground(const Node& node) {
  auto found = dependents_.find(node.uid);
  bool blocked = false;
  if (found != dependents_.end()) {
    for (const auto& [identity, uid] : found->second) {
      auto dependent = nodes_.find(uid);
      if (dependent == nodes_.end()) continue;
      const auto& owners = dependent->second.owners;
      blocked |= std::any_of(owners.begin(), owners.end(), [&](const kube::OwnerReference& owner) {
        return owner.uid == node.uid && owner.block_owner_deletion;
      });
      if (!dependent->second.deleting) Enqueue(uid);
    }
  }
  if (blocked) return Again{};
  EVENKEEL_TRY(RemoveFinalizer(node, kForeground));
  return Again{};
}

base::Result<Again> GarbageCollector::OrphanDependents(const Node& node) {
  auto found = dependents_.find(node.uid);
  if (found != dependents_.end()) {
    const auto dependents = found->second;
    for (const auto& [identity, uid] : dependents) {
      auto dependent = nodes_.find(uid);
      if (dependent != nodes_.end()) EVENKEEL_TRY(RemoveOwners(dependent->second, {node.uid}));
    }
  }
  EVENKEEL_TRY(RemoveFinalizer(node, kOrphan));
  return Again{};
}

base::Result<GarbageCollector::OwnerState> GarbageCollector::StateOf(const Node& node, const kube::OwnerReference& owner) {
  auto known = nodes_.find(owner.uid);
  // Who refers to it by another name or kind, or from another namespace, does not mean it: then that is looked up.
  if (known != nodes_.end() && (known->second.ns.empty() || known->second.ns == node.ns) && Names(owner, known->second)) {
    return known->second.foreground ? OwnerState::kWaiting : OwnerState::kSolid;
  }
  const kube::Resource* kind = informers().FindKind(owner.api_version, owner.kind);
  // What nobody knows here may exist elsewhere: rather keep.
  if (kind == nullptr) return OwnerState::kSolid;
  if (known != nodes_.end() && !known->second.ns.empty() && known->second.ns != node.ns) TellOfNamespace(node, owner);
  // What has no namespace cannot have an owner that is in one; upstream keeps it, too.
  if (node.ns.empty() && kind->namespaced) return OwnerState::kSolid;
  auto live = api().Get(*kind, kind->namespaced ? node.ns : "", owner.name);
  if (!live) {
    if (IsGone(live.error())) return OwnerState::kDangling;
    return base::Fail(live.error());
  }
  const kube::ObjectMeta meta = kube::DecodeMeta(*live);
  if (meta.uid != owner.uid) return OwnerState::kDangling;
  return meta.deletion_time && meta.HasFinalizer(kForeground) ? OwnerState::kWaiting : OwnerState::kSolid;
}

bool GarbageCollector::Names(const kube::OwnerReference& owner, const Node& node) {
  return owner.name == node.name && owner.kind == node.resource.kind && owner.api_version == node.resource.ApiVersion();
}

void GarbageCollector::TellOfNamespace(const Node& node, const kube::OwnerReference& owner) {
  base::JsonObject metadata{{"name", node.name}, {"uid", node.uid}};
  if (!node.ns.empty()) metadata["namespace"] = node.ns;
  const Json about = base::JsonObject{
      {"apiVersion", node.resource.ApiVersion()}, {"kind", node.resource.kind}, {"metadata", std::move(metadata)}};
  events().Warning(about, "OwnerRefInvalidNamespace",
                   fmt::format("ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace \"{}\"",
                               owner.api_version, owner.kind, node.ns, owner.name, owner.uid, node.ns));
}

base::Result<Again> GarbageCollector::CollectIfUnowned(const Node& node) {
  std::set<std::string> dangling, waiting;
  bool solid = false;
  for (const kube::OwnerReference& owner : node.owners) {
    EVENKEEL_ASSIGN(const OwnerState state, StateOf(node, owner));
    solid |= state == OwnerState::kSolid;
    if (state == OwnerState::kDangling) dangling.insert(owner.uid);
    if (state == OwnerState::kWaiting) waiting.insert(owner.uid);
  }
  if (solid) {
    dangling.insert(waiting.begin(), waiting.end());
    if (!dangling.empty()) EVENKEEL_TRY(RemoveOwners(node, dangling));
    return Again{};
  }
  auto dependents = dependents_.find(node.uid);
  if (!waiting.empty() && dependents != dependents_.end()) {
    for (const auto& [identity, uid] : dependents->second) {
      auto dependent = nodes_.find(uid);
      // A circle of owners that wait for each other would never end.
      if (dependent != nodes_.end() && dependent->second.foreground) {
        EVENKEEL_TRY(Unblock(node));
        break;
      }
    }
    EVENKEEL_TRY(Delete(node, "Foreground"));
    return Again{};
  }
  EVENKEEL_TRY(Delete(node, "Background"));
  return Again{};
}

base::Status GarbageCollector::Delete(const Node& node, const char* policy) {
  auto current = api().Get(node.resource, node.ns, node.name);
  if (!current) return IsGone(current.error()) ? base::Status() : base::Fail(current.error());
  const kube::ObjectMeta meta = kube::DecodeMeta(*current);
  if (meta.uid != node.uid || meta.deletion_time) return {};
  // Decided on what the cache showed: somebody may have become its owner since.
  const auto same = [](const kube::OwnerReference& a, const kube::OwnerReference& b) { return a.uid == b.uid; };
  if (!std::equal(meta.owners.begin(), meta.owners.end(), node.owners.begin(), node.owners.end(), same)) {
    return base::Fail(base::Code::kConflict, "owners of " + meta.Key() + " have changed");
  }
  client::DeleteOptions options;
  options.uid = node.uid;
  options.resource_version = meta.resource_version;
  options.propagation_policy = meta.HasFinalizer(kOrphan) ? "Orphan" : meta.HasFinalizer(kForeground) ? "Foreground" : policy;
  return UnlessGone(api().Delete(node.resource, node.ns, node.name, options));
}

base::Status GarbageCollector::RemoveOwners(const Node& node, const std::set<std::string>& uids) {
  auto stored = client::ReadModifyWrite(api(), node.resource, node.ns, node.name, [&](Json& object) -> base::Result<bool> {
    if (kube::UidOf(object) != node.uid) return false;
    JsonArray kept;
    const JsonArray& references = FindArray(object, {"metadata", "ownerReferences"});
    for (const Json& reference : references) {
      if (!uids.contains(std::string(FindString(reference, {"uid"})))) kept.push_back(reference);
    }
    if (kept.size() == references.size()) return false;
    base::Ensure(object, {"metadata", "ownerReferences"}) = std::move(kept);
    return true;
  });
  return UnlessGone(stored);
}

base::Status GarbageCollector::Unblock(const Node& node) {
  auto stored = client::ReadModifyWrite(api(), node.resource, node.ns, node.name, [&](Json& object) -> base::Result<bool> {
    if (kube::UidOf(object) != node.uid) return false;
    Json* references = base::Find(object, {"metadata", "ownerReferences"});
    if (references == nullptr || !references->is_array()) return false;
    for (Json& reference : references->get_array()) reference.get_object()["blockOwnerDeletion"] = false;
    return true;
  });
  return UnlessGone(stored);
}

base::Status GarbageCollector::RemoveFinalizer(const Node& node, const char* finalizer) {
  auto stored = client::ReadModifyWrite(api(), node.resource, node.ns, node.name, [&](Json& object) -> base::Result<bool> {
    return kube::UidOf(object) == node.uid && kube::SetFinalizer(object, finalizer, false);
  });
  return UnlessGone(stored);
}

}  // namespace evenkeel::embedded::workloads
