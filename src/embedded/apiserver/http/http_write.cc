// POST, PUT, PATCH, DELETE.
#include "base/input/yaml.h"
#include "embedded/apiserver/api/discovery.h"
#include "embedded/apiserver/http/http_handler_impl.h"
#include "embedded/apiserver/objects/delete_options.h"
#include "embedded/apiserver/objects/protobuf_answer.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

std::string MediaType(const std::string& content_type) {
  std::string type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  return type;
}

base::Error MediaTypeError(std::string_view accepted) {
  return {Code::kUnsupportedMediaType,
          "the body of the request was in an unknown format - accepted media types include: " + std::string(accepted)};
}

base::Result<Json> ParseJsonBody(const std::string& body, boost::json::storage_ptr storage,
                                 std::vector<std::string>& repeated) {
  auto value = base::ParseJson(body, "request body", std::move(storage), repeated);
  for (std::string& path : repeated) path = "duplicate field \"" + path + "\"";
  return value;
}

// YAML may carry bytes that are no UTF-8; nothing that is stored may.
base::Result<Json> ParseYamlBody(const std::string& body, std::vector<std::string>& repeated) {
  // kubectl applies JSON, too, which YAML's parser reads slower, and less deep.
  if (auto json = ParseJsonBody(body, {}, repeated)) return json;
  EVENKEEL_ASSIGN(auto documents, base::ParseYaml(body, "request body", base::YamlDuplicates::kLastCountsAsServer));
  if (documents.size() != 1) {
    return Fail(Code::kBadRequest, fmt::format("request body: expected one YAML document, found {}", documents.size()));
  }
  repeated = std::move(documents[0].warnings);
  return base::ParseJson(base::ToText(documents[0].value), "request body");
}

// What is written at this address.
BodyKind BodyKindOf(const Call& call) {
  const kube::Resource& resource = call.served->resource;
  if (call.subresource == "scale") return {.api_version = "autoscaling/v1", .kind = "Scale"};
  if (call.subresource == "binding") return {.api_version = "v1", .kind = "Binding"};
  if (call.subresource == "eviction") return {.api_version = "policy/v1", .kind = "Eviction"};
  if (call.subresource == "token") return {.api_version = "authentication.k8s.io/v1", .kind = "TokenRequest"};
  return {.api_version = resource.ApiVersion(), .kind = resource.kind, .protobuf = !call.served->custom};
}

base::Result<PatchBody> ParsePatch(const Exchange& exchange, std::vector<std::string>& repeated) {
  static const std::map<std::string, client::PatchType, std::less<>> kTypes = {
      {"application/json-patch+json", client::PatchType::kJson},
      {"application/merge-patch+json", client::PatchType::kMerge},
      {"application/strategic-merge-patch+json", client::PatchType::kStrategic},
      {"application/apply-patch+yaml", client::PatchType::kApply},
  };
  const auto found = kTypes.find(MediaType(exchange.Header("content-type")));
  if (found == kTypes.end()) {
    return Fail(
        MediaTypeError("application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
                       "application/apply-patch+yaml"));
  }
  PatchBody patch{.type = found->second, .value = {}};
  auto value = patch.type == client::PatchType::kApply ? ParseYamlBody(exchange.request.body, repeated)
                                                       : ParseJsonBody(exchange.request.body, {}, repeated);
  if (!value) return Fail(value.error());
  patch.value = *std::move(value);
  return patch;
}

Done Answerer(const ExchangePointer& exchange, const ServedPointer& served) {
  return [exchange, served](Result<Answer> answer) {
    if (!answer) return exchange->SendError(answer.error());
    std::ranges::move(answer->warnings, std::back_inserter(exchange->warnings));
    if (answer->other) return exchange->SendJson(answer->http_status, *answer->other);
    exchange->SendJsonText(answer->http_status, ObjectText(*served, answer->object));
  };
}

// DeleteOptions: from the body, or where it is absent from the query.
base::Result<DeleteRequest> DeleteRequestOf(const Exchange& exchange, bool& dry_run) {
  DeleteRequest request;
  EVENKEEL_ASSIGN(request.grace_seconds, exchange.query.Integer("gracePeriodSeconds"));
  request.propagation = exchange.query.Get("propagationPolicy");
  if (exchange.query.Flag("orphanDependents")) request.propagation = "Orphan";
  if (exchange.request.body.empty()) return request;
  std::vector<std::string> repeated;
  EVENKEEL_ASSIGN(const Json body, ParseBody(exchange, {.api_version = "v1", .kind = "DeleteOptions"}, repeated));
  EVENKEEL_ASSIGN(DeleteOptionsBody options, ParseDeleteOptions(body, std::move(request)));
  dry_run = dry_run || options.dry_run;
  return std::move(options.request);
}

