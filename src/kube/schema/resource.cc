#include "kube/resource.h"
#include "base/text.h"

#include "kube/schema/schema_text.h"

namespace evenkeel::kube {
namespace {

void AppendEscaped(std::string& path, std::string_view part) {
  constexpr char kHex[] = "0123456789ABCDEF";
  path += '/';
  for (const char letter : part) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = base::IsAlphanumeric(letter) || std::string_view("-._~:").contains(letter);
    if (plain) {
      path += letter;
    } else {
      path += '%';
      path += kHex[byte >> 4];
      path += kHex[byte & 15];
    }
  }
}

const Resource& MustFind(std::string_view group, std::string_view version, std::string_view plural) {
  const Resource* resource = FindBuiltIn(group, version, plural);
  EVENKEEL_CHECK(resource != nullptr);
  return *resource;
}

}  // namespace

std::string Resource::Path(std::string_view ns, std::string_view name, std::string_view subresource) const {
  std::string path = group.empty() ? "/api" : "/apis";
  if (!group.empty()) AppendEscaped(path, group);
  AppendEscaped(path, version);
  if (namespaced && !ns.empty()) {
    path += "/namespaces";
    AppendEscaped(path, ns);
  }
  AppendEscaped(path, plural);
  if (name.empty()) return path;
  AppendEscaped(path, name);
  if (!subresource.empty()) AppendEscaped(path, subresource);
  return path;
}

Resource MakeResource(std::string_view api_version, std::string_view kind, std::string_view plural, bool namespaced,
                      std::vector<std::string> subresources) {
  Resource made;
  SplitApiVersion(api_version, made.group, made.version);
  made.kind = kind;
  made.plural = plural;
  made.namespaced = namespaced;
  made.singular = base::Lower(kind);
  made.subresources = std::move(subresources);
  made.storage_group = made.group.empty() ? made.plural : made.group + "/" + made.plural;
  return made;
}

Resource ResourceOf(const base::Json& definition, const base::Json& version) {
  const base::Json* accepted = base::Find(definition, {"status", "acceptedNames"});
  const base::Json& names = accepted != nullptr ? *accepted : *base::Find(definition, {"spec", "names"});
  const auto texts = [&names](const char* key) { return base::FindTexts(names, {key}); };
  Resource made;
  made.group = base::FindString(definition, {"spec", "group"});
  made.version = base::FindString(version, {"name"});
  made.kind = base::FindString(names, {"kind"});
  made.plural = base::FindString(names, {"plural"});
  made.singular = base::FindString(names, {"singular"});
  made.short_names = texts("shortNames");
  made.categories = texts("categories");
  made.namespaced = base::FindString(definition, {"spec", "scope"}) == "Namespaced";
  for (const char* subresource : {"status", "scale"}) {
    const base::Json* found = base::Find(version, {"subresources", subresource});
    if (found != nullptr && found->is_object()) made.subresources.emplace_back(subresource);
  }
  made.storage_group = made.group + "/" + made.plural;
  return made;
}

const std::vector<Resource>& BuiltInResources() { return BuiltInSchemas().resources; }

const Resource* FindBuiltIn(std::string_view group, std::string_view version, std::string_view plural) {
  for (const Resource& resource : BuiltInResources()) {
    if (resource.plural == plural && resource.group == group && resource.version == version) return &resource;
  }
  return nullptr;
}

const Resource* FindBuiltInKind(std::string_view api_version, std::string_view kind) {
  std::string group, version;
  SplitApiVersion(api_version, group, version);
  for (const Resource& resource : BuiltInResources()) {
    if (resource.kind == kind && resource.group == group && resource.version == version) return &resource;
  }
  return nullptr;
}

void SplitApiVersion(std::string_view api_version, std::string& group, std::string& version) {
  const size_t slash = api_version.find('/');
  group = slash == api_version.npos ? "" : api_version.substr(0, slash);
  version = slash == api_version.npos ? api_version : api_version.substr(slash + 1);
}

namespace resources {

#define EVENKEEL_BUILT_IN(function, group, version, plural)              \
  const Resource& function() {                                           \
    static const Resource& kResource = MustFind(group, version, plural); \
    return kResource;                                                    \
  }

EVENKEEL_BUILT_IN(Namespaces, "", "v1", "namespaces")
EVENKEEL_BUILT_IN(Nodes, "", "v1", "nodes")
EVENKEEL_BUILT_IN(Pods, "", "v1", "pods")
EVENKEEL_BUILT_IN(Services, "", "v1", "services")
EVENKEEL_BUILT_IN(Endpoints, "", "v1", "endpoints")
EVENKEEL_BUILT_IN(ConfigMaps, "", "v1", "configmaps")
EVENKEEL_BUILT_IN(Secrets, "", "v1", "secrets")
EVENKEEL_BUILT_IN(ServiceAccounts, "", "v1", "serviceaccounts")
EVENKEEL_BUILT_IN(Events, "", "v1", "events")
EVENKEEL_BUILT_IN(Deployments, "apps", "v1", "deployments")
EVENKEEL_BUILT_IN(ReplicaSets, "apps", "v1", "replicasets")
EVENKEEL_BUILT_IN(StatefulSets, "apps", "v1", "statefulsets")
EVENKEEL_BUILT_IN(DaemonSets, "apps", "v1", "daemonsets")
EVENKEEL_BUILT_IN(ControllerRevisions, "apps", "v1", "controllerrevisions")
EVENKEEL_BUILT_IN(Jobs, "batch", "v1", "jobs")
EVENKEEL_BUILT_IN(PodDisruptionBudgets, "policy", "v1", "poddisruptionbudgets")
EVENKEEL_BUILT_IN(Leases, "coordination.k8s.io", "v1", "leases")
EVENKEEL_BUILT_IN(CustomResourceDefinitions, "apiextensions.k8s.io", "v1", "customresourcedefinitions")
EVENKEEL_BUILT_IN(EndpointSlices, "discovery.k8s.io", "v1", "endpointslices")
EVENKEEL_BUILT_IN(PersistentVolumes, "", "v1", "persistentvolumes")
EVENKEEL_BUILT_IN(PersistentVolumeClaims, "", "v1", "persistentvolumeclaims")
EVENKEEL_BUILT_IN(StorageClasses, "storage.k8s.io", "v1", "storageclasses")
EVENKEEL_BUILT_IN(ResourceClaims, "resource.k8s.io", "v1", "resourceclaims")
EVENKEEL_BUILT_IN(ResourceClaimTemplates, "resource.k8s.io", "v1", "resourceclaimtemplates")
EVENKEEL_BUILT_IN(ResourceSlices, "resource.k8s.io", "v1", "resourceslices")

#undef EVENKEEL_BUILT_IN

}  // namespace resources
}  // namespace evenkeel::kube
