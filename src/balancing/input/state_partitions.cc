#include <algorithm>

#include "balancing/input/state_reader.h"
#include "balancing/model/messages.h"

namespace evenkeel::balancing {
namespace {

constexpr int64_t kNotReported = -1;
// Of one partition, where there are not as many nodes: each takes one. Of all: three replicas of each of 100,000 partitions,
// the most that Service Fabric's authors tested with.
constexpr int64_t kMissingOfPartitionMax = 1'000;
constexpr int64_t kMissingMax = 300'000;
constexpr int64_t kExtraMax = 1'000'000;

constexpr std::pair<std::string_view, Role> kRoles[] = {{"primary", Role::kPrimary},   {"secondary", Role::kSecondary},
                                                        {"instance", Role::kInstance}, {"standBy", Role::kStandBy},
                                                        {"none", Role::kNone},         {"dropped", Role::kDropped}};
constexpr std::pair<std::string_view, ReplicaFlag> kReplicaFlags[] = {
    {"InBuild", kInBuild},
    {"ToBePromoted", kToBePromoted},
    {"ToBeDropped", kToBeDropped},
    {"ToBeDroppedForDeactivation", kToBeDroppedForDeactivation},
    {"MoveInProgress", kMoveInProgress},
    {"PrimaryToBeSwappedOut", kPrimaryToBeSwappedOut},
    {"PrimaryToBePlaced", kPrimaryToBePlaced},
    {"ReplicaToBePlaced", kReplicaToBePlaced},
    {"PreferredPrimaryLocation", kPreferredPrimaryLocation},
    {"PreferredReplicaLocation", kPreferredReplicaLocation},
    {"Offline", kOffline}};
constexpr std::pair<std::string_view, PartitionFlag> kPartitionFlags[] = {{"InUpgrade", kPartitionInUpgrade},
                                                                          {"InTransition", kPartitionInTransition},
                                                                          {"QuorumLoss", kPartitionInQuorumLoss},
                                                                          {"SwappingPrimary", kPartitionSwappingPrimary},
                                                                          {"ToBeDeleted", kPartitionToBeDeleted}};

bool IsStateful(Role role) { return role == Role::kPrimary || role == Role::kSecondary || role == Role::kStandBy; }

/// What a built-in metric counts; nothing for another metric.
std::optional<int64_t> BuiltInLoad(BuiltInMetric metric, Role role) {
  const bool exists = role != Role::kNone && role != Role::kDropped;
  switch (metric) {
    case BuiltInMetric::kNo:
      return std::nullopt;
    case BuiltInMetric::kPrimaryCount:
      return role == Role::kPrimary ? 1 : 0;
    case BuiltInMetric::kSecondaryCount:
      return role == Role::kSecondary ? 1 : 0;
    case BuiltInMetric::kReplicaCount:
      return IsStateful(role) ? 1 : 0;
    case BuiltInMetric::kInstanceCount:
      return role == Role::kInstance ? 1 : 0;
    case BuiltInMetric::kCount:
      return exists ? 1 : 0;
  }
  return std::nullopt;
}

/// Counts towards the target.
bool IsThere(const Replica& replica) {
  const bool role = replica.role == Role::kPrimary || replica.role == Role::kSecondary || replica.role == Role::kInstance;
  return role && !replica.Has(kToBeDropped) && !replica.Has(kToBeDroppedForDeactivation) && !replica.Has(kOffline);
}

/// Rounded half up, without an overflow of the sum.
int64_t RoundedAverage(__int128 sum, int64_t count) { return static_cast<int64_t>((2 * sum + count) / (2 * count)); }

}  // namespace

base::Status StateReader::ReadPartition(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"name",           "service", "replicas", "missing",  "primaryLoads",
                                         "secondaryLoads", "version", "flags",    "inUpgrade"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "partition", kKnown);
  Partition partition;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  const auto id = static_cast<PartitionId>(cluster_.partitions.size());
  if (!partitions_.emplace(name, id).second) return file_->Refused(fields, "name", "another partition has this name");
  partition.name = name;
  EVENKEEL_ASSIGN(const std::string_view service_name, file_->Name(fields, "service"));
  const auto found = services_.find(service_name);
  if (found == services_.end()) {
    return file_->Refused(fields, "service", "there is no service \"" + OneLine(service_name) + "\"");
  }
  partition.service = found->second;
  Service& service = cluster_.services[partition.service];
  service.partitions.push_back(id);
  EVENKEEL_ASSIGN(partition.version, file_->WholeOr(fields, "version", 0, 0));
  EVENKEEL_TRY(ReadPartitionFlags(fields, partition));

