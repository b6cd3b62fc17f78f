#include "embedded/apiserver/admission/admission_webhooks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "embedded/apiserver/api/api.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonObject;

constexpr int64_t kSeconds = 10;

std::string ReviewText(const Call& call, const Served& as, const AdmissionQuestion& question, const Json& object) {
  JsonObject request = RequestOf(call, as, question, object);
  request["uid"] = question.uid;
  request["object"] = ConvertedTo(as, *call.served, object);
  request["oldObject"] = question.old == nullptr ? Json() : ConvertedTo(as, *call.served, *question.old);
  return base::ToText(
      JsonObject{{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", std::move(request)}});
}

// The refusal with what the webhook says of it: message, reason, code, details.
base::Error DenialOf(const std::string& name, const Json& response) {
  const std::string_view message = FindString(response, {"status", "message"});
  const std::string_view reason = FindString(response, {"status", "reason"});
  std::string text = fmt::format("admission webhook \"{}\" denied the request", name);
  if (!message.empty()) {
    text += fmt::format(": {}", message);
  } else if (!reason.empty()) {
    text += fmt::format(": {}", reason);
  } else {
    text += " without explanation";
  }
  const Code code = base::CodeFromWire(static_cast<int>(base::FindInt(response, {"status", "code"}, 403)), reason);
  const Json* const found = base::Find(response, {"status", "details"});
  if (found == nullptr || !found->is_object()) return {code, std::move(text)};
  const Json& given = *found;
  base::ErrorDetails details{.name = std::string(FindString(given, {"name"})),
                             .group = std::string(FindString(given, {"group"})),
                             .kind = std::string(FindString(given, {"kind"})),
                             .uid = std::string(FindString(given, {"uid"}))};
  for (const Json& cause : FindArray(given, {"causes"})) {
    details.causes.push_back({.reason = std::string(FindString(cause, {"reason"})),
                              .message = std::string(FindString(cause, {"message"})),
                              .field = std::string(FindString(cause, {"field"}))});
  }
  return {code, std::move(text), std::move(details)};
}

std::string NotAsked(std::string_view name, std::string_view ns, std::string_view service) {
  return fmt::format("webhook \"{}\" is not asked: service {}/{} has no endpoint here that a process listens on", name, ns,
                     service);
}

}  // namespace

void AdmissionWebhooks::Set(Kind kind, const Json& configuration) {
  std::vector<std::shared_ptr<const Hook>> hooks;
  for (const Json& json : FindArray(configuration, {"webhooks"})) {
    auto hook = std::make_shared<Hook>();
    hook->name = FindString(json, {"name"});
    if (const Json* config = base::Find(json, {"clientConfig"})) hook->address = WebhookAddressOf(*config);
    hook->writes = WriteFilter(json, "rules");
    hook->again = FindString(json, {"reinvocationPolicy"}) == "IfNeeded";
    hook->timeout = std::chrono::seconds(base::FindInt(json, {"timeoutSeconds"}, kSeconds));
    hook->ignore_failure = FindString(json, {"failurePolicy"}) == "Ignore";
    hook->conditions = kube::cel::CompileMatchConditions(FindArray(json, {"matchConditions"}));
    hooks.push_back(std::move(hook));
  }
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(kind);
  hooks_[index][std::string(kube::NameOf(configuration))] = std::move(hooks);
  any_[index] = true;
}

void AdmissionWebhooks::Remove(Kind kind, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(kind);
  hooks_[index].erase(name);
  any_[index] = !hooks_[index].empty();
}

std::vector<AdmissionWebhooks::Match> AdmissionWebhooks::Find(Kind kind, const Call& call, std::string_view operation) const {
  std::vector<Match> found;
  const auto index = static_cast<size_t>(kind);
  // Whoever breaks a configuration must be able to mend it.
  if (!any_[index] || call.unasked || call.served->resource.group == kAdmissionGroup) return found;
  const std::vector<ServedPointer> versions = world_.versions(*call.served);
  const std::lock_guard lock(mutex_);
  for (const auto& [configuration, hooks] : hooks_[index]) {
    for (const auto& hook : hooks) {
      if (auto as = hook->writes.MatchedVersion(call, operation, versions)) found.push_back({hook, std::move(as)});
    }
  }
  return found;
}

bool AdmissionWebhooks::Concern(Kind kind, const Call& call, std::string_view operation) const {
  return any_[static_cast<size_t>(kind)] && !Find(kind, call, operation).empty();
}

base::Result<bool> AdmissionWebhooks::Wants(const Match& match, const Call& call, const AdmissionQuestion& question,
                                            const Json& object) const {
  const Hook& hook = *match.hook;
  if (hook.conditions.empty()) return true;
  const RightsOfCaller rights(world_.authorize, call);
  const kube::Resource& resource = call.served->resource;
  const Json now = ConvertedTo(*match.as, *call.served, object);
  const Json before = question.old == nullptr ? Json() : ConvertedTo(*match.as, *call.served, *question.old);
  const Json request = RequestOf(call, *match.as, question, object);
  const kube::cel::AdmissionInput input{
      .object = &now, .old_object = &before, .request = &request, .access = &rights, .resource = AccessQuestionOf(call)};
  auto matches = kube::cel::MatchesConditions(hook.conditions, input);
  if (matches) return matches;
  if (hook.ignore_failure) {
    base::log::Warn("conditions of a webhook fail, and the write goes on",
                    {{"webhook", hook.name}, {"object", call.ns + "/" + call.name}, {"error", matches.error().message()}});
    return false;
  }
  return Fail(Code::kForbidden,
              fmt::format("{} \"{}\" is forbidden: {}", resource.QualifiedPlural(), call.name, matches.error().message()));
}

base::Status AdmissionWebhooks::Judge(const Call& call, const AdmissionQuestion& question, const Json& object,
                                      std::vector<std::string>& warnings) const {
  for (const Match& match : Find(Kind::kValidating, call, question.operation)) {
    if (!match.hook->writes.Selects(world_, call, object, question.old)) continue;
    EVENKEEL_ASSIGN(const bool wanted, Wants(match, call, question, object));
    if (!wanted) continue;
    EVENKEEL_TRY(AskOne(match, call, question, object, warnings));
  }
  return {};
}

base::Result<bool> AdmissionWebhooks::Change(const Call& call, const AdmissionQuestion& question, Json& object,
                                             const std::function<base::Status(Json& object)>& complete,
                                             std::vector<std::string>& warnings) const {
  const std::vector<Match> all = Find(Kind::kMutating, call, question.operation);
  size_t changes = 0;
  // How many changes there had been when it was asked; npos: it was not.
  std::vector<size_t> seen(all.size(), std::string::npos);
  for (const bool again : {false, true}) {
    for (size_t i = 0; i < all.size(); ++i) {
      const Hook& hook = *all[i].hook;
      if (again && (!hook.again || seen[i] == std::string::npos || seen[i] >= changes)) continue;
      if (!hook.writes.Selects(world_, call, object, question.old)) continue;
      EVENKEEL_ASSIGN(const bool wanted, Wants(all[i], call, question, object));
      if (!wanted) continue;
      EVENKEEL_ASSIGN(const bool changed, ChangeOne(all[i], call, question, object, warnings));
      if (changed) {
        ++changes;
        EVENKEEL_TRY(complete(object));
      }
      seen[i] = changes;
    }
  }
  return changes > 0;
}

base::Result<bool> AdmissionWebhooks::ChangeOne(const Match& match, const Call& call, const AdmissionQuestion& question,
                                                Json& object, std::vector<std::string>& warnings) const {
  EVENKEEL_ASSIGN(const Json response, AskOne(match, call, question, object, warnings));
  const auto broken = [&match](const std::string& why) {
    return Fail(Code::kInternal, fmt::format("Internal error occurred: admission webhook \"{}\": {}", match.hook->name, why));
  };
  const std::string_view encoded = response.is_object() ? FindString(response, {"patch"}) : "";
  if (encoded.empty()) return false;
  if (FindString(response, {"patchType"}) != "JSONPatch") return broken("its patch is of no known type");
  std::string text;
  if (!base::Base64Decode(encoded, text)) return broken("its patch is not base64");
  const auto patch = base::ParseJson(text, "patch");
  if (!patch) return broken(patch.error().message());
  Json changed = ConvertedTo(*match.as, *call.served, object);
  if (const auto applied = base::ApplyJsonPatch(changed, *patch); !applied) return broken(applied.error().message());
  if (base::DepthOf(changed) > base::kJsonDepthMax || !changed.is_object()) return broken("its patch leaves no object");
  changed = ConvertedTo(*call.served, *match.as, changed);
  if (base::Equal(changed, object)) return false;
  object = std::move(changed);
  return true;
}

base::Result<Json> AdmissionWebhooks::AskOne(const Match& match, const Call& call, const AdmissionQuestion& question,
                                             const Json& object, std::vector<std::string>& warnings) const {
  const Hook& hook = *match.hook;
  const auto no_answer = [&](const std::string& why) -> base::Result<Json> {
    if (hook.ignore_failure) {
      base::log::Warn("a webhook does not answer, and the write goes on",
                      {{"webhook", hook.name}, {"object", call.ns + "/" + call.name}, {"error", why}});
      return Json();
    }
    return Fail(Code::kInternal, fmt::format("Internal error occurred: failed calling webhook \"{}\": {}", hook.name, why));
  };
  const WebhookAddress& at = hook.address;
  WebhookPost post{
      .url = at.url, .ca_pem = at.ca_pem, .body = ReviewText(call, *match.as, question, object), .timeout = hook.timeout};
  if (at.by_service()) {
    post.address = world_.service_address(at.service_ns, at.service_name, at.service_port);
    if (post.address.empty()) {
      warnings.push_back(NotAsked(hook.name, at.service_ns, at.service_name));
      return Json();
    }
  }
  const auto text = poster_(post);
  if (!text) return no_answer(text.error().message());
  auto review = base::ParseJson(*text, "answer");
  if (!review) return no_answer(review.error().message());
  const Json* response = base::Find(*review, {"response"});
  if (response == nullptr || !response->is_object()) return no_answer("webhook response was absent");
  if (const std::string_view given = FindString(*response, {"uid"}); given != question.uid) {
    return no_answer(fmt::format("expected response.uid=\"{}\", got \"{}\"", question.uid, given));
  }
  std::ranges::move(base::FindTexts(*response, {"warnings"}), std::back_inserter(warnings));
  if (base::FindBool(*response, {"allowed"})) return Json(*response);
  return Fail(DenialOf(hook.name, *response));
}

std::vector<std::string> WarnOfWebhooks(const Json& configuration, const AdmissionView& world) {
  std::vector<std::string> warnings;
  for (const Json& hook : FindArray(configuration, {"webhooks"})) {
    const Json* config = base::Find(hook, {"clientConfig"});
    if (config == nullptr) continue;
    const WebhookAddress at = WebhookAddressOf(*config);
    if (!at.by_service() || !world.service_address(at.service_ns, at.service_name, at.service_port).empty()) continue;
    warnings.push_back(NotAsked(FindString(hook, {"name"}), at.service_ns, at.service_name));
  }
  return warnings;
}

}  // namespace evenkeel::embedded::apiserver
