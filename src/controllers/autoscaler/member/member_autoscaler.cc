#include "controllers/autoscaler/member/member_autoscaler.h"

#include <spdlog/fmt/fmt.h>

#include "base/log.h"
#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "controllers/autoscaler/member/cluster_cache.h"
#include "controllers/autoscaler/member/loop_metrics.h"
#include "controllers/autoscaler/member/node_deletions.h"
#include "controllers/autoscaler/member/node_marks.h"
#include "controllers/autoscaler/member/state_store.h"
#include "controllers/autoscaler/member/status_writer.h"
#include "controllers/autoscaler/options/event_kinds.h"
#include "controllers/runtime/rate_limited_log.h"
#include "controllers/runtime/renewed_leases.h"

namespace evenkeel::controllers::autoscaler {
namespace {

/// Caches are usually filled by then, also in a large member.
constexpr base::Duration kUsualSync = std::chrono::seconds(30);

using namespace std::chrono_literals;

/// How soon "at once" is: so that the caches hear of what the last loop has done, and pods of one burst are seen together.
constexpr base::Duration kDebounce = 100ms;
constexpr base::Duration kSyncPoll = 1s;
constexpr base::Duration kProviderPauseMax = 2min;
constexpr base::Duration kYoungPods = 2s;
/// For so long other members' nodes are not asked for again. What would be deleted unless it is one of them waits as long.
constexpr base::Duration kElsewhereAge = 1min;

class MemberAutoscaler final : public runtime::MemberController {
 public:
  MemberAutoscaler(const MemberAutoscalerContext& context, runtime::Member& member)
      : context_(context),
        member_(member),
        options_(context_.options),
        clock_(context_.clock),
        random_(context_.random.Fork(member.name())),
        started_(clock_.Monotonic()),
        cache_(member.feed(), clock_, options_,
               {[this] { TriggerNow(); }, [this](const std::string& node) { deletions_.Seen(node); }}),
        events_(member.client(), member.strand(), clock_, random_.Fork("events"), context_.host, options_),
        store_(member.client(), options_),
        status_(member.client(), options_),
        others_(member.client(), clock_, {"cluster-autoscaler", "karpenter-leader-election"}),
        deletions_({member.client(), member.strand(), clock_, options_, cache_, events_, *context_.metrics, member.name(),
                    [this](const std::string& group, const std::vector<providers::NodeReference>& nodes) {
                      return member_.Write("nodes of " + group, [&] { return provider_->DeleteNodes(group, nodes, false); });
                    },
                    [this](const DeletionOrder& order) { NoteDeleted(order); }}) {
    context_.metrics->Begin(member.name());
    member.strand()->Post([this] { Schedule(kDebounce); });
  }
  ~MemberAutoscaler() override { context_.metrics->Forget(member_.name()); }

 private:
  void Schedule(base::Duration delay) {
    due_ = clock_.Monotonic() + delay;
    timer_ = member_.strand()->PostAfter(delay, [this] { Turn(); });
  }

  /// A pod waits: the next loop need not wait for its time.
  void TriggerNow() {
    if (options_.frequent_loops_enabled && pause_ == base::Duration{} && due_ > clock_.Monotonic() + kDebounce)
      Schedule(kDebounce);
  }

  void Turn() {
    const base::Instant began = clock_.Monotonic();
    const base::Duration next = RunLoop();
    context_.metrics->Took(member_.name(), "main", clock_.Monotonic() - began);
    Schedule(next);
  }

  base::Duration RunLoop() {
    last_.main = clock_.Now();
    if (const std::string missing = cache_.Missing(); !missing.empty()) {
      waits_.Record("caches", "not everything has been listed yet: " + missing, kUsualSync);
      return kSyncPoll;
    }
    if (!state_) {
      if (const auto read = LoadState(); !read) {
        waits_.Record("state", read.error().message());
        return options_.scan_interval;
      }
    }
    if (!expanders_) {
      auto chain = context_.expanders(options_, [this](scheduling::PodId pod) { return cache_.PendingPod(pod); });
      if (!chain) {
        waits_.Record("the expander", chain.error().message());
        return options_.scan_interval;
      }
      expanders_ = *std::move(chain);
    }
    const auto other = LookForOthers();
    if (!other) {
      waits_.Record("Leases", other.error().message());
      return options_.scan_interval;
    }
    auto groups = AskProvider();
    if (!groups) return BackOff(groups.error());
    pause_ = {};
    waits_.Clear();
    if (!other->lease.empty()) return OnlyPlan(*std::move(groups), *other);
    planned_.reset();
    return Act(*std::move(groups));
  }

