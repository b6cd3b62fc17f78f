// Objects from files for `plan scale` and `explain`: checked, because nobody has validated them before, and completed where
// people leave out what a cluster would have filled in.
#pragma once

#include <vector>

#include "base/json.h"
#include "kube/manifest.h"

namespace evenkeel::controllers::autoscaler {

struct ScaleObjects {
  std::vector<kube::ManifestObject> groups;  ///< NodeGroups
  std::vector<kube::ManifestObject> others;  ///< nodes first; of several with one kind and name the last
};

/// Pods without a namespace are in "default"; a node without any conditions counts as ready. kBadRequest in one line: where it
/// stands, the object, the field, what is wrong: amounts that are no quantities, pods on nodes that are not there, times that
/// are none.
base::Result<ScaleObjects> CheckScaleObjects(std::vector<kube::ManifestObject> objects);

}  // namespace evenkeel::controllers::autoscaler
