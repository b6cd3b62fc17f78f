// Rules of ValidatingAdmissionPolicies and their bindings. Expressions: kube/rules/admission_policy.h.
// Follows: kubernetes@1.36 pkg/apis/admissionregistration/validation/validation.go
#include <algorithm>
#include <set>

#include "base/text.h"
#include "kube/object.h"
#include "kube/rules/admission_policy.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

void Named(const JsonArray& rules, const FieldPath& path, Causes& causes) {
  WriteRules(rules, path, causes);
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath rule = path.Index(i);
    const FieldPath at = rule.Field("resourceNames");
    std::set<std::string_view> seen;
    const JsonArray& names = List(rules[i], "resourceNames");
    for (size_t k = 0; k < names.size(); ++k) {
      if (!names[k].is_string()) continue;
      const std::string_view name = names[k].get_string();
      if (const std::string problem = CheckPathSegment(name); !problem.empty()) {
        causes.push_back(InvalidText(at.Index(k), name, problem));
      }
      if (!seen.insert(name).second) causes.push_back(DuplicateText(at.Index(k), name));
    }
  }
}

void MatchResources(const Json& match, const FieldPath& path, Causes& causes) {
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    if (const Json* present = Member(match, selector)) LabelSelector(*present, path.Field(selector), causes);
  }
  for (const char* rules : {"resourceRules", "excludeResourceRules"}) Named(List(match, rules), path.Field(rules), causes);
}

void ParamKind(const Json& kind, const FieldPath& path, Causes& causes) {
  const std::string_view version = Text(kind, "apiVersion");
  const FieldPath at = path.Field("apiVersion");
  const size_t slash = version.find('/');
  const std::string_view group = slash == version.npos ? "" : version.substr(0, slash);
  const std::string_view rest = slash == version.npos ? version : version.substr(slash + 1);
  if (version.empty()) {
    causes.push_back(RequiredValue(at));
  } else if (std::ranges::count(version, '/') > 1) {
    causes.push_back(InvalidText(at, version, "unexpected GroupVersion string: " + std::string(version)));
  } else {
    if (const std::string problem = CheckDnsSubdomain(group); !group.empty() && !problem.empty()) {
      causes.push_back(InvalidText(at, group, problem));
    }
    if (rest.empty()) {
      causes.push_back(InvalidText(at, version, "version must be specified"));
    } else if (const std::string problem = CheckDns1035Label(rest); !problem.empty()) {
      causes.push_back(InvalidText(at, rest, problem));
    }
  }
  const std::string name = base::Lower(Text(kind, "kind"));
  if (name.empty()) return causes.push_back(RequiredValue(path.Field("kind")));
  if (const std::string problem = CheckDns1035Label(name); !problem.empty()) {
    causes.push_back(
        InvalidText(path.Field("kind"), Text(kind, "kind"), "may have mixed case, but should otherwise match: " + problem));
  }
}

