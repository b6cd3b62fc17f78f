#include "kube/rules/admission_policy.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "kube/object.h"

namespace evenkeel::kube::cel {
namespace {

using base::Cause;
using base::Code;
using base::Fail;
using base::FindArray;
using base::FindString;
using base::Json;
using ProgramPointer = std::shared_ptr<const Program>;

constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";
constexpr size_t kAnnotationsMax = 20;
constexpr size_t kAnnotationExpressionMax = 5 * 1024;
/// How high the expressions of variables may be that are evaluated within each other: each level takes stack.
constexpr size_t kNestingMax = size_t{2} * kHeightMax;

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) { return c == '_' || base::IsLetter(c); };
  if (name.empty() || !letter(name[0])) return false;
  if (!std::ranges::all_of(name, [&](char c) { return letter(c) || base::IsDigit(c); })) return false;
  return !IsReservedName(name);
}

bool HasParams(const Json& spec) { return base::Find(spec, {"paramKind"}) != nullptr && !spec.at("paramKind").is_null(); }

}  // namespace

/// Compiles the expressions of one policy one after the other, variables first: each sees those before it.
class PolicyCompiler {
 public:
  explicit PolicyCompiler(bool params, const Type* object = &types::kDyn, const Type* params_type = &types::kDyn)
      : type_(types_.Object("kubernetes.variables", &shape_)),
        world_({.params = params, .variables = type_, .authorizer = true, .object = object, .params_type = params_type}),
        messages_({.params = params, .variables = type_, .authorizer = false, .object = object, .params_type = params_type}) {}

  struct Variable {
    std::string name;
    base::Result<ProgramPointer> program;
  };

  const Variable& AddVariable(std::string_view name, std::string_view expression) {
    Variable& variable = variables_.emplace_back(Variable{std::string(name), ProgramPointer()});
    auto program = Program::Compile(expression, world_.environment());
    Shape& shape = shapes_.emplace_back();
    shape.type = program ? &(*program)->result_type() : &types::kDyn;
    shape_.fields.insert_or_assign(variable.name, Shape::Field{variable.name, &shape});
    numbers_.insert_or_assign(variable.name, variables_.size() - 1);
    if (program) {
      variable.program = *std::move(program);
    } else {
      variable.program = Fail(Code::kInvalid, "compilation failed: " + program.error().message());
    }
    return variable;
  }
  base::Result<ProgramPointer> Condition(std::string_view expression) const {
    return CompileFor(world_, expression, {&types::kBool});
  }
  /// Of whatever type.
  base::Result<ProgramPointer> Any(std::string_view expression) const {
    return Program::Compile(expression, world_.environment());
  }
  base::Result<ProgramPointer> Message(std::string_view expression) const {
    return CompileFor(messages_, expression, {&types::kString});
  }
  base::Result<ProgramPointer> Annotation(std::string_view expression) const {
    return CompileFor(world_, expression, {&types::kString, &types::kNull});
  }

  const AdmissionWorld& world() const { return world_; }
  const std::deque<Variable>& variables() const { return variables_; }
  std::optional<size_t> Number(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  TypePool types_;
  Shape shape_;
  const Type* type_;
  AdmissionWorld world_, messages_;
  std::deque<Shape> shapes_;
  std::deque<Variable> variables_;
  std::map<std::string, size_t, std::less<>> numbers_;
};

namespace {

/// The variables of one evaluation: each is evaluated when it is asked for, once.
class LazyVariables final : public Map {
 public:
  LazyVariables(const PolicyCompiler& compiled, const Activation& activation, uint64_t budget)
      : compiled_(compiled), activation_(activation), left_(budget), values_(compiled.variables().size()) {}

  size_t size() const override { return values_.size(); }
  bool Find(const Value& key, Arena& arena, Value& value) const override {
    const auto number = key.Is(Kind::kString) ? compiled_.Number(key.text()) : std::nullopt;
    if (!number) return false;
    std::optional<Value>& known = values_[*number];
    if (!known) known = Evaluated(compiled_.variables()[*number], arena);
    value = *known;
    return true;
  }
  bool Has(const Value& key, Arena&) const override {
    return key.Is(Kind::kString) && compiled_.Number(key.text()).has_value();
  }
  Value KeyAt(size_t index, Arena&) const override { return Value::String(compiled_.variables()[index].name); }
  Value ValueAt(size_t index, Arena& arena) const override {
    Value value;
    Find(KeyAt(index, arena), arena, value);
    return value;
  }

  /// What evaluations have cost since the last call.
  uint64_t TakeCost() const { return std::exchange(cost_, 0); }

