// Coordination Leases: reading and writing them, and keeping one that is ours alive (a node's Lease, a member's fence). Who may
// have a Lease that several want is leader_election.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"

namespace evenkeel::client {

/// A view of a coordination.k8s.io/v1 Lease, also for Informer<Lease>.
struct Lease {
  kube::ObjectMeta meta;
  std::string holder;
  base::Duration duration{};  ///< whole seconds on the wire; zero when absent
  base::Time acquire_time{};
  base::Time renew_time{};
  int64_t transitions = 0;

  /// Never fails: what is missing or malformed keeps its zero value.
  static Lease Decode(const Json& object);
  /// Sets the five fields of `object`'s spec and leaves the rest of it alone. A duration is rounded up to whole seconds.
  void WriteTo(Json& object) const;
};

struct LeaseKeeperOptions {
  std::string ns{};
  std::string name{};
  std::string identity{};
  base::Duration lease_duration = base::Duration(40s);  ///< the kubelet's numbers
  base::Duration renew_period = base::Duration(10s);
  base::Duration failure_deadline = base::Duration(40s);  ///< without a renewal for so long: `lost`
  /// Whether a Lease that names another holder is ours all the same (a node's: it is named after the node). Otherwise it is a
  /// failure to renew.
  bool overrides_others = false;
};

/// Renews one Lease from a strand, creating it if need be; a failed renewal is tried again after 200 ms, doubling up to
/// renew_period. The client's request time-out should be well below failure_deadline: a call that hangs holds the strand.
class LeaseKeeper {
 public:
  struct Callbacks {
    /// Once per outage, when failure_deadline has passed since the last renewal was begun (or since Start).
    std::function<void(const base::Error& last_error)> lost;
    /// After the first renewal, and after each that ends an outage.
    std::function<void()> held;
    /// Finishes a Lease before each write (owner references, labels, annotations).
    std::function<void(Json& lease)> edit;
  };
  LeaseKeeper(Client& client, LeaseKeeperOptions options, std::shared_ptr<base::Strand> strand, base::Clock& clock,
              Callbacks callbacks);
  /// Stops; on the strand or after it is closed. The Lease stays and runs out by itself.
  ~LeaseKeeper();

  void Start();
  /// Renews at once, because what `edit` writes has changed. From any thread.
  void RenewNow();
  /// Renews no more.
  void Stop();
  /// Renewed within the last failure_deadline, by the clock: also right while a call hangs. From any thread.
  bool holds() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::client
