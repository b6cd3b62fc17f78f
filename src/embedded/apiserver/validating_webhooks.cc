#include "embedded/apiserver/validating_webhooks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "client/http_connection.h"
#include "embedded/apiserver/api.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kConfigurationGroup = "admissionregistration.k8s.io";
constexpr size_t kAnswerMax = 3u << 20;
constexpr int64_t kSeconds = 10;

bool Names(const Json& rule, std::string_view field, std::string_view wanted) {
  return std::ranges::any_of(FindArray(rule, {field}), [&](const Json& item) {
    return item.is_string() && (item.get_string() == "*" || item.get_string() == wanted);
  });
}

/// "PLURAL", "PLURAL/SUB", "PLURAL/*", "*/SUB", "*" (no subresources) and "*/*".
bool NamesResource(const Json& rule, std::string_view plural, std::string_view subresource) {
  return std::ranges::any_of(FindArray(rule, {"resources"}), [&](const Json& item) {
    const std::string_view text = item.is_string() ? std::string_view(item.get_string()) : "";
    const size_t slash = text.find('/');
    const std::string_view name = text.substr(0, slash);
    const std::string_view sub = slash == text.npos ? "" : text.substr(slash + 1);
    const bool same_sub = sub == subresource || sub == "*";
    return (name == "*" || name == plural) && same_sub;
  });
}

bool Matches(const Json& rule, const Call& call, std::string_view operation) {
  const kube::Resource& resource = call.served->resource;
  const std::string_view scope = FindString(rule, {"scope"}, "*");
  return Names(rule, "operations", operation) && Names(rule, "apiGroups", resource.group) &&
         Names(rule, "apiVersions", resource.version) && NamesResource(rule, resource.plural, call.subresource) &&
         (scope == "*" || (scope == "Namespaced") == resource.namespaced);
}

JsonObject KindOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

JsonObject ResourceOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}};
}

std::string ReviewText(const Call& call, std::string_view operation, const std::string& uid, const Json& object,
                       const Json& old) {
  const kube::Resource& resource = call.served->resource;
  JsonArray groups;
  for (const std::string& group : call.user.groups) groups.push_back(Json(group));
  JsonObject request{{"uid", uid},
                     {"kind", KindOf(resource)},
                     {"resource", ResourceOf(resource)},
                     {"requestKind", KindOf(resource)},
                     {"requestResource", ResourceOf(resource)},
                     {"name", call.name},
                     {"operation", operation},
                     {"userInfo", JsonObject{{"username", call.user.name}, {"groups", std::move(groups)}}},
                     {"object", object},
                     {"oldObject", old},
                     {"dryRun", call.dry_run}};
  if (!call.ns.empty()) request["namespace"] = call.ns;
  if (!call.subresource.empty()) request["subResource"] = request["requestSubResource"] = call.subresource;
  return base::ToText(
      JsonObject{{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", std::move(request)}});
}

}  // namespace

base::Result<std::string> PostToWebhook(const WebhookPost& post) {
  client::ConnectionConfig config;
  config.server = post.url;
  EVENKEEL_ASSIGN(const client::HttpEndpoint endpoint, client::ParseEndpoint(config));
  if (!endpoint.tls) return Fail(Code::kBadRequest, "its address does not begin with https://");
  EVENKEEL_ASSIGN(const auto tls, client::TlsContext::ForClient(post.ca_pem, true, "", ""));
  const base::Instant deadline = base::SystemClock().Monotonic() + post.timeout;
  EVENKEEL_ASSIGN(const auto connection, client::HttpConnection::Open(endpoint, tls, deadline));
  const std::string path = endpoint.path_prefix.empty() ? "/" : endpoint.path_prefix;
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: evenkeel\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n",
      path, endpoint.host_header, post.body.size());
  client::HttpResponseReader reader(kAnswerMax);
  client::HttpConnection::Exchange exchange;
  EVENKEEL_TRY(connection->Send(head, post.body, reader, false, deadline, exchange));
  if (reader.status() == 200) return reader.TakeBody();
  return Fail(Code::kInternal, fmt::format("{} answers {} {}", endpoint.description, reader.status(),
                                           client::HttpReasonPhrase(reader.status())));
}

void ValidatingWebhooks::Set(const Json& configuration) {
  std::vector<Hook> hooks;
  for (const Json& json : FindArray(configuration, {"webhooks"})) {
    Hook hook;
    hook.name = FindString(json, {"name"});
    hook.url = FindString(json, {"clientConfig", "url"});
    // One that cannot be read makes the question fail, with a message about certificates.
    if (!base::Base64Decode(FindString(json, {"clientConfig", "caBundle"}), hook.ca_pem)) hook.ca_pem = "not base64";
    for (const Json& rule : FindArray(json, {"rules"})) hook.rules.push_back(Json(rule, {}));
    hook.timeout = std::chrono::seconds(base::FindInt(json, {"timeoutSeconds"}, kSeconds));
    hook.ignore_failure = FindString(json, {"failurePolicy"}) == "Ignore";
    hooks.push_back(std::move(hook));
  }
  const std::lock_guard lock(mutex_);
  hooks_[std::string(kube::NameOf(configuration))] = std::move(hooks);
  any_ = true;
}

void ValidatingWebhooks::Remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  hooks_.erase(name);
  any_ = !hooks_.empty();
}

