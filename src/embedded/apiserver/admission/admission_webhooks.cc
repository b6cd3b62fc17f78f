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
using base::JsonArray;
using base::JsonObject;

constexpr const char* kConfigurationGroup = "admissionregistration.k8s.io";
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

bool Matches(const Json& rule, const kube::Resource& resource, std::string_view subresource, std::string_view operation) {
  const std::string_view scope = FindString(rule, {"scope"}, "*");
  // A namespace is in none, though it has one for the rights to it.
  return Names(rule, "operations", operation) && Names(rule, "apiGroups", resource.group) &&
         Names(rule, "apiVersions", resource.version) && NamesResource(rule, resource.plural, subresource) &&
         (scope == "*" || (scope == "Namespaced") == resource.namespaced);
}

JsonObject KindOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

JsonObject ResourceOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}};
}

Json OptionsOf(std::string_view operation, const Call& call) {
  const std::string_view kind = operation == "CREATE"   ? "CreateOptions"
                                : operation == "UPDATE" ? "UpdateOptions"
                                                        : "DeleteOptions";
  JsonObject options{{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}};
  if (call.dry_run) options["dryRun"] = JsonArray{"All"};
  if (operation != "DELETE" && !call.field_manager.empty()) options["fieldManager"] = call.field_manager;
  return options;
}

// Of one form into that of another version of the same kind.
Json ConvertedTo(const Served& to, const Served& from, const Json& object) {
  if (!object.is_object() || &to == &from) return object;
  Json converted = object;
  if (from.to_stored != nullptr) from.to_stored(converted);
  if (to.from_stored != nullptr) to.from_stored(converted);
  converted.get_object()["apiVersion"] = to.resource.ApiVersion();
  converted.get_object()["kind"] = to.resource.kind;
  return converted;
}

/// All but its uid and the objects.
JsonObject RequestOf(const Call& call, const Served& as, const AdmissionQuestion& question) {
  const kube::Resource& resource = call.served->resource;
  JsonArray groups;
  for (const std::string& group : call.user.groups) groups.push_back(Json(group));
  JsonObject request{{"kind", KindOf(as.resource)},
                     {"resource", ResourceOf(as.resource)},
                     {"requestKind", KindOf(resource)},
                     {"requestResource", ResourceOf(resource)},
                     {"name", call.name},
                     {"operation", question.operation},
                     {"userInfo", JsonObject{{"username", call.user.name}, {"groups", std::move(groups)}}},
                     {"dryRun", call.dry_run},
                     {"options", question.options == nullptr ? OptionsOf(question.operation, call) : *question.options}};
  if (!call.ns.empty()) request["namespace"] = call.ns;
  if (!call.subresource.empty()) request["subResource"] = request["requestSubResource"] = call.subresource;
  return request;
}

