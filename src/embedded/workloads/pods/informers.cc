#include "embedded/workloads/pods/informers.h"

#include <set>

namespace evenkeel::embedded::workloads {
namespace {

using base::FindArray;
using base::FindBool;
using base::Json;
using kube::Resource;

std::string InformerKey(const Resource& resource) { return resource.group + "/" + resource.plural; }

bool HoldsObjects(const Resource& resource) {
  static const std::set<std::string> virtual_kinds{"Binding", "ComponentStatus", "Eviction", "Scale", "DeleteOptions"};
  return !resource.review && !virtual_kinds.contains(resource.kind);
}

/// The kind that a CRD defines, in its storage version; nullopt when it is not served.
std::optional<Resource> ResourceOfCrd(const Json& crd) {
  if (kube::ConditionStatus(crd, "Established") != "True") return std::nullopt;
  const Json* stored = nullptr;
  for (const Json& version : FindArray(crd, {"spec", "versions"})) {
    if (FindBool(version, {"served"}) && (stored == nullptr || FindBool(version, {"storage"}))) stored = &version;
  }
  if (stored == nullptr) return std::nullopt;
  Resource resource = kube::ResourceOf(crd, *stored);
  if (resource.version.empty() || resource.plural.empty()) return std::nullopt;
  return resource;
}

}  // namespace

NodeItem NodeItem::Decode(const Json& json) {
  NodeItem node;
  static_cast<kube::Node&>(node) = kube::Node::Decode(json);
  node.json = std::make_shared<const Json>(json);
  return node;
}

const std::vector<const Resource*>& StoredBuiltIns() {
  static const std::vector<const Resource*> all = [] {
    std::vector<const Resource*> result;
    std::set<std::string> seen;
    for (const Resource& resource : kube::BuiltInResources()) {
      if (!HoldsObjects(resource)) continue;
      // Versions and groups that show the same objects share their storage: the first one stands for all.
      const std::string storage = resource.storage_group.empty() ? InformerKey(resource) : resource.storage_group;
      if (seen.insert(storage).second) result.push_back(&resource);
    }
    return result;
  }();
  return all;
}

SharedInformers::SharedInformers(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                                 base::Random random)
    : client_(client),
      strand_(std::move(strand)),
      clock_(clock),
      random_(std::move(random)),
      pods_(client, kube::resources::Pods(), {}, strand_, clock, random_.Fork("pods")),
      nodes_(client, kube::resources::Nodes(), {}, strand_, clock, random_.Fork("nodes")) {
  pods_.AddHandler([this](const PodPointer& before, const PodPointer& after) {
    owned_pods_.Update(before, after);
    if (before != nullptr && !before->node_name.empty()) {
      auto found = pods_on_.find(before->node_name);
      if (found != pods_on_.end()) {
        found->second.erase(before->meta.Key());
        if (found->second.empty()) pods_on_.erase(found);
      }
    }
    if (after != nullptr && !after->node_name.empty()) pods_on_[after->node_name][after->meta.Key()] = after;
    TellMeta(kube::resources::Pods(), before ? &before->meta : nullptr, after ? &after->meta : nullptr);
  });
  nodes_.AddHandler([this](const NodePointer& before, const NodePointer& after) {
    TellMeta(kube::resources::Nodes(), before ? &before->meta : nullptr, after ? &after->meta : nullptr);
  });
}

void SharedInformers::TellMeta(const Resource& resource, const kube::ObjectMeta* before, const kube::ObjectMeta* after) {
  for (const MetaHandler& handler : meta_handlers_) handler(resource, before, after);
}

SharedInformers::Generic& SharedInformers::Entry(const Resource& resource, bool custom) {
  const std::string key = InformerKey(resource);
  auto [found, added] = generic_.try_emplace(key);
  Generic& entry = found->second;
  if (!added) return entry;
  entry.resource = resource;
  entry.custom = custom;
  entry.owned = std::make_unique<OwnedIndex<kube::Object>>();
  entry.informer = std::make_unique<client::Informer<kube::Object>>(client_, entry.resource, client::InformerOptions{}, strand_,
                                                                    clock_, random_.Fork(key));
  entry.informer->AddHandler([this, &entry](const ObjectPointer& before, const ObjectPointer& after) {
    entry.owned->Update(before, after);
    TellMeta(entry.resource, before ? &before->meta : nullptr, after ? &after->meta : nullptr);
  });
  if (started_) entry.informer->Start();
  return entry;
}

client::Informer<kube::Object>& SharedInformers::Of(const Resource& resource) { return *Entry(resource, false).informer; }

OwnedIndex<kube::Object>& SharedInformers::Owned(const Resource& resource) { return *Entry(resource, false).owned; }

const std::map<std::string, PodPointer>& SharedInformers::PodsOn(const std::string& node) const {
  static const std::map<std::string, PodPointer> none;
  auto found = pods_on_.find(node);
  return found == pods_on_.end() ? none : found->second;
}

std::vector<PodPointer> SharedInformers::PodsIn(const std::string& ns) const {
  std::vector<PodPointer> pods;
  const auto& all = pods_.items();
  const std::string prefix = ns + "/";
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) pods.push_back(at->second);
  return pods;
}

void SharedInformers::WatchEverything() {
  if (everything_) return;
  everything_ = true;
  for (const Resource* resource : StoredBuiltIns()) {
    if (resource->kind == "Event" || resource->kind == "Pod" || resource->kind == "Node") continue;
    Entry(*resource, false);
  }
  Of(kube::resources::CustomResourceDefinitions()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    OnCrd(before, after);
  });
}

void SharedInformers::OnCrd(const ObjectPointer& before, const ObjectPointer& after) {
  std::optional<Resource> was = before ? ResourceOfCrd(*before->json) : std::nullopt;
  std::optional<Resource> is = after ? ResourceOfCrd(*after->json) : std::nullopt;
  if (was && (!is || is->version != was->version || is->namespaced != was->namespaced)) {
    auto found = generic_.find(InformerKey(*was));
    if (found != generic_.end() && found->second.custom) {
      // What was cached is gone as far as owners and dependents are concerned.
      for (const auto& [key, object] : found->second.informer->items())
        TellMeta(found->second.resource, &object->meta, nullptr);
      generic_.erase(found);
    }
  }
  if (is) Entry(*is, true);
}

std::vector<const Resource*> SharedInformers::Kinds() const {
  std::vector<const Resource*> kinds = StoredBuiltIns();
  for (const auto& [key, entry] : generic_) {
    if (entry.custom) kinds.push_back(&entry.resource);
  }
  return kinds;
}

const Resource* SharedInformers::FindKind(const std::string& api_version, const std::string& kind) const {
  std::string group, version;
  kube::SplitApiVersion(api_version, group, version);
  for (const Resource* resource : Kinds()) {
    if (resource->kind == kind && resource->group == group) return resource;
  }
  return kube::FindBuiltInKind(api_version, kind);
}

void SharedInformers::Start() {
  started_ = true;
  pods_.Start();
  nodes_.Start();
  for (auto& [key, entry] : generic_) entry.informer->Start();
}

bool SharedInformers::synced() const {
  if (!pods_.synced() || !nodes_.synced()) return false;
  for (const auto& [key, entry] : generic_) {
    if (!entry.custom && !entry.informer->synced()) return false;
  }
  return true;
}

}  // namespace evenkeel::embedded::workloads
