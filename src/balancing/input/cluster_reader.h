// Reads the state of a cluster from a file in YAML or JSON:
//
//   nodes:                               # default those that the manifest lists
//   - name: n0
//     nodeType: A                        # these three: default what the manifest says of the node, else none
//     faultDomain: "fd:/dc0/r0"
//     upgradeDomain: ud0
//     capacities: {Memory: 100}          # unlimited in what is not named
//     properties: {ssd: "1"}             # texts, numbers or booleans
//     state: up                          # or down
//     deactivation: {intent: Pause, status: Complete}     # or the intent alone; Pause, Restart, RemoveData, RemoveNode;
//                                        # SafetyCheckInProgress, SafetyCheckComplete, Complete (the default)
//   serviceTypes:
//   - {name: webType, blockedNodes: [n0]}
//   applications:
//   - name: shop
//     minNodes: 0
//     maxNodes: 3                        # 0: unlimited
//     metrics: [{name: Memory, totalCapacity: 90, maxNodeCapacity: 30, nodeReservation: 10}]     # 0: unlimited
//     inUpgrade: true
//     upgradedDomains: [ud0]
//   services:
//   - name: s1
//     kind: stateful                     # or stateless, the default
//     type: webType                      # made when serviceTypes does not have it
//     application: shop                  # made when applications does not have it
//     persisted: true
//     metrics: [{name: Memory, weight: High, primaryLoad: 10, secondaryLoad: 5}]     # stateless: load; default the three
//                                        # built-in ones. Weight: High (default), Medium, Low, Zero or a number from 0
//     placementConstraints: "ssd == 1"   # expression.h
//     placementPolicies: [{type: RequiredDomain, domain: "fd:/dc0"}]     # InvalidDomain, RequiredDomain,
//                                        # PreferredPrimaryDomain, RequiredDomainDistribution, NonPartiallyPlace
//     moveCost: Low                      # Zero, Low, Medium, High, VeryHigh; or {primary: High, secondary: Low}
//     affinityTo: parent                 # or {service: parent, aligned: false}; default aligned
//     targetReplicas: 3                  # of one partition; -1: stateless, one on every node
//   partitions:
//   - name: s1/0
//     service: s1
//     replicas:
//     - {node: n0, role: primary, loads: {Memory: 12}, moveCost: High, flags: [InBuild]}
//     - {node: n1, role: secondary}      # primary, secondary, instance, standBy, none, dropped; stateless: instance
//     missing: 1                         # below 0: too many; default targetReplicas less those that exist, or 0
//     primaryLoads: {Memory: 12}         # last reports of a role that no replica has at the moment
//     secondaryLoads: {Memory: 6}
//     version: 7
//     flags: [InUpgrade]                 # InUpgrade, InTransition, QuorumLoss, SwappingPrimary, ToBeDeleted; inUpgrade: true
//                                        # says the first of them
//   runtime: {balancingEnabled: true, constraintCheckEnabled: true}
//   history:                             # seconds; what is absent is long ago
//     {lastRefresh: 0, lastPlacement: 0, lastConstraintCheck: 0, lastBalancing: 0, lastStateChange: 0, lastLoadChange: 0,
//      lastNodeUp: -1e9, lastNodeDown: -1e9, lastBalancingOfNodeType: {A: 50}, placementRuns: 0, placementWithMove: false,
//      balancingRuns: 0, slowBalancing: false, lastScore: 0.1, movements: [{at: 12.5, partition: s1/0, phase: Balancing}]}
//
// Flags of replicas: InBuild, ToBePromoted, ToBeDropped, ToBeDroppedForDeactivation, MoveInProgress, PrimaryToBeSwappedOut,
// PrimaryToBePlaced, ReplicaToBePlaced, PreferredPrimaryLocation, PreferredReplicaLocation, Offline. Words may be in any case.
// Unknown fields are left out with a warning.
//
// Loads: reported (`loads`), else the default of the role. A secondary that has not reported has the rounded average of those
// that have; with UseSeparateSecondaryLoad off all have what the last of them reported (and with UseSeparateSecondaryMoveCost
// off its move cost). When a partition's target is one replica, a secondary weighs what the primary does, so that a move keeps
// the load. A stand-by replica weighs what a secondary does; replicas without a role and dropped ones weigh nothing.
//
// Refused, besides what is not of the form above: two things of one name; a node, service or parent that is not there; two
// primaries, or two replicas on one node, in one partition; roles that the service's kind does not have; negative or
// fractional loads, capacities and weights; loads and reservations that may come to more than 2^61 together;
// more missing replicas of a partition than there are nodes or 1,000, or more than 300,000 altogether; constraints that do not
// parse or, with ValidatePlacementConstraint, name a property that no node has; a parent that has a parent; application groups
// whose reservation, limits per node and total contradict each other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/input/manifest.h"
#include "balancing/model/cluster.h"
#include "base/result.h"

namespace evenkeel::balancing {

struct ReadClusterOptions {
  Settings settings;
  /// Capacities and properties that a node has by its type; what the node itself names wins.
  std::span<const NodeTypeDescription> node_types;
  /// The nodes of a state that names none, up and without anything of their own. Where it names some: what these have as type
  /// and domains when the state does not say it.
  std::span<const NodeDescription> nodes = {};
};

struct ClusterFile {
  Cluster cluster;
  std::vector<std::string> warnings;  ///< one line each; each kind of slip once
};

/// `file`: its name, for messages. kBadRequest in one line: "FILE:LINE: partition \"s1/0\": replicas[1].node: what". 100,000
/// partitions of three replicas with three metrics take less than half a
/// second and 250 MiB on the way as JSON (cluster_reader_bench.cc); YAML takes far longer.
base::Result<ClusterFile> ReadCluster(std::string_view text, const std::string& file, const ReadClusterOptions& options);

struct StateText {
  std::string_view text;
  std::string file;
};
/// The same of a state in several files: lists go on from file to file, and what one names another may have. Of runtime and
/// history the later file's fields count.
base::Result<ClusterFile> ReadCluster(std::span<const StateText> texts, const ReadClusterOptions& options);

}  // namespace evenkeel::balancing
