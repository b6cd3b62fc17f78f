#include "embedded/apiserver/api/discovery.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

// What a subresource takes and gives, where that is another kind than the resource's.
struct SubresourceKind {
  std::string_view group, version, kind;
};

SubresourceKind KindOf(const kube::Resource& resource, std::string_view subresource) {
  if (subresource == "scale") return {"autoscaling", "v1", "Scale"};
  if (subresource == "eviction") return {"policy", "v1", "Eviction"};
  if (subresource == "token") return {"authentication.k8s.io", "v1", "TokenRequest"};
  if (subresource == "binding") return {"", "", "Binding"};
  return {"", "", resource.kind};
}

std::vector<std::string> VerbsOf(const kube::Resource& resource) {
  if (resource.review) return {"create"};
  if (!DeletesCollections(resource)) return {"create", "delete", "get", "list", "patch", "update", "watch"};
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

std::vector<std::string> VerbsOf(std::string_view subresource) {
  if (subresource == "eviction" || subresource == "binding" || subresource == "token") return {"create"};
  if (subresource == "log") return {"get"};
  if (subresource == "finalize") return {"update"};
  return {"get", "patch", "update"};
}

// The subresources that are really served: some kinds' texts name more than an embedded cluster has.
std::vector<std::string> SubresourcesOf(const kube::Resource& resource) {
  std::vector<std::string> result;
  for (const std::string& name : resource.subresources) {
    for (const std::string_view known : {"status", "scale", "log", "eviction", "binding", "finalize", "token"}) {
      if (name == known) result.push_back(name);
    }
  }
  const bool namespaces = resource.group.empty() && resource.plural == "namespaces";
  if (namespaces && std::ranges::find(result, "finalize") == result.end()) result.emplace_back("finalize");
  return result;
}

// Groups and their versions, newest first, in the order of the table.
std::vector<std::pair<std::string, std::vector<std::string>>> GroupsOf(const ResourceTable& table) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const ServedPointer& served : table.All()) {
    const kube::Resource& resource = served->resource;
    auto group = std::ranges::find(groups, resource.group, &std::pair<std::string, std::vector<std::string>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {resource.group, {}});
    if (std::ranges::find(group->second, resource.version) == group->second.end()) group->second.push_back(resource.version);
  }
  for (auto& [name, versions] : groups) std::ranges::stable_sort(versions, NewerVersion);
  return groups;
}

JsonObject GroupJson(const std::string& group, const std::vector<std::string>& versions) {
  JsonArray entries;
  for (const std::string& version : versions) {
    entries.push_back(JsonObject{{"groupVersion", group + "/" + version}, {"version", version}});
  }
  const Json preferred = entries.front();
  return {{"name", group}, {"versions", std::move(entries)}, {"preferredVersion", preferred}};
}

JsonObject DiscoveryResource(const kube::Resource& resource) {
  JsonObject entry{
      {"resource", resource.plural},
      {"responseKind", JsonObject{{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}}},
      {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
      {"singularResource", resource.singular},
      {"verbs", base::ToJsonArray(VerbsOf(resource))}};
  if (!resource.short_names.empty()) entry["shortNames"] = base::ToJsonArray(resource.short_names);
  if (!resource.categories.empty()) entry["categories"] = base::ToJsonArray(resource.categories);
  JsonArray subresources;
  for (const std::string& name : SubresourcesOf(resource)) {
    const SubresourceKind kind = KindOf(resource, name);
    const bool own = kind.version.empty();
    subresources.push_back(
        JsonObject{{"subresource", name},
                   {"responseKind", JsonObject{{"group", own ? std::string_view(resource.group) : kind.group},
                                               {"version", own ? std::string_view(resource.version) : kind.version},
                                               {"kind", kind.kind}}},
                   {"verbs", base::ToJsonArray(VerbsOf(name))}});
  }
  if (!subresources.empty()) entry["subresources"] = std::move(subresources);
  return entry;
}

}  // namespace