  const size_t metrics = service.metrics.size();
  role_reports_.assign(2 * metrics, kNotReported);
  EVENKEEL_TRY(ReadReports(fields, "primaryLoads", service, std::span(role_reports_).first(metrics)));
  EVENKEEL_TRY(ReadReports(fields, "secondaryLoads", service, std::span(role_reports_).last(metrics)));
  partition.first_replica = static_cast<ReplicaId>(cluster_.replicas.size());
  reports_.clear();
  has_primary_ = false;
  secondary_cost_.reset();
  EVENKEEL_TRY(file_->ForEachItem(fields, "replicas",
                                  [&](const base::Json& item, const Where& at) { return ReadReplica(item, at, service); }));
  partition.replica_count = static_cast<uint32_t>(cluster_.replicas.size() - partition.first_replica);
  if (secondary_cost_ && !options_.settings.use_separate_secondary_move_cost) {
    for (Replica& replica : std::span(cluster_.replicas).subspan(partition.first_replica)) {
      if (replica.role == Role::kSecondary) replica.move_cost = *secondary_cost_;
    }
  }
  const size_t rows = partition.replica_count + 2;
  if (cluster_.loads.size() + rows * metrics > UINT32_MAX) return file_->Refused(where, "more than 2^32 loads altogether");
  partition.new_loads = static_cast<uint32_t>(cluster_.loads.size() + partition.replica_count * metrics);
  cluster_.loads.resize(cluster_.loads.size() + rows * metrics, 0);
  EVENKEEL_TRY(ReadMissing(fields, service, partition));
  SetLoads(service, partition);
  EVENKEEL_TRY(SumLoads(where, service, partition));
  cluster_.partitions.push_back(std::move(partition));
  return {};
}

base::Status StateReader::ReadPartitionFlags(const Fields& fields, Partition& partition) {
  EVENKEEL_TRY(file_->ForEachItem(fields, "flags", [&](const base::Json& item, const Where& at) -> base::Status {
    EVENKEEL_ASSIGN(const PartitionFlag flag, file_->Word(item, at, kPartitionFlags));
    partition.flags |= flag;
    return {};
  }));
  EVENKEEL_ASSIGN(const bool in_upgrade, file_->BoolOr(fields, "inUpgrade", false));
  if (in_upgrade) partition.flags |= kPartitionInUpgrade;
  return {};
}

