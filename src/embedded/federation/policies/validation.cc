#include "embedded/federation/policies/validation.h"

#include <algorithm>
#include <set>

#include "embedded/federation/policies/interpreter_protocol.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;

base::Status Refuse(const std::string& field, const std::string& why) {
  return base::Fail(
      base::Error(base::Code::kInvalid, field + ": " + why, base::ErrorDetails{.causes = {{"FieldValueInvalid", why, field}}}));
}

base::Status ValidateSpread(const base::JsonArray& constraints) {
  bool by_cluster = false, by_field = false;
  for (const Json& constraint : constraints) {
    const std::string_view field = FindString(constraint, {"spreadByField"});
    const bool by_label = !FindString(constraint, {"spreadByLabel"}).empty();
    if (!field.empty() && by_label)
      return Refuse("spec.placement.spreadConstraints", "spreadByLabel should not co-exist with spreadByField");
    by_field |= !field.empty();
    by_cluster |= field == "cluster";
    const int64_t least = base::FindInt(constraint, {"minGroups"}), most = base::FindInt(constraint, {"maxGroups"});
    if (least < 0 || most < 0) return Refuse("spec.placement.spreadConstraints", "groups cannot be fewer than 0");
    if (most > 0 && most < least) return Refuse("spec.placement.spreadConstraints", "maxGroups lower than minGroups");
  }
  if (by_field && !by_cluster) {
    return Refuse(
        "spec.placement.spreadConstraints",
        "the cluster spread constraint must be enabled in one of the constraints in case of SpreadByField is enabled");
  }
  return {};
}

base::Status ValidateRule(const Json& overriders, const std::string& field) {
  for (const Json& item : FindArray(overriders, {"fieldOverrider"})) {
    const bool json = !FindArray(item, {"json"}).empty(), yaml = !FindArray(item, {"yaml"}).empty();
    if (json == yaml) return Refuse(field + ".fieldOverrider", "exactly one of json and yaml is required");
    if (!FindString(item, {"fieldPath"}).starts_with('/'))
      return Refuse(field + ".fieldOverrider", "fieldPath is no JSON pointer");
  }
  return {};
}

constexpr const char* kRuleLists[] = {"operations", "apiGroups", "apiVersions", "kinds"};
constexpr const char* kOperations[] = {"*",
                                       kInterpretReplica,
                                       "InterpretComponent",
                                       kReviseReplica,
                                       kRetain,
                                       kAggregateStatus,
                                       kInterpretStatus,
                                       kInterpretHealth,
                                       kInterpretDependency};

base::Status ValidateInterpreterRule(const Json& rule, const std::string& at) {
  for (const char* list : kRuleLists) {
    const base::JsonArray& items = FindArray(rule, {list});
    if (items.empty()) return Refuse(at + "." + list, "at least one is required");
    for (const Json& item : items) {
      if (item.is_string() && item.get_string() == "*" && items.size() > 1)
        return Refuse(at + "." + list, "if '*' is present, must not specify other " + std::string(list));
    }
  }
  for (const Json& operation : FindArray(rule, {"operations"})) {
    const std::string_view name = operation.is_string() ? std::string_view(operation.get_string()) : "";
    if (std::ranges::find(kOperations, name) == std::end(kOperations))
      return Refuse(at + ".operations", "unsupported value: \"" + std::string(name) + "\"");
  }
  return {};
}

/// A name of at least three labels, so that it does not clash with those of others.
bool IsFullyQualified(std::string_view name) {
  constexpr int kLeastDots = 2;
  return kube::CheckDnsSubdomain(name).empty() && std::ranges::count(name, '.') >= kLeastDots;
}

}  // namespace

base::Status ValidateInterpreter(const Json& configuration) {
  std::set<std::string_view> names;
  const base::JsonArray& webhooks = FindArray(configuration, {"webhooks"});
  for (size_t i = 0; i < webhooks.size(); ++i) {
    const Json& webhook = webhooks[i];
    const std::string at = "webhooks[" + std::to_string(i) + "]";
    const std::string_view name = FindString(webhook, {"name"});
    if (!IsFullyQualified(name)) {
      return Refuse(at + ".name", "should be a domain with at least three segments separated by dots");
    }
    if (!names.insert(name).second) return Refuse(at + ".name", "is the name of another webhook, too");
    const Json *url = Find(webhook, {"clientConfig", "url"}), *service = Find(webhook, {"clientConfig", "service"});
    if ((url == nullptr) == (service == nullptr))
      return Refuse(at + ".clientConfig", "exactly one of url or service is required");
    const base::JsonArray& rules = FindArray(webhook, {"rules"});
    for (size_t j = 0; j < rules.size(); ++j) {
      EVENKEEL_TRY(ValidateInterpreterRule(rules[j], at + ".rules[" + std::to_string(j) + "]"));
    }
  }
  return {};
}

base::Status ValidatePropagation(const Json& policy) {
  const std::string_view ns = kube::NamespaceOf(policy);
  for (const Json& selector : FindArray(policy, {"spec", "resourceSelectors"})) {
    const std::string_view wanted = FindString(selector, {"namespace"});
    if (!ns.empty() && !wanted.empty() && wanted != ns)
      return Refuse("spec.resourceSelectors.namespace", "must be the policy's own: " + std::string(ns));
    if (FindString(policy, {"spec", "preemption"}) == "Always" && FindString(selector, {"name"}).empty())
      return Refuse("spec.resourceSelectors.name", "name cannot be empty if preemption is Always");
  }
  if (const Json* placement = Find(policy, {"spec", "placement"})) {
    if (Find(*placement, {"clusterAffinity"}) != nullptr && !FindArray(*placement, {"clusterAffinities"}).empty())
      return Refuse("spec.placement", "clusterAffinities cannot co-exist with clusterAffinity");
    EVENKEEL_TRY(ValidateSpread(FindArray(*placement, {"spreadConstraints"})));
  }
  if (base::FindBool(policy, {"spec", "suspension", "dispatching"}) &&
      !FindArray(policy, {"spec", "suspension", "dispatchingOnClusters", "clusterNames"}).empty())
    return Refuse("spec.suspension", "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames");
  return {};
}

base::Status ValidateOverride(const Json& policy) {
  const auto& rules = FindArray(policy, {"spec", "overrideRules"});
  const Json* own = Find(policy, {"spec", "overriders"});
  if (!rules.empty() && (own != nullptr || Find(policy, {"spec", "targetCluster"}) != nullptr))
    return Refuse("spec.overrideRules", "overrideRules and overriders can't co-exist");
  if (own != nullptr) EVENKEEL_TRY(ValidateRule(*own, "spec.overriders"));
  for (size_t i = 0; i < rules.size(); ++i) {
    if (const Json* overriders = Find(rules[i], {"overriders"}))
      EVENKEEL_TRY(ValidateRule(*overriders, "spec.overrideRules[" + std::to_string(i) + "].overriders"));
  }
  return {};
}

}  // namespace evenkeel::embedded::federation