bool DeletesCollections(const kube::Resource& resource) { return !resource.group.empty() || resource.plural != "namespaces"; }

Json ApiVersions() {
  return JsonObject{{"kind", "APIVersions"}, {"versions", JsonArray{"v1"}}, {"serverAddressByClientCIDRs", JsonArray()}};
}

Json ApiGroupList(const ResourceTable& table) {
  JsonArray groups;
  for (const auto& [name, versions] : GroupsOf(table)) {
    if (!name.empty()) groups.push_back(GroupJson(name, versions));
  }
  return JsonObject{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

Json ApiGroup(const ResourceTable& table, std::string_view group) {
  for (const auto& [name, versions] : GroupsOf(table)) {
    if (name != group || name.empty()) continue;
    JsonObject json{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& field : GroupJson(name, versions)) json[field.key()] = field.value();
    return json;
  }
  return nullptr;
}

Json ApiResourceList(const ResourceTable& table, std::string_view group, std::string_view version) {
  JsonArray resources;
  for (const ServedPointer& served : table.All()) {
    const kube::Resource& resource = served->resource;
    if (resource.group != group || resource.version != version) continue;
    JsonObject entry{{"name", resource.plural},
                     {"singularName", resource.singular},
                     {"namespaced", resource.namespaced},
                     {"kind", resource.kind},
                     {"verbs", base::ToJsonArray(VerbsOf(resource))}};
    if (!resource.short_names.empty()) entry["shortNames"] = base::ToJsonArray(resource.short_names);
    if (!resource.categories.empty()) entry["categories"] = base::ToJsonArray(resource.categories);
    resources.push_back(std::move(entry));
    for (const std::string& name : SubresourcesOf(resource)) {
      const SubresourceKind kind = KindOf(resource, name);
      JsonObject sub{{"name", resource.plural + "/" + name},
                     {"singularName", ""},
                     {"namespaced", resource.namespaced},
                     {"kind", kind.kind},
                     {"verbs", base::ToJsonArray(VerbsOf(name))}};
      if (!kind.version.empty()) {
        sub["group"] = kind.group;
        sub["version"] = kind.version;
      }
      resources.push_back(std::move(sub));
    }
  }
  if (resources.empty()) return nullptr;
  const std::string group_version = (group.empty() ? "" : std::string(group) + "/") + std::string(version);
  return JsonObject{
      {"kind", "APIResourceList"}, {"apiVersion", "v1"}, {"groupVersion", group_version}, {"resources", std::move(resources)}};
}

Json AggregatedDiscovery(const ResourceTable& table, bool core, std::string_view version) {
  JsonArray items;
  for (const auto& [group, versions] : GroupsOf(table)) {
    if (group.empty() != core) continue;
    JsonArray entries;
    for (const std::string& name : versions) {
      JsonArray resources;
      for (const ServedPointer& served : table.All()) {
        if (served->resource.group == group && served->resource.version == name)
          resources.push_back(DiscoveryResource(served->resource));
      }
      entries.push_back(JsonObject{{"version", name}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    JsonObject metadata{{"creationTimestamp", nullptr}};
    if (!group.empty()) metadata["name"] = group;
    items.push_back(JsonObject{{"metadata", std::move(metadata)}, {"versions", std::move(entries)}});
  }
  return JsonObject{{"kind", "APIGroupDiscoveryList"},
                    {"apiVersion", "apidiscovery.k8s.io/" + std::string(version)},
                    {"metadata", JsonObject()},
                    {"items", std::move(items)}};
}

Json RootPaths(const ResourceTable& table) {
  JsonArray paths{"/api", "/api/v1", "/apis"};
  for (const auto& [group, versions] : GroupsOf(table)) {
    if (group.empty()) continue;
    paths.emplace_back("/apis/" + group);
    for (const std::string& version : versions) paths.emplace_back("/apis/" + group + "/" + version);
  }
  for (const std::string_view path : {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  return JsonObject{{"paths", std::move(paths)}};
}

}  // namespace evenkeel::embedded::apiserver
