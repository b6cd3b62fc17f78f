#include "controllers/rollout/zookeeper/plan/admission.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/zookeeper/plan/plan.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kReviewApi = "admission.k8s.io/v1";
constexpr const char* kReviewKind = "AdmissionReview";
/// What a rollout goes on from; the rest of a status is for people.
constexpr const char* kStateFields[] = {"records",   "clusterIndices", "retiredIndices", "clusters",
                                        "revisions", "stride",         "namingMode",     "recoveries"};

JsonObject Refused(const std::string& message) {
  return {{"allowed", false}, {"status", JsonObject{{"code", 422}, {"reason", "Invalid"}, {"message", message}}}};
}

bool SameAt(const Json& a, const Json& b, std::initializer_list<std::string_view> path) {
  const Json *in_a = Find(a, path), *in_b = Find(b, path);
  if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
  return base::Equal(*in_a, *in_b);
}

JsonObject ReviewStatus(const Json& object, const Json& old) {
  bool same = true;
  for (const char* field : kStateFields) same = same && SameAt(object, old, {"status", field});
  if (same) return {{"allowed", true}};
  if (const auto state = ReadState({Json(object, {}), ""}); !state) return Refused(state.error().message());
  return {{"allowed", true}};
}

/// What an object had before may stay.
std::optional<UnknownField> FindNewUnknown(const Json& object, const Json& old) {
  const std::vector<UnknownField> before = FindUnknownFields(old);
  for (const UnknownField& unknown : FindUnknownFields(object)) {
    if (std::ranges::find(before, unknown.field, &UnknownField::field) == before.end()) return unknown;
  }
  return std::nullopt;
}

JsonObject ReviewSpec(const Json& object, const Json& old) {
  const kube::ManifestObject manifest{Json(object, {}), ""};
  const auto spec = DecodeSpec(manifest);
  if (!spec) return Refused(spec.error().message());
  if (const auto unknown = FindNewUnknown(object, old)) {
    return Refused(WrongField(manifest, unknown->field, unknown->message).error().message());
  }
  if (ReadState(manifest)) {
    // What contradicts what already runs, such as another stride.
    PlanInput input;
    input.object = {Json(object, {}), ""};
    if (const auto plan = PlanRollout(input); !plan) return Refused(plan.error().message());
  }
  JsonObject response{{"allowed", true}};
  JsonArray warnings;
  for (const std::string& warning : {spec->unsafe, spec->even}) {
    if (!warning.empty()) warnings.push_back(Json(warning));
  }
  if (!warnings.empty()) response["warnings"] = std::move(warnings);
  return response;
}

}  // namespace

Json Review(const Json& request) {
  const std::string_view operation = FindString(request, {"operation"});
  const Json* object = Find(request, {"object"});
  static const Json kNone;
  const Json* given = Find(request, {"oldObject"});
  const Json& old = given == nullptr ? kNone : *given;
  JsonObject response{{"allowed", true}};
  const bool concerns = FindString(request, {"kind", "kind"}) == MultiClusterZooKeepers().kind &&
                        (operation == "CREATE" || operation == "UPDATE") && object != nullptr && object->is_object();
  const std::string_view subresource = FindString(request, {"subResource"});
  if (concerns && subresource == "status") {
    response = ReviewStatus(*object, old);
  } else if (concerns && subresource.empty()) {
    const bool deleted = Find(*object, {"metadata", "deletionTimestamp"}) != nullptr;
    const bool unchanged = operation == "UPDATE" && SameAt(*object, old, {"spec"});
    if (!deleted && !unchanged) response = ReviewSpec(*object, old);
  }
  response["uid"] = FindString(request, {"uid"});
  return response;
}

AdmissionAnswer AnswerAdmission(std::string_view content_type, std::string_view body) {
  if (content_type != "application/json") {
    return {400, fmt::format("contentType={}, expected application/json\n", content_type)};
  }
  const auto review = base::ParseJson(body, "request body");
  if (!review) return {400, review.error().message() + "\n"};
  const Json* request = Find(*review, {"request"});
  if (FindString(*review, {"apiVersion"}) != kReviewApi || FindString(*review, {"kind"}) != kReviewKind || request == nullptr ||
      !request->is_object()) {
    return {400, fmt::format("expected an {} {} with a request\n", kReviewApi, kReviewKind)};
  }
  return {200, base::ToText(JsonObject{{"apiVersion", kReviewApi}, {"kind", kReviewKind}, {"response", Review(*request)}})};
}

}  // namespace evenkeel::controllers::rollout::zookeeper