std::string ReviewText(const Call& call, const Served& as, const AdmissionQuestion& question, const Json& object) {
  JsonObject request = RequestOf(call, as, question);
  request["uid"] = question.uid;
  request["object"] = ConvertedTo(as, *call.served, object);
  request["oldObject"] = question.old == nullptr ? Json() : ConvertedTo(as, *call.served, *question.old);
  return base::ToText(
      JsonObject{{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", std::move(request)}});
}

/// What conditions ask of this API's rights: of whoever sent the request, or of an account.
class RightsOfCaller final : public kube::cel::AccessRules {
 public:
  RightsOfCaller(const WebhookWorld& world, const Call& call) : world_(world), call_(call) {}

  Answer Ask(const kube::cel::AccessQuestion& question, std::string_view verb) const override {
    access::UserInfo user = call_.user;
    if (!question.account_name.empty()) {
      user = {.name = access::ServiceAccountUser(question.account_namespace, question.account_name),
              .groups = access::ServiceAccountGroups(question.account_namespace)};
    }
    access::Attributes attributes{.verb = std::string(verb), .path = std::string(question.path)};
    if (question.path.empty()) {
      attributes.group = question.group;
      attributes.resource = question.resource;
      attributes.subresource = question.subresource;
      attributes.ns = question.namespace_name;
      attributes.name = question.name;
    }
    access::Decision decision = world_.authorize(user, attributes);
    return {decision.allowed, std::move(decision.reason)};
  }

 private:
  const WebhookWorld& world_;
  const Call& call_;
};

kube::Labels LabelsOf(const Json& object) {
  kube::Labels labels;
  for (const auto& [key, value] : base::FindObject(object, {"metadata", "labels"})) {
    if (value.is_string()) labels[std::string(key)] = std::string(value.get_string());
  }
  return labels;
}

bool IsNamespaces(const kube::Resource& resource) { return resource.group.empty() && resource.plural == "namespaces"; }

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
    for (const Json& rule : FindArray(json, {"rules"})) hook->rules.push_back(Json(rule, {}));
    const auto select = [&json](std::string_view field, kube::LabelSelector& selector, bool& all) {
      const JsonObject& given = base::FindObject(json, {field});
      all = given.empty();
      if (auto parsed = kube::LabelSelector::FromJson(Json(given))) selector = *std::move(parsed);
    };
    select("namespaceSelector", hook->namespaces, hook->all_namespaces);
    select("objectSelector", hook->objects, hook->all_objects);
    hook->equivalent = FindString(json, {"matchPolicy"}) != "Exact";
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

ServedPointer AdmissionWebhooks::MatchedVersion(const Hook& hook, const Call& call, std::string_view operation,
                                                const std::vector<ServedPointer>& versions) {
  const auto matches = [&](const Served& served) {
    return std::ranges::any_of(hook.rules,
                               [&](const Json& rule) { return Matches(rule, served.resource, call.subresource, operation); });
  };
  if (matches(*call.served)) return call.served;
  for (const ServedPointer& other : versions) {
    if (hook.equivalent && other != call.served && matches(*other)) return other;
  }
  return nullptr;
}

std::vector<AdmissionWebhooks::Match> AdmissionWebhooks::Find(Kind kind, const Call& call, std::string_view operation) const {
  std::vector<Match> found;
  const auto index = static_cast<size_t>(kind);
  // Whoever breaks a configuration must be able to mend it.
  if (!any_[index] || call.unasked || call.served->resource.group == kConfigurationGroup) return found;
  const std::vector<ServedPointer> versions = world_.versions(*call.served);
  const std::lock_guard lock(mutex_);
  for (const auto& [configuration, hooks] : hooks_[index]) {
    for (const auto& hook : hooks) {
      if (auto as = MatchedVersion(*hook, call, operation, versions)) found.push_back({hook, std::move(as)});
    }
  }
  return found;
}

bool AdmissionWebhooks::Concern(Kind kind, const Call& call, std::string_view operation) const {
  return any_[static_cast<size_t>(kind)] && !Find(kind, call, operation).empty();
}

bool AdmissionWebhooks::Selects(const Hook& hook, const Call& call, const Json& object, const Json* old) const {
  if (!hook.all_objects) {
    const bool now = object.is_object() && hook.objects.Matches(LabelsOf(object));
    const bool before = old != nullptr && old->is_object() && hook.objects.Matches(LabelsOf(*old));
    if (!now && !before) return false;
  }
  if (hook.all_namespaces) return true;
  if (IsNamespaces(call.served->resource)) {
    return hook.namespaces.Matches(LabelsOf(object.is_object() || old == nullptr ? object : *old));
  }
  // What is in no namespace is always meant.
  if (!call.served->resource.namespaced) return true;
  const auto labels = world_.namespace_labels(call.ns);
  return labels && hook.namespaces.Matches(*labels);
}

base::Result<bool> AdmissionWebhooks::Wants(const Match& match, const Call& call, const AdmissionQuestion& question,
                                            const Json& object) const {
  const Hook& hook = *match.hook;
  if (hook.conditions.empty()) return true;
  const RightsOfCaller rights(world_, call);
  const kube::Resource& resource = call.served->resource;
  const Json now = ConvertedTo(*match.as, *call.served, object);
  const Json before = question.old == nullptr ? Json() : ConvertedTo(*match.as, *call.served, *question.old);
  const Json request = RequestOf(call, *match.as, question);
  const kube::cel::AdmissionInput input{.object = &now,
                                        .old_object = &before,
                                        .request = &request,
                                        .access = &rights,
                                        .resource = {.group = resource.group,
                                                     .resource = resource.plural,
                                                     .subresource = call.subresource,
                                                     .namespace_name = call.ns,
                                                     .name = call.name}};
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
    if (!Selects(*match.hook, call, object, question.old)) continue;
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
      if (!Selects(hook, call, object, question.old)) continue;
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
  for (const Json& warning : FindArray(*response, {"warnings"})) {
    if (warning.is_string()) warnings.emplace_back(warning.get_string());
  }
  if (base::FindBool(*response, {"allowed"})) return Json(*response);
  return Fail(DenialOf(hook.name, *response));
}

std::vector<std::string> WarnOfWebhooks(const Json& configuration, const WebhookWorld& world) {
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
