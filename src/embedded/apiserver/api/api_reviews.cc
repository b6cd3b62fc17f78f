// Reviews: questions about who somebody is and what they may do, which are answered and not stored.
// Follows: kubernetes@1.36 pkg/registry/{authorization,authentication}.
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/validation/validation.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::JsonArray;
using base::JsonObject;

JsonObject UserJson(const UserInfo& info) {
  JsonObject user{{"username", info.name}};
  if (!info.uid.empty()) user["uid"] = info.uid;
  if (!info.groups.empty()) user["groups"] = base::ToJsonArray(info.groups);
  JsonObject extra;
  for (const auto& [key, values] : info.extra) extra[key] = base::ToJsonArray(values);
  if (!extra.empty()) user["extra"] = std::move(extra);
  return user;
}

/// Whom a SubjectAccessReview asks about.
UserInfo SubjectOf(const Json& review) {
  UserInfo user{.name = std::string(base::FindString(review, {"spec", "user"})),
                .groups = base::FindTexts(review, {"spec", "groups"}),
                .uid = std::string(base::FindString(review, {"spec", "uid"}))};
  for (const auto& [key, values] : base::FindObject(review, {"spec", "extra"})) {
    if (values.is_array()) user.extra[std::string(key)] = base::TextsIn(values.get_array());
  }
  return user;
}

access::Attributes AttributesIn(const Json& review) {
  const bool on_path = base::Find(review, {"spec", "nonResourceAttributes"}) != nullptr;
  const char* part = on_path ? "nonResourceAttributes" : "resourceAttributes";
  const auto text = [&](std::string_view field) { return std::string(base::FindString(review, {"spec", part, field})); };
  if (on_path) return {.verb = text("verb"), .path = text("path").empty() ? "/" : text("path")};
  return {.verb = text("verb"),
          .group = text("group"),
          .resource = text("resource"),
          .subresource = text("subresource"),
          .ns = text("namespace"),
          .name = text("name")};
}

JsonObject AccessStatus(const access::Decision& decision) {
  JsonObject status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  return status;
}

JsonObject RulesStatus(const UserInfo& user, access::HeldRules held) {
  if (access::InGroup(user, access::kMasters)) {
    held.rules.insert(held.rules.begin(),
                      {{.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}}, {.verbs = {"*"}, .paths = {"*"}}});
  }
  JsonArray on_resources, on_paths;
  for (const access::Rule& rule : held.rules)
    (rule.paths.empty() ? on_resources : on_paths).push_back(access::RuleToJson(rule));
  JsonObject status{
      {"resourceRules", std::move(on_resources)}, {"nonResourceRules", std::move(on_paths)}, {"incomplete", false}};
  if (!held.errors.empty()) status["evaluationError"] = held.errors;
  return status;
}

Result<Json> TokenStatus(const Authenticator& authenticator, const Json& review) {
  const std::string_view token = base::FindString(review, {"spec", "token"});
  if (token.empty()) return Fail(Code::kBadRequest, "token is required for TokenReview in authentication");
  std::vector<std::string> audiences = base::FindTexts(review, {"spec", "audiences"});
  const bool asked = !audiences.empty();
  const auto user = authenticator.AuthenticateToken(token, audiences);
  if (!user) return JsonObject{{"user", JsonObject()}, {"error", user.error().message()}};
  JsonObject status{{"authenticated", true}, {"user", UserJson(*user)}};
  if (asked) status["audiences"] = base::ToJsonArray(audiences);
  return status;
}

}  // namespace

void Api::Review(Call call, Json object, Done done) {
  Answer answer;
  answer.http_status = 201;
  const kube::Resource& resource = call.served->resource;
  if (auto ingested = Ingest(call, object, answer); !ingested) return done(Fail(ingested.error()));
  if (resource.namespaced) base::Ensure(object, {"metadata", "namespace"}) = call.ns;
  if (auto causes = kube::ValidateObject(resource, object); !causes.empty()) {
    return done(Fail(InvalidError(resource, call.name, std::move(causes))));
  }
  auto status = ReviewStatus(call, object);
  if (!status) return done(Fail(status.error()));
  object.as_object()["status"] = *std::move(status);
  answer.object.bytes = std::make_shared<const std::string>(EncodeStored(object, *call.served));
  AnswerUnwritten(call, std::move(answer), done);
}

Result<Json> Api::ReviewStatus(const Call& call, Json& review) {
  const std::string& kind = call.served->resource.kind;
  const access::Authorizer& authorizer = access_->authorizer();
  if (kind == "SelfSubjectReview") {
    base::Ensure(review, {"metadata", "creationTimestamp"}) = base::FormatTime(Now());
    return JsonObject{{"userInfo", UserJson(call.user)}};
  }
  if (kind == "SelfSubjectRulesReview") {
    const std::string ns(base::FindString(review, {"spec", "namespace"}));
    if (ns.empty()) return Fail(Code::kBadRequest, "no namespace on request");
    review.as_object()["spec"] = JsonObject();
    return RulesStatus(call.user, authorizer.RulesOf(call.user, ns));
  }
  if (kind == "TokenReview") return TokenStatus(access_->authenticator(), review);
  if (kind == "SelfSubjectAccessReview") return AccessStatus(authorizer.Authorize(call.user, AttributesIn(review)));
  return AccessStatus(authorizer.Authorize(SubjectOf(review), AttributesIn(review)));
}

}  // namespace evenkeel::embedded::apiserver
