// What must be true of objects beyond their shape, in Kubernetes' words.
// Follows: kubernetes@1.36 pkg/apis/core/validation/validation.go
#pragma once

#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"

namespace evenkeel::kube {

/// Everything that is wrong with an object (after defaults): its shape by the resource's schema, its metadata, and the rules of
/// its kind. Empty when it may be stored. `metadata.name` must already be there, or `generateName` used. `old`: the object that
/// it replaces; what was wrong with that one and did not change is let pass.
std::vector<base::Cause> ValidateObject(const Resource& resource, const base::Json& object, const base::Json* old = nullptr);
/// Takes out of `causes` what is among `before`, too: the same of the same field.
void DropKnownCauses(std::vector<base::Cause>& causes, const std::vector<base::Cause>& before);

/// What may not change between `old` and `object`: identity, immutable fields, what a pod's spec allows. Does not repeat
/// ValidateObject. For writes to the object itself; binding and ephemeralcontainers may change more and must not ask here.
std::vector<base::Cause> ValidateUpdate(const Resource& resource, const base::Json& object, const base::Json& old);

}  // namespace evenkeel::kube
