// Any text as the state of a cluster: what is read is sound and can be planned, errors are one line that names the file.
#include <cstddef>
#include <cstdint>

#include "balancing/input/cluster_reader.h"
#include "balancing/plan/planning_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::balancing;
  const auto file = ReadCluster(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz", {});
  if (!file) {
    EVENKEEL_CHECK(file.error().message().starts_with("fuzz"));
    EVENKEEL_CHECK(file.error().message().find('\n') == std::string::npos);
    return 0;
  }
  const Cluster& cluster = file->cluster;
  for (const Service& service : cluster.services) {
    EVENKEEL_CHECK(!service.metrics.empty() && service.constraint < cluster.constraints.size());
    if (service.affinity_to != kNoId) EVENKEEL_CHECK(cluster.services[service.affinity_to].affinity_to == kNoId);
  }
  for (const Partition& partition : cluster.partitions) {
    size_t primaries = 0;
    for (const Replica& replica : cluster.ReplicasOf(partition)) {
      EVENKEEL_CHECK(replica.node < cluster.nodes.size());
      primaries += replica.role == Role::kPrimary ? 1 : 0;
      for (const int64_t load : cluster.LoadsOf(replica)) EVENKEEL_CHECK(load >= 0);
    }
    EVENKEEL_CHECK(primaries <= 1);
    for (const Role role : {Role::kPrimary, Role::kSecondary}) {
      for (const int64_t load : cluster.NewReplicaLoads(partition, role)) EVENKEEL_CHECK(load >= 0);
    }
  }
  evenkeel::balancing::testing::PlanAndCheck(cluster, {});
  return 0;
}
