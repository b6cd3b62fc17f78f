#include "embedded/workloads/cluster/workloads.h"

#include <functional>

#include "embedded/workloads/cluster/disruption.h"
#include "embedded/workloads/cluster/endpoint_mirroring.h"
#include "embedded/workloads/cluster/endpoints.h"
#include "embedded/workloads/cluster/garbage_collector.h"
#include "embedded/workloads/cluster/namespaces.h"
#include "embedded/workloads/cluster/node_lifecycle.h"
#include "embedded/workloads/cluster/pod_gc.h"
#include "embedded/workloads/cluster/policy_status.h"
#include "embedded/workloads/cluster/resource_claims.h"
#include "embedded/workloads/cluster/root_ca.h"
#include "embedded/workloads/cluster/scheduler.h"
#include "embedded/workloads/cluster/volume_binder.h"
#include "embedded/workloads/controllers/daemon_set.h"
#include "embedded/workloads/controllers/deployment.h"
#include "embedded/workloads/controllers/job.h"
#include "embedded/workloads/controllers/replica_set.h"
#include "embedded/workloads/controllers/stateful_set.h"

namespace evenkeel::embedded::workloads {
namespace {

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Reconciler>(Context&)> make;
};

template <typename T>
Maker MakerOf(const char* name) {
  return {name, [](Context& context) -> std::unique_ptr<Reconciler> { return std::make_unique<T>(context); }};
}

/// The order decides whose handlers see a change first.
const std::vector<Maker>& Makers() {
  static const std::vector<Maker> makers{
      MakerOf<DeploymentController>("deployment"),
      MakerOf<ReplicaSetController>("replicaset"),
      MakerOf<StatefulSetController>("statefulset"),
      MakerOf<DaemonSetController>("daemonset"),
      MakerOf<JobController>("job"),
      MakerOf<DisruptionController>("disruption"),
      MakerOf<NamespaceController>("namespace"),
      MakerOf<GarbageCollector>("garbagecollector"),
      MakerOf<PodGarbageCollector>("podgc"),
      MakerOf<NodeLifecycleController>("nodelifecycle"),
      MakerOf<TaintEviction>("tainteviction"),
      MakerOf<EndpointsController>("endpoints"),
      MakerOf<EndpointMirroring>("endpointmirroring"),
      MakerOf<ServiceAccountController>("serviceaccount"),
      MakerOf<RootCaPublisher>("rootcapublisher"),
      MakerOf<VolumeBinder>("volumebinder"),
      MakerOf<ResourceClaims>("resourceclaim"),
      MakerOf<PolicyStatus>("validatingadmissionpolicystatus"),
      MakerOf<SchedulerController>("scheduler"),
  };
  return makers;
}

}  // namespace

struct Workloads::State {
  State(client::Client& client, base::Executor& executor, base::Random random, WorkloadsOptions options)
      : strand(executor.NewStrand("workloads/" + options.name)),
        informers(client, strand, executor.clock(), random.Fork("informers")),
        context{client,
                strand,
                executor.clock(),
                random.Fork("controllers"),
                informers,
                std::move(options.is_template),
                std::move(options.root_ca_pem)} {
    for (const Maker& maker : Makers()) {
      if (!options.disabled.contains(maker.name)) controllers.push_back(maker.make(context));
    }
  }

  std::shared_ptr<base::Strand> strand;
  SharedInformers informers;
  Context context;
  std::vector<std::unique_ptr<Reconciler>> controllers;
};

Workloads::Workloads(client::Client& client, base::Executor& executor, base::Random random, WorkloadsOptions options)
    : state_(std::make_unique<State>(client, executor, std::move(random), std::move(options))) {}

Workloads::~Workloads() { Stop(); }

void Workloads::Start() {
  state_->strand->Post([state = state_.get()] {
    state->informers.Start();
    for (auto& controller : state->controllers) controller->Start();
  });
}

void Workloads::Stop() { state_->strand->Close(); }

const std::vector<std::string>& Workloads::ControllerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Maker& maker : Makers()) all.push_back(maker.name);
    return all;
  }();
  return names;
}

}  // namespace evenkeel::embedded::workloads
