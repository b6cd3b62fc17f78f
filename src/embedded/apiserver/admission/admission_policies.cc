#include "embedded/apiserver/admission/admission_policies.h"

#include <spdlog/fmt/fmt.h>

#include "base/log.h"
#include "embedded/apiserver/objects/call.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::FindArray;
using base::FindString;
using base::Json;

const Json& Part(const Json& object, std::initializer_list<std::string_view> path) {
  static const auto* const nothing = new Json(base::JsonObject());
  const Json* found = base::Find(object, path);
  return found == nullptr || !found->is_object() ? *nothing : *found;
}

bool Has(const base::JsonArray& texts, std::string_view text) {
  return std::ranges::any_of(texts, [&](const Json& one) { return one.is_string() && one.get_string() == text; });
}

Code CodeOf(std::string_view reason) {
  if (reason == "Forbidden") return Code::kForbidden;
  if (reason == "Unauthorized") return Code::kUnauthorized;
  if (reason == "RequestEntityTooLarge") return Code::kTooLarge;
  return Code::kInvalid;
}

bool IsPolicy(const kube::Resource& resource) {
  return resource.group == kAdmissionGroup && resource.plural.starts_with("validatingadmissionpolic");
}

bool IsNamespace(const kube::Resource& resource) { return resource.group.empty() && resource.plural == "namespaces"; }

}  // namespace

struct AdmissionPolicies::Write {
  const Call& call;
  const Json& object;
  const AdmissionQuestion& question;
  const std::vector<ServedPointer>& versions;
  kube::cel::AdmissionInput input;
};

struct AdmissionPolicies::Outcome {
  std::vector<std::string>& warnings;
  std::optional<base::Error> denial;  // the first

  void Deny(const Call& call, const Policy& policy, const Binding& binding,
            const kube::cel::AdmissionPolicy::Refusal& refusal) {
    if (denial) return;
    const std::string text = fmt::format("ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}", policy.name,
                                         binding.name, refusal.message);
    const base::Error forbidden =
        ForbiddenError(call.served->resource, call.name, text, {{.reason = "", .message = text, .field = ""}});
    denial = base::Error(CodeOf(refusal.reason), forbidden.message(), *forbidden.details());
  }
};

AdmissionPolicies::Policy::Policy(const Json& object)
    : name(kube::NameOf(object)),
      writes(Part(object, {"spec", "matchConstraints"}), "resourceRules"),
      params_version(FindString(object, {"spec", "paramKind", "apiVersion"})),
      params_kind(FindString(object, {"spec", "paramKind", "kind"})),
      expressions(Part(object, {"spec"})) {}

void AdmissionPolicies::SetPolicy(const Json& policy) {
  auto compiled = std::make_shared<const Policy>(policy);
  const std::lock_guard lock(mutex_);
  policies_[compiled->name] = std::move(compiled);
}

void AdmissionPolicies::RemovePolicy(const std::string& name) {
  const std::lock_guard lock(mutex_);
  policies_.erase(name);
}

void AdmissionPolicies::SetBinding(const Json& object) {
  auto binding = std::make_shared<Binding>();
  binding->name = kube::NameOf(object);
  binding->policy = FindString(object, {"spec", "policyName"});
  binding->has_match = base::Find(object, {"spec", "matchResources"}) != nullptr;
  binding->writes = WriteFilter(Part(object, {"spec", "matchResources"}), "resourceRules");
  if (const Json* params = base::Find(object, {"spec", "paramRef"})) binding->params = Json(*params, {});
  const base::JsonArray& actions = FindArray(object, {"spec", "validationActions"});
  binding->deny = Has(actions, "Deny");
  binding->warn = Has(actions, "Warn");
  const std::lock_guard lock(mutex_);
  bindings_[binding->name] = std::move(binding);
  any_ = true;
}

void AdmissionPolicies::RemoveBinding(const std::string& name) {
  const std::lock_guard lock(mutex_);
  bindings_.erase(name);
  any_ = !bindings_.empty();
}

std::vector<AdmissionPolicies::Match> AdmissionPolicies::Find(const Call& call, std::string_view operation) const {
  std::vector<Match> found;
  // Whoever breaks a policy must be able to mend it.
  if (!any_ || call.unasked || IsPolicy(call.served->resource)) return found;
  const std::vector<ServedPointer> versions = view_.versions(*call.served);
  const std::lock_guard lock(mutex_);
  for (const auto& [name, policy] : policies_) {
    Match match{policy, {}, policy->writes.MatchedVersion(call, operation, versions)};
    if (match.as == nullptr) continue;
    for (const auto& [binding_name, binding] : bindings_) {
      if (binding->policy == name) match.bindings.push_back(binding);
    }
    if (!match.bindings.empty()) found.push_back(std::move(match));
  }
  return found;
}

bool AdmissionPolicies::Concern(const Call& call, std::string_view operation) const {
  return any_ && !Find(call, operation).empty();
}