 private:
  Value Evaluated(const PolicyCompiler::Variable& variable, Arena& arena) const {
    const auto failed = [&](std::string_view does, std::string_view why) {
      return MakeError(arena, fmt::format("composited variable \"{}\" fails to {}: {}", variable.name, does, why));
    };
    if (!variable.program) return failed("compile", variable.program.error().message());
    const Program& program = **variable.program;
    const size_t height = program.root().height;
    if (nesting_ + height > kNestingMax) return failed("evaluate", "variables are nested too deep");
    nesting_ += height;
    const Evaluation evaluation = program.Evaluate(activation_, arena, std::min(left_, kCallCostMax));
    nesting_ -= height;
    cost_ += evaluation.cost;
    left_ -= std::min(left_, evaluation.cost);
    if (evaluation.value.IsError()) return failed("evaluate", evaluation.value.text());
    return evaluation.value;
  }

  const PolicyCompiler& compiled_;
  const Activation& activation_;
  mutable uint64_t left_, cost_ = 0;
  mutable size_t nesting_ = 0;
  mutable std::vector<std::optional<Value>> values_;
};

}  // namespace

/// One set of expressions that share a budget and the values of variables.
class PolicyRound {
 public:
  PolicyRound(const PolicyCompiler& compiled, const AdmissionInput& input, uint64_t budget)
      : activation_(compiled.world().Activate(input, arena_)), variables_(compiled, activation_, budget), left_(budget) {
    activation_.Set(compiled.world().variables(), Value::Of(static_cast<const Map*>(&variables_), Kind::kObject));
  }

  /// What it evaluates to, an error among it. kTooLarge where the budget is spent: nothing more is evaluated then.
  base::Result<Value> Evaluate(const base::Result<ProgramPointer>& program, std::string_view expression) {
    const auto error = [&](std::string text) { return MakeError(arena_, text); };
    if (!program) return error("compilation error: " + program.error().message());
    const Evaluation evaluation = (*program)->Evaluate(activation_, arena_, std::min(left_, kCallCostMax));
    const uint64_t cost = evaluation.cost + variables_.TakeCost();
    if (cost > left_ || (evaluation.over && left_ < kCallCostMax)) return Fail(Code::kTooLarge, std::string(kOutOfBudget));
    left_ -= cost;
    if (!evaluation.value.IsError()) return evaluation.value;
    return error(fmt::format("expression '{}' resulted in error: {}", expression, evaluation.value.text()));
  }

  const Activation& activation() const { return activation_; }
  Arena& arena() { return arena_; }
  uint64_t left() const { return left_; }

