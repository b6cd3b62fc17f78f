// One embedded cluster: a store, the API on it, and stand-ins for what a real cluster brings: workload controllers, a
// scheduler, nodes, and a cloud that makes more of them. The same in `evenkeel up` (real time, SQLite, served over TLS by an
// ApiEndpoint) and in tests and the simulator (virtual time, memory).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/cloud/cloud.h"
#include "embedded/federation/hub/federation.h"
#include "embedded/nodeagent/node_agent.h"
#include "embedded/workloads/cluster/workloads.h"

namespace evenkeel::embedded::fleet {

struct ClusterOptions {
  std::string name;  ///< "hub", "member-1": also the prefix of its nodes' names
  int index = 0;     ///< of the fleet's clusters; gives each its own addresses
  /// Process pods get addresses in 127.N.x.y; two fleets on one machine need different numbers. The first 40 nodes of each of
  /// six clusters have ranges of their own.
  int loopback_octet = 10;
  int nodes = 3;       ///< simulated ones
  bool cloud = false;  ///< knows the kind NodeGroup, whose nodes come and go
  /// Runs pods that ask for it by the annotation `evenkeel.dev/runtime: NAME`. May be null.
  nodeagent::ContainerRuntime* runtime = nullptr;
  apiserver::AuditSink* audit = nullptr;          ///< hears of every write; null: nobody does
  bool default_policy = false;                    ///< ApiOptions::default_policy: for those who come by HTTP
  std::optional<access::TokenKey> account_key{};  ///< as in ApiOptions, like the next one
  std::string account_ca_pem{};
  workloads::WorkloadsOptions workloads{};
  /// A hub that brings objects to its members (embedded/federation); nullopt: it does not.
  std::optional<federation::FederationOptions> federation{};
};

class Cluster {
 public:
  /// The executor, and the runtime and the audit sink of the options, must outlive it.
  Cluster(ClusterOptions options, std::unique_ptr<store::Store> store, base::Executor& executor, base::Random random);
  ~Cluster();

  /// Starts the API, then what brings objects about in it. No pod runs before StartNodes.
  base::Status Start();
  /// Starts the nodes, whose processes read what they are given once: Secrets and the like have to be there before. After
  /// Start.
  base::Status StartNodes();
  /// Ends controllers and nodes (their pods' processes too) but not the API; idempotent. Blocks; not from a strand.
  void StopControllers();

  const std::string& name() const { return options_.name; }
  apiserver::Api& api() { return api_; }
  /// As an administrator, in-process.
  client::Client& client() { return *client_; }
  /// A client of its own for somebody else, who states `epoch` in every write (client/fenced_client.h; 0: none).
  std::unique_ptr<client::Client> NewClient(const std::string& user, int64_t epoch = 0);
  nodeagent::NodeAgent& nodes() { return *agent_; }
  const std::shared_ptr<base::Strand>& node_strand() const { return agent_strand_; }

 private:
  void StartCloud();

  ClusterOptions options_;
  base::Executor& executor_;
  base::Random random_;
  std::unique_ptr<store::Store> store_;
  std::shared_ptr<base::Strand> logs_strand_, agent_strand_;
  nodeagent::PodLogs logs_;
  apiserver::Api api_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<nodeagent::ContainerRuntime> simulated_;
  std::unique_ptr<federation::Federation> federation_;
  std::unique_ptr<workloads::Workloads> workloads_;
  std::unique_ptr<nodeagent::NodeAgent> agent_;
  std::unique_ptr<cloud::Cloud> cloud_;
};

}  // namespace evenkeel::embedded::fleet
