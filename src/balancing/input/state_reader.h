// Makes a Cluster of a state file, list by list. cluster_reader.h is the contract.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/state_fields.h"

namespace evenkeel::balancing {

inline constexpr std::pair<std::string_view, MoveCost> kMoveCosts[] = {{"Zero", MoveCost::kZero},
                                                                       {"Low", MoveCost::kLow},
                                                                       {"Medium", MoveCost::kMedium},
                                                                       {"High", MoveCost::kHigh},
                                                                       {"VeryHigh", MoveCost::kVeryHigh}};

/// Of one metric, loads and reservations together. A quarter of what 64 bits hold: what is on a node, what has left it and what
/// comes are added up.
inline constexpr int64_t kLoadsMax = int64_t{1} << 61;

class StateReader {
 public:
  /// Both outlive this.
  StateReader(std::span<StateFile> files, const ReadClusterOptions& options);

  base::Result<Cluster> Read();

 private:
  using Ids = std::unordered_map<std::string_view, uint32_t>;

  // cluster_reader.cc
  template <typename Visit>
  base::Status ForEachItem(std::span<const Fields> roots, std::string_view list, Visit visit);
  base::Status ReadLists(std::span<const Fields> roots);

  // state_nodes.cc
  base::Status ReadNode(const base::Json& value, const Where& where);
  void AddListedNodes();
  base::Status ReadDeactivation(const Fields& fields, Node& node);
  const NodeTypeDescription* Described(std::string_view type) const;
  base::Status ReadCapacities(const Fields& fields, Node& node, const NodeTypeDescription* type);
  void SetCapacities(const std::map<MetricId, int64_t>& capacities, Node& node);
  std::map<MetricId, int64_t> CapacitiesOf(const NodeTypeDescription* type);
  base::Status ReadProperties(const Fields& fields, Node& node, const NodeTypeDescription* type);
  void AddNode(Node node);
  base::Status ReadServiceType(const base::Json& value, const Where& where);

  // state_services.cc
  base::Status ReadApplication(const base::Json& value, const Where& where);
  base::Status ReadApplicationMetric(const base::Json& value, const Where& where, Application& application);
  base::Status AddToTotal(const Where& where, MetricId metric, __int128 amount);
  base::Status ReadService(const base::Json& value, const Where& where);
  base::Status ReadMetrics(const Fields& fields, Service& service);
  base::Status ReadMetric(const base::Json& value, const Where& where, Service& service);
  double DefaultWeight(std::string_view metric) const;
  void CountMetrics(const Service& service);
  base::Status ReadMoveCost(const Fields& fields, Service& service);
  base::Status ReadTarget(const Fields& fields, Service& service);
  base::Result<std::string> ReadPolicies(const Fields& fields);
  base::Status ReadConstraint(const Fields& fields, Service& service);
  base::Status CheckConstraint(const Fields& fields, const Expression& constraint);
  base::Status ReadAffinity(const base::Json& value, const Where& where, ServiceId child);
  base::Status CheckAffinity(const Where& where, ServiceId child);
  void CheckParent(const Where& where, ServiceId child);

  // state_partitions.cc
  base::Status ReadPartition(const base::Json& value, const Where& where);
  base::Status ReadPartitionFlags(const Fields& fields, Partition& partition);
  base::Status ReadReplica(const base::Json& value, const Where& where, const Service& service);
  base::Status CheckReplica(const Where& where, const Replica& replica, const Service& service);
  base::Status ReadReports(const Fields& fields, std::string_view key, const Service& service, std::span<int64_t> row);
  base::Status ReadMissing(const Fields& fields, const Service& service, Partition& partition);
  void SetLoads(const Service& service, const Partition& partition);
  void SetMetricLoads(const Service& service, const Partition& partition, size_t metric);
  int64_t SecondaryLoad(const Service& service, const Partition& partition, size_t metric) const;
  base::Status SumLoads(const Where& where, const Service& service, const Partition& partition);

  // state_history.cc
  base::Status ReadRuntime(const Fields& root);
  base::Status ReadHistory(const Fields& root);
  base::Status ReadMovement(const base::Json& value, const Where& where);

  MetricId InternMetric(std::string_view name);
  NodeTypeId InternNodeType(std::string_view name);

  const std::span<StateFile> files_;
  StateFile* file_ = nullptr;  // that is being read
  const ReadClusterOptions& options_;
  Cluster cluster_;
  // By name; the keys live in the files or in what they keep.
  Ids nodes_, services_, partitions_, applications_, service_types_;
  std::unordered_map<std::string, uint32_t> metrics_, node_types_, constraints_;
  std::unordered_map<std::string_view, const NodeTypeDescription*> described_types_;
  std::unordered_map<std::string_view, const NodeDescription*> listed_nodes_;
  std::set<std::string, std::less<>> property_names_;  // of any node
  std::vector<int64_t> metric_totals_;                 // per metric: all loads and reservations so far
  int64_t missing_ = 0;                                // replicas of all partitions so far
  std::vector<PartitionId> last_on_node_;              // per node: the last partition that has a replica there
  // Of the partition that is being read.
  bool has_primary_ = false;
  std::optional<MoveCost> secondary_cost_;  // the last one that a secondary has reported
  std::vector<int64_t> reports_;            // a row for each replica; kNotReported where nothing was
  std::vector<int64_t> role_reports_;       // a row of a primary and one of a secondary
};

}  // namespace evenkeel::balancing
