// Who is logged in. Each browser has a random id in a cookie; this table says whose id it is. A session ends after a time, when
// its user logs out, when an administrator revokes it, and when the process ends.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dashboard/access/identity.h"

namespace evenkeel::dashboard {

/// Of one that is not used.
inline constexpr base::Duration kSessionIdle = std::chrono::hours(12);
inline constexpr base::Duration kSessionAge = std::chrono::days(7);
/// One more ends the one that has been idle for longest.
inline constexpr size_t kSessionsMax = 500;

/// Thread-safe.
class Sessions {
 public:
  /// A session for people who look at the list: its handle opens nothing.
  struct Row {
    std::string handle;
    Identity who;
    base::Time opened{}, used{};
    std::string remote;
  };

  explicit Sessions(std::function<base::Time()> now) : now_(std::move(now)) {}

  /// The id, which is a secret.
  std::string Open(Identity who, std::string remote);
  /// Counts as a use.
  std::optional<Identity> Find(std::string_view id);
  /// False: there is none.
  bool Close(std::string_view id);
  bool Revoke(std::string_view handle);
  std::vector<Row> List();
  /// Of its id.
  static std::string HandleOf(std::string_view id);

 private:
  /// Those whose time is over go.
  void Tidy(base::Time now);

  const std::function<base::Time()> now_;
  std::mutex mutex_;
  std::map<std::string, Row, std::less<>> by_key_;  // by a hash of the id, so that looking one up tells nothing of others
};

}  // namespace evenkeel::dashboard
