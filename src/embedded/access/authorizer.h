// Kubernetes' RBAC: roles and bindings as they are now, and what somebody may do by them.
// Follows: kubernetes@1.36 plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embedded/access/rules.h"
#include "embedded/access/user_info.h"
#include "kube/selector.h"

namespace evenkeel::embedded::access {

inline constexpr char kRbacGroup[] = "rbac.authorization.k8s.io";

struct Decision {
  bool allowed = false;
  /// Why: `RBAC: allowed by ...`; where it is refused only what went wrong while deciding, or "".
  std::string reason;
};

/// Rules, and what could not be found while they were looked for.
struct HeldRules {
  std::vector<Rule> rules;
  std::string errors;
};

/// A ClusterRole whose rules are not those that its aggregationRule gathers.
struct StaleAggregate {
  std::string name;
  std::vector<Rule> rules;  ///< that it should have
};

/// Thread-safe. A decision costs one look-up for the user and each group, in the cluster and in the namespace, and then the
/// rules of the roles found; who is in system:masters costs none.
class Authorizer {
 public:
  /// A Role, ClusterRole, RoleBinding or ClusterRoleBinding as it is now; anything else changes nothing.
  void Set(const base::Json& object);
  void Remove(std::string_view kind, std::string_view ns, std::string_view name);

  Decision Authorize(const UserInfo& user, const Attributes& attributes) const;
  /// All rules that hold for the user in a namespace ("": in the cluster only), but for system:masters'.
  HeldRules RulesOf(const UserInfo& user, std::string_view ns) const;
  /// The rules that a binding's roleRef stands for; nullopt: there is no such role.
  std::optional<std::vector<Rule>> RulesOfRole(const base::Json& role_ref, std::string_view ns) const;
  /// Rules of matching ClusterRoles in the order of their names, without duplicates and without the role's own.
  std::vector<StaleAggregate> StaleAggregates() const;

 private:
  using NamespacedName = std::pair<std::string, std::string>;  ///< "" as namespace: of the cluster
  struct Role {
    std::vector<Rule> rules;
    base::JsonObject labels;
    std::vector<kube::LabelSelector> aggregates;
    bool aggregated = false;
  };
  struct RoleName {
    bool of_cluster = false;
    std::string name;
  };
  struct Binding {
    RoleName role;
    std::vector<std::string> subjects;  ///< keys of by_subject_
  };
  /// A binding as one of its subjects sees it: name -> how the subject is called in reasons.
  using Bindings = std::map<std::string, std::string>;
  /// Called with the binding's namespace, name and role, and how the subject is called; false: enough.
  using Visitor =
      std::function<bool(const std::string& ns, const std::string& name, const RoleName& role, const std::string& subject)>;

  void SetRole(const std::string& ns, const std::string& name, const base::Json& role);
  void SetBinding(const std::string& ns, const std::string& name, const base::Json& binding);
  void RemoveBinding(const std::string& ns, const std::string& name);
  void Visit(const UserInfo& user, std::string_view ns, const Visitor& visitor) const;
  const Role* FindRole(const std::string& ns, const RoleName& role) const;

  mutable std::shared_mutex mutex_;
  std::map<NamespacedName, Role> roles_;
  std::map<NamespacedName, Binding> bindings_;
  std::map<NamespacedName, Bindings> by_subject_;  ///< by namespace and subject
};

}  // namespace evenkeel::embedded::access
