#include "embedded/apiserver/definitions/conversion.h"

#include <spdlog/fmt/fmt.h>

#include "kube/object.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr base::Duration kTimeout = std::chrono::seconds(30);

// As upstream has it: an error of which no reason is known.
base::Error Broken(std::string text) { return {base::Code::kInternal, std::move(text), {.unspecified = true}}; }

std::string VersionText(std::string_view api_version) {
  return std::string(api_version.empty() ? std::string_view("/") : api_version);
}

// The converted objects of an answer, or what is wrong with it.
base::Result<JsonArray> ObjectsOf(const Json& review, const Conversion& conversion, const std::string& uid) {
  const std::string wanted = "apiextensions.k8s.io/" + conversion.review_version;
  const auto fail = [](std::string why) { return base::Fail(base::Code::kInternal, std::move(why)); };
  // Of v1beta1 neither is looked at, for what was written before they were.
  const bool strict = conversion.review_version == "v1";
  const std::string_view version = FindString(review, {"apiVersion"}), kind = FindString(review, {"kind"});
  if (strict && (version != wanted || kind != "ConversionReview")) {
    return fail(fmt::format("expected webhook response of {}, Kind=ConversionReview, got {}, Kind={}", wanted,
                            VersionText(version), kind));
  }
  const Json* response = base::Find(review, {"response"});
  if (response == nullptr || !response->is_object()) return fail("no response provided");
  if (const std::string_view given = FindString(*response, {"uid"}); strict && given != uid) {
    return fail(fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, given));
  }
  if (const std::string_view status = FindString(*response, {"result", "status"}); status != "Success") {
    const std::string_view message = FindString(*response, {"result", "message"});
    if (!message.empty()) return fail(std::string(message));
    return fail(fmt::format("response.result.status was '{}', not 'Success'", status));
  }
  return base::FindArray(*response, {"convertedObjects"});
}

// "" where labels and annotations are maps of texts, and valid where they have changed.
std::string CheckTexts(const Json& original, const Json& converted, std::string_view field) {
  const Json* given = base::Find(converted, {"metadata", field});
  if (given == nullptr || given->is_null()) return "";
  if (!given->is_object()) return fmt::format("invalid metadata.{} in converted object: it is no map", field);
  for (const auto& [key, value] : given->get_object()) {
    if (!value.is_string())
      return fmt::format("metadata.{}[{}] must be a string in converted object", field, std::string_view(key));
  }
  const Json* before = base::Find(original, {"metadata", field});
  if (before != nullptr && *before == *given) return "";
  kube::validation::Causes causes;
  const kube::FieldPath root("metadata");
  if (field == "labels") {
    kube::validation::Labels(given->get_object(), root.Field(field), causes);
  } else {
    kube::validation::Annotations(given->get_object(), root.Field(field), causes);
  }
  return causes.empty() ? "" : causes[0].field + ": " + causes[0].message;
}

// What is wrong with one converted object itself, and with its metadata.
std::string CheckObject(const Json& original, const Json& converted, const std::string& api_version) {
  if (!converted.is_object()) return "it is no object";
  const std::string_view version = FindString(converted, {"apiVersion"});
  if (version != api_version) {
    return fmt::format("invalid groupVersion (expected {}, received {})", api_version, VersionText(version));
  }
  const std::string_view kind = FindString(original, {"kind"}), given = FindString(converted, {"kind"});
  if (kind != given) return fmt::format("invalid kind (expected {}, received {})", kind, given);
  for (const auto& [field, name] : {std::pair{"name", "name"}, std::pair{"namespace", "namespace"}, std::pair{"uid", "UID"}}) {
    const std::string_view a = FindString(original, {"metadata", field}), b = FindString(converted, {"metadata", field});
    if (a != b) return fmt::format("must have the same {}: {} != {}", name, a, b);
  }
  return "";
}

std::string CheckMetadata(const Json& original, const Json& converted) {
  const Json* metadata = base::Find(converted, {"metadata"});
  if (metadata == nullptr) return "missing metadata in converted object";
  if (!metadata->is_object()) return "invalid metadata in converted object: it is no object";
  const std::string labels = CheckTexts(original, converted, "labels");
  return labels.empty() ? CheckTexts(original, converted, "annotations") : labels;
}

