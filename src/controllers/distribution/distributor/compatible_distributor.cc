#include "controllers/distribution/distributor/compatible_distributor.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "controllers/distribution/sharding/distribution_metrics.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution {
namespace {

/// Changes that come together (a Deployment and its ConfigMap, many Secrets) are looked at together.
constexpr base::Duration kSettle = std::chrono::milliseconds(50);
constexpr base::Duration kNotSyncedRetry = std::chrono::milliseconds(200);
/// Heartbeats are written in whole seconds, and clocks differ a little: stop acting this much before others may take over.
constexpr base::Duration kFenceMargin = std::chrono::seconds(2);
constexpr base::Duration kFailedRetry = std::chrono::seconds(2);
constexpr char kHeartbeatLost[] = "the heartbeat could not be written";

const kube::Resource& ArgoApplications() {
  static const kube::Resource resource = kube::MakeResource("argoproj.io/v1alpha1", "Application", "applications");
  return resource;
}

}  // namespace

CompatibleDistributor::CompatibleDistributor(DistributorContext context)
    : context_(std::move(context)),
      options_(context_.options),
      clock_(context_.executor.clock()),
      claimer_(context_.hub, options_, clock_),
      strand_(context_.executor.NewStrand("distribution/" + options_.host_name)),
      fencing_(context_.executor.NewStrand("fencing/" + options_.host_name)),
      events_(context_.hub, context_.executor.NewStrand("events/" + options_.host_name), clock_, context_.random.Fork("events"),
              "evenkeel-distribution", options_.host_name),
      findings_(events_),
      settings_(options_, events_, context_.metrics, clock_),
      // Two processes of one host name would be one holder of a fence: each gets a name of its own.
      identity_(options_.host_name + "_" + context_.random.Fork("identity").Uuid()),
      lease_name_(ReplicaObjectName(identity_)),
      lease_strand_(context_.executor.NewStrand("lease/" + options_.host_name)) {
  if (!options_.quirks.healthy_before_first_claim) status_.health_error = "no shard has been claimed yet";
  client::LeaseKeeperOptions lease;
  lease.ns = options_.ns;
  lease.name = lease_name_;
  lease.identity = identity_;
  keeper_ = std::make_unique<client::LeaseKeeper>(
      context_.hub, lease, lease_strand_, clock_,
      client::LeaseKeeper::Callbacks{.lost = {}, .held = {}, .edit = [this](base::Json& object) {
                                       base::Ensure(object, {"metadata", "labels", kReplicaLabel}) = kCompatibleLabelValue;
                                       base::Ensure(object, {"metadata", "annotations", kHostAnnotation}) = options_.host_name;
                                       settings_.WriteTo(object);
                                     }});
  ownership_ = std::make_unique<Ownership>(TenancyContext{context_.executor, options_, context_.connector,
                                                          context_.member_controllers, events_, context_.metrics, identity_},
                                           context_.random.Fork("members"), [] {});
}

CompatibleDistributor::~CompatibleDistributor() {
  strand_->Close();
  fencing_->Close();
  lease_strand_->Close();
  heartbeat_timer_.Cancel();
  reconcile_timer_.Cancel();
  fence_timer_.Cancel();
  silence_timer_.Cancel();
}

void CompatibleDistributor::Start() {
  lease_strand_->Post([this] { keeper_->Start(); });
  strand_->Post([this] {
    Watch();
    Heartbeat();
  });
}

void CompatibleDistributor::Stop(std::function<void()> done) {
  // Members first: nobody may take over while this replica still acts.
  ownership_->HandOver(false, options_.handover, [this, done = std::move(done)] {
    lease_strand_->Post([this] { keeper_->Stop(); });
    strand_->Post([this, done] {
      stopping_ = true;
      (void)context_.hub.Delete(kube::resources::Leases(), options_.ns, lease_name_);
      heartbeat_timer_.Cancel();
      if (options_.dynamic && claimed_once_ && !options_.quirks.no_release) {
        if (auto released = claimer_.Release(); !released) {
          base::log::Warn("the claim could not be released and will expire", {{"error", released.error()}});
        }
      }
      done();
    });
  });
}

