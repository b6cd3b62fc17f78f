// Who holds each member's Lease `evenkeel-owner`, read from the writes that took effect: the truth that no replica can see.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "sim/network/api_server.h"

namespace evenkeel::sim {

struct Tenure {
  std::string holder;  ///< as the Lease names it; "" while free
  std::string user;    ///< the process that took it
  int64_t epoch = 0;
  int64_t number = 0;  ///< counts the tenures of the member
  base::Instant since{}, renewed{};
  base::Duration duration{};
  int64_t transitions = 0;  ///< as the Lease counts them
  base::Time renew_time{};  ///< by the holder's clock
};

/// What a write did to a Lease.
struct LeaseChange {
  enum class Kind { kNone, kTaken, kRenewed, kReleased, kAnnotated, kDeleted };
  Kind kind = Kind::kNone;  ///< kNone: not a write of such a Lease, or without effect
  Tenure before;
};

class TenureBook {
 public:
  /// Call it once for each write, in order.
  LeaseChange See(const ApiWrite& write, base::Instant now);
  /// The present tenure; free with number 0 before the first.
  const Tenure& Of(const std::string& member) const;
  const std::map<std::string, Tenure>& all() const { return tenures_; }

 private:
  std::map<std::string, Tenure> tenures_;
};

}  // namespace evenkeel::sim
