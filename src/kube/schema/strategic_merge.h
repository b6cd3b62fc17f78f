// Strategic merge patch: a merge patch whose lists can be merged item by item, as kubectl apply, edit, label and set send it.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
#pragma once

#include <string_view>

#include "base/json.h"

namespace evenkeel::kube {

/// What a strategic merge patch needs to know about the shape of a value. Null stands for an unknown shape.
class MergeSchema {
 public:
  virtual ~MergeSchema() = default;
  /// The shape of an object's member.
  virtual const MergeSchema* Field(std::string_view name) const = 0;
  /// The shape of a list's items.
  virtual const MergeSchema* Item() const = 0;
  /// Of a list: its items are merged (patchStrategy merge) rather than the whole replaced.
  virtual bool merges() const = 0;
  /// Of a merged list: the member that identifies an item, e.g. "name"; empty for lists of strings or numbers.
  virtual std::string_view merge_key() const = 0;
};

/// Applies the patch to `target`. Objects merge, null removes, other values replace; lists replace, or merge where the schema
/// says so. Directives: $patch (replace, merge, delete) in objects and list items, $retainKeys, $deleteFromPrimitiveList/LIST,
/// $setElementOrder/LIST. Items that a patch adds to a merged list come before those that only the server knows.
/// kBadRequest for a directive or an item that makes no sense; `target` is then unchanged. Linear in the length of merged
/// lists and objects.
base::Status ApplyStrategicMergePatch(base::Json& target, const base::Json& patch, const MergeSchema* schema);

}  // namespace evenkeel::kube
