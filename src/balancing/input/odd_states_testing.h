// Small states of clusters in which everything that the reader takes is as likely as what is usual: nodes without domains
// beside nodes with them, hierarchies with one child, flags in every combination, no primary, capacities and loads of 0 and of
// the largest numbers. And settings likewise. Both are drawn from bytes, so that a fuzz target can look for more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/settings.h"
#include "base/json.h"

namespace evenkeel::balancing::testing {

/// Takes the bytes one after the other; when they are used up every draw is 0.
class Draws {
 public:
  explicit Draws(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t Below(size_t bound) {
    if (bytes_.empty()) return 0;
    const size_t drawn = bytes_.front() % bound;
    bytes_ = bytes_.subspan(1);
    return drawn;
  }
  bool OneIn(size_t number) { return Below(number) == number - 1; }
  template <typename T, size_t N>
  T Of(const T (&values)[N]) {
    return values[Below(N)];
  }

 private:
  std::span<const uint8_t> bytes_;
};

class OddState {
 public:
  explicit OddState(Draws& draws) : draws_(draws) {}

  std::string Text() {
    const size_t nodes = draws_.Below(7);
    for (size_t i = 0; i < nodes; ++i) nodes_.push_back(Node("n" + std::to_string(i)));
    const size_t services = 1 + draws_.Below(4);
    for (size_t i = 0; i < services; ++i) services_.push_back(Service("s" + std::to_string(i)));
    const size_t partitions = draws_.Below(8);
    for (size_t i = 0; i < partitions; ++i) partitions_.push_back(Partition("p" + std::to_string(i)));
    base::JsonObject state{{"applications", Applications()},
                           {"nodes", std::move(nodes_)},
                           {"services", std::move(services_)},
                           {"partitions", std::move(partitions_)}};
    if (draws_.OneIn(4)) state["history"] = History();
    if (draws_.OneIn(8)) {
      state["runtime"] = base::JsonObject{{"balancingEnabled", !draws_.OneIn(2)}, {"constraintCheckEnabled", !draws_.OneIn(2)}};
    }
    return base::ToText(base::Json(std::move(state)));
  }

 private:
  static constexpr int64_t kLarge = int64_t{1} << 57;

  int64_t Load() { return draws_.Of<int64_t>({0, 1, 1, 3, 10, 100, kLarge}); }

  base::Json Node(const std::string& name) {
    base::JsonObject node{{"name", name}};
    node["nodeType"] = draws_.Of<const char*>({"", "A", "B"});
    node["faultDomain"] = draws_.Of<const char*>(
        {"", "fd:/dc1/r0", "fd:/dc1/r1", "fd:/dc1/r2", "fd:/dc1", "fd:/dc2/r0", "fd:/dc1/r0/c0", "fd:/"});
    node["upgradeDomain"] = draws_.Of<const char*>({"", "UD0", "UD1", "UD2"});
    base::JsonObject capacities;
    for (const char* metric : {"M", "N"}) {
      if (draws_.OneIn(2)) capacities[metric] = draws_.Of<int64_t>({0, 1, 5, 20, 200, INT64_MAX});
    }
    node["capacities"] = std::move(capacities);
    if (draws_.OneIn(3)) node["properties"] = base::JsonObject{{"ssd", draws_.Of<int64_t>({0, 1})}};
    if (draws_.OneIn(6)) node["state"] = "down";
    if (draws_.OneIn(5)) {
      node["deactivation"] = base::JsonObject{
          {"intent", draws_.Of<const char*>({"Pause", "Restart", "RemoveData", "RemoveNode", "None"})},
          {"status", draws_.Of<const char*>({"None", "SafetyCheckInProgress", "SafetyCheckComplete", "Complete"})}};
    }
    return node;
  }

  base::Json Applications() {
    base::JsonArray applications;
    for (const char* name : {"a", "b"}) {
      base::JsonObject metric{{"name", draws_.Of<const char*>({"M", "N", "Other"})}};
      metric["nodeReservation"] = draws_.Of<int64_t>({0, 1, 10, kLarge});
      metric["totalCapacity"] = draws_.Of<int64_t>({0, 1, 20, INT64_MAX});
      metric["maxNodeCapacity"] = draws_.Of<int64_t>({0, 0, 10, kLarge});
      base::JsonObject application{{"name", name}, {"metrics", base::JsonArray{std::move(metric)}}};
      application["maxNodes"] = draws_.Of<int64_t>({0, 1, 2});
      application["inUpgrade"] = draws_.OneIn(4);
      application["upgradedDomains"] = base::JsonArray{"UD0"};
      applications.push_back(std::move(application));
    }
    return applications;
  }

