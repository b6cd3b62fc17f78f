#include "controllers/distribution/distributor/cluster_source.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "dashboard/documents.h"
#include "dashboard/sources.h"

namespace evenkeel::dashboard {
namespace {

namespace distribution = controllers::distribution;

/// Hand-overs that are remembered, beyond those that the plan does.
constexpr size_t kHandoversKept = 500;
/// Between what is seen and what a plan tells of the same hand-over, at most.
constexpr base::Duration kSameHandover = std::chrono::seconds(60);

class FleetSource final : public InformedSource {
 public:
  FleetSource(SourceContext context, distribution::Options options)
      : InformedSource(std::move(context)),
        options_(std::move(options)),
        members_(context_.client, options_, context_.strand, context_.clock, context_.random.Fork("members"),
                 [this](std::string_view) {
                   members_changed_ = true;
                   context_.changed();
                 }) {
    client::InformerOptions own;
    own.ns = options_.ns;
    client::InformerOptions plan = own;
    plan.field_selector = "metadata.name=" + std::string(distribution::kShardPlanName);
    Watch<kube::Object>(distribution::ShardPlans(), plan, [this](const auto&, const auto& after) {
      input_.plan = after ? distribution::PublishedPlan::Decode(*after->json) : distribution::PublishedPlan();
      for (const auto& shard : input_.plan.shards) hosts_[shard.shard] = shard.host;
    });
    Watch<kube::Object>(distribution::ShardReplicas(), own, [this](const auto& before, const auto& after) {
      reports_.erase((after ? after : before)->meta.name);
      if (after) reports_[after->meta.name] = distribution::ReplicaReport::Decode(*after->json);
    });
    client::InformerOptions leases = own;
    leases.label_selector = std::string(distribution::kReplicaLabel) + "=" + distribution::kReplicaLabelValue;
    Watch<client::Lease>(kube::resources::Leases(), leases, [this](const auto& before, const auto& after) {
      leases_.erase((after ? after : before)->meta.name);
      if (after) leases_[after->meta.name] = *after;
    });
    members_.Start();
  }

  bool settled() const override { return InformedSource::settled() && (members_.synced() || !InformedSource::error().empty()); }

  Update Collect() override {
    Update update;
    std::vector<distribution::Finding> findings;
    if (members_.synced() && std::exchange(members_changed_, false)) {
      input_.clusters = members_.Read({}, findings);
      update.members = input_.clusters;
    }
    input_.now = context_.clock.Now();
    if (input_.plan.epoch > 0) {
      CollectPlan(update);
    } else if (error().empty()) {
      CollectClaims(update);
    }
    return update;
  }

 private:
  void CollectPlan(Update& update) {
    input_.reports.clear();
    input_.leases.clear();
    for (const auto& [name, report] : reports_) input_.reports.push_back(report);
    for (const auto& [name, lease] : leases_) input_.leases.push_back(lease);
    update.Set("plan", PlanEntry(input_));
    SetAll(update, "replicas", ReplicaEntries(input_));
    SetAll(update, "rows", OwnershipRows(input_));
    for (auto& [id, entry] : HandoverEntries(input_, hosts_)) {
      const auto known = handovers_.find(id);
      // How long it took, and who had it before, may not be found out any more later.
      if (known != handovers_.end() && !base::Find(known->second, {"seconds"})->is_null()) continue;
      if (known != handovers_.end()) {
        entry.get_object()["from"] = *base::Find(known->second, {"from"});
      } else {
        TakeLastOwner(entry);
        ForgetSeen(update, entry);
      }
      update.Set("handovers", id, entry);
      handovers_[id] = std::move(entry);
    }
    CollectSeen(update, Tenures(input_), kReplicaSilence);
  }

  /// Hand-overs that no plan tells of, or not yet. `silence`: after which an owner is taken for gone.
  void CollectSeen(Update& update, std::map<std::string, Tenure> tenures, base::Duration silence) {
    for (auto& [cluster, tenure] : tenures) {
      if (tenure.since == base::Time{}) tenure.since = input_.now;
      const auto before = tenures_.find(cluster);
      if (before != tenures_.end() && before->second.owner != tenure.owner && !ToldOf(cluster, tenure)) {
        const std::string id = HandoverId(tenure.since, cluster);
        const bool gone = input_.now - before->second.heard > silence;
        handovers_[id] = SeenHandover(cluster, before->second, tenure, gone);
        seen_[cluster] = id;
        update.Set("handovers", id, handovers_[id]);
      }
      tenures_[cluster] = std::move(tenure);
    }
    while (handovers_.size() > kHandoversKept) {
      update.Erase("handovers", handovers_.begin()->first);
      handovers_.erase(handovers_.begin());
    }
  }