base::Status AdmissionPolicies::Judge(const Call& call, const AdmissionQuestion& question, const Json& object,
                                      std::vector<std::string>& warnings) const {
  const std::vector<Match> matches = Find(call, question.operation);
  if (matches.empty()) return {};
  const std::vector<ServedPointer> versions = view_.versions(*call.served);
  const RightsOfCaller rights(view_.authorize, call);
  Json ns;
  if (call.served->resource.namespaced) {
    // One that has just gone is nobody's.
    if (auto found = view_.object(view_.kind("v1", "Namespace"), "", call.ns)) ns = *std::move(found);
  }
  Outcome outcome{warnings, std::nullopt};
  for (const Match& match : matches) {
    if (!match.policy->writes.Selects(view_, call, object, question.old)) continue;
    const Json now = ConvertedTo(*match.as, *call.served, object);
    const Json before = question.old == nullptr ? Json() : ConvertedTo(*match.as, *call.served, *question.old);
    const Json request = RequestOf(call, *match.as, question, object);
    const Write write{call,
                      object,
                      question,
                      versions,
                      {.object = &now,
                       .old_object = &before,
                       .request = &request,
                       .namespace_object = ns.is_null() ? nullptr : &ns,
                       .access = &rights,
                       .resource = AccessQuestionOf(call)}};
    for (const auto& binding : match.bindings) JudgeBinding(*match.policy, *binding, write, outcome);
  }
  if (outcome.denial) return Fail(*std::move(outcome.denial));
  return {};
}

void AdmissionPolicies::JudgeBinding(const Policy& policy, const Binding& binding, const Write& write, Outcome& outcome) const {
  const std::string_view operation = write.question.operation;
  if (binding.has_match) {
    const bool meant = binding.writes.has_rules()
                           ? binding.writes.MatchedVersion(write.call, operation, write.versions) != nullptr
                           : !binding.writes.Excludes(write.call, operation, write.versions);
    if (!meant || !binding.writes.Selects(view_, write.call, write.object, write.question.old)) return;
  }
  const auto params = Params(policy, binding, write.call);
  if (!params) {
    if (policy.expressions.ignores_failures()) return;
    return outcome.Deny(write.call, policy, binding, {"failed to configure binding: " + params.error().message(), ""});
  }
  for (const Json& one : *params) {
    kube::cel::AdmissionInput input = write.input;
    input.params = &one;
    const auto verdict = policy.expressions.Judge(input);
    for (const auto& refusal : verdict.refusals) {
      if (binding.deny) outcome.Deny(write.call, policy, binding, refusal);
      if (binding.warn) {
        outcome.warnings.push_back(fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                                               policy.name, binding.name, refusal.message));
      }
    }
    for (const auto& failure : verdict.failures) outcome.Deny(write.call, policy, binding, failure);
  }
}

base::Result<std::vector<Json>> AdmissionPolicies::Params(const Policy& policy, const Binding& binding,
                                                          const Call& call) const {
  std::vector<Json> params;
  if (policy.params_kind.empty() || binding.params.is_null()) {
    params.emplace_back();
    return params;
  }
  const auto wrong = [](std::string why) { return Fail(Code::kInvalid, std::move(why)); };
  const ServedPointer served = view_.kind(policy.params_version, policy.params_kind);
  if (served == nullptr) {
    return wrong(fmt::format("paramKind kind `&ParamKind{{APIVersion:{},Kind:{},}}` not known", policy.params_version,
                             policy.params_kind));
  }
  std::string ns(FindString(binding.params, {"namespace"}));
  if (!served->resource.namespaced && !ns.empty()) {
    return wrong("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  if (served->resource.namespaced && ns.empty()) {
    ns = IsNamespace(call.served->resource) ? call.name : call.ns;
    if (ns.empty()) {
      return wrong("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
    }
  }
  if (const std::string name(FindString(binding.params, {"name"})); !name.empty()) {
    auto found = view_.object(served, ns, name);
    if (!found && found.error().code() != Code::kNotFound) return Fail(found.error());
    if (found) params.push_back(*std::move(found));
  } else {
    const Json* given = base::Find(binding.params, {"selector"});
    EVENKEEL_ASSIGN(const auto selector, kube::LabelSelector::FromJson(given == nullptr ? Json() : *given));
    EVENKEEL_ASSIGN(auto all, view_.objects(served, ns));
    for (Json& one : all) {
      if (selector.Matches(base::FindObject(one, {"metadata", "labels"}))) params.push_back(std::move(one));
    }
  }
  if (params.empty() && FindString(binding.params, {"parameterNotFoundAction"}) == "Deny") {
    return wrong("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return params;
}

std::vector<std::string> WarnOfPolicy(const Json& object) {
  std::vector<std::string> warnings;
  if (!FindArray(object, {"spec", "auditAnnotations"}).empty()) {
    warnings.emplace_back("spec.auditAnnotations: their values are written nowhere: the audit log has no annotations");
  }
  if (Has(FindArray(object, {"spec", "validationActions"}), "Audit")) {
    warnings.emplace_back("spec.validationActions: \"Audit\" has no effect: the audit log has no annotations");
  }
  return warnings;
}

}  // namespace evenkeel::embedded::apiserver