base::Status StateReader::ReadReplica(const base::Json& value, const Where& where, const Service& service) {
  constexpr std::string_view kKnown[] = {"node", "role", "loads", "moveCost", "flags"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "replica", kKnown);
  Replica replica;
  replica.partition = static_cast<PartitionId>(cluster_.partitions.size());
  EVENKEEL_ASSIGN(const std::string_view node, file_->Name(fields, "node"));
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return file_->Refused(fields, "node", "there is no node \"" + OneLine(node) + "\"");
  replica.node = found->second;
  if (service.stateful && file_->Get(fields, "role") == nullptr) {
    return file_->Refused(fields, "role", "is missing; expected primary or secondary, the service is stateful");
  }
  EVENKEEL_ASSIGN(replica.role, file_->WordOr(fields, "role", Role::kInstance, kRoles));
  EVENKEEL_TRY(file_->ForEachItem(fields, "flags", [&](const base::Json& item, const Where& at) -> base::Status {
    EVENKEEL_ASSIGN(const ReplicaFlag flag, file_->Word(item, at, kReplicaFlags));
    replica.flags |= flag;
    return {};
  }));
  const MoveCost cost = replica.role == Role::kPrimary ? service.primary_move_cost : service.secondary_move_cost;
  EVENKEEL_ASSIGN(replica.move_cost, file_->WordOr(fields, "moveCost", cost, kMoveCosts));
  if (replica.role == Role::kSecondary && file_->Get(fields, "moveCost") != nullptr) secondary_cost_ = replica.move_cost;
  EVENKEEL_TRY(CheckReplica(where, replica, service));
  const size_t metrics = service.metrics.size();
  reports_.resize(reports_.size() + metrics, kNotReported);
  EVENKEEL_TRY(ReadReports(fields, "loads", service, std::span(reports_).last(metrics)));
  replica.first_load = static_cast<uint32_t>(cluster_.loads.size() + reports_.size() - metrics);
  cluster_.replicas.push_back(replica);
  return {};
}

base::Status StateReader::CheckReplica(const Where& where, const Replica& replica, const Service& service) {
  if (replica.Exists() && service.stateful != IsStateful(replica.role)) {
    return file_->Refused(where.Member("role"), fmt::format("{}, but the service is {}", Name(replica.role),
                                                            service.stateful ? "stateful" : "stateless"));
  }
  if (replica.role == Role::kPrimary) {
    if (has_primary_) return file_->Refused(where.Member("role"), "the partition has a second primary");
    has_primary_ = true;
  }
  if (!replica.Exists()) return {};
  last_on_node_.resize(cluster_.nodes.size(), kNoId);
  if (std::exchange(last_on_node_[replica.node], replica.partition) == replica.partition) {
    return file_->Refused(where.Member("node"), "the partition has a second replica on this node");
  }
  return {};
}

base::Status StateReader::ReadReports(const Fields& fields, std::string_view key, const Service& service,
                                      std::span<int64_t> row) {
  return file_->ForEachMember(
      fields, key, [&](std::string_view name, const base::Json& value, const Where& at) -> base::Status {
        EVENKEEL_ASSIGN(const int64_t load, file_->Whole(value, at, 0));
        for (size_t i = 0; i < row.size(); ++i) {
          if (cluster_.metrics[service.metrics[i].metric].name != name) continue;
          row[i] = load;
          return {};
        }
        file_->Warn(at, "undeclared load", "the service does not have this metric; the load is left out");
        return {};
      });
}

base::Status StateReader::ReadMissing(const Fields& fields, const Service& service, Partition& partition) {
  int64_t existing = 0;
  for (const Replica& replica : cluster_.ReplicasOf(partition)) existing += IsThere(replica) ? 1 : 0;
  const int64_t derived = service.target_replicas > 0 ? service.target_replicas - existing : 0;
  EVENKEEL_ASSIGN(const int64_t missing, file_->WholeOr(fields, "missing", derived, -kExtraMax));
  const int64_t most = std::max<int64_t>(kMissingOfPartitionMax, static_cast<int64_t>(cluster_.nodes.size()));
  if (missing > most) {
    return file_->Refused(fields, "missing", fmt::format("{} replicas are missing; at most {} may be", missing, most));
  }
  missing_ += std::max<int64_t>(missing, 0);
  if (missing_ > kMissingMax) {
    return file_->Refused(fields, "missing", fmt::format("more than {} replicas are missing altogether", kMissingMax));
  }
  partition.missing = static_cast<int32_t>(std::max(missing, -kExtraMax));
  return {};
}