  base::Json Service(const std::string& name) {
    const bool stateful = !draws_.OneIn(3);
    base::JsonObject service{{"name", name}, {"kind", stateful ? "stateful" : "stateless"}};
    stateful_.push_back(stateful);
    base::JsonArray metrics;
    for (const char* metric : {"M", "N", "PrimaryCount", "Count"}) {
      if (!draws_.OneIn(2)) continue;
      base::JsonObject declared{{"name", metric}, {"weight", draws_.Of<double>({1, 0, 0.3, 1e300})}};
      declared["load"] = Load();
      if (stateful) declared["secondaryLoad"] = Load();
      metrics.push_back(std::move(declared));
    }
    service["metrics"] = std::move(metrics);
    if (draws_.OneIn(3)) service["application"] = draws_.Of<const char*>({"a", "b"});
    if (draws_.OneIn(3)) {
      service["placementConstraints"] =
          draws_.Of<const char*>({"ssd == 1", "FDPolicy ~ Nonpacking", "FDPolicy ~ Ignore", "NodeType ^P A", "NodeName == n0",
                                  "PlacePolicy ~ NonPartially", "FaultDomain ^ fd:/dc1", "NodeName == none"});
    }
    if (draws_.OneIn(3)) {
      service["affinityTo"] =
          base::JsonObject{{"service", "s" + std::to_string(draws_.Below(stateful_.size()))}, {"aligned", draws_.OneIn(2)}};
    }
    const int64_t target = draws_.Of<int64_t>({0, 1, 2, 3, 5, -1});
    if (target > 0 || (target < 0 && !stateful)) service["targetReplicas"] = target;
    service["moveCost"] = draws_.Of<const char*>({"Low", "Zero", "VeryHigh"});
    return service;
  }

  base::JsonArray Flags(std::span<const char* const> names) {
    base::JsonArray flags;
    if (!draws_.OneIn(3)) return flags;
    const size_t count = 1 + draws_.Below(3);
    for (size_t i = 0; i < count; ++i) flags.push_back(names[draws_.Below(names.size())]);
    return flags;
  }

  base::Json Replica(size_t node, bool stateful, bool& has_primary) {
    constexpr const char* kFlags[] = {"InBuild",
                                      "ToBePromoted",
                                      "ToBeDropped",
                                      "ToBeDroppedForDeactivation",
                                      "MoveInProgress",
                                      "PrimaryToBeSwappedOut",
                                      "PrimaryToBePlaced",
                                      "ReplicaToBePlaced",
                                      "PreferredPrimaryLocation",
                                      "PreferredReplicaLocation",
                                      "Offline"};
    base::JsonObject replica{{"node", "n" + std::to_string(node)}};
    std::string role = stateful ? draws_.Of<const char*>({"primary", "secondary", "secondary", "standBy", "none", "dropped"})
                                : draws_.Of<const char*>({"instance", "instance", "none", "dropped"});
    if (role == "primary" && std::exchange(has_primary, true)) role = "secondary";
    replica["role"] = role;
    if (draws_.OneIn(2)) replica["loads"] = base::JsonObject{{"M", Load()}};
    replica["flags"] = Flags(kFlags);
    return replica;
  }

  base::Json Partition(const std::string& name) {
    constexpr const char* kFlags[] = {"InUpgrade", "InTransition", "QuorumLoss", "SwappingPrimary", "ToBeDeleted"};
    const size_t service = draws_.Below(stateful_.size());
    base::JsonObject partition{{"name", name}, {"service", "s" + std::to_string(service)}};
    base::JsonArray replicas;
    bool has_primary = false;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (draws_.OneIn(2)) replicas.push_back(Replica(node, stateful_[service], has_primary));
    }
    partition["replicas"] = std::move(replicas);
    if (draws_.OneIn(2)) partition["missing"] = draws_.Of<int64_t>({0, 1, 2, 4, -1, -3});
    partition["flags"] = Flags(kFlags);
    if (draws_.OneIn(4)) partition["primaryLoads"] = base::JsonObject{{"N", Load()}};
    return partition;
  }

  base::Json History() {
    base::JsonObject history;
    for (const char* instant : {"lastPlacement", "lastConstraintCheck", "lastBalancing", "lastStateChange", "lastLoadChange",
                                "lastNodeUp", "lastNodeDown", "lastScore"}) {
      if (draws_.OneIn(3)) history[instant] = draws_.Of<double>({0, 999, 1000, 2000, -1, 1e308, -1e308});
    }
    history["placementRuns"] = draws_.Of<int64_t>({0, 1, 5, INT64_MAX});
    history["placementWithMove"] = draws_.OneIn(2);
    history["balancingRuns"] = draws_.Of<int64_t>({0, 3, INT64_MAX});
    history["slowBalancing"] = draws_.OneIn(2);
    history["movements"] = base::JsonArray{
        base::JsonObject{{"at", draws_.Of<double>({999, 0, 1e300})}, {"partition", draws_.Of<const char*>({"p0", "gone"})}}};
    return history;
  }

  Draws& draws_;
  base::JsonArray nodes_, services_, partitions_;
  std::vector<bool> stateful_;
};

/// Some parameters have some values; those that the parameter does not take are left out.
inline Settings OddSettings(Draws& draws) {
  Settings settings;
  const std::vector<Parameter>& all = Parameters();
  const size_t count = draws.Below(12);
  for (size_t i = 0; i < count; ++i) {
    // More parameters than a byte tells apart.
    const Parameter& parameter = all[(draws.Below(256) * 256 + draws.Below(256)) % all.size()];
    const char* value =
        draws.Of<const char*>({"1", "true", "0", "false", "0.5", "2", "100", "1000000000", "9223372036854775807", "1e18", "3"});
    const char* metric = draws.Of<const char*>({"M", "N", "Count"});
    if (parameter.per_node_type) {
      (void)SetNodeTypeParameter(settings, "A", parameter.name, parameter.key == ParameterKey::kNone ? "" : metric, value);
      continue;
    }
    const std::string name = parameter.key == ParameterKey::kNone ? parameter.name : metric;
    (void)SetParameter(settings, parameter.section, parameter.key == ParameterKey::kNodeType ? "A" : name, value);
  }
  return settings;
}

}  // namespace evenkeel::balancing::testing
