// The part of the CoordinatedDistributor that leads, and that reports to the one that leads.
#include <algorithm>

#include "base/log.h"
#include "controllers/distribution/distributor/coordinated_distributor.h"
#include "controllers/distribution/sharding/distribution_metrics.h"

namespace evenkeel::controllers::distribution {
namespace {

/// The first plan waits this long for replicas that start together.
constexpr base::Duration kFirstPlanDelay = std::chrono::milliseconds(500);
constexpr base::Duration kReportsPeriod = std::chrono::seconds(10);
/// States of members change several at a time.
constexpr base::Duration kReportSettle = std::chrono::milliseconds(300);
constexpr base::Duration kWriteRetry = std::chrono::seconds(1);
constexpr base::Duration kReportRetry = std::chrono::seconds(5);

constexpr char kPlanNotWritten[] = "the plan could not be written";
constexpr char kReportsNotRead[] = "the replicas' reports could not be read";
constexpr char kReportNotWritten[] = "this replica's report could not be written";

}  // namespace

/// The live replica with the lowest shard leads; before there is a plan, the one with the least name. One that leaves does not,
/// unless it is alone; nor does one that cannot tell yet who lives, as long as another can.
bool CoordinatedDistributor::Leads() const {
  const LiveReplica* leader = nullptr;
  auto rank = [&](const LiveReplica& replica) {
    const PublishedPlan::Shard* shard = plan_.ShardOf(replica.identity);
    return std::tuple(replica.leaving, plan_.epoch > 0 && !replica.settled, shard == nullptr,
                      shard == nullptr ? 0 : shard->shard, replica.identity);
  };
  if (plan_.epoch > 0 && !view_.settled()) return false;
  for (const LiveReplica& replica : live_) {
    if (leader == nullptr || rank(replica) < rank(*leader)) leader = &replica;
  }
  return leader != nullptr && leader->identity == identity_;
}

void CoordinatedDistributor::Lead() {
  const base::Instant now = clock_.Monotonic();
  if (plan_.epoch == 0 && now - begun_ < kFirstPlanDelay) {
    lead_again_ = begun_ + kFirstPlanDelay;
    return;
  }
  ReadReports();
  RemoveTraces();
  PlanInputs inputs{.clusters = clusters_,
                    .replicas = live_,
                    .weights = weights_,
                    .leader = identity_,
                    .now = clock_.Now(),
                    .moves_per_minute = options_.moves_per_minute,
                    .epoch_floor = epoch_floor_};
  NextPlan next = MakeNextPlan(plan_, inputs);
  lead_again_.reset();
  if (next.again) lead_again_ = now + *next.again;
  std::vector<Finding> findings = cluster_findings_;
  findings.insert(findings.end(), next.findings.begin(), next.findings.end());
  findings_.Report(findings, true);
  if (!next.changed && plan_object_) return;
  if (auto written = WritePlan(next.plan); !written) {
    if (written.error().code() != base::Code::kConflict && written.error().code() != base::Code::kAlreadyExists) {
      TellOnce(kPlanNotWritten, written.error());
    }
    // After a conflict somebody else's plan is on its way here.
    lead_again_ = now + kWriteRetry;
    return;
  }
  told_errors_.erase(kPlanNotWritten);
}

base::Status CoordinatedDistributor::WritePlan(const PublishedPlan& plan) {
  base::Json object = plan_object_ ? *plan_object_ : kube::NewObject(ShardPlans(), options_.ns, kShardPlanName);
  plan.WriteTo(object);
  auto stored = plan_object_ ? context_.hub.Update(ShardPlans(), object) : context_.hub.Create(ShardPlans(), object);
  if (!stored) return base::Fail(stored.error());
  size_t moved = 0;
  for (const PublishedPlan::Move& move : plan.moves) moved += move.epoch == plan.epoch;
  base::CounterOf(context_.metrics, metrics::kPlannedMoves).Add(static_cast<double>(moved));
  base::log::Info("plan written", {{"epoch", plan.epoch},
                                   {"clusters", plan.assignments.size()},
                                   {"shards", plan.shards.size()},
                                   {"moves", moved},
                                   {"imbalance", plan.imbalance}});
  plan_ = plan;
  plan_object_ = base::Json(*stored, {});
  epoch_floor_ = std::max(epoch_floor_, plan_.epoch);
  return {};
}

/// Weights and owners from what the replicas say of themselves.
void CoordinatedDistributor::ReadReports() {
  const base::Instant now = clock_.Monotonic();
  if (reports_read_ && now - *reports_read_ < kReportsPeriod) return;
  reports_read_ = now;
  client::ListOptions list;
  list.ns = options_.ns;
  auto page = client::ListAll(context_.hub, ShardReplicas(), list);
  if (!page) return TellOnce(kReportsNotRead, page.error());
  told_errors_.erase(kReportsNotRead);
  weights_.clear();
  owners_.clear();
  std::set<std::string> strays;
  for (const base::Json& object : page->items) {
    const ReplicaReport report = ReplicaReport::Decode(object);
    if (const std::string name(kube::NameOf(object)); !view_.Knows(name)) {
      // A Lease that is just being made may be seen after its report: it takes two looks to call one a stray.
      if (strays_.contains(name)) (void)context_.hub.Delete(ShardReplicas(), options_.ns, name);
      strays.insert(name);
      continue;
    }
    for (const ReplicaReport::Member& member : report.members) {
      if (member.state == "owner") ++owners_[member.server];
      if (member.load) weights_[member.server] = MeasuredWeight(*member.load);
    }
  }
  strays_ = std::move(strays);
}

void CoordinatedDistributor::RemoveTraces() {
  for (const std::string& name : view_.GoneFor(kTraceAge)) {
    (void)context_.hub.Delete(kube::resources::Leases(), options_.ns, name);
    (void)context_.hub.Delete(ShardReplicas(), options_.ns, name);
  }
  for (const std::string& name : settings_.GoneFor(kTraceAge)) {
    (void)context_.hub.Delete(kube::resources::Leases(), options_.ns, name);
  }
}

void CoordinatedDistributor::Report() { ReportAfter(kReportSettle); }

void CoordinatedDistributor::ReportAfter(base::Duration delay) {
  if (std::exchange(report_posted_, true)) return;
  report_timer_ = strand_->PostAfter(delay, [this] {
    report_posted_ = false;
    if (stopping_ || !Synced()) return;
    ReplicaReport report = MakeReport();
    if (reported_ && reported_->shard == report.shard && reported_->members == report.members) {
      return;
    }
    base::Json object = report_object_ ? *report_object_ : kube::NewObject(ShardReplicas(), options_.ns, object_name_);
    report.WriteTo(object);
    auto stored = report_object_ ? context_.hub.Update(ShardReplicas(), object) : context_.hub.Create(ShardReplicas(), object);
    if (!stored) {
      const base::Code code = stored.error().code();
      if (code != base::Code::kConflict && code != base::Code::kAlreadyExists) TellOnce(kReportNotWritten, stored.error());
      // Whatever is there in its place is of another time: the next report starts from what is stored.
      auto present = context_.hub.Get(ShardReplicas(), options_.ns, object_name_);
      report_object_ = present ? std::optional(base::Json(*present, {})) : std::nullopt;
      return ReportAfter(kReportRetry);
    }
    told_errors_.erase(kReportNotWritten);
    report_object_ = base::Json(*stored, {});
    reported_ = std::move(report);
  });
}

ReplicaReport CoordinatedDistributor::MakeReport() const {
  ReplicaReport report;
  report.replica = identity_;
  report.host = options_.host_name;
  const PublishedPlan::Shard* own = plan_.ShardOf(identity_);
  report.shard = own == nullptr ? -1 : own->shard;
  for (const TenancyReport& tenancy : ownership_->Reports()) {
    if (!tenancy.lease.holding && lingering_.contains(tenancy.server)) continue;
    ReplicaReport::Member member;
    member.server = tenancy.server;
    member.cluster = tenancy.cluster;
    const bool wanted = tenancy.desired.role == MemberRole::kOwner;
    member.state = tenancy.lease.holding ? (wanted ? "owner" : "leaving") : wanted ? "waiting" : "standby";
    if (tenancy.lease.holding) {
      member.epoch = tenancy.lease.epoch;
      member.since = tenancy.lease.since;
      member.load = tenancy.load;
    }
    member.api = tenancy.api;
    member.detail = !tenancy.error.empty() ? tenancy.error : wanted ? tenancy.lease.waiting_for : "";
    member.unreachable_since = tenancy.unreachable_since;
    report.members.push_back(std::move(member));
  }
  return report;
}

void CoordinatedDistributor::PublishLeader(bool leads) {
  std::vector<std::pair<base::MetricLabels, double>> owners, lags;
  if (leads) {
    for (const Cluster& cluster : clusters_) {
      const auto found = owners_.find(cluster.server);
      owners.push_back({{{"cluster", cluster.name}, {"server", client::WithoutUserinfo(cluster.server)}},
                        found == owners_.end() ? 0.0 : found->second});
    }
    for (const auto& [replica, applied] : view_.AppliedEpochs()) {
      lags.push_back({{{"replica", replica}}, static_cast<double>(std::max<int64_t>(plan_.epoch - applied, 0))});
    }
  }
  base::MetricRegistry& registry = context_.metrics;
  base::ReplaceGaugesOf(registry, metrics::kClusterOwners, owners);
  base::ReplaceGaugesOf(registry, metrics::kEpochLag, lags);
  base::GaugeOf(registry, metrics::kLeader).Set(leads ? 1 : 0);
  base::GaugeOf(registry, metrics::kImbalance).Set(plan_.imbalance);
  base::GaugeOf(registry, metrics::kClusters).Set(static_cast<double>(clusters_.size()));
}

}  // namespace evenkeel::controllers::distribution
