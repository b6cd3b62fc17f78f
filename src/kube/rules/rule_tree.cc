#include "kube/rules/rule_tree.h"

#include "base/text.h"
#include "kube/rules/estimate.h"
#include "kube/rules/schema_rules.h"

namespace evenkeel::kube::cel {
namespace {

using base::Cause;
using base::Json;
using base::JsonObject;

constexpr std::string_view kRulesKey = "x-kubernetes-validations";

const JsonObject* ObjectAt(const JsonObject& schema, std::string_view key) {
  const Json* const value = base::Find(schema, key);
  return value != nullptr && value->is_object() ? &value->get_object() : nullptr;
}
bool HasLineBreak(std::string_view text) { return text.find_first_of("\r\n") != std::string_view::npos; }

/// ".a.b", "['k']"; false where it is none.
bool ReadFieldPath(std::string_view text, const Shape* shape, std::vector<std::pair<std::string, bool>>& steps) {
  while (!text.empty()) {
    const bool quoted = text.starts_with("['");
    if (!quoted && !text.starts_with('.')) return false;
    std::string name;
    if (quoted) {
      const size_t end = text.find("']");
      if (end == std::string_view::npos) return false;
      name = text.substr(2, end - 2);
      text.remove_prefix(end + 2);
    } else {
      const size_t end = std::min(text.find_first_of(".[", 1), text.size());
      name = text.substr(1, end - 1);
      text.remove_prefix(end);
    }
    if (name.empty() || shape == nullptr) return false;
    const bool map = shape->type->kind == Type::Kind::kMap;
    if (map) {
      shape = shape->item;
    } else {
      const auto found = shape->by_json.find(name);
      if (found == shape->by_json.end()) return false;
      shape = found->second;
    }
    steps.emplace_back(std::move(name), map);
  }
  return true;
}

class RuleCompiler {
 public:
  RuleCompiler(RuleTree& tree, std::vector<Cause>* causes) : tree_(tree), causes_(causes), budget_(causes) {}

  void Run(const JsonObject& schema, const FieldPath& path) {
    tree_.root = Node(schema, tree_.shapes.Add(schema, tree_.types, true), path, {});
    budget_.Close(path);
  }

 private:
  /// What is known of the way to a node.
  struct Way {
    bool correlatable = true;
    std::string broken_at{};   ///< where it is not any more
    uint64_t cardinality = 1;  ///< how many values there can be of the node
  };

  std::unique_ptr<RuleNode> Node(const JsonObject& schema, const Shape* shape, const FieldPath& path, const Way& way) {
    auto node = std::make_unique<RuleNode>();
    node->shape = shape;
    if (const Json* const rules = base::Find(schema, kRulesKey);
        rules != nullptr && rules->is_array() && !rules->get_array().empty())
      AddRules(*node, rules->get_array(), path, way);
    AddProperties(*node, schema, path, way);
    AddItems(*node, schema, path, way);
    if (node->rules.empty() && node->properties.empty() && !node->items && !node->additional) return nullptr;
    return node;
  }

  void AddProperties(RuleNode& node, const JsonObject& schema, const FieldPath& path, const Way& way) {
    const FieldPath properties = path.Field("properties");
    if (const JsonObject* const declared = ObjectAt(schema, "properties")) {
      for (const auto& [name, property] : *declared) {
        if (!property.is_object()) continue;
        const Shape* below = nullptr;
        if (node.shape != nullptr)
          if (const auto found = node.shape->by_json.find(name); found != node.shape->by_json.end()) below = found->second;
        if (auto child = Node(property.get_object(), below, properties.Key(name), way))
          node.properties.emplace(std::string(name), std::move(child));
      }
    }
    if (const JsonObject* const additional = ObjectAt(schema, "additionalProperties")) {
      Way inner = way;
      inner.cardinality = SaturatedProduct(way.cardinality, node.shape == nullptr ? 1 : node.shape->most);
      const bool map = node.shape != nullptr && node.shape->type->kind == Type::Kind::kMap;
      node.additional = Node(*additional, map ? node.shape->item : nullptr, path.Field("additionalProperties"), inner);
    }
  }

  void AddItems(RuleNode& node, const JsonObject& schema, const FieldPath& path, const Way& way) {
    const JsonObject* const items = ObjectAt(schema, "items");
    if (items == nullptr) return;
    const Shape* const shape = node.shape;
    if (shape != nullptr && shape->rule != nullptr && shape->rule->is_map) node.keys = shape->rule->keys;
    Way inner = way;
    inner.cardinality = SaturatedProduct(way.cardinality, shape == nullptr ? 1 : shape->most);
    if (node.keys.empty() && inner.correlatable) {
      inner.correlatable = false;
      inner.broken_at = path.Text();
    }
    node.items = Node(*items, shape == nullptr ? nullptr : shape->item, path.Field("items"), inner);
  }

  void AddRules(RuleNode& node, const base::JsonArray& rules, const FieldPath& path, const Way& way) {
    const Type* const self = node.shape == nullptr ? &types::kDyn : node.shape->type;
    auto plain = std::make_shared<Environment>(Library::Kubernetes()),
         optional = std::make_shared<Environment>(Library::Kubernetes());
    plain->Declare("self", self);
    plain->Declare("oldSelf", self);
    optional->Declare("self", self);
    optional->Declare("oldSelf", tree_.types.Optional(self));
    const FieldPath list = path.Field(kRulesKey);
    for (size_t i = 0; i < rules.size(); ++i) {
      const FieldPath here = list.Index(i);
      const bool optional_old = base::FindBool(rules[i], {"optionalOldSelf"});
      AddRule(node, rules[i], optional_old ? optional : plain, here, way);
    }
  }

