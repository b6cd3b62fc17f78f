// API errors in Kubernetes' words, because kubectl and client-go print and parse them.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"

namespace evenkeel::embedded::apiserver {

base::Error NotFoundError(const kube::Resource& resource, std::string_view name);
base::Error AlreadyExistsError(const kube::Resource& resource, std::string_view name);
/// `Operation cannot be fulfilled on pods "x": WHY`.
base::Error ConflictError(const kube::Resource& resource, std::string_view name, std::string_view why);
/// The conflict of an out-of-date resourceVersion.
base::Error StaleError(const kube::Resource& resource, std::string_view name);
/// `pods "x" is forbidden: WHY`; without a name `pods is forbidden: WHY`.
base::Error ForbiddenError(const kube::Resource& resource, std::string_view name, std::string_view why,
                           std::vector<base::Cause> causes = {});
/// `Pod "x" is invalid: spec.a: Required value`; several causes are listed in brackets.
base::Error InvalidError(const kube::Resource& resource, std::string_view name, std::vector<base::Cause> causes);
base::Error MethodNotAllowedError();
/// For paths that lead nowhere.
base::Error NoSuchResourceError();

/// A kind that is named in errors but not served: options, Scale, Binding.
kube::Resource NamedKind(const std::string& group, std::string_view kind, std::string_view plural);

/// A v1 Status with status Failure.
base::Json StatusOf(const base::Error& error);
/// A v1 Status with status Success and details of what was deleted.
base::Json SuccessStatus(const kube::Resource& resource, std::string_view name, std::string_view uid);

}  // namespace evenkeel::embedded::apiserver
