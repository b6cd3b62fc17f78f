#include "embedded/federation/policies/interpreter_protocol.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "kube/object.h"
#include "kube/resource.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Fail;
using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonObject;

constexpr char kContextVersion[] = "v1alpha1";
constexpr char kJsonPatch[] = "JSONPatch";

bool Names(const Json& rule, const char* list, std::string_view value) {
  return std::ranges::any_of(FindArray(rule, {list}), [&](const Json& item) {
    return item.is_string() && (item.get_string() == "*" || item.get_string() == value);
  });
}

bool Matches(const Json& webhook, const std::string& group, const std::string& version, std::string_view kind,
             std::string_view operation) {
  return std::ranges::any_of(FindArray(webhook, {"rules"}), [&](const Json& rule) {
    return Names(rule, "operations", operation) && Names(rule, "apiGroups", group) && Names(rule, "apiVersions", version) &&
           Names(rule, "kinds", kind);
  });
}

base::Status CheckPatch(const Json& response) {
  const std::string_view type = FindString(response, {"patchType"});
  const std::string_view patch = FindString(response, {"patch"});
  if (type.empty() && patch.empty()) return {};
  if (type.empty()) return Fail(base::Code::kInvalid, "webhook returned nil response.patchType");
  if (patch.empty()) return Fail(base::Code::kInvalid, "webhook returned empty response.patch");
  if (type != kJsonPatch)
    return Fail(base::Code::kInvalid, fmt::format("webhook returned invalid response.patchType of \"{}\"", type));
  return {};
}

base::Status Require(const Json& response, const char* field) {
  const Json* value = Find(response, {field});
  if (value != nullptr && !value->is_null()) return {};
  return Fail(base::Code::kInvalid, fmt::format("webhook returned nil response.{}", field));
}

base::Status CheckDependencies(const Json& response) {
  for (const Json& item : FindArray(response, {"dependencies"})) {
    const bool named = !FindString(item, {"name"}).empty(), selected = Find(item, {"labelSelector"}) != nullptr;
    if (FindString(item, {"apiVersion"}).empty() || FindString(item, {"kind"}).empty() || named == selected)
      return Fail(base::Code::kInvalid, "a dependency needs apiVersion, kind and either name or labelSelector");
  }
  return {};
}

base::Status CheckFields(const Json& response, std::string_view operation) {
  if (operation == kInterpretReplica) return Require(response, "replicas");
  if (operation == kInterpretHealth) return Require(response, "healthy");
  if (operation == kInterpretStatus) return Require(response, "rawStatus");
  if (operation == kInterpretDependency) return CheckDependencies(response);
  if (operation == kReviseReplica || operation == kRetain || operation == kAggregateStatus || operation == "Prune")
    return CheckPatch(response);
  if (operation == "InterpretComponent") return {};
  return Fail(base::Code::kInvalid, fmt::format("input wrong operation type: {}", operation));
}

}  // namespace

std::optional<InterpreterHook> FindHook(const std::vector<Json>& configurations, std::string_view api_version,
                                        std::string_view kind, std::string_view operation) {
  std::string group, version;
  kube::SplitApiVersion(api_version, group, version);
  std::optional<InterpreterHook> first;
  for (const Json& configuration : configurations) {
    for (const Json& webhook : FindArray(configuration, {"webhooks"})) {
      const std::string id = fmt::format("{}/{}", kube::NameOf(configuration), FindString(webhook, {"name"}));
      if (Matches(webhook, group, version, kind, operation) && (!first || id < first->id)) first = {id, webhook};
    }
  }
  return first;
}

base::Result<std::string> ContextVersion(const Json& webhook) {
  for (const Json& version : FindArray(webhook, {"interpreterContextVersions"})) {
    if (version.is_string() && version.get_string() == kContextVersion) return std::string(kContextVersion);
  }
  return Fail(base::Code::kInvalid,
              fmt::format("webhook does not accept known ResourceInterpreterContext versions ({})", kContextVersion));
}

Json MakeContext(const InterpreterQuestion& question, std::string_view uid) {
  const Json& object = *question.object;
  std::string group, version;
  kube::SplitApiVersion(FindString(object, {"apiVersion"}), group, version);
  JsonObject request{{"uid", uid},
                     {"kind", JsonObject{{"group", group}, {"version", version}, {"kind", FindString(object, {"kind"})}}},
                     {"name", kube::NameOf(object)},
                     {"namespace", kube::NamespaceOf(object)},
                     {"operation", question.operation},
                     {"object", object},
                     {"replicas", question.replicas}};
  if (question.observed != nullptr) request["observedObject"] = *question.observed;
  if (question.operation == kAggregateStatus) request["aggregatedStatus"] = question.aggregated_status;
  return JsonObject{{"kind", "ResourceInterpreterContext"},
                    {"apiVersion", fmt::format("config.karmada.io/{}", kContextVersion)},
                    {"request", std::move(request)}};
}

base::Result<Json> CheckAnswer(const Json& context, std::string_view operation, std::string_view uid) {
  const Json* response = Find(context, {"response"});
  if (response == nullptr || !response->is_object()) return Fail(base::Code::kInvalid, "webhook response was absent");
  const std::string_view answered = FindString(*response, {"uid"});
  if (answered != uid)
    return Fail(base::Code::kInvalid, fmt::format("expected response.uid \"{}\", got \"{}\"", uid, answered));
  if (!base::FindBool(*response, {"successful"})) {
    const Json* status = Find(*response, {"status"});
    if (status == nullptr || !status->is_object())
      return Fail(base::Code::kInvalid, "webhook require response.status when response.successful is false");
    return Fail(base::Code::kInvalid, fmt::format("webhook call failed: {} (code {})", FindString(*status, {"message"}),
                                                  base::FindInt(*status, {"code"})));
  }
  EVENKEEL_TRY(CheckFields(*response, operation));
  return *response;
}

base::Result<Json> ApplyAnswer(const Json& object, const Json& response) {
  const std::string_view encoded = FindString(response, {"patch"});
  if (encoded.empty()) return object;
  std::string text;
  if (!base::Base64Decode(encoded, text)) return Fail(base::Code::kInvalid, "response.patch is no base64");
  EVENKEEL_ASSIGN(const Json patch, base::ParseJson(text, "response.patch"));
  Json patched = object;
  EVENKEEL_TRY(base::ApplyJsonPatch(patched, patch));
  return patched;
}

}  // namespace evenkeel::embedded::federation
