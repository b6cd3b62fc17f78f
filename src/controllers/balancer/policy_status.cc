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

/// What keeps to nobody's rules, the first few.
std::string BrokenText(const std::vector<BrokenPod>& broken) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < broken.size() && i < kNamed; ++i) {
    text += fmt::format("{}pod {}: {}", i == 0 ? "" : "; ", broken[i].pod, broken[i].why);
  }
  return broken.size() > kNamed ? text + fmt::format("; and {} more", broken.size() - kNamed) : text;
}

bool SetRulesKept(Json& object, const std::vector<BrokenPod>& broken, base::Time now) {
  return kube::SetCondition(
      object, "RulesKept", broken.empty() ? "True" : "False", broken.empty() ? "Kept" : "PodsStay",
      broken.empty() ? "every pod that may move is where the rules that are looked at let it be, or moves" : BrokenText(broken),
      now);
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
    if (in_force) return changed;
    changed |= kube::SetCondition(present, "Balanced", "Unknown", parsed ? "NotInForce" : "NotValid",
                                  parsed ? why : parsed.error().message(), clock_.Now());
    for (const char* told : {"RulesKept", "MetricsAvailable"}) {
      if (kube::FindCondition(present, told) == nullptr) continue;
      changed |= kube::SetCondition(present, told, "Unknown", "NotInForce", why, clock_.Now());
    }
    return changed;
  });
}

base::Status PolicyStatus::TellMetrics(const Json& object, const MetricFault& fault) {
  return Write(object, [&](Json& present) {
    const bool fine = fault.reason.empty();
    return kube::SetCondition(present, "MetricsAvailable", fine ? "True" : "False", fine ? "Available" : fault.reason,
                              fine ? "every metric has loads" : fault.text, clock_.Now());
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
    changed |= SetRulesKept(present, outlook->broken, clock_.Now());
    changed |= SetField(present, "deviation", Json(Figure(outlook->deviation)));
    if (!outlook->made || outlook->made->name.empty()) return changed;
    changed |= SetField(present, "lastPlan", Json(outlook->made->name));
    changed |= SetField(present, "deviationBefore", Json(Figure(outlook->made->deviation_before)));
    changed |= SetField(present, "deviationAfter", Json(Figure(outlook->made->deviation_after)));
    return changed;
  });
}

}  // namespace evenkeel::controllers::balancer
