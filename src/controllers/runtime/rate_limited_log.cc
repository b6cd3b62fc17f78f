#include "controllers/runtime/rate_limited_log.h"

#include "base/log.h"

namespace evenkeel::controllers::runtime {
namespace {

constexpr base::Duration kPause = std::chrono::minutes(1);

}  // namespace

bool RateLimitedLog::Record(const std::string& what, const std::string& why, base::Duration usual) {
  const base::Instant now = clock_.Monotonic();
  if (usual > base::Duration::zero()) {
    std::erase_if(waits_, [&](const auto& item) { return now - item.second.last >= kPause; });
    Wait& wait = waits_.try_emplace(what, now, now).first->second;
    wait.last = now;
    if (now - wait.first < usual) return false;
  }
  std::erase_if(logged_, [&](const auto& item) { return now - item.second >= kPause; });
  if (!logged_.emplace(what, now).second) return false;
  base::log::Warn(message_, {{"cluster", cluster_}, {"for", what}, {"error", why}});
  return true;
}

}  // namespace evenkeel::controllers::runtime
