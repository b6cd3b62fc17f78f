#include "embedded/federation/policies/interpreter.h"

#include <spdlog/fmt/fmt.h>

#include "base/hash.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {

using base::Json;

void Interpreter::SetConfigurations(std::vector<Json> configurations) {
  const std::lock_guard lock(mutex_);
  configurations_ = std::move(configurations);
}

base::Result<std::optional<Json>> Interpreter::Ask(const InterpreterQuestion& question) {
  std::optional<InterpreterHook> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = FindHook(configurations_, base::FindString(*question.object, {"apiVersion"}),
                    base::FindString(*question.object, {"kind"}), question.operation);
  }
  if (!hook) return std::nullopt;
  const auto ask = [&]() -> base::Result<Json> {
    EVENKEEL_TRY(ContextVersion(hook->webhook));
    Json context = MakeContext(question, "");
    // Answers are matched by connection; the uid only has to differ between questions that differ.
    const std::string uid = fmt::format("{:016x}", base::Blake2b64(base::ToText(context)));
    base::Ensure(context, {"request", "uid"}) = uid;
    EVENKEEL_ASSIGN(const Json answer, transport_(hook->webhook, context));
    return CheckAnswer(answer, question.operation, uid);
  };
  auto response = ask();
  if (!response) return base::Fail(response.error().Wrap(fmt::format("{} by {}", question.operation, hook->id)));
  return std::optional<Json>(*std::move(response));
}

base::Result<std::optional<ReplicaDemand>> Interpreter::Replicas(const Json& object) {
  EVENKEEL_ASSIGN(const std::optional<Json> response, Ask({.operation = kInterpretReplica, .object = &object}));
  if (!response) return NativeReplicas(object);
  ReplicaDemand demand{base::FindInt(*response, {"replicas"}), nullptr};
  if (const Json* requirements = base::Find(*response, {"replicaRequirements"})) demand.requirements = *requirements;
  return std::optional<ReplicaDemand>(std::move(demand));
}

base::Result<Json> Interpreter::Revise(const Json& object, int64_t replicas) {
  EVENKEEL_ASSIGN(const std::optional<Json> response,
                  Ask({.operation = kReviseReplica, .object = &object, .replicas = replicas}));
  if (response) return ApplyAnswer(object, *response);
  Json revised = object;
  NativeRevise(revised, replicas);
  return revised;
}

base::Result<Json> Interpreter::Retain(const Json& desired, const Json& observed) {
  EVENKEEL_ASSIGN(const std::optional<Json> response, Ask({.operation = kRetain, .object = &desired, .observed = &observed}));
  if (response) return ApplyAnswer(desired, *response);
  Json retained = desired;
  NativeRetain(retained, observed);
  return retained;
}

base::Result<base::JsonArray> Interpreter::Dependencies(const Json& object) {
  EVENKEEL_ASSIGN(const std::optional<Json> response, Ask({.operation = kInterpretDependency, .object = &object}));
  if (response) return base::FindArray(*response, {"dependencies"});
  return NativeDependencies(object);
}

base::Result<Json> Interpreter::Status(const Json& observed) {
  EVENKEEL_ASSIGN(const std::optional<Json> response, Ask({.operation = kInterpretStatus, .object = &observed}));
  if (response) return *base::Find(*response, {"rawStatus"});
  return NativeStatus(observed);
}

std::string Interpreter::Health(const Json& observed) {
  const auto response = Ask({.operation = kInterpretHealth, .object = &observed});
  if (!response) return "Unknown";
  const bool healthy = *response ? base::FindBool(**response, {"healthy"}) : NativeHealth(observed).value_or(true);
  return healthy ? "Healthy" : "Unhealthy";
}

base::Result<std::optional<Json>> Interpreter::Aggregate(const Json& object, const base::JsonArray& items) {
  EVENKEEL_ASSIGN(const std::optional<Json> response,
                  Ask({.operation = kAggregateStatus, .object = &object, .aggregated_status = items}));
  if (!response) return NativeAggregate(object, items);
  EVENKEEL_ASSIGN(const Json patched, ApplyAnswer(object, *response));
  const Json* status = base::Find(patched, {"status"});
  if (status == nullptr) return std::nullopt;
  return std::optional<Json>(*status);
}

}  // namespace evenkeel::embedded::federation
