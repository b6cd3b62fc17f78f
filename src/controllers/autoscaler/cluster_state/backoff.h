// For how long a node group that failed to grow is left alone: longer each time it fails again, up to a limit, until it has not
// failed for long enough to be forgotten.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/utils/backoff/exponential_backoff.go
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "controllers/autoscaler/facts/loop_time.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

using ErrorInfo = providers::Instance::Error;
/// Upstream's names: "OutOfResource", "Other".
std::string_view Name(providers::Instance::ErrorClass error_class);

struct BackoffLimits {
  base::Duration initial = std::chrono::minutes(5);  ///< after the first failure
  base::Duration max = std::chrono::minutes(30);
  base::Duration reset = std::chrono::hours(3);  ///< a group that has not failed for longer is forgotten
};

class Backoff {
 public:
  struct Entry {
    base::Duration duration{};
    base::Time until{};  ///< the last moment of it
    base::Time last_failure{};
    ErrorInfo error;  ///< of the last failure
    bool operator==(const Entry&) const = default;
  };

  explicit Backoff(BackoffLimits limits = {}) : limits_(limits) {}

  /// The group has failed. While it is backed off already the same time begins anew; after that it is twice as long. Answers
  /// until when.
  base::Time Fail(std::string_view group, ErrorInfo error, base::Time now);
  bool IsBackedOff(std::string_view group, const LoopTime& now) const { return Find(group, now) != nullptr; }
  /// Null unless the group is backed off.
  const Entry* Find(std::string_view group, const LoopTime& now) const;
  void Remove(std::string_view group);
  /// Forgets groups whose last failure is more than `reset` ago.
  void RemoveStale(const LoopTime& now);

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  /// {"GROUP": {"seconds", "until", "lastFailure", "errorClass", "errorCode", "errorMessage"}}; times in microseconds.
  base::Json ToJson() const;
  /// kBadRequest names the field.
  static base::Result<Backoff> FromJson(const base::Json& json, BackoffLimits limits = {});

 private:
  BackoffLimits limits_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace evenkeel::controllers::autoscaler
