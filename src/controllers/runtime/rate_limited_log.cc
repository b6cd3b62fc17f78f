#include "controllers/runtime/rate_limited_log.h"

#include "base/log.h"

namespace evenkeel::controllers::runtime {
namespace {

constexpr base::Duration kPause = std::chrono::minutes(1);

}  // namespace

bool RateLimitedLog::Record(const std::string& what, const std::string& why) {
  const base::Instant now = clock_.Monotonic();
  std::erase_if(logged_, [&](const auto& item) { return now - item.second >= kPause; });
  if (!logged_.emplace(what, now).second) return false;
  base::log::Warn(message_, {{"cluster", cluster_}, {"for", what}, {"error", why}});
  return true;
}

}  // namespace evenkeel::controllers::runtime
