#include "controllers/rollout/zookeeper/hub/hub_controller.h"

#include <set>
#include <vector>

#include "base/log.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "client/leader_election.h"
#include "controllers/rollout/zookeeper/hub/ensemble_reconciler.h"
#include "controllers/rollout/zookeeper/hub/hub_reading.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/runtime/controller.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

namespace karmada = kube::karmada;
using base::FindString;
using base::Json;

/// What remains of an object in a cache: which ensemble it concerns. A hub has a ResourceBinding for each object that Karmada
/// propagates, so these are many.
struct Trace {
  struct Meta {
    std::string uid, resource_version;
    uint32_t bytes = 0;
  };
  Meta meta;
  std::string ns;
  std::string ensemble;  ///< key; "": of none
  std::string ready;     ///< of a Cluster: its condition

  static Trace Decode(const Json& object) {
    Trace trace;
    trace.meta = {std::string(kube::UidOf(object)), std::string(kube::ResourceVersionOf(object))};
    if (const Json* ready = kube::FindCondition(object, "Ready")) trace.ready = FindString(*ready, {"status"});
    trace.ns = kube::NamespaceOf(object);
    if (FindString(object, {"spec", "resource", "kind"}) == ZooKeepers().kind) {
      trace.ensemble = trace.ns + "/" + std::string(FindString(object, {"spec", "resource", "name"}));
    } else if (const auto owner = FindString(object, {"metadata", "labels", kOwnerLabel}); !owner.empty()) {
      trace.ensemble = trace.ns + "/" + std::string(owner);
    }
    return trace;
  }
};

using Ensembles = client::Informer<kube::Object>;
using Traces = client::Informer<Trace>;

/// One term as leader: its caches and its queue.
class Term {
 public:
  Term(const HubControllerContext& context, const std::shared_ptr<base::Strand>& strand, EnsembleReconciler& reconciler)
      : strand_(strand),
        controller_("rollout", strand, context.executor.clock(),
                    [&reconciler](const std::string& key) { return reconciler.Reconcile(key); },
                    {.queue = {}, .metrics = &context.metrics}),
        ensembles_(context.hub, MultiClusterZooKeepers(), {}, strand, context.executor.clock(),
                   context.random.Fork("ensembles")) {
    ensembles_.AddHandler([this](const auto& before, const auto& after) {
      if (after != nullptr) StartTraces();
      controller_.Enqueue((after != nullptr ? after : before)->meta.Key());
    });
    std::vector<const kube::Resource*> kinds = ChildKinds();
    kinds.insert(kinds.end(),
                 {&ZooKeepers(), &karmada::ResourceBindings(), &karmada::Clusters(), &karmada::ClusterOverridePolicies()});
    // Of these, such as carry no label of ours count, too.
    const std::set<const kube::Resource*> whole{&karmada::ResourceBindings(), &karmada::Clusters(),
                                                &karmada::OverridePolicies(), &karmada::ClusterOverridePolicies()};
    for (const kube::Resource* kind : kinds) {
      client::InformerOptions options;
      if (!whole.contains(kind)) options.label_selector = kOwnerLabel;
      auto traces = std::make_unique<Traces>(context.hub, *kind, std::move(options), strand, context.executor.clock(),
                                             context.random.Fork(kind->plural));
      traces->AddHandler([this, kind](const auto& before, const auto& after) { Changed(*kind, before.get(), after.get()); });
      traces_.push_back(std::move(traces));
    }
    ensembles_.Start();
    controller_.Start();
  }

 private:
  /// A hub without ensembles pays for one watch.
  void StartTraces() {
    if (std::exchange(tracing_, true)) return;
    strand_->Post([this, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      for (const auto& traces : traces_) traces->Start();
    });
  }

  void Changed(const kube::Resource& kind, const Trace* before, const Trace* after) {
    if (&kind == &karmada::Clusters()) {
      // Its heartbeat comes all the time.
      if (before != nullptr && after != nullptr && before->ready == after->ready) return;
      EnqueueAllOf("");
      return;
    }
    for (const Trace* trace : {before, after}) {
      if (trace == nullptr) continue;
      const bool override_of_others = trace->ensemble.empty() && &kind != &karmada::ResourceBindings();
      if (!trace->ensemble.empty()) controller_.Enqueue(trace->ensemble);
      if (override_of_others) EnqueueAllOf(trace->ns);
    }
  }