void Messages(const Json& validation, const FieldPath& path, Causes& causes) {
  const std::string_view message = Text(validation, "message");
  const size_t end = message.find_last_not_of(" \t\r\n");
  if (!message.empty() && IsBlank(message)) {
    causes.push_back(InvalidText(path.Field("message"), message, "message must be non-empty if specified"));
  } else if (!message.empty() &&
             message.substr(0, end).find_first_of("\r\n", message.find_first_not_of(" \t\r\n")) != message.npos) {
    causes.push_back(InvalidText(path.Field("message"), message, "message must not contain line breaks"));
  }
  const std::string_view reason = Text(validation, "reason");
  if (!Has(validation, "reason") || reason == "Forbidden" || reason == "Invalid" || reason == "RequestEntityTooLarge" ||
      reason == "Unauthorized")
    return;
  causes.push_back(
      UnsupportedText(path.Field("reason"), reason, {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"}));
}

void Policy(const Json& object, Causes& causes) {
  const FieldPath root("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  const Json* kind = Member(spec, "paramKind");
  if (kind != nullptr) ParamKind(*kind, root.Field("paramKind"), causes);
  const FieldPath match = root.Field("matchConstraints");
  if (const Json* given = Member(spec, "matchConstraints"); given == nullptr) {
    causes.push_back(RequiredValue(match));
  } else {
    MatchResources(*given, match, causes);
    // They tell which types expressions are about.
    if (List(*given, "resourceRules").empty()) causes.push_back(RequiredValue(match.Field("resourceRules")));
  }
  const FieldPath conditions = root.Field("matchConditions");
  std::ranges::move(cel::CheckMatchConditions(List(spec, "matchConditions"), conditions, kind != nullptr),
                    std::back_inserter(causes));
  const JsonArray& validations = List(spec, "validations");
  if (validations.empty() && List(spec, "auditAnnotations").empty()) {
    for (const char* field : {"validations", "auditAnnotations"}) {
      causes.push_back(RequiredValue(root.Field(field), "validations or auditAnnotations must contain at least one item"));
    }
  }
  const FieldPath list = root.Field("validations");
  for (size_t i = 0; i < validations.size(); ++i) Messages(validations[i], list.Index(i), causes);
  std::ranges::move(cel::CheckPolicyExpressions(spec, NameOf(object), root), std::back_inserter(causes));
}

void ParamRef(const Json& reference, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(reference, "name");
  const Json* selector = Member(reference, "selector");
  const std::string_view both = "name and selector are mutually exclusive";
  if (!name.empty()) {
    if (const std::string problem = CheckPathSegment(name); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("name"), name, problem));
    }
    if (selector != nullptr) causes.push_back(ForbiddenValue(path.Field("name"), both));
  }
  if (selector != nullptr) {
    LabelSelector(*selector, path.Field("selector"), causes);
    if (!name.empty()) causes.push_back(ForbiddenValue(path.Field("selector"), both));
  }
  if (name.empty() && selector == nullptr) {
    causes.push_back(RequiredValue(path, "one of name or selector must be specified"));
  }
  const std::string_view action = Text(reference, "parameterNotFoundAction");
  const FieldPath at = path.Field("parameterNotFoundAction");
  if (action.empty()) {
    causes.push_back(RequiredValue(at));
  } else if (action != "Deny" && action != "Allow") {
    causes.push_back(UnsupportedText(at, action, {"Deny", "Allow"}));
  }
}

void Actions(const JsonArray& actions, const FieldPath& path, Causes& causes) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < actions.size(); ++i) {
    const std::string_view action = actions[i].is_string() ? std::string_view(actions[i].get_string()) : "";
    if (action != "Deny" && action != "Warn" && action != "Audit") {
      causes.push_back(UnsupportedText(path.Index(i), action, {"Audit", "Deny", "Warn"}));
    }
    if (!seen.insert(action).second) causes.push_back(DuplicateText(path.Index(i), action));
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    causes.push_back(
        InvalidValue(path, Json(actions),
                     "must not contain both Deny and Warn (repeating the same validation failure information in the "
                     "API response and headers serves no purpose)"));
  }
  if (actions.empty()) causes.push_back(RequiredValue(path, "at least one validation action is required"));
}

void Binding(const Json& object, Causes& causes) {
  const FieldPath root("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  const std::string_view name = Text(spec, "policyName");
  if (name.empty()) {
    causes.push_back(RequiredValue(root.Field("policyName")));
  } else if (const std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
    causes.push_back(InvalidText(root.Field("policyName"), name, problem));
  }
  if (const Json* reference = Member(spec, "paramRef")) ParamRef(*reference, root.Field("paramRef"), causes);
  if (const Json* match = Member(spec, "matchResources")) MatchResources(*match, root.Field("matchResources"), causes);
  Actions(List(spec, "validationActions"), root.Field("validationActions"), causes);
}

}  // namespace

void AdmissionPolicyKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.kind == "ValidatingAdmissionPolicy") return Policy(object, causes);
  Binding(object, causes);
}

}  // namespace evenkeel::kube::validation
