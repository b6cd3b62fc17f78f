// What Cluster API's objects say about node groups and machines. No network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "providers/cluster_api.h"
#include "providers/warnings.h"

namespace evenkeel::providers {

/// Names of annotations and labels that depend on the API group.
struct ClusterApiNames {
  explicit ClusterApiNames(const std::string& group);
  std::string min_size, max_size;  ///< annotations of a group
  std::string options_prefix;
  std::string paused;
  std::string delete_machine;              ///< annotation of a Machine
  std::string machine, cluster_namespace;  ///< annotations of a Node
  std::string cluster_name;                ///< label
};

struct ClusterApiMachine {
  std::string ns, name;
  std::string provider_id;  ///< "" until its infrastructure has one
  std::string node;         ///< of status.nodeRef; "": not registered yet
  bool has_node_ref = false;
  bool deleting = false;
  bool failed = false;  ///< status.phase is Failed; a failureMessage alone may be old
  bool marked = false;  ///< is to go when the replicas are lowered
  std::string cluster_name;
  std::string machine_set;  ///< its owner; "": none
  base::JsonObject labels;

  std::string Key() const { return ns + "/" + name; }
};

/// A group before its machines are looked at.
struct ClusterApiGroup {
  NodeGroup group;  ///< id, sizes, options, debug
  std::string kind, ns, name, cluster_name;
  kube::LabelSelector machines;                ///< nothing for a MachinePool
  std::vector<std::string> pool_provider_ids;  ///< of a MachinePool
  const base::Json* object = nullptr;          ///< as given
};

/// Whether one of the specs holds for the group, or there are none. `names`: of the API group.
bool IsAllowed(const std::vector<ClusterApiDiscovery>& discovery, const ClusterApiNames& names, const base::Json& object);
std::string ClusterNameOf(const base::Json& object, const ClusterApiNames& names);
/// The name of the first owner of that kind; "": none.
std::string OwnerOf(const base::Json& object, std::string_view kind);
/// Of MachineSets: annotation machinedeployment.clusters.x-k8s.io/revision; -1 where it is missing or no whole number.
int64_t RevisionOf(const base::Json& set);
/// Machines that the MachineSet has or is to have, whichever are more.
int64_t ReplicasOf(const base::Json& set);

/// Smallest and largest size; what is missing is 0. kInvalid: "KIND NS/NAME: metadata.annotations.KEY: what".
base::Result<std::pair<int64_t, int64_t>> ReadScalingBounds(const base::Json& object, const ClusterApiNames& names);
/// nullopt: the group is not to be scaled, as it is paused or its largest size is 0. kInvalid as above. An option that is wrong
/// is warned of and left unset.
base::Result<std::optional<ClusterApiGroup>> ReadGroup(const base::Json& object, const ClusterApiNames& names,
                                                       Warnings& warnings);
/// kInvalid as above.
base::Result<ClusterApiMachine> ReadMachine(const base::Json& object, const ClusterApiNames& names);
/// The instance that stands for it. "failed-machine-NS_NAME", "deleting-machine-..." and "pending-machine-..." are ids of those
/// that cannot be nodes; nullopt: its node reference does not say which node. `node_provider_id`: of the node with its name.
std::optional<Instance> InstanceOf(const ClusterApiMachine& machine, std::string_view node_provider_id);
/// "NS/NAME" of such an id; "" of others.
std::string MachineOfInstance(std::string_view id);

/// What a new node will be like; nullopt when cores or memory are not known. `infrastructure`: the group's infrastructure
/// template, may be null. `sample`: a node of the group, may be null. Annotations that are wrong are warned of.
std::optional<base::Json> MakeClusterApiTemplate(const ClusterApiGroup& group, const base::Json* infrastructure,
                                                 const base::Json* sample, const std::string& default_architecture,
                                                 Warnings& warnings);

}  // namespace evenkeel::providers
