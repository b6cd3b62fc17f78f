// What one replica runs, by name: started in the order added, stopped in reverse; parts that only one replica may run wait
// until it has been elected.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"
#include "client/leader_election.h"
#include "controllers/runtime/controller.h"

namespace evenkeel::controllers::runtime {

/// Functions may be empty. All are called on the manager's strand; what lives on another strand arranges for that itself.
struct Part {
  std::function<void()> start;
  std::function<void()> stop;  ///< only after start; a leader-only part may be started again afterwards
  std::function<base::Status()> health;
};

enum class PartScope { kEveryReplica, kLeaderOnly };

/// All calls on the strand.
class Manager {
 public:
  explicit Manager(std::shared_ptr<base::Strand> strand);
  /// Stops, without giving the leader lease up.
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// Before Start. Names are unique.
  void Add(std::string name, Part part, PartScope scope = PartScope::kEveryReplica);
  /// A controller, which must outlive the manager. On another strand than the manager's it is started and stopped by posting to
  /// it; a reconcile that runs at that moment ends by itself. Not for leader-only use: a Controller does not start again.
  void Add(Controller& controller);
  /// Before Start. Without it, leader-only parts run as on a leader.
  void ElectLeader(client::Client& client, client::LeaderElectionOptions options, base::Clock& clock, base::Random random);

  void Start();
  /// Leader-only parts first, then the lease is given up, then the rest.
  void Stop();

  bool leading() const;
  /// Fine when all that have been started are: otherwise kUnavailable with each failing part's name and error.
  base::Status healthy() const;
  /// Names of what runs now, in the order started.
  std::vector<std::string> running() const;

 private:
  struct Entry {
    std::string name;
    Part part;
    PartScope scope;
    bool running = false;
  };
  void StartParts(PartScope scope);
  void StopParts(PartScope scope);

  std::shared_ptr<base::Strand> strand_;
  std::vector<Entry> entries_;
  std::vector<size_t> started_;  ///< indexes, in the order started
  std::unique_ptr<client::LeaderElector> elector_;
  bool active_ = false;
};

}  // namespace evenkeel::controllers::runtime