int64_t StateReader::SecondaryLoad(const Service& service, const Partition& partition, size_t metric) const {
  const size_t metrics = service.metrics.size();
  __int128 sum = 0;
  int64_t known = 0, last = kNotReported;
  for (size_t i = 0; i < partition.replica_count; ++i) {
    const Replica& replica = cluster_.replicas[partition.first_replica + i];
    const int64_t report = reports_[i * metrics + metric];
    if (replica.role == Role::kPrimary || !replica.Exists() || report == kNotReported) continue;
    sum += report;
    ++known;
    last = report;
  }
  if (known > 0) return options_.settings.use_separate_secondary_load ? RoundedAverage(sum, known) : last;
  const int64_t reported = role_reports_[metrics + metric];
  return reported != kNotReported ? reported : service.metrics[metric].secondary_load;
}

void StateReader::SetMetricLoads(const Service& service, const Partition& partition, size_t metric) {
  const size_t metrics = service.metrics.size();
  const ServiceMetric& declared = service.metrics[metric];
  const auto replicas = cluster_.ReplicasOf(partition);
  int64_t primary = declared.primary_load;
  if (role_reports_[metric] != kNotReported) primary = role_reports_[metric];
  for (size_t i = 0; i < replicas.size(); ++i) {
    const int64_t report = reports_[i * metrics + metric];
    if (replicas[i].role == Role::kPrimary && report != kNotReported) primary = report;
  }
  const bool default_only = service.on_every_node && options_.settings.use_default_load_for_service_on_every_node;
  int64_t secondary = default_only ? declared.secondary_load : SecondaryLoad(service, partition, metric);
  bool own_reports = options_.settings.use_separate_secondary_load && !default_only;
  const int64_t target =
      service.target_replicas > 0 ? service.target_replicas : static_cast<int64_t>(replicas.size()) + partition.missing;
  if (service.stateful && target == 1) {
    secondary = primary;
    own_reports = false;
  }
  for (size_t i = 0; i < replicas.size(); ++i) {
    const Replica& replica = replicas[i];
    const int64_t report = reports_[i * metrics + metric];
    int64_t& load = cluster_.loads[replica.first_load + metric];
    if (replica.role == Role::kPrimary) {
      load = primary;
    } else if (replica.Exists()) {
      load = own_reports && report != kNotReported ? report : secondary;
    }
  }
  cluster_.loads[partition.new_loads + metric] = primary;
  cluster_.loads[partition.new_loads + metrics + metric] = secondary;
}

void StateReader::SetLoads(const Service& service, const Partition& partition) {
  const size_t metrics = service.metrics.size();
  const Role other = service.stateful ? Role::kSecondary : Role::kInstance;
  for (size_t metric = 0; metric < metrics; ++metric) {
    const BuiltInMetric built_in = cluster_.metrics[service.metrics[metric].metric].built_in;
    if (built_in == BuiltInMetric::kNo) {
      SetMetricLoads(service, partition, metric);
      continue;
    }
    for (const Replica& replica : cluster_.ReplicasOf(partition)) {
      cluster_.loads[replica.first_load + metric] = *BuiltInLoad(built_in, replica.role);
    }
    cluster_.loads[partition.new_loads + metric] = *BuiltInLoad(built_in, Role::kPrimary);
    cluster_.loads[partition.new_loads + metrics + metric] = *BuiltInLoad(built_in, other);
  }
}

// Each replica counts with the largest load that it can have by the plan: roles change.
base::Status StateReader::SumLoads(const Where& where, const Service& service, const Partition& partition) {
  const size_t metrics = service.metrics.size();
  const int64_t new_ones = service.on_every_node ? static_cast<int64_t>(cluster_.nodes.size()) : std::max(partition.missing, 0);
  for (size_t metric = 0; metric < metrics; ++metric) {
    const int64_t* fresh = &cluster_.loads[partition.new_loads + metric];
    int64_t most = std::max(fresh[0], fresh[metrics]);
    for (const Replica& replica : cluster_.ReplicasOf(partition)) {
      most = std::max(most, cluster_.loads[replica.first_load + metric]);
    }
    const __int128 of_partition = static_cast<__int128>(most) * (partition.replica_count + new_ones);
    EVENKEEL_TRY(AddToTotal(where, service.metrics[metric].metric, of_partition));
  }
  return {};
}

}  // namespace evenkeel::balancing