void CompatibleDistributor::Watch() {
  const base::Random& random = context_.random;
  auto make = [&](const kube::Resource& resource, client::InformerOptions options, const char* name) {
    return std::make_unique<ObjectInformer>(context_.hub, resource, std::move(options), strand_, clock_, random.Fork(name));
  };
  clusters_ = std::make_unique<ClusterSource>(context_.hub, options_, strand_, clock_, random,
                                              [this](std::string_view what) { Changed(what); });
  if (options_.method == Method::kConsistentHashing) {
    applications_ = make(ArgoApplications(), {}, "applications");
    applications_->AddHandler([this](const auto&, const auto&) { Changed("Applications changed"); });
    applications_->Start();
  }
  if (options_.dynamic) {
    deployments_ =
        make(kube::resources::Deployments(), {options_.ns, "", "metadata.name=" + options_.controller_name}, "deployment");
    config_maps_ =
        make(kube::resources::ConfigMaps(), {options_.ns, "", "metadata.name=" + std::string(kShardConfigMap)}, "claims");
    deployments_->AddHandler([this](const auto&, const auto& after) {
      if (after == nullptr || options_.quirks.frozen_replicas) return;
      if (base::FindInt(*after->json, {"spec", "replicas"}, replicas_) != replicas_) ScheduleHeartbeat({});
    });
    config_maps_->AddHandler([this](const auto&, const auto& after) {
      if (after != nullptr) claimer_.See(*after->json);
      ShardFreed();
    });
    deployments_->Start();
    config_maps_->Start();
  }
  leases_ = make(kube::resources::Leases(), {options_.ns, ReplicaLeaseSelector(), ""}, "leases");
  leases_->AddHandler([this](const auto& before, const auto& after) {
    SeeReplica((after ? after : before)->meta.name, after ? &*after->json : nullptr);
  });
  leases_->Start();
  clusters_->Start();
}

/// Called at least as often as this replica renews its own Lease.
void CompatibleDistributor::SeeReplica(const std::string& name, const base::Json* lease) {
  settings_.See(name, lease);
  if (stopping_ || name != lease_name_) return;
  const bool tells = shard_ == 0;
  settings_.Report(tells);
  if (!tells) return;
  for (const std::string& gone : settings_.GoneFor(kTraceAge)) {
    (void)context_.hub.Delete(kube::resources::Leases(), options_.ns, gone);
  }
}

bool CompatibleDistributor::Synced() const {
  return clusters_->synced() && (!applications_ || SyncedOrAbsent(*applications_)) &&
         (!deployments_ || (deployments_->synced() && config_maps_->synced()));
}

void CompatibleDistributor::Changed(std::string_view what) {
  if (cause_.empty()) cause_ = what;
  if (reconcile_posted_) return;
  reconcile_posted_ = true;
  reconcile_timer_ = strand_->PostAfter(kSettle, [this] {
    reconcile_posted_ = false;
    Reconcile();
  });
}

/// As last seen; none where there is no ConfigMap.
base::Result<std::vector<ShardClaim>> CompatibleDistributor::Claims() const {
  const auto config_map = config_maps_ ? config_maps_->Get(options_.ns + "/" + std::string(kShardConfigMap)) : nullptr;
  if (config_map == nullptr) return std::vector<ShardClaim>{};
  return ParseShardMapping(base::FindString(*config_map->json, {"data", kShardMappingKey}));
}

/// The claims changed: if this replica has no shard and one is free, or it has lost its claim, it need not wait for its next
/// turn.
void CompatibleDistributor::ShardFreed() {
  if (!claimed_once_) return;
  const auto soon = context_.random.Between(base::Duration{}, base::Duration(std::chrono::milliseconds(200)));
  const auto claims = Claims();
  if (!claims || claims->empty() || !CheckShardMapping(*claims).empty()) return ScheduleHeartbeat(soon);
  bool free = false;
  std::optional<int64_t> mine;
  std::string holder;
  for (const ShardClaim& claim : *claims) {
    free = free || claim.controller.empty();
    if (claim.controller == options_.host_name) mine = claim.shard;
    if (claim.shard == shard_) holder = claim.controller;
  }
  if (shard_ < 0 ? !free : holder == options_.host_name) return;
  if (options_.shard >= 0 && shard_ >= 0 && !mine) {
    // Whoever asks for a shard by number takes it from anybody: two who ask for the same would write without end if each
    // answered at once. The one that lost it lets go and waits for its turn; beyond the replicas there is nothing to hold.
    if (holder.empty()) return;
    cause_ = fmt::format("{} took shard {}", holder, shard_);
    shard_ = -1;
    return Reconcile();
  }
  ScheduleHeartbeat(soon);
}

