#include "sim/world/fault_kinds.h"

#include <algorithm>
#include <array>

namespace evenkeel::sim {
namespace {

using Rate = FaultKind::Rate;

constexpr std::array kKinds = {
    FaultKind{"api-error", Rate::kProbability, 0.0005, 0.02,
              "a call is answered with 429, 500 or 503, before or after it took effect"},
    FaultKind{"clock-jump", Rate::kPeriod, 10, 120, "the wall clock of a process is set, by up to five hours"},
    FaultKind{"clock-skew", Rate::kAlways, 0, 0, "clocks are off by hours and run up to 1 % fast or slow"},
    FaultKind{"cloud-defect", Rate::kPeriod, 30, 200, "half of the instances that a node group gets fail for good"},
    FaultKind{"cloud-failure", Rate::kPeriod, 30, 200, "half of all creations of a node group fail, for up to three minutes"},
    FaultKind{"cloud-loss", Rate::kPeriod, 30, 200, "half of the instances that a node group gets never become nodes"},
    FaultKind{"cloud-shared", Rate::kAlways, 1.0 / 3, 0,
              "one cloud for all members: each sees all groups, and one group is claimed by all"},
    FaultKind{"cloud-silent", Rate::kPeriod, 30, 200, "the cloud carries increases of a node group out and never answers"},
    FaultKind{"cloud-slow", Rate::kPeriod, 30, 200, "new nodes of a group take up to two minutes longer"},
    FaultKind{"cloud-stock-out", Rate::kPeriod, 30, 200, "the cloud has no room for new nodes of a group"},
    FaultKind{"cloud-unreadable", Rate::kPeriod, 30, 200, "what a node group is like cannot be read"},
    FaultKind{"cloud-warning", Rate::kPeriod, 30, 200, "the cloud shows a failure of each instance of a group that runs"},
    FaultKind{"cluster", Rate::kPeriod, 40, 300, "a member is taken out of the fleet and comes back later"},
    FaultKind{"cluster-delete", Rate::kPeriod, 60, 400,
              "ensembles: somebody deletes a member's Cluster; it joins again within two minutes"},
    FaultKind{"clusters-away", Rate::kPeriod, 60, 400,
              "ensembles: the hub does not answer which Clusters there are, for up to two minutes"},
    FaultKind{"conflict", Rate::kProbability, 0.0005, 0.02, "a write is refused as a conflict although nothing has changed"},
    FaultKind{"delayed-request", Rate::kProbability, 0.0002, 0.005, "a write arrives up to a minute after its sender gave up"},
    FaultKind{"device-claim", Rate::kPeriod, 20, 150, "devices: somebody deletes a claim, whoever uses it"},
    FaultKind{"device-edit", Rate::kPeriod, 2, 20,
              "devices: somebody else writes to claims, slices and pods, so that writes of the scheduler have conflicts"},
    FaultKind{"device-loss", Rate::kPeriod, 30, 200,
              "devices: the nodes of a group have one device less, for up to two minutes"},
    FaultKind{"device-node", Rate::kPeriod, 40, 300, "devices: a node is gone for good, and another one comes"},
    FaultKind{"device-slices", Rate::kPeriod, 20, 150,
              "devices: all slices of a node vanish, and come back with the next generation within a minute"},
    FaultKind{"device-taint", Rate::kPeriod, 20, 150, "devices: a device has a taint, for up to two minutes"},
    FaultKind{"hand-delete", Rate::kPeriod, 60, 400,
              "ensembles: somebody deletes an override, the ZooKeeper or its binding on the hub"},
    FaultKind{"hub-crash", Rate::kPeriod, 60, 400, "the hub's API server goes down for up to 20 s"},
    FaultKind{
        "karmada-once", Rate::kAlways, 0.5, 0,
        "ensembles: Karmada schedules again only when it is asked, brings its namespaces to members, and empties members whose "
        "Cluster goes"},
    FaultKind{"karmada-taint", Rate::kPeriod, 60, 400,
              "ensembles: a member's Cluster has a taint NoExecute for up to two minutes; Karmada evicts by such taints, and "
              "by outages"},
    FaultKind{"latency", Rate::kAlways, 0, 0, "requests and answers take up to 50 ms"},
    FaultKind{"lost-answer", Rate::kProbability, 0.0005, 0.01, "a call is carried out but its sender never hears of it"},
    FaultKind{"lost-request", Rate::kProbability, 0.0005, 0.01, "a call never arrives"},
    FaultKind{"member-crash", Rate::kPeriod, 10, 100, "a member's API server goes down for up to a minute"},
    FaultKind{"member-cut", Rate::kPeriod, 30, 200,
              "ensembles: servers of a member hear none of another member's, or of no other"},
    FaultKind{"member-loss", Rate::kPeriod, 60, 400,
              "ensembles: a member's API server and all its servers are gone for up to two minutes"},
    FaultKind{"node-crash", Rate::kPeriod, 40, 300, "ensembles: a node is off for up to two minutes"},
    FaultKind{"partition", Rate::kPeriod, 10, 120, "a replica cannot reach an API server, or all, in one direction or both"},
    FaultKind{"replica-crash", Rate::kPeriod, 20, 200, "a replica is killed and comes back, under its name or another"},
    FaultKind{"replica-pause", Rate::kPeriod, 15, 150, "a replica is stopped for 1 to 90 s and continued"},
    FaultKind{"replica-stop", Rate::kPeriod, 30, 300, "a replica ends as upon SIGTERM and is replaced"},
    FaultKind{"scale", Rate::kPeriod, 60, 300, "the number of replicas changes"},
    FaultKind{"server-crash", Rate::kPeriod, 20, 200, "ensembles: a server is killed, and its container restarted"},
    FaultKind{"server-silent", Rate::kProbability, 0.002, 0.1,
              "ensembles: a server that serves gives its operator no answer, for up to three seconds"},
    FaultKind{"slow-api", Rate::kPeriod, 15, 150, "an API server takes up to 5 s longer for each call"},
    FaultKind{"stall", Rate::kProbability, 0.00005, 0.001,
              "a replica is stopped after its own checks, just before a write goes out"},
    FaultKind{"version-change", Rate::kPeriod, 20, 120,
              "ensembles: a replica comes back as an older or newer version of the program"},
    FaultKind{"watch-break", Rate::kPeriod, 10, 120, "watches end"},
    FaultKind{"watch-delay", Rate::kPeriod, 15, 150, "watches lag by up to 30 s"},
    FaultKind{"watch-expire", Rate::kPeriod, 20, 200, "watches end because history has been forgotten"},
};
static_assert(std::ranges::is_sorted(kKinds, {}, &FaultKind::name));

}  // namespace

std::span<const FaultKind> FaultKinds() { return kKinds; }

const FaultKind* FindFaultKind(std::string_view name) {
  const auto found = std::ranges::lower_bound(kKinds, name, {}, &FaultKind::name);
  return found != kKinds.end() && found->name == name ? &*found : nullptr;
}

}  // namespace evenkeel::sim
