#include "kube/rules/admission.h"

#include <set>

#include "kube/cel/shape.h"

namespace evenkeel::kube::cel {
namespace {

using base::Cause;
using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// admission.k8s.io/v1's AdmissionRequest, but for its objects and its uid.
JsonObject RequestSchema() {
  const auto object = [](JsonObject properties) {
    return JsonObject{{"type", "object"}, {"properties", std::move(properties)}};
  };
  const JsonObject text{{"type", "string"}}, flag{{"type", "boolean"}};
  const JsonObject texts{{"type", "array"}, {"items", text}};
  const JsonObject kind = object({{"group", text}, {"version", text}, {"kind", text}});
  const JsonObject resource = object({{"group", text}, {"version", text}, {"resource", text}});
  const JsonObject extra{{"type", "object"}, {"additionalProperties", texts}};
  return object({{"kind", kind},
                 {"resource", resource},
                 {"subResource", text},
                 {"requestKind", kind},
                 {"requestResource", resource},
                 {"requestSubResource", text},
                 {"name", text},
                 {"namespace", text},
                 {"operation", text},
                 {"userInfo", object({{"username", text}, {"uid", text}, {"groups", texts}, {"extra", extra}})},
                 {"dryRun", flag},
                 {"options", JsonObject{{"x-kubernetes-int-or-string", true}}}});
}

/// The names that such expressions know; lives as long as the process.
struct AdmissionWorld {
  AdmissionWorld() : environment(std::make_shared<Environment>(Library::Admission())) {
    object = environment->Declare("object", &types::kDyn);
    old_object = environment->Declare("oldObject", &types::kDyn);
    request_shape = shapes.Add(RequestSchema(), environment->types(), false);
    request = environment->Declare("request", request_shape->type);
    namespace_object = environment->Declare("namespaceObject", &types::kDyn);
    authorizer = environment->Declare("authorizer", "kubernetes.authorization.Authorizer");
    request_resource = environment->Declare("authorizer.requestResource", "kubernetes.authorization.ResourceCheck");
  }
  std::shared_ptr<Environment> environment;
  Shapes shapes;
  const Shape* request_shape = nullptr;
  size_t object, old_object, request, namespace_object, authorizer, request_resource;
};

const AdmissionWorld& TheWorld() {
  static const auto* const world = new AdmissionWorld();
  return *world;
}

Activation Activate(const AdmissionInput& input, Arena& arena) {
  const AdmissionWorld& world = TheWorld();
  Activation activation(*world.environment);
  const auto set = [&](size_t variable, const Json* json, const Shape* shape) {
    activation.Set(variable, json == nullptr ? Value::Null() : FromJson(*json, shape, arena));
  };
  set(world.object, input.object, nullptr);
  set(world.old_object, input.old_object, nullptr);
  set(world.request, input.request, world.request_shape);
  set(world.namespace_object, input.namespace_object, nullptr);
  if (input.access != nullptr) {
    activation.Set(world.authorizer, MakeAuthorizer(*input.access, arena));
    activation.Set(world.request_resource, MakeResourceCheck(*input.access, input.resource, arena));
  }
  return activation;
}

base::Result<std::shared_ptr<const Program>> CompileCondition(std::string_view expression) {
  EVENKEEL_ASSIGN(auto program, Program::Compile(expression, TheWorld().environment));
  if (program->result_type().kind != Type::Kind::kBool && program->result_type().kind != Type::Kind::kDyn)
    return Fail(Code::kInvalid, "must evaluate to bool");
  return program;
}

}  // namespace

std::vector<Cause> CheckMatchConditions(const JsonArray& conditions, const FieldPath& path) {
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
    } else if (const auto program = CompileCondition(expression); !program) {
      const std::string& problem = program.error().message();
      causes.push_back(InvalidText(here.Field("expression"), expression,
                                   problem.starts_with("must") ? problem : "compilation failed: " + problem));
    }
  }
  return causes;
}

std::vector<MatchCondition> CompileMatchConditions(const JsonArray& conditions) {
  std::vector<MatchCondition> compiled;
  for (const Json& json : conditions) {
    MatchCondition condition{std::string(base::FindString(json, {"name"})), std::string(base::FindString(json, {"expression"})),
                             nullptr};
    if (auto program = CompileCondition(condition.expression)) condition.program = *std::move(program);
    compiled.push_back(std::move(condition));
  }
  return compiled;
}

base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const AdmissionInput& input) {
  if (conditions.empty()) return true;
  Arena arena;
  const Activation activation = Activate(input, arena);
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
