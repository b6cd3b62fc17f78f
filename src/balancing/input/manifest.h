// The balancer's settings, as operators of Service Fabric already have them in files. Three syntaxes are told apart by their
// first character:
//
//   ClusterManifest.xml   <Section Name="S"><Parameter Name="N" Value="V"/></Section>, and per node type
//                         <NodeType Name="T"><PlacementAndLoadBalancingOverrides>...
//   ClusterConfig.json    "fabricSettings": [{"name": "S", "parameters": [{"name": "N", "value": "V"}]}]
//   Template.json         the same, somewhere in the resources of a deployment template
//
// and so are pieces of them, as documentation prints them: <Section>, <FabricSettings> or <NodeTypes> alone, one or several;
// "fabricSettings": [...] without the braces around it. Values in JSON may also be numbers and booleans.
//
// Node types override settings in XML by
//
//   <NodeTypes><NodeType Name="T"><PlacementAndLoadBalancingOverrides>
//     <MetricBalancingThresholdsPerNodeType><BalancingThreshold Name="M" Value="2.5"/></MetricBalancingThresholdsPerNodeType>
//     <MetricActivityThresholdsPerNodeType><ActivityThreshold Name="M" Value="500"/></MetricActivityThresholdsPerNodeType>
//     <MinLoadBalancingIntervalPerNodeType>100</MinLoadBalancingIntervalPerNodeType>
//   </PlacementAndLoadBalancingOverrides></NodeType></NodeTypes>
//
// and in JSON, in a form of our own, by
//
//   "nodeTypes": [{"name": "T", "placementAndLoadBalancingOverrides": {
//     "metricBalancingThresholdsPerNodeType": [{"name": "M", "value": "2.5"}],
//     "metricActivityThresholdsPerNodeType": [{"name": "M", "value": "500"}],
//     "minLoadBalancingIntervalPerNodeType": "100"}}]
//
// Of node types, their capacities and placement properties are read as well (<Capacities><Capacity Name Value/>,
// <PlacementProperties><Property Name Value/>; "capacities" and "placementProperties" in JSON): what a node of that type has
// when the state does not say otherwise.
//
// Nodes are read where a manifest lists them, for states that name none: <NodeList><Node NodeName NodeTypeRef FaultDomain
// UpgradeDomain/> of a standalone cluster's ClusterManifest.xml, "nodes": [{"nodeName", "nodeTypeRef", "faultDomain",
// "upgradeDomain"}] of its ClusterConfig.json. Azure names the nodes of a cluster itself. For a manifest that lists none, they
// are made of their numbers: "vmInstanceCount" of a template's "nodeTypes", <Role NodeTypeRef RoleNodeCount/> of a
// ClusterManifest.xml. Node I of type T is _T_I as there, in fault domain fd:/F and upgrade domain F, F = I mod 5.
//
// UTF-8, or UTF-16 with a byte order mark. Expressions of a template ("[parameters('x')]") are not evaluated; they are left out
// with a warning, and of a key that stands twice in an object the last one counts, with one, too.
//
// Two slips that documentation itself makes load with a warning: <BalancingThreshold ...> and <ActivityThreshold ...> that are
// never closed, and a comma before a closing bracket of JSON. Anything else that is not well-formed is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancing/input/text_position.h"
#include "balancing/model/cluster.h"
#include "balancing/model/settings.h"
#include "base/result.h"

namespace evenkeel::balancing {

/// One parameter that was given, for messages about it later.
struct GivenParameter {
  TextPosition at;  ///< in the manifest's file
  std::string name;
};

/// Parameters of one section that follow each other.
struct GivenSection {
  std::string node_type;  ///< empty: of the whole cluster
  std::string section;    ///< or the element of the override
  std::vector<GivenParameter> parameters;
};

/// What a manifest says about the nodes of one type.
struct NodeTypeDescription {
  std::string name;
  Group<int64_t> capacities;
  Group<std::string> properties;
};

/// A node that a manifest lists, or that a node type's number of nodes makes; what is not said is empty.
struct NodeDescription {
  std::string name, node_type, fault_domain, upgrade_domain;
  bool operator==(const NodeDescription&) const = default;
};

struct Manifest {
  std::string file;  ///< its name
  Settings settings;
  std::vector<NodeTypeDescription> node_types;
  std::vector<NodeDescription> nodes;
  std::vector<GivenSection> given;    ///< in the order of the file
  std::vector<std::string> warnings;  ///< "FILE:LINE:COLUMN: what", in the order of the file; a hundred, and how many more
};

/// `file`: its name, for messages. kBadRequest: "FILE:LINE:COLUMN: SECTION/NAME: what". A parameter that is given twice with
/// different values is an error.
base::Result<Manifest> ReadManifest(std::string_view text, const std::string& file);

/// Whether what the manifest says fits the cluster: settings of a metric that no service reports, overrides of a node type that
/// no node has, and such that nothing has switched on, are warnings.
base::Result<std::vector<std::string>> CheckNames(const Manifest& manifest, const Cluster& cluster);

}  // namespace evenkeel::balancing