  base::Result<runtime::RenewedLeases::Found> LookForOthers() {
    if (options_.ignore_other_autoscalers) return runtime::RenewedLeases::Found{};
    auto found = others_.Look();
    if (found || found.error().code() != base::Code::kForbidden) return found;
    // Roles that do not let us look are those of before there was anything to look for.
    unseen_.Record("Leases", "whether another autoscaler is at work cannot be seen: " + found.error().message());
    return runtime::RenewedLeases::Found{};
  }

  /// What the last plan knew of nodes and pods; what it would have done was not done.
  AutoscalerState BeginPlanning() {
    AutoscalerState state(options_);
    state.cleaned_up = true;
    if (!planned_) return state;
    state.scale_down = std::move(planned_->scale_down);
    state.scale_down.cool_down = {};
    state.scale_down.group_cool_down.clear();
    state.scale_down.consolidation.reset();
    state.scale_down.last_consolidation.reset();
    state.hints = std::move(planned_->hints);
    state.next_node = planned_->next_node;
    return state;
  }

  /// Nothing is changed in the member but what it is told. Once a renewal has been seen, the memory begins anew: what was asked
  /// for and seen before has become the other's.
  base::Duration OnlyPlan(providers::NodeGroups groups, const runtime::RenewedLeases::Found& other) {
    const std::string why = "another autoscaler is at work: " + other.lease +
                            " is renewed; this one only plans until it is silent, or --ignore-other-autoscalers is set";
    if (other.certain) {
      *state_ = AutoscalerState(options_);
      const auto saved = store_.Save(*state_, cache_.objects(), clock_.Now());
      if (!saved) waits_.Record("its memory", saved.error().message());
    }
    AutoscalerState scratch = BeginPlanning();
    LoopRequest request;
    request.now = clock_.Now();
    request.uptime = clock_.Monotonic() - started_;
    request.clock = &clock_;
    LoopPlan plan = RunOnce(cache_.objects(), std::move(groups), options_, *expanders_, scratch, random_, request);
    planned_.emplace(std::move(scratch));
    plan.left_alone.insert(plan.left_alone.begin(), LeftAlone{"OtherAutoscaler", "", why});
    LoopPlan done;
    done.notes = {why};
    Log(done);
    events_.OnCluster({true, events::kOtherAutoscaler.reason, why});
    if (options_.write_status_configmap) {
      const auto written = status_.WriteExplanation(Explanation(plan, options_, planned_->scale_down), request.now);
      if (!written) waits_.Record("the explanation", written.error().message());
    }
    return options_.scan_interval;
  }

  base::Status LoadState() {
    std::string unreadable;
    EVENKEEL_ASSIGN(AutoscalerState state, store_.Load(cache_.objects(), unreadable));
    state_.emplace(std::move(state));
    if (unreadable.empty()) return {};
    base::log::Error("the autoscaler's memory cannot be read and begins anew; what was there is kept under another key",
                     {{"cluster", member_.name()}, {"error", unreadable}});
    events_.OnCluster({true, events::kAutoscalerStateUnreadable.reason,
                       std::string("ConfigMap ") + kStateConfigMap + " cannot be read, timers begin anew: " + unreadable});
    return {};
  }

  base::Result<providers::NodeGroups> AskProvider() {
    if (provider_ == nullptr) {
      EVENKEEL_ASSIGN(provider_, context_.provider(member_, options_));
    }
    const base::Instant began = clock_.Monotonic();
    auto groups = provider_->Refresh(cache_.objects().Nodes());
    context_.metrics->Took(member_.name(), "cloudProviderRefresh", clock_.Monotonic() - began);
    if (groups) answers_.Number(*groups);
    return groups;
  }

