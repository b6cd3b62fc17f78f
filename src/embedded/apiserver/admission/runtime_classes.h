// What pods take over from their RuntimeClass.
#pragma once

#include "base/json.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// Gives a pod that is being made its class's overhead, and adds the class's node selector and tolerations to its own.
/// kForbidden when the class is not there, when the pod states another overhead, one without a class that has one, or a node
/// label with another value than the class. `served`: the kind RuntimeClass.
/// Follows: kubernetes@1.36 plugin/pkg/admission/runtimeclass/admission.go
base::Status ApplyRuntimeClass(store::Store& store, const Served& served, const Call& call, base::Json& pod);

}  // namespace evenkeel::embedded::apiserver
