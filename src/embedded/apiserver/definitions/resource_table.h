// What this API server serves right now: the built-in kinds and those of CustomResourceDefinitions, and how each is stored.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embedded/apiserver/definitions/conversion.h"
#include "embedded/apiserver/definitions/custom_schema.h"
#include "embedded/apiserver/definitions/storage_form.h"
#include "embedded/store/store.h"
#include "kube/json_path.h"
#include "kube/resource.h"

namespace evenkeel::embedded::apiserver {

/// One additionalPrinterColumns entry.
struct PrinterColumn {
  std::string name, type, format, description;
  std::shared_ptr<const kube::JsonPath> path{};  ///< null: it does not parse, and the cells are empty
  int priority = 0;
};

/// One resource as it is served. Immutable; requests hold it while they run, so a CRD may change under them.
struct Served {
  kube::Resource resource;
  bool custom = false;
  bool terminating = false;         ///< its CRD is being deleted: no creates
  std::string storage_api_version;  ///< of the stored bytes
  std::string head;                 ///< {"apiVersion":"apps/v1","kind":"Deployment", as it is stored and answered
  std::string storage_head;         ///< the same with storage_api_version
  /// Between the form of this version and that of the stored one, in place; null where they are the same.
  void (*to_stored)(base::Json& object) = nullptr;
  void (*from_stored)(base::Json& object) = nullptr;
  std::string prefix;  ///< of the keys in the store, with the slash at its end
  bool status_subresource = false;
  bool has_generation = false;  ///< metadata.generation counts changes of the spec
  /// scale: dotted paths below the object, e.g. "spec.replicas"; empty: no scale subresource
  std::string spec_replicas, status_replicas, label_selector;
  std::vector<PrinterColumn> columns;  ///< custom kinds only
  std::vector<std::string> selectable_fields;
  std::string deprecation;  ///< what every request is warned with; empty: the version is not deprecated
  std::string says;         ///< custom kinds: tells what the definition says apart, in few bytes
  std::shared_ptr<const CustomSchema> custom_schema;  ///< custom kinds only; null: they have none
  std::shared_ptr<const kube::Schema> read_schema;    ///< owns resource.schema, see WithSchema
  std::shared_ptr<StorageForm> storage_form;          ///< custom kinds only
  std::shared_ptr<const Conversion> conversion;       ///< who converts between versions; null: nobody, they share their fields
  bool has_storage_form = true;                       ///< its schema is that of the storage version
  store::Revision defined_at = 0;                     ///< custom kinds: the revision at which what they say came to be

  std::string Key(std::string_view ns, std::string_view name) const;
  /// Prefix of one namespace's keys, or of all.
  std::string Prefix(std::string_view ns) const;
  /// Whether its objects are CustomResourceDefinitions, whose changes change what is served.
  bool IsDefinition() const {
    return resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions";
  }
};
using ServedPointer = std::shared_ptr<const Served>;

/// The same with resource.schema, which only those who write need: of a custom kind it is read when it is used.
ServedPointer WithSchema(ServedPointer served);

/// Thread-safe.
class ResourceTable {
 public:
  ResourceTable();

  /// Null when it is not served.
  ServedPointer Find(std::string_view group, std::string_view version, std::string_view plural) const;
  ServedPointer FindKind(std::string_view api_version, std::string_view kind) const;
  /// Everything, in the order of discovery: core, then groups; CRDs by group, version (newest first) and name.
  std::vector<ServedPointer> All() const;
  /// Grows with every change: what caches of discovery and OpenAPI depend on.
  uint64_t generation() const;

  /// Adds or replaces what a CRD serves; `text` is how it is stored. A CRD that is not established (names in conflict) serves
  /// nothing. News of a revision that is not newer than what is known of that CRD changes nothing, nor do news that say the
  /// same.
  void SetCustom(const base::Json& crd, store::Value text, store::Revision revision);
  void RemoveCustom(const std::string& crd_name, store::Revision revision);
  /// Whether SetCustom has not been told of that revision of the CRD yet, or of a later one.
  bool IsNews(const std::string& crd_name, store::Revision revision) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Custom {
    std::vector<ServedPointer> versions;
    std::string says;     // all that the versions come from, in few bytes
    std::string storage;  // likewise of the storage version's name and schema
    std::shared_ptr<StorageForm> form;
    std::shared_ptr<DefinitionText> text;
  };
  void Rebuild();

  const std::shared_ptr<RecentSchemas> recent_schemas_ = std::make_shared<RecentSchemas>();
  mutable std::mutex mutex_;
  std::map<std::string, Custom> custom_;                     // by CRD name
  std::map<std::string, store::Revision> custom_revisions_;  // of CRDs that are gone too
  std::vector<ServedPointer> built_in_;
  std::vector<ServedPointer> all_;
  std::map<Key, ServedPointer, std::less<>> by_plural_;
  std::map<std::pair<std::string, std::string>, ServedPointer> by_kind_;
  uint64_t generation_ = 1;
};

/// Orders API versions as Kubernetes does: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else by name.
bool NewerVersion(std::string_view a, std::string_view b);

}  // namespace evenkeel::embedded::apiserver