// As audits call it; empty for what is no write.
std::string_view VerbOf(const std::string& method, const Call& call) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return call.name.empty() ? "deletecollection" : "delete";
  return "";
}

}  // namespace

base::Result<Json> ParseBody(const Exchange& exchange, const BodyKind& kind, std::vector<std::string>& repeated,
                             boost::json::storage_ptr storage) {
  const std::string type = MediaType(exchange.Header("content-type"));
  if (type.empty() || type == "application/json" || type == "*/*") {
    return ParseJsonBody(exchange.request.body, std::move(storage), repeated);
  }
  if (type == "application/yaml") return ParseYamlBody(exchange.request.body, repeated);
  if (type == kProtobufType && kind.protobuf) {
    return ParseProtobufBody(exchange.request.body, kind.api_version, kind.kind, std::move(storage));
  }
  return Fail(MediaTypeError(kind.protobuf ? "application/json, application/yaml, application/vnd.kubernetes.protobuf"
                                           : "application/json, application/yaml"));
}

void ApiHandler::Impl::RecordRefusal(const std::string& method, const Call& call, const base::Error& error) {
  if (const auto verb = VerbOf(method, call); !verb.empty()) api.RecordRefused(call, verb, error);
}

void ApiHandler::Impl::Refuse(const ExchangePointer& exchange, const Call& call, const base::Error& error) {
  RecordRefusal(exchange->request.method, call, error);
  exchange->SendError(error);
}

void ApiHandler::Impl::Write(const ExchangePointer& exchange, Call call) {
  const bool post = exchange->request.method == "POST";
  const ServedPointer served = call.served;
  if (post && call.subresource.empty() && call.name.empty()) return Create(exchange, std::move(call));
  auto body = ParseBody(*exchange, BodyKindOf(call), call.repeated_keys);
  if (!body) return Refuse(exchange, call, body.error());
  if (post && (call.subresource == "binding" || call.subresource == "eviction" || call.subresource == "token")) {
    return api.Post(std::move(call), *std::move(body), Answerer(exchange, served));
  }
  const bool updates = !post && !call.name.empty() &&
                       (call.subresource.empty() || call.subresource == "status" || call.subresource == "scale" ||
                        call.subresource == "finalize");
  if (!updates) return Refuse(exchange, call, MethodNotAllowedError());
  api.Update(std::move(call), *std::move(body), Answerer(exchange, served));
}

void ApiHandler::Impl::Create(const ExchangePointer& exchange, Call call) {
  // A new object is parsed, completed, checked and encoded in one go: hundreds of small values that are all freed at once.
  constexpr size_t kUsualBytes = 32 << 10;
  unsigned char usual[kUsualBytes];
  boost::json::monotonic_resource memory(usual, kUsualBytes);
  auto body = ParseBody(*exchange, BodyKindOf(call), call.repeated_keys, &memory);
  if (!body) return Refuse(exchange, call, body.error());
  const ServedPointer served = call.served;
  api.Create(std::move(call), *std::move(body), Answerer(exchange, served));
}

void ApiHandler::Impl::Patch(const ExchangePointer& exchange, Call call) {
  const bool patches =
      !call.name.empty() && (call.subresource.empty() || call.subresource == "status" || call.subresource == "scale");
  if (!patches) return Refuse(exchange, call, MethodNotAllowedError());
  auto patch = ParsePatch(*exchange, call.repeated_keys);
  if (!patch) return Refuse(exchange, call, patch.error());
  const ServedPointer served = call.served;
  api.Patch(std::move(call), *std::move(patch), Answerer(exchange, served));
}

void ApiHandler::Impl::Delete(const ExchangePointer& exchange, Call call) {
  if (!call.subresource.empty()) return Refuse(exchange, call, MethodNotAllowedError());
  auto request = DeleteRequestOf(*exchange, call.dry_run);
  if (!request) return Refuse(exchange, call, request.error());
  const ServedPointer served = call.served;
  if (!call.name.empty()) return api.Delete(std::move(call), *std::move(request), Answerer(exchange, served));
  exchange->verb = "DELETECOLLECTION";
  const kube::Resource& resource = served->resource;
  const bool everywhere = resource.namespaced && call.ns.empty();
  if (everywhere || !DeletesCollections(resource)) return Refuse(exchange, call, MethodNotAllowedError());
  const auto limit = exchange->query.Integer("limit");
  if (!limit) return Refuse(exchange, call, limit.error());
  api.DeleteCollection(std::move(call), ListQueryOf(exchange->query, limit->value_or(0)), *std::move(request),
                       Answerer(exchange, served));
}

}  // namespace evenkeel::embedded::apiserver
