#include "kube/rules/admission.h"

#include <set>

namespace evenkeel::kube::cel {
namespace {

using base::Cause;
using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;

/// The names that webhooks' conditions know; lives as long as the process.
const AdmissionWorld& WorldOfWebhooks() {
  static const auto* const world = new AdmissionWorld({});
  return *world;
}

}  // namespace

std::vector<Cause> CheckMatchConditions(const JsonArray& conditions, const FieldPath& path, bool params) {
  if (conditions.empty()) return {};
  std::unique_ptr<const AdmissionWorld> with_params;
  if (params) with_params = std::make_unique<const AdmissionWorld>(AdmissionWorld::Names{.params = true});
  const AdmissionWorld& world = params ? *with_params : WorldOfWebhooks();
  std::vector<Cause> causes;
  if (conditions.size() > kMatchConditionsMax) causes.push_back(TooMany(path, conditions.size(), kMatchConditionsMax));
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < conditions.size(); ++i) {
    const FieldPath here = path.Index(i);
    const std::string_view name = base::FindString(conditions[i], {"name"});
    if (!name.empty() && !names.emplace(name).second) causes.push_back(DuplicateText(here.Field("name"), name));
    const std::string_view expression = base::FindString(conditions[i], {"expression"});
    if (expression.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      causes.push_back(RequiredValue(here.Field("expression")));
    } else if (const auto program = CompileFor(world, expression, {&types::kBool}); !program) {
      causes.push_back(InvalidText(here.Field("expression"), expression, program.error().message()));
    }
  }
  return causes;
}

std::vector<MatchCondition> CompileMatchConditions(const JsonArray& conditions) {
  return CompileMatchConditions(conditions, WorldOfWebhooks());
}

std::vector<MatchCondition> CompileMatchConditions(const JsonArray& conditions, const AdmissionWorld& world) {
  std::vector<MatchCondition> compiled;
  for (const Json& json : conditions) {
    MatchCondition condition{std::string(base::FindString(json, {"name"})), std::string(base::FindString(json, {"expression"})),
                             nullptr};
    if (auto program = CompileFor(world, condition.expression, {&types::kBool})) condition.program = *std::move(program);
    compiled.push_back(std::move(condition));
  }
  return compiled;
}

base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const AdmissionInput& input) {
  if (conditions.empty()) return true;
  Arena arena;
  return MatchesConditions(conditions, WorldOfWebhooks().Activate(input, arena), arena);
}

base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const Activation& activation,
                                     Arena& arena) {
  uint64_t left = kMatchConditionsCostMax;
  std::string problem;
  for (const MatchCondition& condition : conditions) {
    std::string error;
    if (condition.program == nullptr) {
      error = "it does not compile";
    } else {
      const Evaluation evaluation = condition.program->Evaluate(activation, arena, std::min(left, kCallCostMax));
      left -= std::min(left, evaluation.cost);
      if (evaluation.value.IsFalse()) return false;
      if (evaluation.value.IsError()) error = evaluation.value.text();
      if (!evaluation.value.IsError() && !evaluation.value.IsTrue()) error = "it is no bool";
    }
    if (problem.empty() && !error.empty())
      problem = fmt::format("expression '{}' resulted in error: {}", condition.expression, error);
  }
  if (problem.empty()) return true;
  return Fail(Code::kInternal, std::move(problem));
}

}  // namespace evenkeel::kube::cel