 private:
  Arena arena_;
  Activation activation_;
  LazyVariables variables_;
  uint64_t left_;
};

AdmissionPolicy::AdmissionPolicy(const Json& spec)
    : ignores_failures_(FindString(spec, {"failurePolicy"}) == "Ignore"), has_params_(HasParams(spec)) {
  auto compiler = std::make_unique<PolicyCompiler>(has_params_);
  for (const Json& variable : FindArray(spec, {"variables"})) {
    compiler->AddVariable(FindString(variable, {"name"}), FindString(variable, {"expression"}));
  }
  conditions_ = CompileMatchConditions(FindArray(spec, {"matchConditions"}), compiler->world());
  for (const Json& json : FindArray(spec, {"validations"})) {
    Validation validation{.expression = std::string(FindString(json, {"expression"})),
                          .message = std::string(base::Trimmed(FindString(json, {"message"}))),
                          .reason = std::string(FindString(json, {"reason"})),
                          .program = compiler->Condition(FindString(json, {"expression"})),
                          .message_program = nullptr};
    if (const std::string_view message = FindString(json, {"messageExpression"}); !message.empty()) {
      if (auto program = compiler->Message(message)) validation.message_program = *std::move(program);
    }
    validations_.push_back(std::move(validation));
  }
  for (const Json& json : FindArray(spec, {"auditAnnotations"})) {
    const std::string_view expression = base::Trimmed(FindString(json, {"valueExpression"}));
    annotations_.push_back({.expression = std::string(expression), .program = compiler->Annotation(expression)});
  }
  compiled_ = std::move(compiler);
}

AdmissionPolicy::~AdmissionPolicy() = default;

AdmissionPolicy::Verdict AdmissionPolicy::Judge(const AdmissionInput& input) const {
  Verdict verdict;
  const auto fail = [&](std::vector<Refusal>& where, std::string_view why) {
    if (!ignores_failures_) where.push_back({std::string(why), ""});
  };
  if (!conditions_.empty()) {
    AdmissionInput before = input;
    before.namespace_object = nullptr;
    PolicyRound round(*compiled_, before, kMatchConditionsCostMax);
    const auto matches = MatchesConditions(conditions_, round.activation(), round.arena());
    if (!matches) fail(verdict.refusals, matches.error().message());
    if (!matches || !*matches) return verdict;
  }
  AdmissionInput unauthorized = input;
  unauthorized.access = nullptr;
  PolicyRound round(*compiled_, input, kObjectCostMax);
  std::vector<const Validation*> refused;
  std::vector<std::pair<size_t, std::string>> errors;  // how many were refused before it
  for (const Validation& validation : validations_) {
    const auto value = round.Evaluate(validation.program, validation.expression);
    if (!value) {
      fail(verdict.refusals, value.error().message());
      return verdict;
    }
    if (value->IsError()) {
      errors.emplace_back(refused.size(), value->text());
    } else if (!value->IsTrue()) {
      refused.push_back(&validation);
    }
  }
  if (!refused.empty() || !errors.empty()) {
    PolicyRound messages(*compiled_, unauthorized, round.left());
    size_t next_error = 0;
    for (size_t i = 0; i <= refused.size(); ++i) {
      for (; next_error < errors.size() && errors[next_error].first == i; ++next_error) {
        fail(verdict.refusals, errors[next_error].second);
      }
      if (i < refused.size()) verdict.refusals.push_back(RefusalOf(*refused[i], messages));
    }
  }
  Annotate(unauthorized, verdict);
  return verdict;
}

AdmissionPolicy::Refusal AdmissionPolicy::RefusalOf(const Validation& validation, PolicyRound& messages) const {
  Refusal refusal{"", validation.reason.empty() ? "Invalid" : validation.reason};
  if (validation.message_program != nullptr) {
    const auto value = messages.Evaluate(validation.message_program, "");
    if (!value) return {"failed messageExpression: " + value.error().message(), ""};
    if (value->Is(Kind::kString)) {
      const std::string_view text = base::Trimmed(value->text());
      if (text.size() <= kMessageBytesMax && !text.contains('\n')) refusal.message = text;
    }
  }
  if (refusal.message.empty()) refusal.message = validation.message;
  if (refusal.message.empty()) refusal.message = fmt::format("failed expression: {}", base::Trimmed(validation.expression));
  return refusal;
}

// Their values go nowhere, but one that fails denies.
void AdmissionPolicy::Annotate(const AdmissionInput& input, Verdict& verdict) const {
  if (annotations_.empty() || ignores_failures_) return;
  PolicyRound round(*compiled_, input, kObjectCostMax);
  for (const Annotation& annotation : annotations_) {
    const auto value = round.Evaluate(annotation.program, annotation.expression);
    if (!value) {
      verdict.refusals = {{value.error().message(), ""}};
      return;
    }
    if (value->IsError()) verdict.failures.push_back({std::string(value->text()), ""});
  }
}

namespace {

/// Collects what is wrong with a policy's expressions.
class PolicyChecks {
 public:
  PolicyChecks(const Json& spec, std::string_view name) : name_(name), compiler_(HasParams(spec)) {}

  void Variable(const Json& variable, const FieldPath& at) {
    const std::string_view name = FindString(variable, {"name"}), expression = FindString(variable, {"expression"});
    if (base::Trimmed(name).empty()) {
      causes_.push_back(RequiredValue(at.Field("name"), "name is not specified"));
    } else if (!IsIdentifier(name)) {
      causes_.push_back(InvalidText(at.Field("name"), name, "name is not a valid CEL identifier"));
    }
    if (base::Trimmed(expression).empty()) return Missing(at.Field("expression"), "expression");
    Compiled(compiler_.AddVariable(name, expression).program, expression, at.Field("expression"));
  }

  void Validation(const Json& validation, const FieldPath& at) {
    const std::string_view expression = FindString(validation, {"expression"});
    if (base::Trimmed(expression).empty()) {
      Missing(at.Field("expression"), "expression");
    } else {
      Compiled(compiler_.Condition(expression), expression, at.Field("expression"));
    }
    const std::string_view message = FindString(validation, {"messageExpression"});
    if (!message.empty() && base::Trimmed(message).empty()) {
      causes_.push_back(InvalidText(at.Field("messageExpression"), message, "must be non-empty if specified"));
    } else if (!message.empty()) {
      Compiled(compiler_.Message(message), message, at.Field("messageExpression"));
    }
  }

