// What keeps a controller of a member from going on, in the log: at once, then once a minute.
#pragma once

#include <map>
#include <string>

#include "base/time.h"

namespace evenkeel::controllers::runtime {

/// Of one controller and member.
class RateLimitedLog {
 public:
  /// `message`: "autoscaler waits".
  RateLimitedLog(base::Clock& clock, std::string message, std::string cluster)
      : clock_(clock), message_(std::move(message)), cluster_(std::move(cluster)) {}
  /// Whether it was logged now. `what` is waited for.
  /// @param usual  for so long it is no news, since every start has it
  bool Record(const std::string& what, const std::string& why, base::Duration usual = {});
  /// All is well: whatever comes next is news.
  void Clear() {
    logged_.clear();
    waits_.clear();
  }

 private:
  base::Clock& clock_;
  const std::string message_, cluster_;
  struct Wait {
    base::Instant first, last;
  };
  std::map<std::string, base::Instant> logged_;  // when, by what
  std::map<std::string, Wait> waits_;            // of what is usual for a while
};

}  // namespace evenkeel::controllers::runtime
