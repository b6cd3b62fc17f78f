#include "controllers/balancer/member_balancer.h"

#include <algorithm>

#include "base/log.h"
#include "client/event_recorder.h"
#include "controllers/balancer/event_kinds.h"
#include "controllers/balancer/execution.h"
#include "controllers/balancer/kinds.h"
#include "controllers/balancer/member_cluster.h"
#include "controllers/balancer/plan_store.h"
#include "controllers/balancer/planning.h"
#include "controllers/balancer/policy_status.h"
#include "controllers/runtime/eviction.h"
#include "controllers/runtime/rate_limited_log.h"
#include "controllers/runtime/renewed_leases.h"

namespace evenkeel::controllers::balancer {
namespace {

/// Caches are usually filled by then, also in a large member.
constexpr base::Duration kUsualSync = std::chrono::seconds(30);

using base::Json;
using base::JsonObject;
using namespace std::chrono_literals;

/// So that caches hear of what has just been written.
constexpr base::Duration kDebounce = 100ms;
constexpr base::Duration kSyncPoll = 1s;
constexpr base::Duration kScan = 10s;
/// While a plan is under way: pods come and go within seconds.
constexpr base::Duration kExecutionScan = 1s;
constexpr base::Duration kEvictionRetry = 5s;
constexpr base::Duration kUsageInterval = 30s;

class MemberBalancer final : public runtime::MemberController {
 public:
  MemberBalancer(const MemberBalancerContext& context, runtime::Member& member)
      : context_(context),
        member_(member),
        clock_(context_.clock),
        random_(context_.random.Fork(member.name())),
        objects_(member.feed().mirror()),
        policies_(member.client(), BalancingPolicies(), {}, member.strand(), clock_, random_.Fork("policies")),
        plans_(member.client(), member.feed()),
        recorder_(member.client(), member.strand(), clock_, random_.Fork("events"), "evenkeel-balancer", context_.host),
        policy_status_(member.client(), clock_),
        deschedulers_(member.client(), clock_, {"descheduler"}) {
    member.feed().Read(ReadKinds());
    context_.metrics->Begin(member.name());
    member.strand()->Post([this] { Schedule(kDebounce); });
  }
  ~MemberBalancer() override { context_.metrics->Forget(member_.name()); }

 private:
  void Schedule(base::Duration delay) {
    timer_ = member_.strand()->PostAfter(delay, [this] { Schedule(Turn()); });
  }

  base::Duration Turn() {
    if (!installed_) {
      if (const auto installed = InstallDefinitions(member_.client()); !installed) {
        waits_.Record("its kinds", installed.error().message());
        return kScan;
      }
      installed_ = true;
      policies_.Start();
    }
    if (const std::string missing = Missing(); !missing.empty()) {
      waits_.Record("caches", "not everything has been listed yet: " + missing, kUsualSync);
      return kSyncPoll;
    }
    ReadPolicies();
    ReadUsage();
    TellMetrics();
    return Act();
  }

  /// "pods, nodes (connection refused)": what has not been listed yet and why.
  std::string Missing() {
    if (std::string missing = member_.feed().Missing(ReadKinds()); !missing.empty()) return missing;
    if (!policies_.synced()) return BalancingPolicies().kind;
    return plans_.Missing();
  }

  /// The first valid one by name is in force.
  void ReadPolicies() {
    policy_.reset();
    for (const auto& [name, object] : policies_.items()) {
      auto parsed = ParsePolicy(*object->json);
      const bool in_force = parsed && !policy_;
      if (const auto told = policy_status_.TellValidity(*object->json, parsed, in_force, policy_ ? policy_->name : ""); !told) {
        waits_.Record("the status of policy " + name, told.error().message());
      }
      if (in_force) policy_ = *std::move(parsed);
    }
  }

  void ReadUsage() {
    if (!policy_ || !policy_->UsesUsage()) {
      usage_.clear();
      usage_error_.clear();
      return;
    }
    const base::Instant now = clock_.Monotonic();
    if (usage_read_ && now - *usage_read_ < kUsageInterval) return;
    usage_read_ = now;
    auto page = client::ListAll(member_.client(), PodMetrics());
    usage_.clear();
    usage_error_.clear();
    if (page) {
      usage_ = DecodeUsage(page->items);
    } else {
      usage_error_ = page.error().message();
      waits_.Record("the metrics API; requests count meanwhile", usage_error_);
    }
  }

  void TellMetrics() {
    if (!policy_) return;
    const base::Instant now = clock_.Monotonic();
    if (metrics_told_ && metrics_told_->first == policy_->version && now - metrics_told_->second < kScan) return;
    metrics_told_ = {policy_->version, now};
    const auto object = policies_.Get(policy_->name);
    if (object == nullptr) return;
    const MetricFault fault = FindMetricFault(*policy_, objects_, usage_, usage_error_);
    if (const auto told = policy_status_.TellMetrics(*object->json, fault); !told) {
      waits_.Record("the status of policy " + policy_->name, told.error().message());
    }
  }

