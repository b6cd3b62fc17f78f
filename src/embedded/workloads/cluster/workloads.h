// The brain of an embedded cluster: what kube-controller-manager and kube-scheduler do, on one strand, with one informer per
// kind.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"

namespace evenkeel::embedded::workloads {

struct WorkloadsOptions {
  /// For the strand's name: the cluster.
  std::string name = "cluster";
  /// Controllers not to run, by the names that Workloads::ControllerNames lists.
  std::set<std::string> disabled;
  /// Deployments and the like that are templates for other clusters: nothing is made of them here, and what was is removed.
  /// Called on the strand.
  std::function<bool(const base::Json& object)> is_template{};
  /// Of the certificate by which the API server is known: what each namespace's kube-root-ca.crt holds. Empty: there are none.
  std::string root_ca_pem{};
};

class Workloads {
 public:
  Workloads(client::Client& client, base::Executor& executor, base::Random random, WorkloadsOptions options = {});
  /// Stops.
  ~Workloads();
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;

  /// Once.
  void Start();
  /// Returns when nothing of it runs any more; for good. Not from its own strand.
  void Stop();

  /// "deployment", "replicaset", "statefulset", "daemonset", "job", "disruption", "namespace", "garbagecollector", "podgc",
  /// "nodelifecycle", "tainteviction", "endpoints", "endpointmirroring", "serviceaccount", "rootcapublisher",
  /// "volumebinder", "resourceclaim", "scheduler".
  static const std::vector<std::string>& ControllerNames();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::embedded::workloads
