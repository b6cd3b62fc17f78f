#include "controllers/distribution/distributor.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controllers/distribution/distributor_texts.h"

namespace evenkeel::controllers::distribution {
namespace {

/// Changes that come together (a Deployment and its ConfigMap, many Secrets) are looked at together.
constexpr base::Duration kSettle = std::chrono::milliseconds(50);
constexpr base::Duration kSecretAge = std::chrono::minutes(1);
constexpr base::Duration kNotSyncedRetry = std::chrono::milliseconds(200);
/// Heartbeats are written in whole seconds, and clocks differ a little: stop acting this much before others may take over.
constexpr base::Duration kFenceMargin = std::chrono::seconds(2);
constexpr base::Duration kFailedRetry = std::chrono::seconds(2);

const kube::Resource& KarmadaClusters() {
  static const kube::Resource resource{.group = "cluster.karmada.io",
                                       .version = "v1alpha1",
                                       .kind = "Cluster",
                                       .plural = "clusters",
                                       .namespaced = false,
                                       .singular = "cluster",
                                       .short_names = {},
                                       .categories = {},
                                       .subresources = {},
                                       .storage_group = ""};
  return resource;
}

const kube::Resource& ArgoApplications() {
  static const kube::Resource resource{.group = "argoproj.io",
                                       .version = "v1alpha1",
                                       .kind = "Application",
                                       .plural = "applications",
                                       .namespaced = true,
                                       .singular = "application",
                                       .short_names = {},
                                       .categories = {},
                                       .subresources = {},
                                       .storage_group = ""};
  return resource;
}

using ObjectInformer = client::Informer<kube::Object>;

/// Kinds that the hub may not have (no Karmada, no Argo CD) count as synced and empty.
bool SyncedOrAbsent(const ObjectInformer& informer) {
  if (informer.synced()) return true;
  const auto error = informer.last_error();
  return error.has_value() && error->code() == base::Code::kNotFound;
}

}  // namespace

Distributor::Distributor(client::Client& hub, base::Executor& executor, base::Random random, Options options,
                         MemberConnector connector, base::MetricRegistry& metrics)
    : hub_(hub),
      executor_(executor),
      clock_(executor.clock()),
      random_(random),
      options_(std::move(options)),
      connector_(std::move(connector)),
      metrics_(metrics),
      claimer_(hub_, options_),
      strand_(executor.NewStrand("distribution/" + options_.host_name)),
      closing_(executor.NewStrand("closing/" + options_.host_name)),
      fencing_(executor.NewStrand("fencing/" + options_.host_name)),
      events_(hub_, executor.NewStrand("events/" + options_.host_name), clock_, random_.Fork("events"), "evenkeel-distribution",
              options_.host_name) {
  if (!options_.quirks.healthy_before_first_claim) status_.health_error = "no shard has been claimed yet";
}

Distributor::~Distributor() {
  if (!stopped_) Stop();
}

void Distributor::Start() {
  strand_->Post([this] {
    Watch();
    Heartbeat();
  });
}

void Distributor::Stop() {
  stopped_ = true;
  strand_->Close();
  fencing_->Close();
  heartbeat_timer_.Cancel();
  reconcile_timer_.Cancel();
  fence_timer_.Cancel();
  // Members first: nobody may take over while this replica still acts.
  closing_->Close();
  members_.clear();
  owned_.clear();
  metrics_.ReplaceGauges(kOwnerMetric, kOwnerHelp, {});
  {
    std::lock_guard lock(mutex_);
    status_.owned.clear();
  }
  if (options_.dynamic && claimed_once_ && !options_.quirks.no_release) {
    if (auto released = claimer_.Release(); !released) {
      base::log::Warn("the claim could not be released and will expire", {{"error", released.error()}});
    }
  }
  secrets_.reset();
  karmada_clusters_.reset();
  deployments_.reset();
  config_maps_.reset();
  applications_.reset();
}

void Distributor::Watch() {
  auto make = [&](const kube::Resource& resource, client::InformerOptions options, const char* name) {
    return std::make_unique<ObjectInformer>(hub_, resource, std::move(options), strand_, clock_, random_.Fork(name));
  };
  const std::string label = std::string(kClusterSecretLabel) + "=cluster";
  secrets_ = make(kube::resources::Secrets(), {options_.ns, label, ""}, "secrets");
  karmada_clusters_ = make(KarmadaClusters(), {}, "karmada");
  secrets_->AddHandler([this](const auto&, const auto&) { Changed("cluster Secrets changed"); });
  karmada_clusters_->AddHandler([this](const auto&, const auto&) { Changed("Karmada Clusters changed"); });
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
    config_maps_->AddHandler([this](const auto&, const auto&) { ShardFreed(); });
    deployments_->Start();
    config_maps_->Start();
  }
  secrets_->Start();
  karmada_clusters_->Start();
}