  void Tell(Cause cause) {
    if (causes_ != nullptr) causes_->push_back(std::move(cause));
  }

  void AddRule(RuleNode& node, const Json& json, const std::shared_ptr<Environment>& environment, const FieldPath& path,
               const Way& way) {
    constexpr size_t kOldSelf = 1;
    SchemaRule rule;
    rule.rule = base::Trimmed(base::FindString(json, {"rule"}));
    rule.message = base::Trimmed(base::FindString(json, {"message"}));
    rule.reason = base::FindString(json, {"reason"});
    rule.optional_old = base::FindBool(json, {"optionalOldSelf"});
    CheckTexts(json, rule, path);
    if (rule.rule.empty()) return;
    const auto program = Program::Compile(rule.rule, environment);
    if (!program) return Tell(InvalidValue(path.Field("rule"), json, "compilation failed: " + program.error().message()));
    if ((*program)->result_type().kind != Type::Kind::kBool)
      return Tell(InvalidValue(path.Field("rule"), json, "cel expression must evaluate to a bool"));
    rule.program = *program;
    rule.transition = rule.program->Mentions(kOldSelf);
    if (rule.optional_old && !rule.transition)
      Tell(InvalidValue(path.Field("optionalOldSelf"), Json(true), "may not be set if oldSelf is not used in rule"));
    if (rule.transition && !way.correlatable)
      Tell(InvalidValue(
          path.Field("rule"), json,
          fmt::format("oldSelf cannot be used on the uncorrelatable portion of the schema within {}", way.broken_at)));
    budget_.Add(*rule.program, node.shape, way.cardinality, path.Field("rule"));
    AddMessageExpression(node, rule, json, environment, path, way);
    if (const std::string_view text = base::FindString(json, {"fieldPath"}); !text.empty()) {
      if (!ReadFieldPath(text, node.shape, rule.field_path))
        Tell(InvalidText(path.Field("fieldPath"), text, fmt::format("fieldPath {} must be a valid path", text)));
    }
    node.rules.push_back(std::move(rule));
  }

  void CheckTexts(const Json& json, const SchemaRule& rule, const FieldPath& path) {
    const std::string_view message = base::FindString(json, {"message"});
    if (rule.rule.empty()) Tell(RequiredValue(path.Field("rule"), "rule is not specified"));
    if (!message.empty() && rule.message.empty())
      Tell(InvalidText(path.Field("message"), message, "message must be non-empty if specified"));
    if (HasLineBreak(message)) Tell(InvalidText(path.Field("message"), message, "message must not contain line breaks"));
    if (HasLineBreak(rule.rule) && message.empty())
      Tell(RequiredValue(path.Field("message"), "message must be specified if rule contains line breaks"));
    static const std::vector<std::string> kReasons = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                                      "FieldValueRequired"};
    if (!rule.reason.empty() && std::ranges::find(kReasons, rule.reason) == kReasons.end())
      Tell(UnsupportedText(path.Field("reason"), rule.reason, kReasons));
  }

  void AddMessageExpression(const RuleNode& node, SchemaRule& rule, const Json& json,
                            const std::shared_ptr<Environment>& environment, const FieldPath& path, const Way& way) {
    const Json* const text = base::Find(json, {"messageExpression"});
    if (text == nullptr || !text->is_string() || text->get_string().empty()) return;
    const FieldPath here = path.Field("messageExpression");
    if (base::Trimmed(text->get_string()).empty()) return Tell(RequiredValue(here, "must be non-empty if specified"));
    const auto program = Program::Compile(text->get_string(), environment);
    if (!program) return Tell(InvalidValue(here, json, "messageExpression compilation failed: " + program.error().message()));
    if ((*program)->result_type().kind != Type::Kind::kString)
      return Tell(InvalidValue(here, json, "messageExpression must evaluate to a string"));
    rule.message_expression = *program;
    budget_.Add(*rule.message_expression, node.shape, way.cardinality, here);
  }

  RuleTree& tree_;
  std::vector<Cause>* causes_;
  RuleBudget budget_;
};

}  // namespace

bool HasRules(const Json& open_api) {
  if (!open_api.is_object()) return false;
  if (!base::FindArray(open_api, {kRulesKey}).empty()) return true;
  for (const auto& [name, child] : base::FindObject(open_api, {"properties"}))
    if (HasRules(child)) return true;
  for (const std::string_view key : {"items", "additionalProperties"})
    if (const Json* const child = base::Find(open_api, {key}); child != nullptr && HasRules(*child)) return true;
  return false;
}

std::unique_ptr<RuleTree> CompileRules(const JsonObject& open_api, const FieldPath& path, std::vector<Cause>* causes) {
  auto tree = std::make_unique<RuleTree>();
  RuleCompiler(*tree, causes).Run(open_api, path);
  return tree;
}

std::vector<Cause> CheckRules(const Json& open_api, const FieldPath& path) {
  std::vector<Cause> causes;
  if (HasRules(open_api)) CompileRules(open_api.get_object(), path, &causes);
  return causes;
}

}  // namespace evenkeel::kube::cel