  base::Duration Act() {
    const std::vector<PlanObject> plans = plans_.All();
    if (const PlanObject* current = PlanStore::Current(plans); current != nullptr) {
      const PlanPhase phase = Execute(*current, plans);
      SetMetrics(plans);
      if (phase == PlanPhase::kExecuting) return kExecutionScan;
      // A plan that nobody approves is made anew when it would be another one; one that is not needed any more is withdrawn.
      if (phase == PlanPhase::kPending) return kScan;
      return kDebounce;
    }
    plans_.Prune(plans, MemoryOfMoves(policy_ ? *policy_ : Policy{}), clock_.Now(),
                 [this](const base::Error& error) { waits_.Record("old plans", error.message()); });
    if (!policy_) {
      state_ = {};
      SetMetrics(plans);
      return kScan;
    }
    return MakePlanIfDue(plans);
  }

  PlanPhase Execute(const PlanObject& current, const std::vector<PlanObject>& plans) {
    const PastMoves past(plans);
    const Policy* policy = policy_ && policy_->name == current.policy ? &*policy_ : nullptr;
    ExecutionStep step = Advance(current, {objects_, policy, past, clock_.Now()});
    if (step.plan.state == PlanPhase::kPending && !step.plan.approved && policy != nullptr && !policy->dry_run) {
      step.plan.state = PlanPhase::kRefused;
      step.plan.message = "the policy is no dry run any more";
      step.plan.finished_at = clock_.Now();
    }
    // The intent first: whoever finds it goes on from there.
    if (!step.plan.SameStatus(current) && !Write(step.plan)) return PlanPhase::kExecuting;
    const PlanObject intended = step.plan;
    for (const size_t i : step.evict) Evict(step.plan, i);
    if (!step.plan.SameStatus(intended) && !Write(step.plan)) return PlanPhase::kExecuting;
    for (const MoveNews& news : step.news) Record(step.plan, news);
    if (step.plan.state != current.state) RecordPhase(step.plan);
    return step.plan.state;
  }

  bool Write(PlanObject& plan) {
    const auto written = plans_.WriteStatus(plan);
    if (!written && written.error().code() != base::Code::kConflict) {
      waits_.Record("plan " + plan.name, written.error().message());
    }
    return written.has_value();
  }

  void Evict(PlanObject& plan, size_t i) {
    const PlannedMove& move = plan.moves[i];
    const base::Instant now = clock_.Monotonic();
    const auto tried = tried_.find(move.pod_uid);
    if (tried != tried_.end() && now - tried->second < kEvictionRetry) return;
    tried_[move.pod_uid] = now;
    std::string ns, name;
    kube::SplitKey(move.pod, ns, name);
    const auto answer = member_.client().Post(kube::resources::Pods(), ns, name, "eviction",
                                              runtime::EvictionOf(ns, name, move.pod_uid, std::nullopt));
    const base::Status status = answer ? base::Status() : base::Fail(answer.error());
    const bool budget = !answer && answer.error().code() == base::Code::kTooManyRequests;
    context_.metrics->CountEviction(member_.name(), answer ? "succeeded" : budget ? "refused" : "failed");
    NoteEviction(plan, i, status, clock_.Now());
    if (!answer) return;
    tried_.erase(move.pod_uid);
    OnPod(move, false, events::kBalancerEvicted.reason, "leaves " + move.from + " for " + move.to + ": " + move.reason);
  }

  void OnPod(const PlannedMove& move, bool warning, std::string_view reason, const std::string& text) {
    std::string ns, name;
    kube::SplitKey(move.pod, ns, name);
    const Json about = JsonObject{{"apiVersion", "v1"},
                                  {"kind", "Pod"},
                                  {"metadata", JsonObject{{"namespace", ns}, {"name", name}, {"uid", move.pod_uid}}}};
    warning ? recorder_.Warning(about, reason, text) : recorder_.Normal(about, reason, text);
  }

  void Record(const PlanObject& plan, const MoveNews& news) {
    const MoveStatus& status = plan.status[news.move];
    OnPod(plan.moves[news.move], news.warning, news.reason, news.text);
    context_.metrics->CountMove(member_.name(), std::string(Name(status.state)));
    base::log::Info("pod moved", {{"cluster", member_.name()},
                                  {"plan", plan.name},
                                  {"pod", plan.moves[news.move].pod},
                                  {"state", Name(status.state)},
                                  {"what", news.text}});
  }

  void RecordPhase(const PlanObject& plan) {
    if (IsFinal(plan.state)) context_.metrics->CountPlan(member_.name(), std::string(Name(plan.state)));
    const bool warning = plan.state == PlanPhase::kRefused || plan.state == PlanPhase::kFailed;
    OnPolicy(warning, "Plan" + std::string(Name(plan.state)), "plan " + plan.name + ": " + plan.message);
  }

