// The vocabulary: which kinds there are and how the API addresses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::kube {

class Schema;

/// One kind as one group and version serves it. Everything that talks to an API names kinds by a Resource.
struct Resource {
  std::string group;  ///< "" for core
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = true;
  bool review = false;  ///< a question: it is answered and not stored, and create is its only verb

  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> subresources;  ///< "status", "scale", "log", "eviction", "binding"
  /// Where objects are stored: versions and groups that show the same objects share it. Default "GROUP/PLURAL", for core
  /// "PLURAL".
  std::string storage_group;
  /// Shape of the objects; null for kinds without one. Owned by the registry that the Resource comes from.
  const Schema* schema = nullptr;

  /// "v1", "apps/v1".
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  /// "pods", "deployments.apps": how upstream names it in errors.
  std::string QualifiedPlural() const { return group.empty() ? plural : plural + "." + group; }
  /// "/api/v1/namespaces/NS/pods/NAME/SUB" and its shorter forms; parts that are empty are left out, all are URL-escaped.
  std::string Path(std::string_view ns = "", std::string_view name = "", std::string_view subresource = "") const;
};

/// A kind that is not built in, e.g. of "argoproj.io/v1alpha1".
Resource MakeResource(std::string_view api_version, std::string_view kind, std::string_view plural, bool namespaced = true,
                      std::vector<std::string> subresources = {});
/// What a CustomResourceDefinition makes of one of its `spec.versions`: by the names that an API has accepted, else by those
/// that the definition asks for.
Resource ResourceOf(const base::Json& definition, const base::Json& version);

/// The kinds that every API server of Evenkeel serves, in the order of discovery. Built once from the schemas that are
/// compiled in; lives for the whole process.
const std::vector<Resource>& BuiltInResources();
/// The built-in resource of that group, version and plural (kind); null when there is none.
const Resource* FindBuiltIn(std::string_view group, std::string_view version, std::string_view plural);
const Resource* FindBuiltInKind(std::string_view api_version, std::string_view kind);

/// The built-in kinds that code names. Each must exist: looked up once.
namespace resources {
const Resource& Namespaces();
const Resource& Nodes();
const Resource& Pods();
const Resource& Services();
const Resource& Endpoints();
const Resource& ConfigMaps();
const Resource& Secrets();
const Resource& ServiceAccounts();
const Resource& Events();
const Resource& Deployments();
const Resource& ReplicaSets();
const Resource& StatefulSets();
const Resource& DaemonSets();
const Resource& ControllerRevisions();
const Resource& Jobs();
const Resource& PodDisruptionBudgets();
const Resource& Leases();
const Resource& CustomResourceDefinitions();
const Resource& EndpointSlices();
const Resource& PersistentVolumes();
const Resource& PersistentVolumeClaims();
const Resource& StorageClasses();
const Resource& ResourceClaims();
const Resource& ResourceClaimTemplates();
const Resource& ResourceSlices();
}  // namespace resources

/// Splits "apps/v1" into group and version.
void SplitApiVersion(std::string_view api_version, std::string& group, std::string& version);

}  // namespace evenkeel::kube
