// One embedded cluster that can crash and come back: its memory is lost, what its store holds is not. Everything that it
// answers to a write, and every change of its store, is told to an observer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "embedded/fleet/cluster.h"
#include "sim/network/network.h"

namespace evenkeel::sim {

/// One write as the API server answered it.
struct ApiWrite {
  const std::string& api;  ///< "hub", "member-1"
  const embedded::apiserver::AuditRecord& record;
  /// The object's key in the store and, if the write took effect, its new text (null when it was deleted) and the one before.
  const std::string& key;
  embedded::store::Value value;
  embedded::store::Value previous;
  bool took_effect = false;

  bool Is(std::string_view plural, std::string_view ns, std::string_view name) const {
    return record.plural == plural && record.ns == ns && record.name == name;
  }
};

class ApiObserver {
 public:
  virtual ~ApiObserver() = default;
  /// In the order in which they took effect. Must not call the API.
  virtual void OnWrite(const ApiWrite& write) = 0;
  /// A change of the store, also those that the API server makes by itself. After a restart the revisions go on.
  virtual void OnStored(const std::string& api, const embedded::store::Event& event) = 0;
};

struct ApiServerOptions {
  std::string name;
  int index = 0;
  int nodes = 0;
  bool cloud = false;                           ///< with node groups
  bool scheduler = true;                        ///< one of its own binds pods
  std::map<std::string, std::string> stored{};  ///< what its store holds when it is opened first
  embedded::nodeagent::ContainerRuntime* runtime = nullptr;
  /// A hub's: what brings objects to the members; given the process that all of the cluster runs in. Empty: nothing does.
  std::function<embedded::federation::FederationOptions(Process& process)> federation{};
};

class ApiServer final : private embedded::apiserver::AuditSink {
 public:
  /// All must outlive it.
  ApiServer(ApiServerOptions options, base::VirtualExecutor& executor, Fibers& fibers, const base::Random& random,
            Network& network, ApiObserver& observer);
  ~ApiServer() override;

  const std::string& name() const { return options_.name; }
  /// Starts it, also after Crash.
  base::Status Start();
  /// Not from a task of its own. `silent`: calls time out rather than being refused.
  void Crash(bool silent = false);
  bool up() const { return cluster_ != nullptr; }
  /// As an administrator, without a network. While up.
  client::Client& client() { return cluster_->client(); }
  embedded::store::Store& store() { return *store_; }
  /// What all of a hub with a federation runs in, while it is up; otherwise null.
  Process* process() const { return process_.get(); }
  /// While up: one of its nodes is switched off, or on again.
  void StopNode(const std::string& node);
  void StartNode(const std::string& node);

 private:
  void Record(const embedded::apiserver::AuditRecord& record) override;

  const ApiServerOptions options_;
  base::VirtualExecutor& executor_;
  Fibers& fibers_;
  const base::Random random_;
  Network& network_;
  ApiObserver& observer_;
  const std::unique_ptr<embedded::store::Store> store_;
  std::unique_ptr<embedded::store::Watch> trace_;
  std::vector<embedded::store::Event> unclaimed_;  ///< changes whose writer has not been told yet
  int starts_ = 0;
  std::unique_ptr<Process> process_;  ///< with a federation, whose calls take their time
  std::unique_ptr<embedded::fleet::Cluster> cluster_;
};

}  // namespace evenkeel::sim
