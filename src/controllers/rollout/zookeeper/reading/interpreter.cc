#include "controllers/rollout/zookeeper/reading/interpreter.h"

#include <spdlog/fmt/fmt.h>

#include <set>

#include "base/hash.h"
#include "base/parse_number.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/reading/needs.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/desired_servers.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kContextApi = "config.karmada.io/v1alpha1";
constexpr const char* kContextKind = "ResourceInterpreterContext";
constexpr const char* kTemplateGeneration = "resourcetemplate.karmada.io/generation";
constexpr int kOk = 200, kBadRequest = 400;

JsonObject Failure(int code, std::string_view message) {
  return {{"uid", ""}, {"successful", false}, {"status", JsonObject{{"code", code}, {"message", message}}}};
}

JsonObject Success() { return {{"successful", true}, {"status", JsonObject{{"code", kOk}}}}; }

/// A success that turns `from` into `to`, without a patch when there is nothing to turn.
JsonObject Patched(const Json& from, const Json& to) {
  JsonObject response = Success();
  const JsonArray patch = DiffJsonPatch(from, to);
  if (patch.empty()) return response;
  response["patchType"] = "JSONPatch";
  response["patch"] = base::Base64Encode(base::ToText(Json(patch)));
  return response;
}

JsonObject InterpretReplica(const Json& object) {
  JsonObject response = Success();
  response["replicas"] = ReplicasOf(object);
  JsonObject requirements, node;
  for (const Json& container : FindArray(object, {"spec", "podTemplate", "spec", "containers"})) {
    const Json* requests = Find(container, {"resources", "requests"});
    if (requests != nullptr && FindString(container, {"name"}) == kServerContainer) requirements["resourceRequest"] = *requests;
  }
  for (const char* field : {"nodeSelector", "tolerations"}) {
    if (const Json* value = Find(object, {"spec", "podTemplate", "spec", field})) node[field] = *value;
  }
  if (!node.empty()) requirements["nodeClaim"] = std::move(node);
  if (!requirements.empty()) {
    requirements["namespace"] = kube::NamespaceOf(object);
    response["replicaRequirements"] = std::move(requirements);
  }
  return response;
}

JsonObject ReviseReplica(const Json& object, int64_t asked) {
  const bool owned = !FindString(object, {"metadata", "labels", kOwnerLabel}).empty();
  Json revised(object, {});
  base::Ensure(revised, {"spec", "replicas"}) = owned ? 0 : asked;
  return Patched(object, revised);
}

JsonObject Retain(const Json& desired, const Json& observed) {
  Json retained(desired, {});
  const Json* paused = Find(observed, {"spec", "paused"});
  if (paused != nullptr && Find(desired, {"spec", "paused"}) == nullptr) base::Ensure(retained, {"spec", "paused"}) = *paused;
  return Patched(desired, retained);
}

JsonObject InterpretStatus(const Json& object) {
  JsonObject raw;
  for (const char* field : {"replicas", "readyReplicas", "updatedReplicas", "observedRevision", "observedGeneration",
                            "leaderID", "members", "problem"}) {
    if (const Json* value = Find(object, {"status", field}); value != nullptr && !value->is_null()) raw[field] = *value;
  }
  if (const int64_t generation = FindInt(object, {"metadata", "generation"}); generation != 0) raw["generation"] = generation;
  const auto of_template = base::ParseNumber<int64_t>(FindString(object, {"metadata", "annotations", kTemplateGeneration}));
  if (of_template) raw["resourceTemplateGeneration"] = *of_template;
  JsonObject response = Success();
  response["rawStatus"] = std::move(raw);
  return response;
}

JsonObject AggregateStatus(const Json& object, const JsonArray& items) {
  const int64_t generation = FindInt(object, {"metadata", "generation"});
  int64_t replicas = 0, ready = 0, updated = 0;
  bool caught_up = true;
  std::set<int64_t> leaders;
  for (const Json& item : items) {
    const Json* status = Find(item, {"status"});
    if (status == nullptr || !status->is_object()) {
      caught_up = false;
      continue;
    }
    replicas += FindInt(*status, {"replicas"});
    ready += FindInt(*status, {"readyReplicas"});
    updated += FindInt(*status, {"updatedReplicas"});
    if (const int64_t leader = FindInt(*status, {"leaderID"}); leader != 0) leaders.insert(leader);
    caught_up = caught_up && FindInt(*status, {"resourceTemplateGeneration"}) == generation &&
                FindInt(*status, {"observedGeneration"}) == FindInt(*status, {"generation"});
  }
  Json aggregated(object, {});
  Json& status = aggregated.as_object()["status"];
  if (!status.is_object()) status = JsonObject{};
  JsonObject& fields = status.as_object();
  fields["replicas"] = replicas;
  fields["readyReplicas"] = ready;
  fields["updatedReplicas"] = updated;
  if (caught_up) fields["observedGeneration"] = generation;
  fields.erase("leaderID");
  if (leaders.size() == 1) fields["leaderID"] = *leaders.begin();
  return Patched(object, aggregated);
}

