// One controller replica in virtual time: a process of its own (process.h) with the real Distributor in it, which reaches hub
// and members over the simulated network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "controllers/distribution/distributor/distributor.h"
#include "sim/network/network.h"

namespace evenkeel::sim {

class Replica;

/// What all replicas of a fleet share; all must outlive them.
struct ReplicaContext {
  base::VirtualExecutor& executor;
  Fibers& fibers;
  Network& network;
  /// The name of the API server behind a server URL.
  std::function<std::string(const std::string& server)> api_of;
};

struct ReplicaSettings {
  std::string user;  ///< whom the API servers see: unique among all processes
  controllers::distribution::Options options{};
  ClockFaults clock{};
  /// False breaks the replica on purpose: what it writes to members names no epoch.
  bool states_epochs = true;
  /// What runs on each member that this replica owns.
  std::function<std::vector<controllers::runtime::MemberControllerFactory>(Replica&)> controllers{};
  /// What else runs in the process, for tests: made before the start, destroyed with the process.
  std::vector<std::function<std::shared_ptr<void>(Replica&)>> parts{};
};

class Replica {
 public:
  Replica(const ReplicaContext& context, ReplicaSettings settings, base::Random random);
  /// As kill -9.
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  /// Once.
  void Start();
  /// As SIGTERM: `done` is called on a task of the process when it would exit. Kill it then, but not from there.
  void Stop(std::function<void()> done);
  /// As SIGKILL; not from a task of the process.
  void Kill();

  bool running() const { return distributor_ != nullptr; }
  bool stopping() const { return stopping_; }
  const std::string& user() const { return settings_.user; }
  const std::string& host() const { return settings_.options.host_name; }
  const ReplicaSettings& settings() const { return settings_; }
  Process& process() { return process_; }
  const Process& process() const { return process_; }
  base::Random random() const { return random_; }

  /// While running. Also of a paused process: what it would say if it could.
  controllers::distribution::DistributorStatus status() const { return distributor_->status(); }
  base::Status Health() const { return distributor_->Health(); }
  /// A client of its own for a part.
  std::unique_ptr<client::Client> NewClient(const std::string& api, int64_t epoch = 0);

 private:
  const ReplicaContext context_;
  const ReplicaSettings settings_;
  const base::Random random_;
  Process process_;
  base::MetricRegistry metrics_;
  bool stopping_ = false;
  std::vector<std::shared_ptr<void>> parts_;
  std::unique_ptr<client::Client> hub_;
  std::unique_ptr<controllers::distribution::Distributor> distributor_;
};

}  // namespace evenkeel::sim
