// One holder of a coordination.k8s.io/v1 Lease at a time, with client-go's rules: a candidate takes over when it has itself
// seen no renewal for lease_duration (its own monotonic clock, never the holder's wall clock); a leader that could not renew
// for renew_deadline stops being leader before anybody else may start.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"

namespace evenkeel::client {

struct LeaderElectionOptions {
  std::string ns{};
  std::string name{};      ///< of the Lease
  std::string identity{};  ///< who we are; unique
  base::Duration lease_duration = base::Duration(15s);
  base::Duration renew_deadline = base::Duration(10s);
  base::Duration retry_period = base::Duration(2s);  ///< candidates wait up to 2.2 times as long, by jitter
  bool release_on_stop = true;
};

/// A call that hangs holds the strand, so the client's request time-out must not exceed lease_duration - renew_deadline (5 s by
/// default): then stopped_leading is over before another candidate may start, however late the last renewal failed.
class LeaderElector {
 public:
  /// An elector that lost the Lease is a candidate again at once.
  struct Callbacks {
    std::function<void()> started_leading;
    std::function<void()> stopped_leading;
    std::function<void(const std::string& identity)> new_leader;
  };
  /// Everything happens on the strand. kBadRequest-like misuse (lease_duration <= renew_deadline <= 1.2 x retry_period) is
  /// checked.
  LeaderElector(Client& client, LeaderElectionOptions options, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                base::Random random, Callbacks callbacks);
  ~LeaderElector();

  void Start();
  /// Calls stopped_leading if it leads, then gives the lease up (if asked for in the options), and stops. On the strand. The
  /// destructor neither calls back nor gives up.
  void Stop();
  /// From any thread; false as soon as renew_deadline has passed, even while a call hangs.
  bool is_leader() const;
  /// Who holds the Lease as far as we have seen; "" for nobody. On the strand.
  const std::string& leader() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::client