JsonObject InterpretHealth(const Json& object) {
  JsonObject response = Success();
  response["healthy"] = IsHealthy(object);
  return response;
}

JsonObject InterpretDependency(const Json& object) {
  Needs needs = ParseNeeds(FindString(object, {"metadata", "annotations", kNeedsAnnotation}));
  if (const Json* spec = Find(object, {"spec"})) needs.merge(NeedsOf(*spec));
  JsonArray dependencies;
  for (const auto& [kind, name] : needs) {
    dependencies.push_back(
        JsonObject{{"apiVersion", "v1"}, {"kind", kind}, {"namespace", kube::NamespaceOf(object)}, {"name", name}});
  }
  JsonObject response = Success();
  response["dependencies"] = std::move(dependencies);
  return response;
}

JsonObject Dispatch(const Json& request, const Json& object) {
  const std::string_view operation = FindString(request, {"operation"});
  if (operation == "InterpretReplica") return InterpretReplica(object);
  if (operation == "ReviseReplica") return ReviseReplica(object, FindInt(request, {"replicas"}));
  if (operation == "InterpretStatus") return InterpretStatus(object);
  if (operation == "InterpretHealth") return InterpretHealth(object);
  if (operation == "InterpretDependency") return InterpretDependency(object);
  if (operation == "AggregateStatus") return AggregateStatus(object, FindArray(request, {"aggregatedStatus"}));
  if (operation == "Retain") {
    const Json* observed = Find(request, {"observedObject"});
    if (observed == nullptr || !observed->is_object()) return Failure(kBadRequest, "Retain without an observedObject");
    return Retain(object, *observed);
  }
  return Failure(kBadRequest, fmt::format("wrong request operation type: {}", operation));
}

std::string Wrapped(JsonObject response) {
  return base::ToText(JsonObject{{"kind", kContextKind}, {"apiVersion", kContextApi}, {"response", std::move(response)}});
}

std::string EscapedStep(std::string_view key) {
  std::string step;
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

void Diff(const Json& from, const Json& to, const std::string& path, JsonArray& patch) {
  if (base::Equal(from, to)) return;
  if (!from.is_object() || !to.is_object()) {
    patch.push_back(JsonObject{{"op", "replace"}, {"path", path}, {"value", to}});
    return;
  }
  for (const auto& [key, value] : from.get_object()) {
    const std::string at = path + "/" + EscapedStep(key);
    if (const Json* other = base::Find(to.get_object(), key)) {
      Diff(value, *other, at, patch);
    } else {
      patch.push_back(JsonObject{{"op", "remove"}, {"path", at}});
    }
  }
  for (const auto& [key, value] : to.get_object()) {
    if (from.get_object().contains(key)) continue;
    patch.push_back(JsonObject{{"op", "add"}, {"path", path + "/" + EscapedStep(key)}, {"value", value}});
  }
}

}  // namespace

JsonArray DiffJsonPatch(const Json& from, const Json& to) {
  JsonArray patch;
  Diff(from, to, "", patch);
  return patch;
}

Json Interpret(const Json& request) {
  const std::string_view kind = FindString(request, {"kind", "kind"});
  const std::string_view group = FindString(request, {"kind", "group"});
  const Json* object = Find(request, {"object"});
  JsonObject response;
  if (kind != ZooKeepers().kind || group != ZooKeepers().group) {
    response = Failure(kBadRequest, fmt::format("this webhook interprets {}, not kind \"{}\" of group \"{}\"",
                                                ZooKeepers().QualifiedPlural(), kind, group));
  } else if (object == nullptr || !object->is_object()) {
    response = Failure(kBadRequest, "the request has no object");
  } else {
    response = Dispatch(request, *object);
  }
  response["uid"] = FindString(request, {"uid"});
  return response;
}

std::string AnswerInterpreter(std::string_view content_type, std::string_view body) {
  if (content_type != "application/json") {
    return Wrapped(Failure(kBadRequest, fmt::format("contentType={}, expected application/json", content_type)));
  }
  if (body.empty()) return Wrapped(Failure(kBadRequest, "request body is empty"));
  if (body.size() > kInterpreterBodyMax) {
    return Wrapped(Failure(kBadRequest, fmt::format("request body is larger than {} bytes", kInterpreterBodyMax)));
  }
  const auto context = base::ParseJson(body, "request body");
  if (!context) return Wrapped(Failure(kBadRequest, "json parse error: " + context.error().message()));
  const Json* request = Find(*context, {"request"});
  if (request == nullptr || !request->is_object()) return Wrapped(Failure(kBadRequest, "request is empty"));
  return Wrapped(Interpret(*request).as_object());
}

}  // namespace evenkeel::controllers::rollout::zookeeper
