// Rules of roles: what one allows, whether some cover others, how upstream writes them. Pure.
// Follows: kubernetes@1.36 pkg/apis/rbac/v1/evaluation_helpers.go, pkg/registry/rbac/validation/{rule,policy_compact}.go,
// staging/src/k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::access {

/// What a request wants to do: a verb on a resource, or on a path that is none.
struct Attributes {
  std::string verb;
  std::string group{};
  std::string resource{};
  std::string subresource{};
  std::string ns{};
  std::string name{};
  std::string path{};  ///< of what is no resource: then all of the above but the verb are empty

  bool on_resource() const { return path.empty(); }
};

struct Rule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups{};     ///< apiGroups
  std::vector<std::string> resources{};  ///< "pods", "pods/log", "*/scale", "*"
  std::vector<std::string> names{};      ///< resourceNames; empty: any
  std::vector<std::string> paths{};      ///< nonResourceURLs

  bool operator==(const Rule&) const = default;
};

/// A PolicyRule as it stands in a role; what is not as the schema says is left out.
Rule RuleFromJson(const base::Json& json);
std::vector<Rule> RulesFromJson(const base::Json& role);
base::Json RuleToJson(const Rule& rule);

bool Allows(const Rule& rule, const Attributes& attributes);

/// The parts of `wanted` (one verb on one resource or path each) that no rule of `held` covers, put together again by resource.
/// Costs the product of both sizes.
std::vector<Rule> Uncovered(const std::vector<Rule>& held, const std::vector<Rule>& wanted);

/// {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}
std::string Describe(const Rule& rule);

}  // namespace evenkeel::embedded::access