  /// `ns`: "" for all.
  void EnqueueAllOf(std::string_view ns) {
    for (const auto& [key, ensemble] : ensembles_.items()) {
      if (ns.empty() || ensemble->meta.ns == ns) controller_.Enqueue(key);
    }
  }

  const std::shared_ptr<base::Strand> strand_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  runtime::Controller controller_;
  Ensembles ensembles_;
  std::vector<std::unique_ptr<Traces>> traces_;
  bool tracing_ = false;
};

class ElectedController final : public HubController {
 public:
  explicit ElectedController(HubControllerContext context)
      : context_(std::move(context)),
        metrics_(context_.metrics),
        strand_(context_.executor.NewStrand("rollout")),
        election_(context_.executor.NewStrand("rollout/election")),
        events_strand_(context_.executor.NewStrand("rollout/events")),
        events_(context_.hub, events_strand_, context_.executor.clock(), context_.random.Fork("events"), "evenkeel-rollout",
                context_.host),
        elector_(context_.hub, Election(), election_, context_.executor.clock(), context_.random.Fork("election"),
                 {[this] { strand_->Post([this] { Begin(); }); }, [this] { strand_->Post([this] { End(); }); }, {}}),
        reconciler_(
            {context_.hub, context_.executor.clock(), [this] { return MayWrite(); }, events_, metrics_, context_.forms}) {}

  ~ElectedController() override {
    election_->Close();
    strand_->Close();
    events_strand_->Close();
  }

  void Start() override {
    election_->Post([this] { elector_.Start(); });
  }

  void Stop(std::function<void()> done) override {
    // First the work, then the Lease: a successor may begin at once.
    strand_->Post([this, done = std::move(done)]() mutable {
      End();
      stopped_ = true;
      election_->Post([this, done = std::move(done)] {
        elector_.Stop();
        done();
      });
    });
  }

  bool leading() const override { return elector_.is_leader(); }
  RolloutMetrics& metrics() override { return metrics_; }

 private:
  client::LeaderElectionOptions Election() const {
    client::LeaderElectionOptions options;
    options.ns = context_.ns;
    options.name = kLeaseName;
    options.identity = context_.host + "-" + context_.random.Fork("identity").NameSuffix();
    return options;
  }

  base::Status MayWrite() const {
    if (elector_.is_leader()) return {};
    return base::Fail(base::Code::kConflict, "another replica carries the rollouts out now");
  }

  void Begin() {
    // Whether the Lease holds at this instant does not matter: it may be renewed in the next, and nobody would say so again. If
    // it is lost, End() comes next, and until then nothing may be written.
    if (stopped_) return;
    base::log::Info("this replica carries the rollouts out");
    metrics_.SetLeading(true);
    leads_ = true;
    const uint64_t number = ++terms_;
    if (!context_.prepare) return BeginWork(number);
    context_.prepare([this, strand = strand_, number] { strand->Post([this, number] { BeginWork(number); }); });
  }

  /// `number`: of the term for which it was prepared; another one may have begun meanwhile.
  void BeginWork(uint64_t number) {
    if (!leads_ || number != terms_) return;
    reconciler_.BeginTerm();
    term_.emplace(context_, strand_, reconciler_);
  }

  void End() {
    if (!std::exchange(leads_, false)) return;
    base::log::Info("this replica no longer carries the rollouts out");
    term_.reset();
    metrics_.SetLeading(false);
    metrics_.ForgetAll();
  }

  const HubControllerContext context_;
  RolloutMetrics metrics_;
  const std::shared_ptr<base::Strand> strand_, election_, events_strand_;
  client::EventRecorder events_;
  client::LeaderElector elector_;
  EnsembleReconciler reconciler_;
  std::optional<Term> term_;  // on the strand, as all below
  bool leads_ = false;
  uint64_t terms_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<HubController> NewHubController(HubControllerContext context) {
  return std::make_unique<ElectedController>(std::move(context));
}

}  // namespace evenkeel::controllers::rollout::zookeeper
