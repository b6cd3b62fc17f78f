// Custom resources of several versions whose definition names a webhook that converts between them (ConversionReview of
// apiextensions.k8s.io, v1 and v1beta1). Source: kubernetes@1.36:staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
// conversion/webhook_converter.go. Left out: nothing is cached, as upstream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "embedded/apiserver/definitions/webhook_client.h"

namespace evenkeel::embedded::apiserver {

/// Who converts, as spec.conversion says. Immutable.
struct Conversion {
  WebhookAddress address;
  std::string review_version;  ///< the first one that both sides know: "v1" or "v1beta1"
};
/// Null where nobody does: versions differ by their apiVersion alone.
std::shared_ptr<const Conversion> ConversionOf(const base::Json& crd);

/// The objects, each of another version than `api_version`, in that version: one question. Blocks for up to 30 s. The answer's
/// objects have the metadata of those given, but for labels and annotations. Errors (kInternal) are in upstream's words.
/// `list`: whether they belong to a list; else there is one.
base::Result<std::vector<base::Json>> AskToConvert(const Conversion& conversion, const WebhookPoster& poster,
                                                   const ServiceAddress& service_address, const std::string& uid,
                                                   const std::vector<base::Json>& objects, const std::string& api_version,
                                                   bool list);

}  // namespace evenkeel::embedded::apiserver
