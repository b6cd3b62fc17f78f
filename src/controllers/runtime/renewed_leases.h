// Whether somebody renews a Lease of a known name in a member: another controller that does the same work, found by the Lease
// of its leader election. Silence only counts while one looks: a Lease counts as renewed until it has been seen unchanged for
// as long as it says itself, unless its last renewal is so old that no difference of clocks explains it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/client.h"

namespace evenkeel::controllers::runtime {

/// Belongs to one strand.
class RenewedLeases {
 public:
  /// `names`: of Leases, in any namespace. `client` and `clock` must outlive it.
  RenewedLeases(client::Client& client, base::Clock& clock, std::vector<std::string> names)
      : client_(client), clock_(clock), names_(std::move(names)) {}

  struct Found {
    std::string lease;     ///< "Lease kube-system/cluster-autoscaler of HOLDER"; "": none is renewed
    bool certain = false;  ///< a renewal has been seen; before, the Lease only looks as if there were some
  };
  /// Looks, unless it has within the last 5 s. A list per name. Errors are those of the list; what has been seen before still
  /// counts at the next call.
  base::Result<Found> Look();

 private:
  struct Seen {
    std::string version, holder;
    base::Duration duration{};
    base::Instant changed{};
    bool renewed = false;  ///< it has been seen to change
  };
  base::Status Read();

  client::Client& client_;
  base::Clock& clock_;
  const std::vector<std::string> names_;
  std::map<std::string, Seen> seen_;  // by namespace/name
  bool looked_ = false;
  base::Instant looked_at_{};
};

}  // namespace evenkeel::controllers::runtime
