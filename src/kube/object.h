// What all Kubernetes objects have in common. Objects are JSON; views (ObjectMeta here, Pod, Node ... in types.h) are decoded
// once and only read. Writes go through the JSON, or through patches that name just what changes, so that fields which a view
// does not know are never lost.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/resource.h"

namespace evenkeel::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

using Labels = std::map<std::string, std::string>;

struct ObjectMeta {
  std::string name;
  std::string ns;  ///< metadata.namespace; empty for cluster-scoped kinds
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  uint32_t bytes = 0;  ///< of the JSON that it came as; an Informer keeps it
  Labels labels;
  Labels annotations;
  base::Time creation_time{};
  std::optional<base::Time> deletion_time;
  std::optional<int64_t> deletion_grace_seconds;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;

  /// "namespace/name", or "name" for cluster-scoped kinds: the key of work queues, caches and messages.
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
  /// The owner with controller: true; null when there is none.
  const OwnerReference* Controller() const;
  bool HasFinalizer(std::string_view finalizer) const;
};

/// Never fails: what has the wrong type counts as absent (the API server has validated what it stores).
ObjectMeta DecodeMeta(const base::Json& object);

/// An object as it was read: immutable JSON, shared, with its decoded metadata. The view that generic code uses.
struct Object {
  ObjectMeta meta;
  std::shared_ptr<const base::Json> json;

  static Object Decode(const base::Json& json) { return {DecodeMeta(json), std::make_shared<const base::Json>(json)}; }
};

/// metadata.name and the like without decoding the rest; "" when absent.
std::string_view NameOf(const base::Json& object);
std::string_view NamespaceOf(const base::Json& object);
std::string_view UidOf(const base::Json& object);
std::string_view ResourceVersionOf(const base::Json& object);
std::string KeyOf(const base::Json& object);
/// "namespace/name" -> parts; a key without "/" has no namespace.
void SplitKey(std::string_view key, std::string& ns, std::string& name);

/// {"apiVersion","kind","metadata":{"name","namespace"}}: the start of a new object.
base::Json NewObject(const Resource& resource, std::string_view ns, std::string_view name);
/// An ownerReferences entry with controller and blockOwnerDeletion set.
base::Json ControllerReference(const Resource& resource, std::string_view name, std::string_view uid);

/// Whether metadata.finalizers has the name.
bool HasFinalizer(const base::Json& object, std::string_view name);
/// Adds the name to metadata.finalizers, or takes it out. False: nothing changed.
bool SetFinalizer(base::Json& object, std::string_view name, bool present);

/// One condition of status.conditions; null when absent.
const base::Json* FindCondition(const base::Json& object, std::string_view type);
/// "True", "False" or "Unknown"; "" when absent.
std::string_view ConditionStatus(const base::Json& object, std::string_view type);
/// Sets a condition of an object's status in place and keeps lastTransitionTime unless `status` changes or it lies after `now`.
/// True when anything changed.
bool SetCondition(base::Json& object, std::string_view type, std::string_view status, std::string_view reason,
                  std::string_view message, base::Time now);

/// Empty when valid, otherwise what is wrong, in upstream's words: RFC 1123 label (63), RFC 1123 subdomain (253), qualified
/// label names, label values.
std::string CheckDnsLabel(std::string_view name);
std::string CheckDnsSubdomain(std::string_view name);
std::string CheckQualifiedName(std::string_view name);
std::string CheckLabelValue(std::string_view value);

}  // namespace evenkeel::kube
