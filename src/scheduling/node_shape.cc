#include "scheduling/node_shape.h"

#include "base/parse_number.h"

namespace evenkeel::scheduling {
namespace {

bool Contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool ExpressionHolds(const kube::NodeSelectorRequirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  if (requirement.op == "In") return !values.empty() && value != nullptr && Contains(values, *value);
  if (requirement.op == "NotIn") return !values.empty() && (value == nullptr || !Contains(values, *value));
  if (requirement.op == "Exists") return values.empty() && value != nullptr;
  if (requirement.op == "DoesNotExist") return values.empty() && value == nullptr;
  if ((requirement.op != "Gt" && requirement.op != "Lt") || values.size() != 1 || value == nullptr) return false;
  const auto bound = base::ParseGoInteger(values[0]);
  const auto number = base::ParseGoInteger(*value);
  if (!bound || !number) return false;
  return requirement.op == "Gt" ? *number > *bound : *number < *bound;
}

bool FieldHolds(const kube::NodeSelectorRequirement& requirement, std::string_view name) {
  if (requirement.key != "metadata.name" || requirement.values.size() != 1) return false;
  if (requirement.op == "In") return requirement.values[0] == name;
  return requirement.op == "NotIn" && requirement.values[0] != name;
}

std::vector<kube::NodeSelectorRequirement> Requirements(const base::JsonArray& items) {
  std::vector<kube::NodeSelectorRequirement> requirements;
  for (const base::Json& item : items) {
    requirements.push_back({std::string(base::FindString(item, {"key"})), std::string(base::FindString(item, {"operator"})),
                            base::FindTexts(item, {"values"})});
  }
  return requirements;
}

void AddRequirements(TextKey& key, const std::vector<kube::NodeSelectorRequirement>& requirements) {
  key.Add(static_cast<int64_t>(requirements.size()));
  for (const auto& requirement : requirements) {
    key.Add(requirement.key).Add(requirement.op).Add(static_cast<int64_t>(requirement.values.size()));
    for (const std::string& value : requirement.values) key.Add(value);
  }
}

}  // namespace

std::string NodeShape::Key() const {
  TextKey key;
  key.Add(unschedulable ? 1 : 0).Add(static_cast<int64_t>(labels.size()));
  for (const auto& [name, value] : labels) key.Add(name).Add(value);
  key.Add(static_cast<int64_t>(taints.size()));
  for (const kube::Taint& taint : taints) key.Add(taint.key).Add(taint.value).Add(taint.effect);
  for (const std::string& feature : features) key.Add(feature);
  return key.Take();
}

const std::string* NodeLabels::Find(std::string_view key) const {
  if (key == kHostnameLabel) return hostname;
  const auto found = shared.find(std::string(key));
  return found == shared.end() ? nullptr : &found->second;
}

bool Matches(const kube::NodeSelectorTerm& term, const NodeLabels& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const auto& requirement : term.expressions) {
    if (!ExpressionHolds(requirement, node.Find(requirement.key))) return false;
  }
  return std::all_of(term.fields.begin(), term.fields.end(),
                     [&](const auto& requirement) { return FieldHolds(requirement, node.name); });
}

bool MatchesAny(const std::vector<kube::NodeSelectorTerm>& terms, const NodeLabels& node) {
  return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return scheduling::Matches(term, node); });
}

std::vector<kube::NodeSelectorTerm> DecodeNodeSelectorTerms(const base::JsonArray& terms) {
  std::vector<kube::NodeSelectorTerm> decoded;
  for (const base::Json& term : terms) {
    decoded.push_back(
        {Requirements(base::FindArray(term, {"matchExpressions"})), Requirements(base::FindArray(term, {"matchFields"}))});
  }
  return decoded;
}

void AddTo(TextKey& key, const std::vector<kube::NodeSelectorTerm>& terms) {
  key.Add(static_cast<int64_t>(terms.size()));
  for (const auto& term : terms) {
    AddRequirements(key, term.expressions);
    AddRequirements(key, term.fields);
  }
}

bool NodeSelection::SelectorMatches(const NodeLabels& node) const {
  return std::all_of(equal.begin(), equal.end(), [&](const auto& wanted) {
    const std::string* found = node.Find(wanted.first);
    return found != nullptr && *found == wanted.second;
  });
}

bool NodeSelection::Matches(const NodeLabels& node) const {
  return SelectorMatches(node) && (!required || MatchesAny(terms, node));
}

bool NodeSelection::UsesIdentity() const {
  if (equal.contains(std::string(kHostnameLabel))) return true;
  return std::any_of(terms.begin(), terms.end(), [](const auto& term) {
    return !term.fields.empty() || std::any_of(term.expressions.begin(), term.expressions.end(),
                                               [](const auto& requirement) { return requirement.key == kHostnameLabel; });
  });
}

std::optional<std::vector<std::string>> NodeSelection::Named() const {
  if (!required || terms.empty()) return std::nullopt;
  std::vector<std::string> named;
  for (const auto& term : terms) {
    std::optional<std::vector<std::string>> here;
    for (const auto& requirement : term.fields) {
      if (requirement.key != "metadata.name" || requirement.op != "In") continue;
      if (!here) {
        here = requirement.values;
      } else {
        std::erase_if(*here, [&](const std::string& name) { return !Contains(requirement.values, name); });
      }
    }
    if (!here) return std::nullopt;
    named.insert(named.end(), here->begin(), here->end());
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

void NodeSelection::AddTo(TextKey& key) const {
  key.Add(static_cast<int64_t>(equal.size()));
  for (const auto& [name, value] : equal) key.Add(name).Add(value);
  key.Add(required ? 1 : 0);
  scheduling::AddTo(key, terms);
}

const kube::Taint* UntoleratedTaint(const std::vector<kube::Toleration>& tolerations, const std::vector<kube::Taint>& taints) {
  for (const kube::Taint& taint : taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    const bool tolerated = std::any_of(tolerations.begin(), tolerations.end(),
                                       [&](const kube::Toleration& toleration) { return toleration.Tolerates(taint); });
    if (!tolerated) return &taint;
  }
  return nullptr;
}

}  // namespace evenkeel::scheduling