  base::Duration BackOff(const base::Error& error) {
    context_.metrics->Count(member_.name(), "errors_total", {{"type", "cloudProviderError"}});
    events_.OnCluster({true, events::kCloudProviderError.reason, "node groups cannot be read: " + error.message()});
    waits_.Record("the provider", error.message());
    pause_ = std::clamp(2 * pause_, options_.scan_interval, std::max(options_.scan_interval, kProviderPauseMax));
    return pause_;
  }

  base::Duration Act(providers::NodeGroups groups) {
    LoopRequest request;
    request.now = clock_.Now();
    request.uptime = clock_.Monotonic() - started_;
    request.deleting_empty = deletions_.Deleting(false);
    request.deleting_drain = deletions_.Deleting(true);
    request.clock = &clock_;
    if (context_.nodes_elsewhere) request.nodes_elsewhere = [this] { return AskElsewhere(); };
    last_.autoscaling = request.now;
    LoopRun loop(cache_.objects(), std::move(groups), options_, *expanders_, *state_, random_, request);
    while (const GroupChange* change = loop.Next()) loop.Answer(CarryOut(*change));
    LoopPlan plan = loop.Take();
    const base::Duration next = Follow(plan, request.now);
    state_->last_loop.Keep(std::move(plan));
    return next;
  }

  base::Duration Follow(const LoopPlan& plan, base::Time now) {
    Log(plan);
    events_.OfLoop(plan, cache_);
    CleanUp(plan);
    const bool deleting = StartDeletions(plan);
    if (!plan.scale_ups.empty()) last_.scale_up = now;
    if (const auto saved = store_.Save(*state_, cache_.objects(), now); !saved) {
      base::log::Warn("the autoscaler's memory could not be written", {{"cluster", member_.name()}, {"error", saved.error()}});
    }
    SetSoftTaints(plan);
    if (options_.write_status_configmap) WriteStatus(plan);
    CountLoop(plan, *state_, cache_.objects().templates(), member_.name(), *context_.metrics);
    const size_t pending = deletions_.Deleting(false).size() + deletions_.Deleting(true).size();
    context_.metrics->SetState(member_.name(), SamplesOf(plan, *state_, options_, pending, last_));
    if (!options_.frequent_loops_enabled) return options_.scan_interval;
    if (deleting || !plan.scale_ups.empty()) return kDebounce;
    // Pods that are too young to react to are not announced again.
    if (plan.decision == ScaleUpDecision::kInCooldown) return std::min(options_.scan_interval, kYoungPods);
    return options_.scan_interval;
  }

  NodesElsewhere AskElsewhere() {
    const bool now = !elsewhere_asked_ || clock_.Monotonic() - elsewhere_at_ >= kElsewhereAge;
    if (now) {
      elsewhere_ = context_.nodes_elsewhere(member_.name());
      elsewhere_at_ = clock_.Monotonic();
      elsewhere_asked_ = true;
    }
    return {elsewhere_, now};
  }

  void Log(const LoopPlan& plan) {
    for (const GroupChange& change : plan.changes) {
      base::log::Info("node group changes",
                      {{"cluster", member_.name()}, {"group", change.group}, {"delta", change.delta}, {"why", change.why}});
    }
    if (plan.notes == notes_) return;
    for (const std::string& note : plan.notes) {
      base::log::Info("left alone", {{"cluster", member_.name()}, {"what", note}});
    }
    notes_ = plan.notes;
  }

  base::Status CarryOut(const GroupChange& change) {
    for (const ClusterEvent& event : change.before) events_.OnCluster(event);
    const base::Status done = member_.Write("size of " + change.group, [&] { return Ask(change); });
    for (ClusterEvent event : done ? change.succeeded : change.failed) {
      if (!done) event.message += done.error().message();
      events_.OnCluster(event);
    }
    if (!done) context_.metrics->Count(member_.name(), "errors_total", {{"type", "cloudProviderError"}});
    return done;
  }

