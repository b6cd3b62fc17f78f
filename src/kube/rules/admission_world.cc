#include "kube/rules/admission_world.h"

#include <algorithm>

namespace evenkeel::kube::cel {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonObject;

JsonObject ObjectSchema(JsonObject properties) { return {{"type", "object"}, {"properties", std::move(properties)}}; }

/// admission.k8s.io/v1's AdmissionRequest, but for its objects and its uid.
JsonObject RequestSchema() {
  const JsonObject text{{"type", "string"}}, flag{{"type", "boolean"}};
  const JsonObject texts{{"type", "array"}, {"items", text}};
  const JsonObject kind = ObjectSchema({{"group", text}, {"version", text}, {"kind", text}});
  const JsonObject resource = ObjectSchema({{"group", text}, {"version", text}, {"resource", text}});
  const JsonObject extra{{"type", "object"}, {"additionalProperties", texts}};
  return ObjectSchema({{"kind", kind},
                       {"resource", resource},
                       {"subResource", text},
                       {"requestKind", kind},
                       {"requestResource", resource},
                       {"requestSubResource", text},
                       {"name", text},
                       {"namespace", text},
                       {"operation", text},
                       {"userInfo", ObjectSchema({{"username", text}, {"uid", text}, {"groups", texts}, {"extra", extra}})},
                       {"dryRun", flag},
                       {"options", JsonObject{{"x-kubernetes-int-or-string", true}}}});
}

/// What expressions see of a namespace.
JsonObject NamespaceSchema() {
  const JsonObject text{{"type", "string"}}, whole{{"type", "integer"}};
  const JsonObject texts{{"type", "array"}, {"items", text}};
  const JsonObject map{{"type", "object"}, {"additionalProperties", text}};
  const JsonObject time{{"type", "string"}, {"format", "date-time"}};
  const JsonObject metadata = ObjectSchema({{"name", text},
                                            {"generateName", text},
                                            {"labels", map},
                                            {"annotations", map},
                                            {"uid", text},
                                            {"resourceVersion", text},
                                            {"generation", whole},
                                            {"creationTimestamp", time},
                                            {"deletionTimestamp", time},
                                            {"deletionGracePeriodSeconds", whole},
                                            {"finalizers", texts}});
  return ObjectSchema(
      {{"metadata", metadata}, {"spec", ObjectSchema({{"finalizers", texts}})}, {"status", ObjectSchema({{"phase", text}})}});
}

}  // namespace

AdmissionWorld::AdmissionWorld(const Names& names)
    : environment_(std::make_shared<Environment>(Library::Admission())),
      request_shape_(shapes_.Add(RequestSchema(), environment_->types(), false)),
      namespace_shape_(shapes_.Add(NamespaceSchema(), environment_->types(), false)),
      object_(environment_->Declare("object", names.object)),
      old_object_(environment_->Declare("oldObject", names.object)),
      request_(environment_->Declare("request", request_shape_->type)),
      namespace_object_(environment_->Declare("namespaceObject", namespace_shape_->type)),
      has_params_(names.params),
      has_authorizer_(names.authorizer) {
  if (names.params) params_ = environment_->Declare("params", names.params_type);
  if (names.variables != nullptr) variables_ = environment_->Declare("variables", names.variables);
  if (!names.authorizer) return;
  authorizer_ = environment_->Declare("authorizer", "kubernetes.authorization.Authorizer");
  request_resource_ = environment_->Declare("authorizer.requestResource", "kubernetes.authorization.ResourceCheck");
}

Activation AdmissionWorld::Activate(const AdmissionInput& input, Arena& arena) const {
  Activation activation(*environment_);
  const auto set = [&](size_t variable, const Json* json, const Shape* shape) {
    activation.Set(variable, json == nullptr ? Value::Null() : FromJson(*json, shape, arena));
  };
  set(object_, input.object, nullptr);
  set(old_object_, input.old_object, nullptr);
  set(request_, input.request, request_shape_);
  set(namespace_object_, input.namespace_object, namespace_shape_);
  if (has_params_) set(params_, input.params, nullptr);
  if (has_authorizer_ && input.access != nullptr) {
    activation.Set(authorizer_, MakeAuthorizer(*input.access, arena));
    activation.Set(request_resource_, MakeResourceCheck(*input.access, input.resource, arena));
  }
  return activation;
}

base::Result<std::shared_ptr<const Program>> CompileFor(const AdmissionWorld& world, std::string_view expression,
                                                        std::initializer_list<const Type*> results) {
  auto program = Program::Compile(expression, world.environment());
  if (!program) return Fail(Code::kInvalid, "compilation failed: " + program.error().message());
  const Type& got = (*program)->result_type();
  if (std::ranges::any_of(results, [&](const Type* type) { return SameType(*type, got); })) return program;
  // Go's name of the type, not the checker's.
  const auto name = [](const Type& type) { return type.kind == Type::Kind::kNull ? "null_type" : ToText(type); };
  std::string wanted;
  for (const Type* type : results) wanted += (wanted.empty() ? "" : " ") + name(*type);
  if (results.size() > 1) wanted = "one of [" + wanted + "]";
  return Fail(Code::kInvalid, "must evaluate to " + wanted + " but got " + name(got));
}

}  // namespace evenkeel::kube::cel
