#include "embedded/access/default_policy.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "embedded/access/authorizer.h"
#include "embedded/access/default_policy_text.h"

namespace evenkeel::embedded::access {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr char kAutoUpdate[] = "rbac.authorization.kubernetes.io/autoupdate";

JsonArray ListOf(std::string_view text) {
  JsonArray list;
  for (const std::string_view item : base::SplitWords(text, ',')) list.emplace_back(item == "core" ? "" : item);
  return list;
}

/// The text is part of the program, so a mistake in it ends the process.
class PolicyReader {
 public:
  std::vector<Json> Read(std::string_view text) {
    for (const std::string_view line : base::SplitWords(text, '\n')) {
      ++line_;
      if (line.starts_with('#')) continue;
      const auto words = base::SplitWords(line, ' ');
      if (line.starts_with(' ')) {
        ReadRule(words);
      } else if (words[0] == "role") {
        ReadRole(words);
      } else {
        Require(words[0] == "binding", "role, binding or a rule");
        ReadBinding(words);
      }
    }
    return std::move(objects_);
  }

 private:
  void Require(bool condition, const char* what) const {
    if (condition) return;
    std::fprintf(stderr, "default policy, line %d that is not empty: %s\n", line_, what);
    EVENKEEL_CHECK(condition && "the default policy is wrong");
  }

  void Add(std::string_view kind, std::string_view name, std::string_view ns) {
    Json object =
        JsonObject{{"apiVersion", std::string(kRbacGroup) + "/v1"},
                   {"kind", (ns.empty() ? "Cluster" : "") + std::string(kind)},
                   {"metadata", JsonObject{{"name", name},
                                           {"annotations", JsonObject{{kAutoUpdate, "true"}}},
                                           {"labels", JsonObject{{"kubernetes.io/bootstrapping", "rbac-defaults"}}}}}};
    if (!ns.empty()) base::Ensure(object, {"metadata", "namespace"}) = ns;
    objects_.push_back(std::move(object));
  }

  static std::string_view NamespaceIn(const std::vector<std::string_view>& words) {
    return words.size() > 2 && words[2].starts_with("in=") ? words[2].substr(3) : std::string_view();
  }

  void ReadRole(const std::vector<std::string_view>& words) {
    Require(words.size() >= 2, "role NAME");
    Add("Role", words[1], NamespaceIn(words));
    Json& role = objects_.back();
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i].starts_with("label=")) base::Ensure(role, {"metadata", "labels", words[i].substr(6)}) = "true";
      if (!words[i].starts_with("aggregate=")) continue;
      const JsonObject labels{{words[i].substr(10), "true"}};
      base::Ensure(role, {"aggregationRule", "clusterRoleSelectors"}) = JsonArray{JsonObject{{"matchLabels", labels}}};
    }
    base::Ensure(role, {"rules"}) = JsonArray();
  }

  void ReadRule(const std::vector<std::string_view>& words) {
    Require(words.size() >= 3 && !objects_.empty(), "VERBS GROUPS RESOURCES [NAMES] below a role");
    JsonObject rule{{"verbs", ListOf(words[0])}};
    if (words[1] == "url") {
      rule["nonResourceURLs"] = ListOf(words[2]);
    } else {
      rule["apiGroups"] = ListOf(words[1]);
      rule["resources"] = ListOf(words[2]);
      if (words.size() > 3) rule["resourceNames"] = ListOf(words[3]);
    }
    base::Ensure(objects_.back(), {"rules"}).as_array().push_back(std::move(rule));
  }

  void ReadBinding(const std::vector<std::string_view>& words) {
    const std::string_view ns = NamespaceIn(words);
    size_t at = ns.empty() ? 2 : 3;
    Require(words.size() > at, "binding NAME [in=NAMESPACE] ROLE SUBJECTS");
    Add("RoleBinding", words[1], ns);
    std::string_view role = words[at++];
    const bool own = role.starts_with("./");
    if (own) role.remove_prefix(2);
    base::Ensure(objects_.back(), {"roleRef"}) =
        JsonObject{{"apiGroup", kRbacGroup}, {"kind", own ? "Role" : "ClusterRole"}, {"name", role}};
    JsonArray subjects;
    for (; at < words.size(); ++at) subjects.push_back(ReadSubject(words[at]));
    if (!subjects.empty()) base::Ensure(objects_.back(), {"subjects"}) = std::move(subjects);
  }

  Json ReadSubject(std::string_view word) const {
    const size_t colon = word.find(':');
    Require(colon != word.npos, "KIND:NAME");
    const std::string_view kind = word.substr(0, colon), name = word.substr(colon + 1);
    if (kind == "user") return JsonObject{{"apiGroup", kRbacGroup}, {"kind", "User"}, {"name", name}};
    if (kind == "group") return JsonObject{{"apiGroup", kRbacGroup}, {"kind", "Group"}, {"name", name}};
    const size_t slash = name.find('/');
    Require(kind == "account" && slash != name.npos, "user:NAME, group:NAME or account:NAMESPACE/NAME");
    return JsonObject{{"kind", "ServiceAccount"}, {"name", name.substr(slash + 1)}, {"namespace", name.substr(0, slash)}};
  }

  std::vector<Json> objects_;
  int line_ = 0;
};

/// Appends the items of a list that `object` lacks; whether there were any.
bool AddItems(Json& object, const Json& wanted, std::initializer_list<std::string_view> path) {
  bool added = false;
  for (const Json& item : base::FindArray(wanted, path)) {
    const JsonArray& present = base::FindArray(object, path);
    if (std::ranges::any_of(present, [&](const Json& one) { return base::Equal(one, item); })) continue;
    Json& list = base::Ensure(object, path);
    if (!list.is_array()) list = JsonArray();
    list.get_array().push_back(item);
    added = true;
  }
  return added;
}

bool AddEntries(Json& object, const Json& wanted, std::string_view field) {
  bool added = false;
  for (const auto& [key, value] : base::FindObject(wanted, {"metadata", field})) {
    if (base::Find(object, {"metadata", field, key}) != nullptr) continue;
    base::Ensure(object, {"metadata", field, key}) = value;
    added = true;
  }
  return added;
}

bool AddRules(Json& object, const Json& wanted) {
  std::vector<Rule> missing = Uncovered(RulesFromJson(object), RulesFromJson(wanted));
  if (missing.empty()) return false;
  Json& rules = base::Ensure(object, {"rules"});
  if (!rules.is_array()) rules = JsonArray();
  for (const Rule& rule : missing) rules.get_array().push_back(RuleToJson(rule));
  return true;
}

}  // namespace

const std::vector<Json>& DefaultPolicy() {
  static const std::vector<Json>* const kPolicy = new std::vector<Json>(PolicyReader().Read(kDefaultPolicyText));
  return *kPolicy;
}

bool AddMissing(Json& object, const Json& wanted) {
  if (base::FindString(object, {"metadata", "annotations", kAutoUpdate}) == "false") return false;
  bool added = AddEntries(object, wanted, "labels");
  added = AddEntries(object, wanted, "annotations") || added;
  added = AddRules(object, wanted) || added;
  added = AddItems(object, wanted, {"aggregationRule", "clusterRoleSelectors"}) || added;
  return AddItems(object, wanted, {"subjects"}) || added;
}

}  // namespace evenkeel::embedded::access
