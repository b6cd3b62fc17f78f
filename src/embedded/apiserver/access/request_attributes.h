// Whether a request may be carried out, from its line and headers alone: what it is about, as whom it is to be carried out, and
// the refusal in upstream's words. Facts: kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/endpoints/{request/requestinfo.go,
// filters/{authorization,impersonation}.go, handlers/responsewriters/errors.go}.
#pragma once

#include <optional>

#include "base/result.h"
#include "embedded/access/authorizer.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// The verb and what it is for. A path that leads to no resource counts as it is routed: unescaped, without empty parts.
access::Attributes AttributesOf(const HttpRequest& request);

/// kForbidden: `pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "default"`.
base::Error ForbiddenFor(const access::UserInfo& user, const access::Attributes& attributes, const std::string& reason);

/// As whom the headers Impersonate-User, -Uid, -Group and -Extra-KEY want the request to be carried out; nullopt: as the one
/// who sent it. Needs the verb impersonate on each of them. Values of a header that comes several times are told apart by
/// commas. kForbidden; kBadRequest when anything but a user is named.
base::Result<std::optional<access::UserInfo>> ImpersonatedUser(const HttpRequest& request,
                                                               const access::Authorizer& authorizer);

}  // namespace evenkeel::embedded::apiserver