void CompatibleDistributor::ScheduleHeartbeat(base::Duration delay) {
  heartbeat_timer_ = strand_->PostAfter(delay, [this] { Heartbeat(); });
}

/// Time until this replica must have let go of its members, not above zero when that time has come. With `mutex_` held.
base::Duration CompatibleDistributor::UntilFence() const {
  return last_heartbeat_ + 3 * options_.heartbeat - kFenceMargin - clock_.Monotonic();
}

bool CompatibleDistributor::HeartbeatExpired() const {
  if (!options_.dynamic || !claimed_once_) return false;
  std::lock_guard lock(mutex_);
  return UntilFence() <= base::Duration::zero();
}

/// Others may take over soon. The strand may be waiting for a hub that hangs, so this does not wait for it.
void CompatibleDistributor::Fence() {
  bool let_go = false;
  {
    std::lock_guard lock(mutex_);
    if (UntilFence() > base::Duration::zero()) return;
    status_.health_error = kHeartbeatLost;
    let_go = !options_.quirks.keeps_clusters_without_heartbeat;
    fenced_ = let_go;
  }
  if (let_go) {
    base::log::Warn("clusters are let go", {{"why", kHeartbeatLost}});
    ownership_->Follow({}, kHeartbeatLost);
  }
  strand_->Post([this] { Changed(kHeartbeatLost); });
}

/// The replicas to work by. A number that no ConfigMap can hold (a slip of the hand) leaves the one before.
base::Result<int64_t> CompatibleDistributor::LiveReplicas() {
  if (options_.quirks.frozen_replicas) return replicas_;
  auto replicas = claimer_.ReadReplicas();
  if (!replicas || *replicas <= kReplicasMax) {
    refused_replicas_ = -1;
    return replicas;
  }
  if (std::exchange(refused_replicas_, *replicas) != *replicas) {
    base::log::Warn("the Deployment has more replicas than there can be shards",
                    {{"replicas", *replicas}, {"most", kReplicasMax}, {"used", replicas_}});
  }
  return replicas_;
}

base::Result<Claimer::Start> CompatibleDistributor::ClaimOnce(std::vector<Finding>& findings,
                                                              std::vector<std::string>& warnings) {
  if (!claimed_once_) return claimer_.FirstShard(findings, warnings);
  EVENKEEL_ASSIGN(const int64_t replicas, LiveReplicas());
  if (replicas <= 0) return Claimer::Start{-1, replicas, "no replicas"};
  EVENKEEL_ASSIGN(const ClaimResult claim,
                  claimer_.Claim(replicas, replicas <= 1 ? -1 : std::max<int64_t>(options_.shard, -1), findings));
  return Claimer::Start{claim.shard, replicas, claim.reason};
}

void CompatibleDistributor::ClaimFailed(const base::Error& error) {
  if (error.code() == base::Code::kConflict) {
    base::CounterOf(context_.metrics, metrics::kClaimConflicts).Add();
    return ScheduleHeartbeat(
        context_.random.Between(base::Duration(std::chrono::milliseconds(10)), base::Duration(std::chrono::milliseconds(150))));
  }
  base::CounterOf(context_.metrics, metrics::kHeartbeatFailures).Add();
  base::log::Warn("the heartbeat could not be written", {{"error", error}});
  if (!claimed_once_) {
    std::lock_guard lock(mutex_);
    status_.health_error = error.message();
  }
  ScheduleHeartbeat(kFailedRetry);
}