  /// An ability that the provider has not got is done without.
  base::Status Ask(const GroupChange& change) {
    const auto lacks = [](const base::Status& status) {
      return !status && status.error().code() == base::Code::kMethodNotAllowed;
    };
    switch (change.kind) {
      case GroupChange::Kind::kIncreaseSize: {
        base::Status done = provider_->IncreaseSize(change.group, change.delta, change.atomically);
        if (change.atomically && lacks(done)) done = provider_->IncreaseSize(change.group, change.delta, false);
        return done;
      }
      case GroupChange::Kind::kDecreaseTarget:
        return provider_->DecreaseTargetSize(change.group, change.delta);
      case GroupChange::Kind::kDeleteNodes:
        break;
    }
    std::vector<providers::NodeReference> nodes = change.nodes;
    for (providers::NodeReference& node : nodes) {
      const base::Json* object = node.name.empty() ? nullptr : cache_.objects().FindNode(node.name);
      if (object != nullptr) node.node = base::Json(*object, {});
    }
    base::Status done = provider_->DeleteNodes(change.group, nodes, change.force);
    if (change.force && lacks(done)) done = provider_->DeleteNodes(change.group, nodes, false);
    return done;
  }

  void CleanUp(const LoopPlan& plan) {
    for (const NodeCleanup& cleanup : plan.cleanup) {
      if (deletions_.Knows(cleanup.node)) continue;
      base::Status done;
      if (cleanup.to_be_deleted) done = Unmark(member_.client(), cleanup.node, cleanup.uncordon);
      if (done && cleanup.deletion_candidate) done = MarkCandidate(member_.client(), cleanup.node, false, clock_.Now());
      if (!done) {
        base::log::Warn("marks of a predecessor could not be taken off a node: tried again",
                        {{"cluster", member_.name()}, {"node", cleanup.node}, {"error", done.error()}});
        state_->cleaned_up = false;
      } else if (cleanup.to_be_deleted) {
        events_.OnNode(cleanup.node, cache_.NodeUid(cleanup.node),
                       {false, events::kClusterAutoscalerCleanup.reason, "marked the node as schedulable"});
      }
    }
  }

  DeletionOrder OrderFor(const LoopPlan& plan, const UnneededNode& node, bool drain) {
    const NodeFacts& facts = (*plan.view.nodes)[node.node];
    DeletionOrder order;
    order.node = facts.name;
    order.group = node.group->id;
    order.drain = drain;
    order.atomic = node.group->options.zero_or_max_node_scaling.value_or(false);
    if (const kube::Node* object = cache_.objects().NodeObject(node.node)) {
      order.kind = {GpusOf(*object, plan.view.groups.gpu_label),
                    DriverNames(CompletePools(plan.view.snapshot->SlicesFor(node.node)))};
    }
    order.reason = !facts.ready ? "unready" : drain ? "underutilized" : "empty";
    std::string pods;
    for (const MovedPod& moved : node.pods) {
      const std::string& key = plan.view.snapshot->PodKey(moved.pod);
      pods += (pods.empty() ? "" : ",") + key.substr(key.find('/') + 1);
    }
    const Utilization& used = node.utilization;
    order.description = fmt::format("utilization: {{{} {} {} {} {}}}, pods to reschedule: {}", used.cpu, used.memory, used.gpu,
                                    NameOf(used), used.value, pods);
    return order;
  }

  /// Whether any have begun.
  bool StartDeletions(const LoopPlan& plan) {
    std::vector<DeletionOrder> orders, begun;
    for (const bool drain : {false, true}) {
      for (const size_t index : drain ? plan.scale_down.delete_drain : plan.scale_down.delete_empty) {
        orders.push_back(OrderFor(plan, plan.scale_down.unneeded[index], drain));
      }
    }
    if (orders.empty()) return false;
    const base::Time now = plan.view.now.Read();
    const base::Status started = deletions_.Start(orders, begun);
    for (const DeletionOrder& order : begun) state_->scale_down.Deleted(order.group, now);
    if (!begun.empty()) last_.scale_down = now;
    if (!started) {
      for (const DeletionOrder& order : orders) state_->scale_down.Failed(order.group, now);
      context_.metrics->Count(member_.name(), "errors_total", {{"type", "apiCallError"}});
      base::log::Warn("scale-down could not begin", {{"cluster", member_.name()}, {"error", started.error()}});
    }
    return !begun.empty();
  }