std::vector<ValidatingWebhooks::Hook> ValidatingWebhooks::Find(const Call& call, std::string_view operation) const {
  std::vector<Hook> found;
  // Whoever breaks a configuration must be able to mend it.
  if (!any_ || call.served->resource.group == kConfigurationGroup) return found;
  const std::lock_guard lock(mutex_);
  for (const auto& [configuration, hooks] : hooks_) {
    for (const Hook& hook : hooks) {
      if (std::ranges::any_of(hook.rules, [&](const Json& rule) { return Matches(rule, call, operation); })) {
        found.push_back(hook);
      }
    }
  }
  return found;
}

bool ValidatingWebhooks::Concern(const Call& call, std::string_view operation) const {
  return any_ && !Find(call, operation).empty();
}

base::Result<std::vector<std::string>> ValidatingWebhooks::Ask(const Call& call, std::string_view operation,
                                                               const std::string& uid, const Json& object,
                                                               const Json& old) const {
  std::vector<std::string> warnings;
  const std::string body = ReviewText(call, operation, uid, object, old);
  for (const Hook& hook : Find(call, operation)) EVENKEEL_TRY(AskOne(hook, call, uid, body, warnings));
  return warnings;
}

base::Status ValidatingWebhooks::AskOne(const Hook& hook, const Call& call, const std::string& uid, const std::string& body,
                                        std::vector<std::string>& warnings) const {
  const auto no_answer = [&](const std::string& why) -> base::Status {
    if (hook.ignore_failure) {
      base::log::Warn("a webhook does not answer, and the write goes on",
                      {{"webhook", hook.name}, {"object", call.ns + "/" + call.name}, {"error", why}});
      return {};
    }
    return Fail(Code::kInternal, fmt::format("Internal error occurred: failed calling webhook \"{}\": {}", hook.name, why));
  };
  const auto text = poster_({.url = hook.url, .ca_pem = hook.ca_pem, .body = body, .timeout = hook.timeout});
  if (!text) return no_answer(text.error().message());
  const auto review = base::ParseJson(*text, "answer");
  if (!review) return no_answer(review.error().message());
  const Json* response = base::Find(*review, {"response"});
  if (response == nullptr || !response->is_object()) return no_answer("webhook response was absent");
  if (const std::string_view given = FindString(*response, {"uid"}); given != uid) {
    return no_answer(fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, given));
  }
  for (const Json& warning : FindArray(*response, {"warnings"})) {
    if (warning.is_string()) warnings.emplace_back(warning.get_string());
  }
  if (base::FindBool(*response, {"allowed"})) return {};
  const std::string_view message = FindString(*response, {"status", "message"});
  const Code code = base::CodeFromWire(static_cast<int>(base::FindInt(*response, {"status", "code"}, 403)),
                                       FindString(*response, {"status", "reason"}));
  return Fail(code, message.empty() ? fmt::format("admission webhook \"{}\" denied the request without explanation", hook.name)
                                    : fmt::format("admission webhook \"{}\" denied the request: {}", hook.name, message));
}

}  // namespace evenkeel::embedded::apiserver