  void OnPolicy(bool warning, const std::string& reason, const std::string& text) {
    if (!policy_) return;
    const Json about = JsonObject{{"apiVersion", BalancingPolicies().ApiVersion()},
                                  {"kind", BalancingPolicies().kind},
                                  {"metadata", JsonObject{{"name", policy_->name}, {"uid", policy_->uid}}}};
    warning ? recorder_.Warning(about, reason, text) : recorder_.Normal(about, reason, text);
  }

  /// Outside of the policy's windows, or since a descheduler at work would move what has just been moved; a plan that waits for
  /// approval moves nothing by itself.
  std::string WhyNotNow() {
    if (policy_->dry_run) return "";
    if (std::string why = WhyOutside(policy_->windows, clock_.Now()); !why.empty()) return why;
    const auto found = deschedulers_.Look();
    if (!found) {
      waits_.Record("Leases; no descheduler is seen meanwhile", found.error().message());
      return "";
    }
    return found->lease.empty() ? "" : "a descheduler is at work: " + found->lease + " is renewed";
  }

  base::Duration MakePlanIfDue(const std::vector<PlanObject>& plans) {
    const base::Time now = clock_.Now();
    tried_.clear();
    SetMetrics(plans);
    if (!planning_.Due(*policy_, now)) return kExecutionScan;
    if (const std::string why = objects_.WhyRoomIsShort(); !why.empty()) {
      TellOutlook("Waiting", why, nullptr);
      return kScan;
    }
    if (const std::string why = WhyNotNow(); !why.empty()) {
      TellOutlook("Waiting", why, nullptr);
      return kScan;
    }
    const PastMoves past(plans);
    Outlook outlook = planning_.Look({objects_, *policy_, usage_, past, now}, plans);
    state_.policy = true;
    state_.balanced = outlook.balanced;
    state_.deviation = outlook.deviation;
    state_.nodes = static_cast<double>(outlook.member.cluster.nodes.size());
    state_.pods = static_cast<double>(outlook.member.cluster.replicas.size());
    state_.movable_pods = state_.pods - static_cast<double>(outlook.member.fixed.size());
    SetMetrics(plans);
    if (outlook.made) {
      const auto created = plans_.Create(*outlook.made, now);
      if (created) {
        OnPolicy(false, events::kPlanMade.reason,
                 "plan " + outlook.made->name + ": " + std::to_string(outlook.made->moves.size()) + " moves, deviation " +
                     std::to_string(outlook.made->deviation_before) + " to " + std::to_string(outlook.made->deviation_after));
      } else {
        planning_.NotWritten();
        waits_.Record("a new plan", created.error().message());
      }
    }
    TellOutlook(outlook.balanced ? "Balanced" : "Imbalanced", outlook.balance_text, &outlook);
    if (outlook.made) return kDebounce;
    // A phase that a throttle holds up stays due; it need not be looked at every second.
    return std::clamp(std::min(policy_->balancing_interval, policy_->constraint_check_interval), kExecutionScan, kScan);
  }

  void TellOutlook(const std::string& reason, const std::string& text, const Outlook* outlook) {
    const auto object = policies_.Get(policy_->name);
    if (object == nullptr) return;
    if (const auto told = policy_status_.TellBalance(*object->json, reason, text, outlook); !told) {
      waits_.Record("the status of policy " + policy_->name, told.error().message());
    }
  }

  void SetMetrics(const std::vector<PlanObject>& plans) {
    state_.policy = policy_.has_value();
    state_.moves_in_flight = 0;
    for (const PlanObject& plan : plans) {
      for (const MoveStatus& status : plan.status) state_.moves_in_flight += IsInFlight(status.state) ? 1 : 0;
    }
    context_.metrics->SetState(member_.name(), state_);
  }

  const MemberBalancerContext context_;
  runtime::Member& member_;
  base::Clock& clock_;
  base::Random random_;
  MemberObjects objects_;
  client::Informer<kube::Object> policies_;
  PlanStore plans_;
  client::EventRecorder recorder_;
  PolicyStatus policy_status_;
  runtime::RenewedLeases deschedulers_;
  Planning planning_;
  bool installed_ = false;
  std::optional<Policy> policy_;
  PodUsage usage_;
  std::string usage_error_;  ///< why there is none although the policy looks at it
  std::optional<base::Instant> usage_read_;
  std::optional<std::pair<uint64_t, base::Instant>> metrics_told_;  // of which version of the policy, and when
  std::map<std::string, base::Instant> tried_;                      // evictions that were refused, by the pod's uid
  BalancerMetrics::State state_;
  runtime::RateLimitedLog waits_{clock_, "balancer waits", member_.name()};
  base::Timer timer_;
};

}  // namespace

runtime::MemberControllerFactory NewMemberBalancer(MemberBalancerContext context) {
  return [context = std::move(context)](runtime::Member& member) -> std::unique_ptr<runtime::MemberController> {
    return std::make_unique<MemberBalancer>(context, member);
  };
}

}  // namespace evenkeel::controllers::balancer
