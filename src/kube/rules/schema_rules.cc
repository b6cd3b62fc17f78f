#include "kube/rules/schema_rules.h"

#include <mutex>

#include "kube/rules/rule_tree.h"

namespace evenkeel::kube::cel {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;

constexpr size_t kMessageBytesMax = 5120;

/// All rules of an object, in one pass over it.
class ObjectCheck {
 public:
  ObjectCheck(const Json& object, const Json* old) : object_(object), old_(old) {}

  std::vector<Cause> Run(const RuleNode& root) {
    Node(root, object_, FieldPath(), {old_, &object_, old_});
    return std::move(causes_);
  }

 private:
  /// What a value is compared with: its own old value, or else that of the nearest one above that has one.
  struct Before {
    const Json* old = nullptr;
    const Json* ancestor = nullptr;
    const Json* ancestor_old = nullptr;

    Before Below(const Json& value, const Json* below) const {
      if (below == nullptr) return {nullptr, ancestor, ancestor_old};
      return {below, &value, below};
    }
    bool Unchanged() const { return ancestor_old != nullptr && base::Equal(*ancestor, *ancestor_old); }
  };

  void Node(const RuleNode& node, const Json& value, const FieldPath& path, const Before& before) {
    if (value.is_null() || stopped_) return;
    for (const SchemaRule& rule : node.rules) {
      if (stopped_) return;
      if (rule.program != nullptr) Rule(rule, node, value, path, before);
    }
    const Json* const old = before.old;
    if (value.is_object()) {
      for (const auto& [name, member] : value.get_object()) {
        const Json* const below = old != nullptr && old->is_object() ? old->get_object().if_contains(name) : nullptr;
        if (const auto found = node.properties.find(name); found != node.properties.end()) {
          Node(*found->second, member, path.Field(name), before.Below(member, below));
        } else if (node.additional) {
          Node(*node.additional, member, path.Key(name), before.Below(member, below));
        }
      }
    } else if (value.is_array() && node.items) {
      const JsonArray& items = value.get_array();
      for (size_t i = 0; i < items.size(); ++i)
        Node(*node.items, items[i], path.Index(i), before.Below(items[i], OldItem(node, items[i], old)));
    }
  }

  static const Json* OldItem(const RuleNode& node, const Json& item, const Json* old) {
    if (node.keys.empty() || old == nullptr || !old->is_array()) return nullptr;
    const auto found = std::ranges::find_if(old->get_array(), [&](const Json& other) {
      return std::ranges::all_of(node.keys, [&](const std::string& key) {
        const Json *a = base::Find(item, {key}), *b = base::Find(other, {key});
        return a == nullptr || b == nullptr ? a == b : base::Equal(*a, *b);
      });
    });
    return found == old->get_array().end() ? nullptr : &*found;
  }

  void Rule(const SchemaRule& rule, const RuleNode& node, const Json& value, const FieldPath& path, const Before& before) {
    const bool has_old = before.old != nullptr && !before.old->is_null();
    if (rule.transition && !rule.optional_old && !has_old) return;
    Arena arena;
    Value variables[2] = {FromJson(value, node.shape, arena), rule.optional_old ? Value::None() : Value::Null()};
    if (has_old) {
      variables[1] = FromJson(*before.old, node.shape, arena);
      if (rule.optional_old) variables[1] = Value::Some(variables[1], arena);
    }
    const Evaluation evaluation = Spend(*rule.program, variables, arena);
    if (out_of_budget_) return OutOfBudget(value, path);
    const std::string& shown = rule.message.empty() ? rule.rule : rule.message;
    if (evaluation.over) {
      Add("FieldValueInvalid", path, value,
          fmt::format("'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                      evaluation.value.text(), shown));
      stopped_ = true;
    } else if (evaluation.value.IsError()) {
      const std::string_view error = evaluation.value.text();
      Add("FieldValueInvalid", path, value,
          error.starts_with("no such overload")
              ? fmt::format("'{}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                            error, shown)
              : fmt::format("{} evaluating rule: {}", error, shown));
    } else if (!evaluation.value.IsTrue()) {
      if (!rule.transition && before.Unchanged()) return;
      std::string message = MessageOf(rule, variables, arena);
      if (out_of_budget_) return OutOfBudget(value, path);
      AddBelow(rule, rule.field_path, path, value, std::move(message));
    }
  }

  Evaluation Spend(const Program& program, std::span<const Value> variables, Arena& arena) {
    const Evaluation evaluation = program.Evaluate(variables, arena, kCallCostMax);
    out_of_budget_ = evaluation.cost > left_;
    left_ -= std::min(left_, evaluation.cost);
    return evaluation;
  }
  void OutOfBudget(const Json& value, const FieldPath& path) {
    Add("FieldValueInvalid", path, value,
        "validation failed due to running out of cost budget, no further validation rules will be run");
    stopped_ = true;
  }

  /// What the message expression says, if that can be shown.
  std::string MessageOf(const SchemaRule& rule, std::span<const Value> variables, Arena& arena) {
    if (rule.message_expression != nullptr) {
      const Evaluation evaluation = Spend(*rule.message_expression, variables, arena);
      if (evaluation.value.Is(Kind::kString)) {
        const std::string_view text = evaluation.value.text();
        const bool blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
        if (!blank && text.size() <= kMessageBytesMax && text.find_first_of("\r\n") == std::string_view::npos) {
          const size_t begin = text.find_first_not_of(" \t");
          return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
        }
      }
    }
    return rule.message.empty() ? "failed rule: " + rule.rule : rule.message;
  }

  void AddBelow(const SchemaRule& rule, std::span<const std::pair<std::string, bool>> steps, const FieldPath& path,
                const Json& value, std::string message) {
    if (steps.empty()) return Add(rule.reason, path, value, std::move(message));
    const FieldPath below = steps[0].second ? path.Key(steps[0].first) : path.Field(steps[0].first);
    AddBelow(rule, steps.subspan(1), below, value, std::move(message));
  }

  /// Objects and lists are not shown.
  void Add(std::string_view reason, const FieldPath& path, const Json& value, std::string message) {
    if (reason == "FieldValueRequired") return causes_.push_back(RequiredValue(path, message));
    if (reason == "FieldValueForbidden") return causes_.push_back(ForbiddenValue(path, message));
    const bool shown = !value.is_object() && !value.is_array();
    if (reason == "FieldValueDuplicate")
      return causes_.push_back(shown ? DuplicateValue(path, value)
                                     : Cause{std::string(reason), "Duplicate value: " + message, path.Text()});
    causes_.push_back(shown ? InvalidValue(path, value, message)
                            : Cause{"FieldValueInvalid", "Invalid value: " + message, path.Text()});
  }

  const Json& object_;
  const Json* old_;
  std::vector<Cause> causes_;
  uint64_t left_ = kObjectCostMax;
  bool out_of_budget_ = false;
  bool stopped_ = false;
};

class LazyRules final : public ValueRules {
 public:
  explicit LazyRules(const Json& open_api) : open_api_(open_api) {}

  std::vector<Cause> Check(const Json& object, const Json* old) const override {
    std::call_once(once_, [this] { tree_ = CompileRules(open_api_.get_object(), FieldPath(), nullptr); });
    if (tree_->root == nullptr) return {};
    return ObjectCheck(object, old).Run(*tree_->root);
  }

 private:
  Json open_api_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const RuleTree> tree_;
};

}  // namespace

std::shared_ptr<const ValueRules> RulesOf(const Json& open_api) {
  return HasRules(open_api) ? std::make_shared<const LazyRules>(open_api) : nullptr;
}

}  // namespace evenkeel::kube::cel
