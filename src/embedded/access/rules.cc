#include "embedded/access/rules.h"

#include <algorithm>

namespace evenkeel::embedded::access {
namespace {

constexpr std::string_view kAll = "*";

bool Has(const std::vector<std::string>& list, std::string_view item) { return std::ranges::find(list, item) != list.end(); }

bool HasOrAll(const std::vector<std::string>& list, std::string_view item) { return Has(list, kAll) || Has(list, item); }

/// `*/SUB` is any resource with that subresource; RES/* means nothing.
bool ResourceAllowed(const Rule& rule, const Attributes& attributes) {
  for (const std::string& allowed : rule.resources) {
    if (allowed == kAll) return true;
    if (attributes.subresource.empty()) {
      if (allowed == attributes.resource) return true;
      continue;
    }
    const size_t slash = allowed.find('/');
    if (slash == allowed.npos || std::string_view(allowed).substr(slash + 1) != attributes.subresource) continue;
    const std::string_view resource = std::string_view(allowed).substr(0, slash);
    if (resource == kAll || resource == attributes.resource) return true;
  }
  return false;
}

bool PathAllowed(std::string_view allowed, std::string_view path) {
  if (allowed == kAll || allowed == path) return true;
  return allowed.ends_with('*') && path.starts_with(allowed.substr(0, allowed.find_last_not_of('*') + 1));
}

bool PathsAllowed(const Rule& rule, std::string_view path) {
  return std::ranges::any_of(rule.paths, [&](const std::string& allowed) { return PathAllowed(allowed, path); });
}

/// Whether a rule allows all that an atom does.
bool Covers(const Rule& rule, const Rule& atom) {
  if (!HasOrAll(rule.verbs, atom.verbs.front())) return false;
  if (!atom.paths.empty()) return PathsAllowed(rule, atom.paths.front());
  if (!HasOrAll(rule.groups, atom.groups.front())) return false;
  const std::string& resource = atom.resources.front();
  const size_t slash = resource.find('/');
  const bool any_with_sub = slash != resource.npos && Has(rule.resources, "*" + resource.substr(slash));
  if (!HasOrAll(rule.resources, resource) && !any_with_sub) return false;
  return rule.names.empty() || (!atom.names.empty() && Has(rule.names, atom.names.front()));
}

/// One verb on one resource of one group (of one name, where the rule has names), or on one path, each.
std::vector<Rule> AtomsOf(const Rule& rule) {
  std::vector<Rule> atoms;
  for (const std::string& verb : rule.verbs) {
    for (const std::string& path : rule.paths) atoms.push_back({.verbs = {verb}, .paths = {path}});
    for (const std::string& group : rule.groups) {
      for (const std::string& resource : rule.resources) {
        Rule atom{.verbs = {verb}, .groups = {group}, .resources = {resource}};
        if (rule.names.empty()) atoms.push_back(atom);
        for (const std::string& name : rule.names) {
          atom.names = {name};
          atoms.push_back(atom);
        }
      }
    }
  }
  return atoms;
}

void AppendList(std::string& out, std::string_view name, const std::vector<std::string>& items) {
  if (items.empty()) return;
  if (out.size() > 1) out += ", ";
  out.append(name).append(":[");
  bool first = true;
  for (const std::string& item : items) {
    if (!std::exchange(first, false)) out += ' ';
    base::AppendQuoted(out, item);
  }
  out += ']';
}

}  // namespace

Rule RuleFromJson(const base::Json& json) {
  return {.verbs = base::FindTexts(json, {"verbs"}),
          .groups = base::FindTexts(json, {"apiGroups"}),
          .resources = base::FindTexts(json, {"resources"}),
          .names = base::FindTexts(json, {"resourceNames"}),
          .paths = base::FindTexts(json, {"nonResourceURLs"})};
}

std::vector<Rule> RulesFromJson(const base::Json& role) {
  std::vector<Rule> rules;
  for (const base::Json& rule : base::FindArray(role, {"rules"})) rules.push_back(RuleFromJson(rule));
  return rules;
}

base::Json RuleToJson(const Rule& rule) {
  base::JsonObject json{{"verbs", base::ToJsonArray(rule.verbs)}};
  if (!rule.groups.empty()) json["apiGroups"] = base::ToJsonArray(rule.groups);
  if (!rule.resources.empty()) json["resources"] = base::ToJsonArray(rule.resources);
  if (!rule.names.empty()) json["resourceNames"] = base::ToJsonArray(rule.names);
  if (!rule.paths.empty()) json["nonResourceURLs"] = base::ToJsonArray(rule.paths);
  return json;
}

bool Allows(const Rule& rule, const Attributes& attributes) {
  if (!HasOrAll(rule.verbs, attributes.verb)) return false;
  if (!attributes.on_resource()) return PathsAllowed(rule, attributes.path);
  if (!HasOrAll(rule.groups, attributes.group) || !ResourceAllowed(rule, attributes)) return false;
  return rule.names.empty() || (!attributes.name.empty() && Has(rule.names, attributes.name));
}

std::vector<Rule> Uncovered(const std::vector<Rule>& held, const std::vector<Rule>& wanted) {
  std::vector<Rule> missing;
  for (const Rule& rule : wanted) {
    for (Rule& atom : AtomsOf(rule)) {
      if (std::ranges::any_of(held, [&](const Rule& one) { return Covers(one, atom); })) continue;
      const auto same = std::ranges::find_if(missing, [&](const Rule& one) {
        return one.paths.empty() && atom.paths.empty() && one.groups == atom.groups && one.resources == atom.resources &&
               one.names == atom.names;
      });
      if (same == missing.end()) {
        missing.push_back(std::move(atom));
      } else if (!Has(same->verbs, atom.verbs.front())) {
        same->verbs.push_back(atom.verbs.front());
      }
    }
  }
  return missing;
}

std::string Describe(const Rule& rule) {
  std::string text = "{";
  AppendList(text, "APIGroups", rule.groups);
  AppendList(text, "Resources", rule.resources);
  AppendList(text, "NonResourceURLs", rule.paths);
  AppendList(text, "ResourceNames", rule.names);
  AppendList(text, "Verbs", rule.verbs);
  return text + "}";
}

}  // namespace evenkeel::embedded::access