void RestoreMetadata(const Json& original, Json& converted) {
  JsonObject kept = base::FindObject(original, {"metadata"});
  for (const char* field : {"labels", "annotations"}) {
    const Json* given = base::Find(converted, {"metadata", field});
    if (given == nullptr || given->is_null()) {
      kept.erase(field);
    } else {
      kept[field] = *given;
    }
  }
  converted.get_object()["metadata"] = std::move(kept);
}

}  // namespace

std::shared_ptr<const Conversion> ConversionOf(const Json& crd) {
  if (FindString(crd, {"spec", "conversion", "strategy"}) != "Webhook") return nullptr;
  const auto conversion = std::make_shared<Conversion>();
  if (const Json* config = base::Find(crd, {"spec", "conversion", "webhook", "clientConfig"})) {
    conversion->address = WebhookAddressOf(*config);
  }
  for (const Json& version : base::FindArray(crd, {"spec", "conversion", "webhook", "conversionReviewVersions"})) {
    if (conversion->review_version.empty() && (version == "v1" || version == "v1beta1")) {
      conversion->review_version = version.get_string();
    }
  }
  return conversion;
}

base::Result<std::vector<Json>> AskToConvert(const Conversion& conversion, const WebhookPoster& poster,
                                             const ServiceAddress& service_address, const std::string& uid,
                                             const std::vector<Json>& objects, const std::string& api_version, bool list) {
  const Json& first = objects.at(0);
  const std::string prefix = fmt::format("conversion webhook for {}, Kind={}{}", FindString(first, {"apiVersion"}),
                                         FindString(first, {"kind"}), list ? "List" : "");
  if (conversion.review_version.empty()) return base::Fail(Broken("no supported conversion review versions"));
  const WebhookAddress& at = conversion.address;
  WebhookPost post{.url = at.url, .ca_pem = at.ca_pem, .body = {}, .timeout = kTimeout};
  if (at.by_service()) {
    post.address = service_address(at.service_ns, at.service_name, at.service_port);
    if (post.address.empty()) {
      return base::Fail(Broken(fmt::format("{} failed: service {}/{} has no endpoint here that a process listens on", prefix,
                                           at.service_ns, at.service_name)));
    }
  }
  post.body = base::ToText(JsonObject{
      {"kind", "ConversionReview"},
      {"apiVersion", "apiextensions.k8s.io/" + conversion.review_version},
      {"request",
       JsonObject{{"uid", uid}, {"desiredAPIVersion", api_version}, {"objects", JsonArray(objects.begin(), objects.end())}}}});
  const auto text = poster(post);
  if (!text) return base::Fail(Broken(prefix + " failed: " + text.error().message()));
  const auto review = base::ParseJson(*text, "answer");
  if (!review) return base::Fail(Broken(prefix + " failed: " + review.error().message()));
  auto converted = ObjectsOf(*review, conversion, uid);
  if (!converted) return base::Fail(Broken(prefix + " failed: " + converted.error().message()));
  if (converted->size() != objects.size()) {
    return base::Fail(Broken(fmt::format("{} returned {} objects, expected {}", prefix, converted->size(), objects.size())));
  }
  std::vector<Json> result;
  for (size_t i = 0; i < objects.size(); ++i) {
    Json& one = (*converted)[i];
    if (const std::string why = CheckObject(objects[i], one, api_version); !why.empty()) {
      const std::string where = list ? fmt::format("converted object at index {}", i) : "object";
      return base::Fail(Broken(fmt::format("{} returned invalid {}: {}", prefix, where, why)));
    }
    if (const std::string why = CheckMetadata(objects[i], one); !why.empty()) {
      const std::string where = list ? fmt::format(" in object at index {}", i) : "";
      return base::Fail(Broken(fmt::format("{} returned invalid metadata{}: {}", prefix, where, why)));
    }
    RestoreMetadata(objects[i], one);
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace evenkeel::embedded::apiserver
