// Which API servers there are on one store: each keeps a record of its own and looks at those of the others, as Kubernetes' API
// servers do with their master leases.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

struct ServerAddress {
  std::string ip;
  int port = 0;
  auto operator<=>(const ServerAddress&) const = default;
};

/// Not thread-safe. A server counts as there for kLife after its record was last seen to be renewed, by this process' own
/// clock: whatever clocks of machines say, and however long a record lay in a store that nobody looked at.
class ServerRecords {
 public:
  static constexpr const char* kPrefix = "/registry/masterleases/";
  static constexpr base::Duration kLife = std::chrono::seconds(25);

  /// The store and the clock must outlive it.
  ServerRecords(store::Store& store, base::Clock& clock, ServerAddress self);

  /// Renews the own record, takes away those of servers that are gone; who is there, in order, this one among them. May wait
  /// for the store.
  base::Result<std::vector<ServerAddress>> Renew();
  /// Takes the own record away, or gives up after a while; who else is there.
  base::Result<std::vector<ServerAddress>> Leave();

 private:
  struct Seen {
    store::Revision renewed = 0;
    base::Instant at{};
  };
  base::Result<std::vector<ServerAddress>> Look();

  store::Store& store_;
  base::Clock& clock_;
  const ServerAddress self_;
  const std::string key_;
  std::map<std::string, Seen> seen_;  // by key
};

}  // namespace evenkeel::embedded::apiserver