void CompatibleDistributor::Heartbeat() {
  if (stopping_) return;
  if (!Synced()) return ScheduleHeartbeat(kNotSyncedRetry);
  if (!claimed_once_) {
    auto fleet = ApiIdentity(context_.hub);
    if (!fleet) return ClaimFailed(fleet.error());
    context_.options.fleet = *std::move(fleet);
  }
  std::vector<Finding> findings;
  std::vector<std::string> warnings;
  const base::Instant begin = clock_.Monotonic();
  const auto claim = ClaimOnce(findings, warnings);
  for (const std::string& warning : warnings) base::log::Warn(warning);
  if (!claim) return ClaimFailed(claim.error());
  findings_.ReportOnce(findings);
  Claimed(*claim, begin);
  Reconcile();
}

void CompatibleDistributor::Claimed(const Claimer::Start& claim, base::Instant begin) {
  if (claimed_once_ && claim.replicas != replicas_) {
    base::log::Info("replicas changed", {{"from", replicas_}, {"to", claim.replicas}});
    cause_ = fmt::format("replicas {} -> {}", replicas_, claim.replicas);
  }
  if (claim.shard != shard_) {
    base::log::Info("shard changed", {{"from", shard_}, {"to", claim.shard}, {"reason", claim.reason}});
    if (cause_.empty()) cause_ = claim.reason;
  }
  claimed_once_ = true;
  replicas_ = claim.replicas;
  shard_ = claim.shard;
  base::Duration until_fence;
  {
    std::lock_guard lock(mutex_);
    last_heartbeat_ = begin;
    if (fenced_) cause_ = "the heartbeat can be written again";
    until_fence = UntilFence();
  }
  if (options_.dynamic) {
    ScheduleHeartbeat(options_.heartbeat);
    fence_timer_ = fencing_->PostAfter(std::max(until_fence, base::Duration::zero()), [this] { Fence(); });
  }
}

base::Status CompatibleDistributor::Health() const {
  std::lock_guard lock(mutex_);
  if (status_.health_error.empty()) return {};
  return base::Fail(base::Code::kUnavailable, status_.health_error);
}

DistributorStatus CompatibleDistributor::status() const {
  DistributorStatus status;
  {
    std::lock_guard lock(mutex_);
    status = status_;
  }
  status.assigned = ownership_->Assigned();
  status.owned = ownership_->Owned();
  return status;
}

void CompatibleDistributor::Reconcile() {
  if (stopping_ || !Synced() || !claimed_once_) return;
  std::vector<Finding> findings;
  const std::vector<Cluster> clusters = clusters_->Read({}, findings);
  if (context_.clusters_read) context_.clusters_read(clusters);
  AppCounts apps;
  if (applications_) {
    std::vector<base::Json> objects;
    for (const auto& [key, application] : applications_->items()) objects.push_back(*application->json);
    apps = CountApplications(objects, options_.quirks.applications_by_bare_name);
  }
  const auto shards = AssignShards(clusters, apps,
                                   {.method = options_.method,
                                    .replicas = replicas_,
                                    .negative_shard_orphans = options_.quirks.negative_shard_orphans,
                                    .vnode_collisions = options_.quirks.vnode_collisions},
                                   findings);
  Follow(clusters, shards);
  findings_.Report(findings, shard_ == 0);
  Publish(clusters, shards);
  cause_.clear();
}

/// The shards whose members are watched, since their holders seem to be gone: when a claim runs out, after three heartbeats,
/// the fences have been watched for as long as they take to run out. Comes back when there are more of them.
std::vector<int64_t> CompatibleDistributor::SilentShards() {
  if (!options_.dynamic) return {};
  const base::Duration silence =
      std::max(options_.heartbeat, 3 * options_.heartbeat - options_.lease_duration - options_.lease_margin);
  const base::Instant now = clock_.Monotonic();
  if (const auto next = claimer_.heard().NextSilent(silence, now)) {
    silence_timer_ = strand_->PostAfter(*next - now, [this] { Changed("a replica is silent"); });
  }
  return claimer_.heard().SilentFor(silence, now);
}

