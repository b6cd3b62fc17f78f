// The parameters that say from where a list or a watch goes, judged as kube-apiserver judges them (metav1.ListOptions).
#pragma once

#include "embedded/apiserver/objects/call.h"

namespace evenkeel::embedded::apiserver {

/// kInvalid with a cause for each parameter that does not go with the others.
/// kubernetes@v1.36:staging/src/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go
base::Status CheckListOptions(const ListQuery& query);
base::Status CheckWatchOptions(const WatchQuery& query);

}  // namespace evenkeel::embedded::apiserver
