#include "controllers/balancer/policy_status.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/balancer/kinds.h"

namespace evenkeel::controllers::balancer {
namespace {

using base::Json;

/// True when it was something else.
bool SetField(Json& object, std::string_view key, Json value) {
  Json& field = base::Ensure(object, {"status", key});
  if (base::Equal(field, value)) return false;
  field = std::move(value);
  return true;
}

/// Text: figures that change in the last place are not worth a write.
std::string Figure(double value) { return fmt::format("{:.4f}", value); }

std::string WhatWasDropped(const Outlook& outlook) {
  if (outlook.dropped.empty()) return "";
  const DroppedMove& first = outlook.dropped.front();
  std::string text = fmt::format("; not moved: {} to {} ({})", first.move.pod, first.move.to, first.why);
  if (outlook.dropped.size() > 1) text += fmt::format(" and {} more", outlook.dropped.size() - 1);
  return text;
}

}  // namespace

base::Status PolicyStatus::Write(const Json& object, const std::function<bool(Json&)>& change) {
  Json trial = object;
  if (!change(trial)) return {};
  const auto written =
      client::ReadModifyWrite(client_, BalancingPolicies(), "", kube::NameOf(object),
                              [&](Json& present) -> base::Result<bool> { return change(present); }, {.subresource = "status"});
  if (written || written.error().code() == base::Code::kNotFound) return {};
  return base::Fail(written.error());
}

base::Status PolicyStatus::TellValidity(const Json& object, const base::Result<Policy>& parsed, bool in_force,
                                        const std::string& other) {
  return Write(object, [&](Json& present) {
    bool changed = kube::SetCondition(present, "Valid", parsed ? "True" : "False", parsed ? "Read" : "Refused",
                                      parsed ? "every field is understood" : parsed.error().message(), clock_.Now());
    const std::string why = in_force  ? "it is the first valid one by name"
                            : !parsed ? "it is not valid"
                                      : "policy " + other + " is in force";
    changed |= kube::SetCondition(present, "InForce", in_force ? "True" : "False",
                                  in_force  ? "First"
                                  : !parsed ? "NotValid"
                                            : "AnotherPolicy",
                                  why, clock_.Now());
    return changed;
  });
}

base::Status PolicyStatus::TellBalance(const Json& object, const std::string& reason, const std::string& text,
                                       const Outlook* outlook) {
  return Write(object, [&](Json& present) {
    const bool known = outlook != nullptr;
    const std::string message = known ? text + WhatWasDropped(*outlook) : text;
    bool changed = kube::SetCondition(present, "Balanced",
                                      !known              ? "Unknown"
                                      : outlook->balanced ? "True"
                                                          : "False",
                                      reason, message, clock_.Now());
    if (!known) return changed;
    changed |= SetField(present, "deviation", Json(Figure(outlook->deviation)));
    if (!outlook->made || outlook->made->name.empty()) return changed;
    changed |= SetField(present, "lastPlan", Json(outlook->made->name));
    changed |= SetField(present, "deviationBefore", Json(Figure(outlook->made->deviation_before)));
    changed |= SetField(present, "deviationAfter", Json(Figure(outlook->made->deviation_after)));
    return changed;
  });
}

}  // namespace evenkeel::controllers::balancer
