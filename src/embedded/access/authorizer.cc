#include "embedded/access/authorizer.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "kube/object.h"

namespace evenkeel::embedded::access {
namespace {

std::string UserKey(std::string_view name) { return "u/" + std::string(name); }
std::string GroupKey(std::string_view name) { return "g/" + std::string(name); }

/// The key of a subject and how it is called; an empty key for what is no subject.
std::pair<std::string, std::string> ReadSubject(const base::Json& subject, const std::string& binding_ns) {
  const std::string_view kind = base::FindString(subject, {"kind"});
  const std::string name(base::FindString(subject, {"name"}));
  if (kind == "User") return {UserKey(name), "User \"" + name + "\""};
  if (kind == "Group") return {GroupKey(name), "Group \"" + name + "\""};
  if (kind != "ServiceAccount") return {};
  const std::string ns(base::FindString(subject, {"namespace"}, binding_ns));
  if (ns.empty()) return {};
  return {UserKey(ServiceAccountUser(ns, name)), "ServiceAccount \"" + name + "/" + ns + "\""};
}

std::string DescribeBinding(const std::string& ns, const std::string& name, bool cluster_role, const std::string& role,
                            const std::string& subject) {
  return (ns.empty() ? "ClusterRoleBinding \"" + name + "\"" : "RoleBinding \"" + name + "/" + ns + "\"") + " of " +
         (cluster_role ? "ClusterRole" : "Role") + " \"" + role + "\" to " + subject;
}

void AppendError(std::string& errors, bool cluster_role, const std::string& name) {
  if (!errors.empty()) errors += ", ";
  errors += (cluster_role ? "clusterrole" : "role") + (std::string(".") + kRbacGroup) + " \"" + name + "\" not found";
}

}  // namespace

void Authorizer::Set(const base::Json& object) {
  const std::string_view kind = base::FindString(object, {"kind"});
  const std::string ns(kube::NamespaceOf(object)), name(kube::NameOf(object));
  std::unique_lock lock(mutex_);
  if (kind == "Role" || kind == "ClusterRole") SetRole(ns, name, object);
  if (kind == "RoleBinding" || kind == "ClusterRoleBinding") SetBinding(ns, name, object);
}

void Authorizer::Remove(std::string_view kind, std::string_view ns, std::string_view name) {
  std::unique_lock lock(mutex_);
  if (kind == "Role" || kind == "ClusterRole") roles_.erase({std::string(ns), std::string(name)});
  if (kind == "RoleBinding" || kind == "ClusterRoleBinding") RemoveBinding(std::string(ns), std::string(name));
}

void Authorizer::SetRole(const std::string& ns, const std::string& name, const base::Json& object) {
  Role role{.rules = RulesFromJson(object), .labels = base::FindObject(object, {"metadata", "labels"}), .aggregates = {}};
  for (const base::Json& selector : base::FindArray(object, {"aggregationRule", "clusterRoleSelectors"})) {
    if (auto read = kube::LabelSelector::FromJson(selector)) role.aggregates.push_back(*std::move(read));
  }
  role.aggregated = !base::FindArray(object, {"aggregationRule", "clusterRoleSelectors"}).empty();
  roles_[{ns, name}] = std::move(role);
}

void Authorizer::RemoveBinding(const std::string& ns, const std::string& name) {
  const auto found = bindings_.find({ns, name});
  if (found == bindings_.end()) return;
  for (const std::string& subject : found->second.subjects) {
    const auto entry = by_subject_.find({ns, subject});
    if (entry == by_subject_.end()) continue;
    entry->second.erase(name);
    if (entry->second.empty()) by_subject_.erase(entry);
  }
  bindings_.erase(found);
}

void Authorizer::SetBinding(const std::string& ns, const std::string& name, const base::Json& object) {
  RemoveBinding(ns, name);
  Binding binding{.role = {.of_cluster = base::FindString(object, {"roleRef", "kind"}) == "ClusterRole",
                           .name = std::string(base::FindString(object, {"roleRef", "name"}))},
                  .subjects = {}};
  for (const base::Json& subject : base::FindArray(object, {"subjects"})) {
    auto [key, text] = ReadSubject(subject, ns);
    if (key.empty()) continue;
    by_subject_[{ns, key}][name] = std::move(text);
    binding.subjects.push_back(std::move(key));
  }
  bindings_[{ns, name}] = std::move(binding);
}

const Authorizer::Role* Authorizer::FindRole(const std::string& ns, const RoleName& role) const {
  const auto found = roles_.find({role.of_cluster ? "" : ns, role.name});
  return found == roles_.end() ? nullptr : &found->second;
}

void Authorizer::Visit(const UserInfo& user, std::string_view ns, const Visitor& visitor) const {
  std::vector<std::string> subjects{UserKey(user.name)};
  for (const std::string& group : user.groups) subjects.push_back(GroupKey(group));
  for (const std::string_view scope : {std::string_view(), ns}) {
    for (const std::string& subject : subjects) {
      const auto found = by_subject_.find({std::string(scope), subject});
      if (found == by_subject_.end()) continue;
      for (const auto& [name, text] : found->second) {
        if (!visitor(found->first.first, name, bindings_.at({found->first.first, name}).role, text)) return;
      }
    }
    if (ns.empty()) return;
  }
}

Decision Authorizer::Authorize(const UserInfo& user, const Attributes& attributes) const {
  if (InGroup(user, kMasters)) return {.allowed = true, .reason = ""};
  Decision decision;
  std::string errors;
  std::shared_lock lock(mutex_);
  Visit(user, attributes.ns,
        [&](const std::string& ns, const std::string& name, const RoleName& role, const std::string& subject) {
          const Role* found = FindRole(ns, role);
          if (found == nullptr) {
            AppendError(errors, role.of_cluster, role.name);
            return true;
          }
          decision.allowed = std::ranges::any_of(found->rules, [&](const Rule& rule) { return Allows(rule, attributes); });
          if (decision.allowed) {
            decision.reason = "RBAC: allowed by " + DescribeBinding(ns, name, role.of_cluster, role.name, subject);
          }
          return !decision.allowed;
        });
  if (!decision.allowed && !errors.empty()) decision.reason = "RBAC: " + errors;
  return decision;
}

HeldRules Authorizer::RulesOf(const UserInfo& user, std::string_view ns) const {
  HeldRules held;
  std::set<std::pair<std::string, std::string>> seen;  // a binding may have several of the user's groups as subjects
  std::shared_lock lock(mutex_);
  Visit(user, ns, [&](const std::string& binding_ns, const std::string& name, const RoleName& role, const std::string&) {
    if (!seen.emplace(binding_ns, name).second) return true;
    if (const Role* found = FindRole(binding_ns, role)) {
      held.rules.insert(held.rules.end(), found->rules.begin(), found->rules.end());
    } else {
      AppendError(held.errors, role.of_cluster, role.name);
    }
    return true;
  });
  return held;
}

std::optional<std::vector<Rule>> Authorizer::RulesOfRole(const base::Json& role_ref, std::string_view ns) const {
  const RoleName role{.of_cluster = base::FindString(role_ref, {"kind"}) == "ClusterRole",
                      .name = std::string(base::FindString(role_ref, {"name"}))};
  std::shared_lock lock(mutex_);
  const Role* found = FindRole(std::string(ns), role);
  if (found == nullptr) return std::nullopt;
  return found->rules;
}

std::vector<StaleAggregate> Authorizer::StaleAggregates() const {
  std::vector<StaleAggregate> stale;
  std::shared_lock lock(mutex_);
  const auto end = roles_.end();
  for (auto role = roles_.begin(); role != end && role->first.first.empty(); ++role) {
    if (!role->second.aggregated) continue;
    std::vector<Rule> rules;
    for (auto other = roles_.begin(); other != end && other->first.first.empty(); ++other) {
      const auto matches = [&](const kube::LabelSelector& selector) { return selector.Matches(other->second.labels); };
      if (other == role || !std::ranges::any_of(role->second.aggregates, matches)) continue;
      for (const Rule& rule : other->second.rules) {
        if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
      }
    }
    if (rules != role->second.rules) stale.push_back({.name = role->first.second, .rules = std::move(rules)});
  }
  return stale;
}

}  // namespace evenkeel::embedded::access