bool Distributor::Synced() const {
  return secrets_->synced() && SyncedOrAbsent(*karmada_clusters_) && (!applications_ || SyncedOrAbsent(*applications_)) &&
         (!deployments_ || (deployments_->synced() && config_maps_->synced()));
}

void Distributor::Changed(std::string_view what) {
  if (cause_.empty()) cause_ = what;
  if (reconcile_posted_) return;
  reconcile_posted_ = true;
  reconcile_timer_ = strand_->PostAfter(kSettle, [this] {
    reconcile_posted_ = false;
    Reconcile();
  });
}

/// The claims changed: if this replica has no shard and one is free, or it has lost its claim, it need not wait for its next
/// turn.
void Distributor::ShardFreed() {
  if (!claimed_once_) return;
  const auto soon = random_.Between(base::Duration{}, base::Duration(std::chrono::milliseconds(200)));
  const auto config_map = config_maps_->Get(options_.ns + "/" + std::string(kShardConfigMap));
  if (config_map == nullptr) return ScheduleHeartbeat(soon);
  const auto claims = ParseShardMapping(base::FindString(*config_map->json, {"data", kShardMappingKey}));
  if (!claims || !CheckShardMapping(*claims).empty()) return ScheduleHeartbeat(soon);
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

void Distributor::ScheduleHeartbeat(base::Duration delay) {
  heartbeat_timer_ = strand_->PostAfter(delay, [this] { Heartbeat(); });
}

/// Time until this replica must have let go of its members, not above zero when that time has come. With `mutex_` held.
base::Duration Distributor::UntilFence() const {
  return last_heartbeat_ + 3 * options_.heartbeat - kFenceMargin - clock_.Monotonic();
}

bool Distributor::HeartbeatExpired() const {
  if (!options_.dynamic || !claimed_once_) return false;
  std::lock_guard lock(mutex_);
  return UntilFence() <= base::Duration::zero();
}

/// Others may take over soon. The strand may be waiting for a hub that hangs, so this does not wait for it.
void Distributor::Fence() {
  decltype(members_) lost;
  {
    std::lock_guard lock(mutex_);
    if (UntilFence() > base::Duration::zero()) return;
    status_.health_error = kHeartbeatLost;
    if (!options_.quirks.keeps_clusters_without_heartbeat) {
      fenced_ = true;
      lost = std::exchange(members_, {});
      status_.owned.clear();
    }
  }
  if (!lost.empty()) {
    base::log::Warn("clusters let go", {{"why", kHeartbeatLost}, {"clusters", lost.size()}});
    metrics_.ReplaceGauges(kOwnerMetric, kOwnerHelp, {});
    closing_->Post([members = std::move(lost)]() mutable { members.clear(); });
  }
  strand_->Post([this] { Changed(kHeartbeatLost); });
}

/// The replicas to work by. A number that no ConfigMap can hold (a slip of the hand) leaves the one before.
base::Result<int64_t> Distributor::LiveReplicas() {
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

base::Result<Claimer::Start> Distributor::ClaimOnce(std::vector<Finding>& findings, std::vector<std::string>& warnings) {
  if (!claimed_once_) return claimer_.FirstShard(clock_.Now(), findings, warnings);
  EVENKEEL_ASSIGN(const int64_t replicas, LiveReplicas());
  if (replicas <= 0) return Claimer::Start{-1, replicas, "no replicas"};
  EVENKEEL_ASSIGN(const ClaimResult claim,
                  claimer_.Claim(replicas, replicas <= 1 ? -1 : std::max<int64_t>(options_.shard, -1), clock_.Now(), findings));
  return Claimer::Start{claim.shard, replicas, claim.reason};
}

void Distributor::ClaimFailed(const base::Error& error) {
  if (error.code() == base::Code::kConflict) {
    metrics_.GetCounter("evenkeel_distribution_claim_conflicts_total", "Claims that another replica's write got in the way of")
        .Add();
    return ScheduleHeartbeat(
        random_.Between(base::Duration(std::chrono::milliseconds(10)), base::Duration(std::chrono::milliseconds(150))));
  }
  metrics_.GetCounter("evenkeel_distribution_heartbeat_failures_total", "Heartbeats that could not be written").Add();
  base::log::Warn("the heartbeat could not be written", {{"error", error}});
  if (!claimed_once_) {
    std::lock_guard lock(mutex_);
    status_.health_error = error.message();
  }
  ScheduleHeartbeat(kFailedRetry);
}

void Distributor::Heartbeat() {
  if (!Synced()) return ScheduleHeartbeat(kNotSyncedRetry);
  std::vector<Finding> findings;
  std::vector<std::string> warnings;
  const base::Instant begin = clock_.Monotonic();
  const auto claim = ClaimOnce(findings, warnings);
  for (const std::string& warning : warnings) base::log::Warn(warning);
  if (!claim) return ClaimFailed(claim.error());
  ReportRepair(findings);
  if (claimed_once_ && claim->replicas != replicas_) {
    base::log::Info("replicas changed", {{"from", replicas_}, {"to", claim->replicas}});
    cause_ = fmt::format("replicas {} -> {}", replicas_, claim->replicas);
  }
  if (claim->shard != shard_) {
    base::log::Info("shard changed", {{"from", shard_}, {"to", claim->shard}, {"reason", claim->reason}});
    if (cause_.empty()) cause_ = claim->reason;
  }
  claimed_once_ = true;
  replicas_ = claim->replicas;
  shard_ = claim->shard;
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
  Reconcile();
}

base::Status Distributor::Health() const {
  std::lock_guard lock(mutex_);
  if (status_.health_error.empty()) return {};
  return base::Fail(base::Code::kUnavailable, status_.health_error);
}

DistributorStatus Distributor::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

std::vector<Cluster> Distributor::ReadClusters(std::vector<Finding>& findings) {
  std::vector<Cluster> clusters;
  for (const auto& [key, secret] : secrets_->items()) {
    if (auto cluster = ClusterFromSecret(*secret->json, findings)) clusters.push_back(*std::move(cluster));
  }
  for (const auto& [key, object] : karmada_clusters_->items()) {
    const auto secret = KarmadaSecret(*object);
    if (auto cluster = ClusterFromKarmada(*object->json, secret ? &*secret : nullptr, findings))
      clusters.push_back(*std::move(cluster));
  }
  return MergeClusters(std::move(clusters), {.in_cluster = options_.in_cluster}, findings);
}

base::Result<base::Json> Distributor::KarmadaSecret(const kube::Object& cluster) {
  const std::string ns(base::FindString(*cluster.json, {"spec", "secretRef", "namespace"}));
  const std::string name(base::FindString(*cluster.json, {"spec", "secretRef", "name"}));
  if (name.empty()) return base::Fail(base::Code::kNotFound, "spec.secretRef is missing");
  const std::string key = ns + "/" + name;
  const base::Instant now = clock_.Monotonic();
  auto cached = karmada_secrets_.find(key);
  if (cached == karmada_secrets_.end() || now - cached->second.read > kSecretAge) {
    cached = karmada_secrets_.insert_or_assign(key, CachedSecret{hub_.Get(kube::resources::Secrets(), ns, name), now}).first;
  }
  return cached->second.secret;
}

void Distributor::Reconcile() {
  if (!Synced() || !claimed_once_) return;
  std::vector<Finding> findings;
  const std::vector<Cluster> clusters = ReadClusters(findings);
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
  Report(findings);
  ReportMembers();
  Publish(clusters.size());
  cause_.clear();
}

}  // namespace evenkeel::controllers::distribution