  void Annotation(const Json& annotation, const FieldPath& at) {
    const std::string key = fmt::format("{}/{}", name_, FindString(annotation, {"key"}));
    if (const std::string problem = CheckQualifiedName(key); !problem.empty()) {
      causes_.push_back(InvalidText(at.Field("key"), key, problem));
    }
    const FieldPath value = at.Field("valueExpression");
    const std::string_view given = FindString(annotation, {"valueExpression"}), expression = base::Trimmed(given);
    if (expression.empty()) {
      Missing(value, "valueExpression");
    } else if (expression.size() > kAnnotationExpressionMax) {
      causes_.push_back(RequiredValue(value, fmt::format("must not exceed {} bytes in length", kAnnotationExpressionMax)));
    } else {
      Compiled(compiler_.Annotation(expression), given, value);
    }
    if (!keys_.insert(key).second) causes_.push_back(DuplicateText(at.Field("key"), FindString(annotation, {"key"})));
  }

  std::vector<Cause>& causes() { return causes_; }

 private:
  void Missing(const FieldPath& at, std::string_view field) {
    causes_.push_back(RequiredValue(at, fmt::format("{} is not specified", field)));
  }
  void Compiled(const base::Result<ProgramPointer>& program, std::string_view expression, const FieldPath& at) {
    if (!program) causes_.push_back(InvalidText(at, expression, program.error().message()));
  }

  const std::string name_;
  PolicyCompiler compiler_;
  std::set<std::string> keys_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> CheckPolicyExpressions(const Json& spec, std::string_view name, const FieldPath& path) {
  PolicyChecks checks(spec, name);
  const auto each = [&](const char* field, auto check) {
    const FieldPath at = path.Field(field);
    size_t i = 0;
    for (const Json& json : FindArray(spec, {field})) (checks.*check)(json, at.Index(i++));
  };
  each("variables", &PolicyChecks::Variable);
  each("validations", &PolicyChecks::Validation);
  const base::JsonArray& annotations = FindArray(spec, {"auditAnnotations"});
  if (annotations.size() > kAnnotationsMax) {
    checks.causes().push_back(InvalidValue(path.Field("auditAnnotations"), Json(annotations),
                                           fmt::format("must not have more than {} auditAnnotations", kAnnotationsMax)));
  }
  each("auditAnnotations", &PolicyChecks::Annotation);
  return std::move(checks.causes());
}

namespace {

/// A policy whose objects are of one kind.
class TypedPolicy {
 public:
  TypedPolicy(const Json& spec, const PolicyKind& kind, const base::JsonObject& params) : kind_(kind.name) {
    const Shape* const object = kind.schema.empty() ? nullptr : shapes_.Add(kind.schema, types_, false);
    const Shape* const of_params = params.empty() ? nullptr : shapes_.Add(params, types_, false);
    if (object == nullptr) return;
    compiler_.emplace(of_params != nullptr, object->type, of_params == nullptr ? &types::kDyn : of_params->type);
    for (const Json& variable : FindArray(spec, {"variables"})) {
      compiler_->AddVariable(FindString(variable, {"name"}), FindString(variable, {"expression"}));
    }
  }

  /// "": nothing is wrong with it.
  std::string Check(std::string_view expression) const {
    if (!compiler_) return "";
    const auto program = compiler_->Any(expression);
    return program ? "" : fmt::format("{}: {}\n", kind_, program.error().message());
  }

 private:
  const std::string kind_;
  TypePool types_;
  Shapes shapes_;
  std::optional<PolicyCompiler> compiler_;
};

}  // namespace

base::JsonArray CheckPolicyTypes(const Json& spec, const std::vector<PolicyKind>& kinds, const base::JsonObject& params) {
  std::deque<TypedPolicy> typed;
  for (const PolicyKind& kind : kinds) typed.emplace_back(spec, kind, params);
  base::JsonArray warnings;
  const base::JsonArray& validations = FindArray(spec, {"validations"});
  for (size_t i = 0; i < validations.size(); ++i) {
    for (const char* field : {"expression", "messageExpression"}) {
      const std::string_view expression = FindString(validations[i], {field});
      if (expression.empty()) continue;
      std::string warning;
      for (const TypedPolicy& policy : typed) {
        const std::string wrong = policy.Check(expression);
        if (!wrong.empty()) warning += (warning.empty() ? "" : "\n") + wrong;
      }
      if (warning.empty()) continue;
      warnings.push_back(
          base::JsonObject{{"fieldRef", fmt::format("spec.validations[{}].{}", i, field)}, {"warning", warning}});
    }
  }
  return warnings;
}

}  // namespace evenkeel::kube::cel
