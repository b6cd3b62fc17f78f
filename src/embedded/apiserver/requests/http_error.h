// Answers that the HTTP layers give themselves, before anything knows of the API: Kubernetes Status objects.
#pragma once

#include <string_view>

#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// A Failure Status with this code, reason ("Unauthorized") and message.
HttpResponse StatusResponse(int status, std::string_view reason, std::string_view message);

}  // namespace evenkeel::embedded::apiserver