  void NoteDeleted(const DeletionOrder& order) { state_->cluster.RegisterScaleDown(order.group, order.node, clock_.Now()); }

  void SetSoftTaints(const LoopPlan& plan) {
    const base::Instant began = clock_.Monotonic();
    for (const bool on : {false, true}) {
      for (const scheduling::NodeId node : on ? plan.scale_down.taint : plan.scale_down.untaint) {
        if (clock_.Monotonic() - began >= options_.max_bulk_soft_taint_time) break;
        const std::string& name = (*plan.view.nodes)[node].name;
        if (const auto done = MarkCandidate(member_.client(), name, on, plan.view.now.Read()); !done) {
          base::log::Warn("a soft taint could not be changed",
                          {{"cluster", member_.name()}, {"node", name}, {"error", done.error()}});
        }
      }
    }
    if (plan.scale_down.taint.empty() && plan.scale_down.untaint.empty()) return;
    context_.metrics->Took(member_.name(), "scaleDown:softTaintUnneeded", clock_.Monotonic() - began);
  }

  void WriteStatus(const LoopPlan& plan) {
    if (const auto written = status_.Write(plan.status, Explanation(plan, options_, state_->scale_down)); !written) {
      base::log::Warn("the status ConfigMap could not be written", {{"cluster", member_.name()}, {"error", written.error()}});
    }
  }

  const MemberAutoscalerContext context_;
  runtime::Member& member_;
  const Options& options_;
  base::Clock& clock_;
  base::Random random_;
  const base::Instant started_;
  ClusterCache cache_;
  AutoscalerEvents events_;
  StateStore store_;
  StatusWriter status_;
  runtime::RenewedLeases others_;
  std::optional<AutoscalerState> planned_;  // while another autoscaler is at work
  std::unique_ptr<providers::Provider> provider_;
  providers::AnswerNumbers answers_;
  NodeDeletions deletions_;
  std::optional<AutoscalerState> state_;
  std::optional<ExpanderChain> expanders_;
  base::Duration pause_{};  // between questions to a provider that fails
  runtime::RateLimitedLog waits_{clock_, "autoscaler waits", member_.name()};
  runtime::RateLimitedLog unseen_{clock_, "autoscaler goes on", member_.name()};
  std::vector<std::string> notes_;
  base::Result<std::map<std::string, std::string>> elsewhere_;
  base::Instant elsewhere_at_{};
  bool elsewhere_asked_ = false;
  LastActivity last_;
  base::Instant due_{};
  base::Timer timer_;
};

/// In the place of an autoscaler that cannot be made: what is wrong is to be seen in the member.
class RefusedAutoscaler final : public runtime::MemberController {
 public:
  RefusedAutoscaler(const MemberAutoscalerContext& context, runtime::Member& member, const base::Error& error)
      : options_(context.options),
        events_(member.client(), member.strand(), context.clock, context.random.Fork(member.name()), context.host, options_) {
    base::log::Error("the member has no autoscaler", {{"cluster", member.name()}, {"error", error}});
    member.strand()->Post([this, why = error.message()] {
      events_.OnCluster({true, events::kInvalidAutoscalerArgs.reason, "this cluster has no autoscaler: " + why});
    });
  }

 private:
  const Options options_;
  AutoscalerEvents events_;
};

}  // namespace

runtime::MemberControllerFactory NewMemberAutoscaler(MemberAutoscalerContext context) {
  return [context = std::move(context)](runtime::Member& member) -> std::unique_ptr<runtime::MemberController> {
    if (!context.options_of) return std::make_unique<MemberAutoscaler>(context, member);
    MemberAutoscalerContext own = context;
    const auto options = context.options_of(member.name());
    if (!options) return std::make_unique<RefusedAutoscaler>(own, member, options.error());
    if (options->cloud_provider.empty()) return nullptr;
    own.options = *options;
    return std::make_unique<MemberAutoscaler>(own, member);
  };
}

}  // namespace evenkeel::controllers::autoscaler