void CompatibleDistributor::Follow(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards) {
  const bool fenced = HeartbeatExpired() && !options_.quirks.keeps_clusters_without_heartbeat;
  if (!fenced) {
    std::lock_guard lock(mutex_);
    fenced_ = false;
  }
  const std::string why = cause_.empty() ? "first distribution" : cause_;
  const std::vector<int64_t> silent = SilentShards();
  std::map<std::string, Wanted> wanted;
  std::map<std::string, std::string> why_own;
  for (const Cluster& cluster : clusters) {
    const auto shard = shards.find(cluster.server);
    if (fenced || cluster.skip_reconcile || shard == shards.end()) continue;
    const bool own = shard_ >= 0 && shard->second == shard_;
    if (!own && std::ranges::find(silent, shard->second) == silent.end()) continue;
    if (own) why_own[cluster.server] = why_own_.contains(cluster.server) ? why_own_.at(cluster.server) : why;
    wanted[cluster.server] = {.cluster = cluster,
                              .desired = {.role = own ? MemberRole::kOwner : MemberRole::kObserver},
                              .shard = shard->second,
                              .why = own ? why_own.at(cluster.server) : why};
  }
  why_own_ = std::move(why_own);
  ownership_->Follow(std::move(wanted), fenced ? kHeartbeatLost : why);
}

/// 1 or 0 for each cluster that this replica is to own; 0 for one whose shard nobody has claimed lately.
void CompatibleDistributor::PublishOwners(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards) {
  const std::vector<int64_t> silent = claimer_.heard().SilentFor(3 * options_.heartbeat, clock_.Monotonic());
  std::set<int64_t> claimed;
  for (const ShardClaim& claim : Claims().value_or(std::vector<ShardClaim>{})) {
    if (!claim.controller.empty() && std::ranges::find(silent, claim.shard) == silent.end()) claimed.insert(claim.shard);
  }
  std::map<std::string, bool> held;  // by server
  for (const TenancyReport& report : ownership_->Reports()) held[report.server] = report.acting || !report.lease.holder.empty();
  std::vector<std::pair<base::MetricLabels, double>> owners;
  for (const Cluster& cluster : clusters) {
    const auto shard = shards.find(cluster.server);
    if (cluster.skip_reconcile || shard == shards.end()) continue;
    if (shard->second == shard_) {
      owners.push_back(
          {{{"cluster", cluster.name}, {"server", client::WithoutUserinfo(cluster.server)}}, held[cluster.server] ? 1.0 : 0.0});
    } else if (options_.dynamic && !claimed.contains(shard->second)) {
      owners.push_back({{{"cluster", cluster.name}, {"server", client::WithoutUserinfo(cluster.server)}}, 0.0});
    }
  }
  base::ReplaceGaugesOf(context_.metrics, metrics::kClusterOwners, owners);
}

void CompatibleDistributor::Publish(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards) {
  PublishOwners(clusters, shards);
  DistributorStatus status;
  status.synced = true;
  status.replicas = replicas_;
  status.shard = shard_;
  if (options_.dynamic && HeartbeatExpired()) {
    status.health_error = kHeartbeatLost;
  } else if (options_.dynamic && replicas_ <= 0) {
    status.health_error = "Deployment " + options_.ns + "/" + options_.controller_name + " has no replicas";
  }
  base::GaugeOf(context_.metrics, metrics::kClusters).Set(static_cast<double>(clusters.size()));
  base::GaugeOf(context_.metrics, metrics::kShard).Set(static_cast<double>(shard_));
  base::GaugeOf(context_.metrics, metrics::kReplicas).Set(static_cast<double>(replicas_));
  std::vector<std::pair<base::MetricLabels, double>> ages;
  for (const ShardClaim& claim : Claims().value_or(std::vector<ShardClaim>{})) {
    if (!claim.heartbeat) continue;
    const double age = std::chrono::duration<double>(clock_.Now() - *claim.heartbeat).count();
    ages.push_back({{{"shard", std::to_string(claim.shard)}, {"owner", claim.controller}}, age});
  }
  base::ReplaceGaugesOf(context_.metrics, metrics::kHeartbeatAge, ages);
  std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

}  // namespace evenkeel::controllers::distribution
