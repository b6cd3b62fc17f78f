// Cluster API (--cloud-provider=clusterapi): node groups are MachineDeployments, MachineSets that no deployment owns, and
// MachinePools, in the management cluster, which may be another one than that of the nodes. Annotations say how far they scale;
// sizes are changed through the scale subresource; which machine goes is told by an annotation on it.
//
// An object that is wrong (cluster_api_objects.h) is left out with a warning, and its nodes are not managed; the others are not
// held up by it. DRA devices and CSI limits of the scale-from-zero annotations are not used: a template is a node alone.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/cloudprovider/clusterapi
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "kube/selector.h"
#include "providers/environment.h"
#include "providers/provider.h"

namespace evenkeel::providers {

/// One --node-group-auto-discovery=clusterapi:namespace=..,clusterName=..,LABEL=VALUE: all of it must hold.
struct ClusterApiDiscovery {
  std::string ns, cluster_name;  ///< "": any
  kube::LabelSelector labels;

  /// kBadRequest names the flag and the part.
  static base::Result<ClusterApiDiscovery> Parse(const std::string& spec);
};

/// Another member of the fleet whose autoscaler asks the same management cluster, and which groups it takes for its own.
struct ClusterApiRival {
  std::string member;
  std::vector<ClusterApiDiscovery> discovery;  ///< as in ClusterApiOptions
};

struct ClusterApiOptions {
  std::string group = "cluster.x-k8s.io";
  std::string version;  ///< "": what the server prefers
  std::string default_architecture = "amd64";
  std::vector<ClusterApiDiscovery> discovery;  ///< one of them must hold; none: everything
  /// Asked with every Refresh: a group that one of them would claim, too, is set aside. Absent: there are none.
  std::function<std::vector<ClusterApiRival>()> rivals;

  /// CAPI_GROUP, CAPI_VERSION, CAPI_SCALE_ZERO_DEFAULT_ARCH, and the values of --node-group-auto-discovery.
  static base::Result<ClusterApiOptions> From(const Environment& environment, const std::vector<std::string>& discovery);
};

/// The clock must outlive the provider. Refresh lists the groups and machines, four lists in pages; kNotFound
/// when the API group is not served. Thread-safe.
std::unique_ptr<Provider> NewClusterApiProvider(std::shared_ptr<client::Client> management, ClusterApiOptions options,
                                                base::Clock& clock);

}  // namespace evenkeel::providers
