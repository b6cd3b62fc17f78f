// Server-side apply: who set which field. A set of fields is kept in the form of metadata.managedFields (fieldsV1): "f:name"
// for a field, k:{"name":"x"} for an item of a list with keys, v:1 for an item of a set, "." for the thing itself.
//
// To save time and memory nothing is recorded for an object until somebody applies it; from then on each update is.
// What was there before belongs to the manager "before-first-apply".
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/util/managedfields
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {

/// A tree of path elements. `member`: the path up to here is in the set.
struct FieldSet {
  bool member = false;
  std::map<std::string, FieldSet, std::less<>> children;

  bool empty() const { return !member && children.empty(); }
  static FieldSet FromJson(const base::Json& fields_v1);
  base::Json ToJson() const;

  void Add(const FieldSet& other);
  void Subtract(const FieldSet& other);
  FieldSet Intersection(const FieldSet& other) const;
  /// ".spec.replicas", ".spec.containers[name=\"a\"].image", in order.
  std::vector<std::string> Paths() const;
};

/// The fields of a value: leaves, items of keyed lists and sets; atomic values as a whole.
FieldSet FieldsOf(const base::Json& value, const kube::Schema* schema);
/// Fields of `after` that are new or differ in `before`, and fields of `before` that are gone.
void CompareFields(const base::Json& before, const base::Json& after, const kube::Schema* schema, FieldSet& changed,
                   FieldSet& removed);
/// The path element of an item of a keyed list or a set: k:{"containerPort":80,"protocol":"TCP"} or v:1. Keys that an item
/// leaves out take the default of the schema.
std::string ItemElement(const base::Json& item, const kube::Schema& list);
/// A path element as it is shown: `.name`, `[name="x"]`, `[=1]`.
std::string ElementText(std::string_view element);
/// `config` over `live`: maps and keyed lists are merged, everything else replaced. `config` has no duplicate entries; those
/// of `live` that it does not name stay.
base::Json MergeConfig(const base::Json& live, const base::Json& config, const kube::Schema* schema);
/// Takes the fields of `gone` out of the value.
void RemoveFields(base::Json& value, const kube::Schema* schema, const FieldSet& gone);

struct ManagerIdentity {
  std::string name;
  std::string api_version;
  std::string subresource;
  base::Time now{};
};

/// Applies `config` to `live` (null: to nothing) and returns the object with managedFields brought up to date. kConflict lists
/// the fields that other managers have, one cause each, in upstream's words; `force` takes them over.
base::Result<base::Json> ApplyConfig(const base::Json& live, const base::Json& config, const kube::Schema* schema,
                                     const ManagerIdentity& manager, bool force);
/// Records an update in `object`, if `old` has managedFields. A request that sends an empty entry stops the recording.
void TrackUpdate(base::Json& object, const base::Json& old, const kube::Schema* schema, const ManagerIdentity& manager);

}  // namespace evenkeel::embedded::apiserver
