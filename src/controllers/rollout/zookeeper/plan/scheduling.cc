#include "controllers/rollout/zookeeper/plan/scheduling.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

/// The first taint that the policy does not tolerate; "": there is none.
std::string TaintOf(const Json& cluster, const Json& policy) {
  for (const Json& item : FindArray(cluster, {"spec", "taints"})) {
    const kube::Taint taint{std::string(FindString(item, {"key"})), std::string(FindString(item, {"value"})),
                            std::string(FindString(item, {"effect"}))};
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    const auto& tolerations = FindArray(policy, {"spec", "placement", "clusterTolerations"});
    const bool tolerated = std::ranges::any_of(tolerations, [&](const Json& entry) {
      const kube::Toleration toleration{std::string(FindString(entry, {"key"})), std::string(FindString(entry, {"operator"})),
                                        std::string(FindString(entry, {"value"})), std::string(FindString(entry, {"effect"})),
                                        std::nullopt};
      return toleration.Tolerates(taint);
    });
    if (!tolerated) return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value, taint.effect);
  }
  return "";
}

}  // namespace

Unscheduled FindUnscheduled(const std::set<std::string>& clusters, const FleetReading& reading, const FleetObjects& fleet,
                            const Json* policy) {
  Unscheduled found;
  if (fleet.zookeeper == nullptr || policy == nullptr) return found;
  std::set<std::string> scheduled;
  if (fleet.binding != nullptr) {
    for (const Json& item : FindArray(*fleet.binding, {"spec", "clusters"})) scheduled.emplace(FindString(item, {"name"}));
  }
  const auto keep_out = [&](const std::string& cluster, const std::string& why) {
    found.kept_out += fmt::format("{}{} {}", found.kept_out.empty() ? "" : ", ", cluster, why);
  };
  for (const std::string& cluster : clusters) {
    if (scheduled.contains(cluster)) continue;
    const auto object = std::ranges::find(fleet.clusters, cluster, [](const Json* one) { return kube::NameOf(*one); });
    const std::string taint = object == fleet.clusters.end() ? "" : TaintOf(**object, *policy);
    if (reading.unknown.contains(cluster)) {
      keep_out(cluster, "is no Cluster of the hub");
    } else if (!reading.Of(cluster).reachable) {
      keep_out(cluster, "is not ready");
    } else if (!taint.empty()) {
      keep_out(cluster, "has the taint " + taint);
    } else {
      found.missing.insert(cluster);
    }
  }
  return found;
}

bool AskAgain(const std::set<std::string>& missing, base::Time now, Scheduling& scheduling) {
  if (missing.empty()) {
    scheduling = {.attempt = scheduling.attempt};
    return false;
  }
  // Another replica, whose clock is ahead, may have written these: what lies in the future counts from now.
  scheduling.since = std::min(scheduling.since.value_or(now), now);
  if (scheduling.asked_at) scheduling.asked_at = std::min(*scheduling.asked_at, now);
  constexpr int64_t kDoublings = 5;
  const base::Duration pause = std::min(kAskAgainMax, kAskAgainAfter * (1 << std::min(scheduling.asked, kDoublings)));
  if (now - std::max(*scheduling.since, scheduling.asked_at.value_or(*scheduling.since)) < pause) return false;
  scheduling.attempt = scheduling.attempt % kMaxTurn + 1;
  scheduling.asked = std::min(scheduling.asked + 1, kMaxTurn);
  scheduling.asked_at = now;
  return true;
}

std::string DescribeWait(const Unscheduled& unscheduled, const Scheduling& scheduling) {
  std::string text;
  if (!unscheduled.missing.empty() && scheduling.since) {
    text = fmt::format("; Karmada has not scheduled {} since {}", fmt::join(unscheduled.missing, ", "),
                       base::FormatTime(*scheduling.since));
    if (scheduling.asked_at) {
      text += fmt::format(", asked again {} times, last at {}", scheduling.asked, base::FormatTime(*scheduling.asked_at));
    }
  }
  if (!unscheduled.kept_out.empty()) text += "; not scheduled: " + unscheduled.kept_out;
  return text;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
