#include "controllers/distribution/distributor/coordinated_distributor.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/log.h"
#include "client/definitions.h"
#include "controllers/distribution/sharding/distribution_metrics.h"
#include "kube/own_kinds.h"

namespace evenkeel::controllers::distribution {
namespace {

/// Changes that come together (many Secrets, several replicas) are looked at together.
constexpr base::Duration kChangesSettle = std::chrono::milliseconds(50);
/// How often the clock is looked at: replicas fall silent without an event.
constexpr base::Duration kTick = std::chrono::milliseconds(500);
/// Measurements come without an event.
constexpr base::Duration kRoutine = std::chrono::seconds(10);
constexpr base::Duration kDefinitionsRetry = std::chrono::seconds(2);
/// Without plan and Leases nobody leads: after an outage of the hub they are to be seen again soon.
constexpr base::Duration kBackoffMax = std::chrono::seconds(2);

}  // namespace

CoordinatedDistributor::CoordinatedDistributor(DistributorContext context)
    : context_(std::move(context)),
      options_(context_.options),
      clock_(context_.executor.clock()),
      identity_(options_.host_name + "-" + context_.random.Fork("identity").NameSuffix()),
      object_name_(ReplicaObjectName(identity_)),
      strand_(context_.executor.NewStrand("distribution/" + identity_)),
      heartbeat_(context_.executor.NewStrand("heartbeat/" + identity_)),
      events_(context_.hub, context_.executor.NewStrand("events/" + identity_), clock_, context_.random.Fork("events"),
              "evenkeel-distribution", options_.host_name),
      findings_(events_),
      settings_(options_, events_, context_.metrics, clock_),
      view_(identity_, options_.replica_lease_duration, clock_) {
  status_.health_error = "no plan has been applied yet";
  client::LeaseKeeperOptions lease;
  lease.ns = options_.ns;
  lease.name = object_name_;
  lease.identity = identity_;
  lease.lease_duration = lease.failure_deadline = options_.replica_lease_duration;
  lease.renew_period = options_.replica_lease_duration / 4;
  keeper_ = std::make_unique<client::LeaseKeeper>(
      context_.hub, lease, heartbeat_, clock_,
      client::LeaseKeeper::Callbacks{.lost = {}, .held = {}, .edit = [this](base::Json& object) {
                                       base::Ensure(object, {"metadata", "labels", kReplicaLabel}) = kReplicaLabelValue;
                                       settings_.WriteTo(object);
                                       base::Ensure(object, {"metadata", "annotations", kHostAnnotation}) = options_.host_name;
                                       base::Ensure(object, {"metadata", "annotations", kAppliedEpochAnnotation}) =
                                           std::to_string(applied_.load());
                                       base::Ensure(object, {"metadata", "annotations", kSettledAnnotation}) =
                                           settled_ ? "true" : "false";
                                       if (leaving_)
                                         base::Ensure(object, {"metadata", "annotations", kLeavingAnnotation}) = "true";
                                     }});
  ownership_ = std::make_unique<Ownership>(TenancyContext{context_.executor, options_, context_.connector,
                                                          context_.member_controllers, events_, context_.metrics, identity_},
                                           context_.random.Fork("members"), [this] { strand_->Post([this] { Report(); }); });
}

CoordinatedDistributor::~CoordinatedDistributor() {
  strand_->Close();
  heartbeat_->Close();
  tick_timer_.Cancel();
  reconcile_timer_.Cancel();
  report_timer_.Cancel();
}

void CoordinatedDistributor::Start() {
  heartbeat_->Post([this] { keeper_->Start(); });
  strand_->Post([this] { Begin(); });
}

void CoordinatedDistributor::Begin() {
  begun_ = clock_.Monotonic();
  const base::Random& random = context_.random;
  source_ = std::make_unique<ClusterSource>(context_.hub, options_, strand_, clock_, random, [this](std::string_view) {
    clusters_changed_ = true;
    Changed();
  });
  leases_ = std::make_unique<ObjectInformer>(context_.hub, kube::resources::Leases(),
                                             client::InformerOptions{options_.ns, ReplicaLeaseSelector(), "", kBackoffMax},
                                             strand_, clock_, random.Fork("leases"));
  leases_->AddHandler([this](const auto& before, const auto& after) {
    const auto& object = after ? after : before;
    settings_.See(object->meta.name, after ? &*after->json : nullptr);
    const auto label = object->meta.labels.find(kReplicaLabel);
    if (label == object->meta.labels.end() || label->second != kReplicaLabelValue) return;
    view_.See(object->meta.name, after ? &*after->json : nullptr, !leases_->synced());
    LookAtReplicas();
  });
  plans_ = std::make_unique<ObjectInformer>(
      context_.hub, ShardPlans(),
      client::InformerOptions{options_.ns, "", std::string("metadata.name=") + kShardPlanName, kBackoffMax}, strand_, clock_,
      random.Fork("plans"));
  plans_->AddHandler([this](const auto&, const auto& after) { SeePlan(after ? &*after->json : nullptr); });
  source_->Start();
  leases_->Start();
  PrepareHub();
  Tick();
}

/// What has to be known of the hub, and to be there, before anything can be planned.
void CoordinatedDistributor::PrepareHub() {
  if (PreparedHub()) {
    ready_ = true;
    plans_->Start();
    return;
  }
  tick_timer_ = strand_->PostAfter(kDefinitionsRetry, [this] {
    PrepareHub();
    Tick();
  });
}

bool CoordinatedDistributor::PreparedHub() {
  auto fleet = ApiIdentity(context_.hub);
  if (!fleet) {
    TellOnce("cannot read who the hub is", fleet.error());
    return false;
  }
  context_.options.fleet = *std::move(fleet);
  // The plan's kinds come with Evenkeel: whoever is first makes them.
  for (const base::Json& definition : {kube::OwnDefinition("shardplans"), kube::OwnDefinition("shardreplicas")}) {
    const auto installed = client::InstallDefinition(context_.hub, definition);
    // Whoever may not even look for definitions has been given them.
    if (installed || installed.error().code() == base::Code::kForbidden) continue;
    TellOnce("cannot make the kind " + std::string(kube::NameOf(definition)), installed.error());
    return false;
  }
  return true;
}

/// Members are not left alone because the hub does not say which Karmada Clusters there are.
bool CoordinatedDistributor::Synced() const {
  return ready_ && (source_->synced() || source_->KarmadaFailure()) && leases_->synced() && plans_->synced();
}

void CoordinatedDistributor::Changed() {
  if (std::exchange(reconcile_posted_, true)) return;
  reconcile_timer_ = strand_->PostAfter(kChangesSettle, [this] {
    reconcile_posted_ = false;
    Reconcile();
  });
}

void CoordinatedDistributor::SeePlan(const base::Json* object) {
  if (object == nullptr) {
    // The plan itself is still what everybody follows: the leader writes it again.
    plan_object_.reset();
    plan_again_ = true;
    return Changed();
  }
  if (plan_object_ && client::IsOlderVersion(kube::ResourceVersionOf(*object), kube::ResourceVersionOf(*plan_object_))) return;
  plan_object_ = base::Json(*object, {});
  plan_ = PublishedPlan::Decode(*object);
  epoch_floor_ = std::max(epoch_floor_, plan_.epoch);
  plan_again_ = follow_again_ = true;
  Changed();
}

/// Renewals come all the time; only who comes, goes, leaves or can lead matters.
void CoordinatedDistributor::LookAtReplicas() {
  const bool settled = view_.settled();
  if (settled_.exchange(settled) != settled) keeper_->RenewNow();
  std::vector<LiveReplica> live = view_.sees() ? view_.Live() : std::vector<LiveReplica>{};
  if (live == live_) return;
  live_ = std::move(live);
  // While nothing is seen of the others nothing is known of them; the wait has its own end.
  if (leaving_ && view_.sees() && !OthersStay()) ownership_->StopWaiting();
  plan_again_ = true;
  Changed();
}

bool CoordinatedDistributor::OthersStay() const {
  return std::ranges::any_of(live_,
                             [this](const LiveReplica& replica) { return replica.identity != identity_ && !replica.leaving; });
}

void CoordinatedDistributor::Tick() {
  if (!ready_ || stopping_) return;
  tick_timer_ = strand_->PostAfter(kTick, [this] { Tick(); });
  if (!Synced()) return;
  LookAtReplicas();
  const base::Instant now = clock_.Monotonic();
  if (now - routine_ >= kRoutine) {
    routine_ = now;
    plan_again_ = true;
    follow_again_ = follow_again_ || !lingering_.empty();
    Report();
  }
  if (source_->synced() != known_) Changed();
  if (plan_again_ || (lead_again_ && *lead_again_ <= now)) {
    plan_again_ = true;
    Changed();
  }
}

void CoordinatedDistributor::Reconcile() {
  if (stopping_ || !Synced()) return;
  // What is not known is what it was in the plan.
  const bool known = source_->synced();
  if (std::exchange(known_, known) != known || (!known && follow_again_)) clusters_changed_ = true;
  if (std::exchange(clusters_changed_, false)) ReadClusters();
  if (std::exchange(plan_again_, false)) {
    const bool leads = Leads();
    {
      std::lock_guard lock(mutex_);
      status_.leading = leads;
    }
    if (leads) {
      Lead();
    } else {
      findings_.Report(cluster_findings_, false);
      weights_.clear();
      owners_.clear();
    }
    settings_.Report(leads);
    PublishLeader(leads);
  }
  if (std::exchange(follow_again_, false)) Follow();
  Publish();
}

void CoordinatedDistributor::ReadClusters() {
  constexpr char kNotKnown[] = "which Karmada Clusters there are is not known: those of the plan keep their places";
  cluster_findings_.clear();
  clusters_ = source_->Read(plan_.assignments, cluster_findings_);
  if (context_.clusters_read) context_.clusters_read(clusters_);
  plan_again_ = follow_again_ = true;
  if (const auto failure = source_->KarmadaFailure()) return TellOnce(kNotKnown, *failure);
  told_errors_.erase(kNotKnown);
}

void CoordinatedDistributor::Follow() {
  if (plan_.epoch == 0) return;
  std::map<std::string, TenancyReport> present;
  for (TenancyReport& report : ownership_->Reports()) present.emplace(report.server, std::move(report));
  std::erase_if(lingering_, [&](const auto& entry) { return !present.contains(entry.first); });
  std::map<std::string, Wanted> wanted;
  for (const Cluster& cluster : clusters_) {
    const PublishedPlan::Assignment* assignment = plan_.Find(cluster.server);
    if (assignment == nullptr || cluster.skip_reconcile) continue;
    const auto tenancy = present.find(cluster.server);
    const MemberRole role = RoleFor(*assignment, tenancy == present.end() ? nullptr : &tenancy->second);
    if (role == MemberRole::kNone) continue;
    const DesiredRole desired{.role = role, .epoch = assignment->epoch, .wait_for_successor = true};
    wanted[cluster.server] = {
        .cluster = cluster, .desired = desired, .shard = assignment->shard, .why = fmt::format("plan {}", assignment->epoch)};
  }
  for (const PublishedPlan::Move& move : plan_.moves) {
    for (auto& [server, want] : wanted) {
      if (want.cluster.name == move.cluster && want.desired.epoch == move.epoch) want.why += ": " + move.reason;
    }
  }
  const int64_t epoch = plan_.epoch;
  ownership_->Follow(std::move(wanted), "it is no longer part of the fleet",
                     [this, epoch] { strand_->Post([this, epoch] { Applied(epoch); }); });
}

/// What the plan says; and whoever held a member, waited for it or stood by goes on standing by for a while: plans may follow
/// one another faster than a Lease runs out, and whoever comes new begins to wait afresh.
MemberRole CoordinatedDistributor::RoleFor(const PublishedPlan::Assignment& assignment, const TenancyReport* present) {
  const PublishedPlan::Shard* owner = plan_.FindShard(assignment.shard);
  const PublishedPlan::Shard* standby = plan_.FindShard(assignment.standby);
  const bool owns = owner != nullptr && owner->replica == identity_;
  if (owns || (standby != nullptr && standby->replica == identity_)) {
    lingering_.erase(assignment.server);
    return owns ? MemberRole::kOwner : MemberRole::kStandby;
  }
  if (present == nullptr) return MemberRole::kNone;
  const base::Instant now = clock_.Monotonic();
  const base::Instant since = lingering_.try_emplace(assignment.server, now).first->second;
  const bool over = now - since >= 2 * (options_.lease_duration + options_.lease_margin);
  return over && !present->lease.holding ? MemberRole::kNone : MemberRole::kStandby;
}

void CoordinatedDistributor::Applied(int64_t epoch) {
  if (applied_.exchange(epoch) == epoch) return;
  keeper_->RenewNow();
  Publish();
  Report();
}

void CoordinatedDistributor::Stop(std::function<void()> done) {
  leaving_ = true;
  keeper_->RenewNow();
  strand_->Post([this, done = std::move(done)]() mutable {
    LookAtReplicas();
    Leave(OthersStay(), std::move(done));
  });
}

void CoordinatedDistributor::Leave(bool others, std::function<void()> done) {
  ownership_->HandOver(others, options_.handover, [this, done = std::move(done)] {
    heartbeat_->Post([this] { keeper_->Stop(); });
    strand_->Post([this, done] {
      stopping_ = true;
      tick_timer_.Cancel();
      // The Lease first: without it the members are nobody's, should a successor not have asked for them in time.
      for (const kube::Resource* resource : {&kube::resources::Leases(), &ShardReplicas()}) {
        const auto removed = context_.hub.Delete(*resource, options_.ns, object_name_);
        if (!removed && removed.error().code() != base::Code::kNotFound) {
          base::log::Warn("could not be removed and will be by the leader",
                          {{"object", resource->kind + " " + object_name_}, {"error", removed.error()}});
          break;
        }
      }
      done();
    });
  });
}

base::Status CoordinatedDistributor::Health() const {
  if (!keeper_->holds()) {
    return base::Fail(base::Code::kUnavailable, "the Lease of this replica on the hub has not been renewed");
  }
  std::lock_guard lock(mutex_);
  if (status_.health_error.empty()) return {};
  return base::Fail(base::Code::kUnavailable, status_.health_error);
}

DistributorStatus CoordinatedDistributor::status() const {
  DistributorStatus status;
  {
    std::lock_guard lock(mutex_);
    status = status_;
  }
  status.assigned = ownership_->Assigned();
  status.owned = ownership_->Owned();
  if (status.health_error.empty() && !keeper_->holds()) status.health_error = Health().error().message();
  return status;
}

void CoordinatedDistributor::Publish() {
  const PublishedPlan::Shard* own = plan_.ShardOf(identity_);
  std::lock_guard lock(mutex_);
  status_.synced = Synced();
  status_.replicas = static_cast<int64_t>(plan_.shards.size());
  status_.shard = own == nullptr ? -1 : own->shard;
  status_.epoch = applied_;
  status_.health_error = own == nullptr ? "no plan has been applied yet" : "";
  base::GaugeOf(context_.metrics, metrics::kEpoch).Set(static_cast<double>(applied_));
  base::GaugeOf(context_.metrics, metrics::kShard).Set(static_cast<double>(status_.shard));
}

void CoordinatedDistributor::TellOnce(const std::string& what, const base::Error& error) {
  if (std::exchange(told_errors_[what], error.message()) != error.message()) base::log::Warn(what, {{"error", error}});
}

}  // namespace evenkeel::controllers::distribution
