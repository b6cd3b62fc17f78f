// What the autoscaler of each member is told: the flags of `run`, and after them those of the annotation
// evenkeel.dev/autoscaler-args of its cluster Secret (or Karmada Cluster). And what members have in common: which of them ask
// the same provider, and whose node an instance is.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/clusters/cloud_provider.h"
#include "controllers/autoscaler/options/flags.h"
#include "controllers/distribution/sharding/cluster.h"

namespace evenkeel::cli {

/// Thread-safe.
class MemberSettings {
 public:
  /// `flags`: of `run`. `connection`: for asking other members which nodes they have.
  MemberSettings(std::vector<controllers::autoscaler::FlagValue> flags, const client::HttpClientOptions& connection)
      : flags_(std::move(flags)), connection_(connection) {}

  /// The clusters of the fleet from now on. Reads the files that new settings name.
  void SetClusters(const std::vector<controllers::distribution::Cluster>& clusters);

  /// kBadRequest says which flag of which object is wrong. A member that is not known has the flags of `run`.
  base::Result<controllers::autoscaler::Options> OptionsOf(const std::string& member) const;
  /// Other members whose autoscalers ask the same provider as this one's.
  std::vector<Rival> RivalsOf(const std::string& member) const;
  /// By spec.providerID, names of the other members that have such a node; none where the member's provider can make none but
  /// its own. A list per member. Of one that is no longer in the fleet the nodes that it had when it was asked last: who has
  /// taken it out need not have deleted it. An error names the member that cannot be asked.
  base::Result<std::map<std::string, std::string>> NodesElsewhere(const std::string& member) const;

 private:
  struct Entry {
    std::string name, server, args, source;
    base::Result<controllers::autoscaler::Options> options;
    std::string identity;  ///< of the provider, where several members can have the same; "": they cannot
    std::vector<providers::ClusterApiDiscovery> discovery;
    std::optional<client::ConnectionConfig> connection;
  };
  Entry Make(const controllers::distribution::Cluster& cluster) const;

  const std::vector<controllers::autoscaler::FlagValue> flags_;
  const client::HttpClientOptions connection_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  struct LastNodes {
    std::string member;
    std::vector<std::string> ids;
  };
  mutable std::map<std::string, LastNodes> last_nodes_;  ///< by server
};

}  // namespace evenkeel::cli
