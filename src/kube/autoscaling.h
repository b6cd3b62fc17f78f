// The two versions of one HorizontalPodAutoscaler: autoscaling/v2, which is stored, and v1, which knows the load of CPUs alone.
// Follows: kubernetes@1.36 pkg/apis/autoscaling/{v1/conversion.go,v2/defaults.go}.
#pragma once

#include "base/json.h"

namespace evenkeel::kube {

/// What depends on other fields: a metric where there is none, and rules for what `behavior` leaves open. For v2; v1 has none.
void DefaultAutoscaler(base::Json& object);

/// Of the fields below spec and status, in place; no-op where they already have that form. What v1 has no field for is kept in
/// annotations of upstream's names (autoscaling.alpha.kubernetes.io/metrics, behavior, conditions, current-metrics), as JSON of
/// v2.
void AutoscalerToV2(base::Json& object);
void AutoscalerFromV2(base::Json& object);

}  // namespace evenkeel::kube
