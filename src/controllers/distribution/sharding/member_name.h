// Under which name a replica knows a member's API. Two names of one API are two members to those who plan, but the API has one
// owner (owner_lease.h).
#pragma once

#include <string>

#include "base/result.h"
#include "client/client.h"

namespace evenkeel::controllers::distribution {

struct MemberName {
  std::string server;  ///< URL, as in Cluster::server
  std::string name;    ///< as in Cluster::name; for people
  std::string fleet;   ///< ApiIdentity of the hub; "" where it is not known

  bool empty() const { return server.empty() && fleet.empty(); }
  /// What is not known on one side is no difference; nor is the name.
  bool IsSameAs(const MemberName& other) const {
    const bool same_fleet = fleet.empty() || other.fleet.empty() || fleet == other.fleet;
    return same_fleet && (server.empty() || other.server.empty() || server == other.server);
  }
  /// For people, beside a name of `own_fleet`: "m1 at https://10.0.0.1", and the fleet where it is another.
  std::string Shown(const std::string& own_fleet) const;
  bool operator==(const MemberName&) const = default;
};

/// What tells API servers apart whatever their addresses: the uid of the namespace kube-system. "" where it may not be read, or
/// is not there.
base::Result<std::string> ApiIdentity(client::Client& api);

}  // namespace evenkeel::controllers::distribution