  bool ToldOf(const std::string& cluster, const Tenure& tenure) const {
    const auto first = handovers_.lower_bound(HandoverId(tenure.since - kSameHandover, ""));
    return std::any_of(first, handovers_.end(), [&](const auto& known) {
      return base::FindString(known.second, {"cluster"}) == cluster && base::FindString(known.second, {"to"}) == tenure.owner;
    });
  }

  /// A plan knows who has the shard now, which need not be who had the cluster.
  void TakeLastOwner(Json& told) const {
    const auto held = tenures_.find(std::string(base::FindString(told, {"cluster"})));
    if (held == tenures_.end() || held->second.owner == base::FindString(told, {"to"})) return;
    told.get_object()["from"] = held->second.owner;
  }

  /// The plan tells of what was seen before.
  void ForgetSeen(Update& update, Json& told) {
    const auto seen = seen_.find(std::string(base::FindString(told, {"cluster"})));
    if (seen == seen_.end()) return;
    const auto entry = handovers_.find(seen->second);
    const auto time = base::ParseTime(base::FindString(told, {"time"}));
    if (entry == handovers_.end() || !time || base::FindString(entry->second, {"to"}) != base::FindString(told, {"to"})) return;
    if (entry->first < HandoverId(*time - kSameHandover, "")) return;
    told.get_object()["from"] = *base::Find(entry->second, {"from"});
    update.Erase("handovers", entry->first);
    handovers_.erase(entry);
    seen_.erase(seen);
  }

  /// Argo CD's way: claims in a ConfigMap, without a plan.
  void CollectClaims(Update& update) {
    const base::Instant now = context_.clock.Monotonic();
    if (claims_read_ && now - *claims_read_ < kSourceTick) return;
    claims_read_ = now;
    const auto fleet =
        distribution::ReadFleet(context_.client, options_, distribution::Mode::kCompatible, std::nullopt, input_.now);
    const base::Duration silence = 3 * options_.heartbeat;
    std::map<std::string, Json> rows, replicas;
    std::map<std::string, Tenure> tenures;
    for (const auto& cluster : input_.clusters) {
      rows[cluster.name] = JsonObject{{"owner", nullptr}, {"server", cluster.server}, {"skip", cluster.skip_reconcile}};
    }
    if (fleet) {
      for (const auto& row : fleet->rows) {
        const bool fresh = row.heartbeat_age && *row.heartbeat_age <= silence;
        rows[row.cluster] = JsonObject{{"owner", OrNull(fresh ? row.owner : "")},
                                       {"shard", row.shard},
                                       {"server", row.server},
                                       {"skip", row.skip_reconcile},
                                       {"detail", fresh ? "" : "nobody holds its shard"}};
        if (!fresh || row.owner.empty()) continue;
        tenures[row.cluster] = {.owner = row.owner, .since = input_.now, .heard = input_.now - *row.heartbeat_age};
      }
      for (const auto& claim : fleet->claims) {
        if (claim.controller.empty()) continue;
        const bool alive = claim.heartbeat && input_.now - *claim.heartbeat <= silence;
        const auto owned = std::ranges::count(fleet->rows, claim.controller, &distribution::FleetView::Row::owner);
        replicas[claim.controller] = JsonObject{{"shard", claim.shard},
                                                {"alive", alive},
                                                {"since", nullptr},
                                                {"goneSince", alive || !claim.heartbeat ? Json() : TimeOrNull(claim.heartbeat)},
                                                {"clusters", owned}};
      }
      update.Set("plan", JsonObject{{"epoch", nullptr}, {"method", MethodName(fleet->options.method)}, {"leader", nullptr}});
    }
    SetAll(update, "rows", rows);
    SetAll(update, "replicas", replicas);
    CollectSeen(update, std::move(tenures), silence);
  }

  void SetAll(Update& update, const std::string& field, const std::map<std::string, Json>& entries) {
    std::set<std::string>& told = told_[field];
    for (const std::string& key : std::exchange(told, {})) {
      if (!entries.contains(key)) update.Erase(field, key);
    }
    for (const auto& [key, entry] : entries) {
      update.Set(field, key, entry);
      told.insert(key);
    }
  }

  const distribution::Options options_;
  distribution::ClusterSource members_;
  bool members_changed_ = true;
  FleetInput input_;
  std::map<std::string, distribution::ReplicaReport> reports_;
  std::map<std::string, client::Lease> leases_;
  std::map<int64_t, std::string> hosts_;  // by shard, the last that had it
  std::map<std::string, Json> handovers_;
  std::map<std::string, std::string> seen_;  // by cluster, the last that was seen and not told of
  std::map<std::string, Tenure> tenures_;
  std::map<std::string, std::set<std::string>> told_;  // keys by field
  std::optional<base::Instant> claims_read_;
};

}  // namespace

std::unique_ptr<Source> NewFleetSource(SourceContext context, const distribution::Options& options) {
  return std::make_unique<FleetSource>(std::move(context), options);
}

}  // namespace evenkeel::dashboard
