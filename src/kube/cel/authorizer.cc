// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/cel/library/authz.go
#include "kube/cel/authorizer.h"

#include "kube/cel/library.h"

namespace evenkeel::kube::cel {

struct AuthorizerValue {
  const AccessRules* rules = nullptr;
  AccessQuestion question{};
  bool allowed = false;
  std::string_view reason{};
};

namespace {

Value MakeAccess(const AuthorizerValue& value, Arena& arena) {
  return Value::Pointer(Kind::kAuthorizer, arena.New<AuthorizerValue>(value));
}

/// The same question with one more thing said.
template <std::string_view AccessQuestion::* kField>
Value With(const Call& call) {
  AuthorizerValue value = call.args[0].as<AuthorizerValue>();
  value.question.*kField = call.args[1].text();
  return MakeAccess(value, call.arena);
}

Value Check(const Call& call) {
  AuthorizerValue value = call.args[0].as<AuthorizerValue>();
  const AccessRules::Answer answer = value.rules->Ask(value.question, call.args[1].text());
  value.allowed = answer.allowed;
  value.reason = call.arena.Copy(answer.reason);
  return MakeAccess(value, call.arena);
}

}  // namespace

Value MakeAuthorizer(const AccessRules& rules, Arena& arena) { return MakeAccess({.rules = &rules}, arena); }

Value MakeResourceCheck(const AccessRules& rules, const AccessQuestion& question, Arena& arena) {
  return MakeAccess({.rules = &rules, .question = question}, arena);
}

void AddAuthorizer(Library& library) {
  const std::string kind = "kubernetes.authorization.";
  const auto add = [&](std::string_view name, std::string_view on, std::string_view arguments, std::string_view result,
                       Implementation run, Cost cost = Cost::kOne) {
    const std::string out = result == "bool" || result == "string" ? std::string(result) : kind + std::string(result);
    library.Add(name, fmt::format("{}{}.({}) {}", kind, on, arguments, out), run, cost);
  };
  add("path", "Authorizer", "string", "PathCheck", With<&AccessQuestion::path>);
  add("group", "Authorizer", "string", "GroupCheck", With<&AccessQuestion::group>);
  add("serviceAccount", "Authorizer", "string, string", "Authorizer", [](const Call& call) {
    AuthorizerValue value = call.args[0].as<AuthorizerValue>();
    value.question.account_namespace = call.args[1].text();
    value.question.account_name = call.args[2].text();
    return MakeAccess(value, call.arena);
  });
  add("resource", "GroupCheck", "string", "ResourceCheck", With<&AccessQuestion::resource>);
  add("subresource", "ResourceCheck", "string", "ResourceCheck", With<&AccessQuestion::subresource>);
  add("namespace", "ResourceCheck", "string", "ResourceCheck", With<&AccessQuestion::namespace_name>);
  add("name", "ResourceCheck", "string", "ResourceCheck", With<&AccessQuestion::name>);
  // Rules of ours know no selectors: what is asked for with one is asked for without.
  for (const std::string_view selector : {"fieldSelector", "labelSelector"})
    add(selector, "ResourceCheck", "string", "ResourceCheck", [](const Call& call) { return call.args[0]; });
  for (const std::string_view on : {"PathCheck", "ResourceCheck"})
    add("check", on, "string", "Decision", Check, Cost::kAccessCheck);
  add("allowed", "Decision", "", "bool",
      [](const Call& call) { return Value::Bool(call.args[0].as<AuthorizerValue>().allowed); });
  add("reason", "Decision", "", "string",
      [](const Call& call) { return Value::String(call.args[0].as<AuthorizerValue>().reason); });
  add("errored", "Decision", "", "bool", [](const Call&) { return Value::Bool(false); });
  add("error", "Decision", "", "string", [](const Call&) { return Value::String(""); });
}

}  // namespace evenkeel::kube::cel
