// Questions about members go through their hub: which API a kubeconfig leads to, and which member a question means.
//
//   question with --cluster NAME       the hub's cluster Secret (or Karmada Cluster) of that name says how to connect
//   explain pod|node without it        the name is looked for in all members
//   other questions without it         the API of the kubeconfig, unless it is a hub that has members
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/clusters/hub.h"
#include "client/client.h"
#include "controllers/distribution/sharding/cluster.h"

namespace CLI {
class App;
}

namespace evenkeel::cli {

/// How a question about one member is put.
struct MemberOptions {
  HubOptions api;       ///< the member's, or its hub's; ns: of the hub's cluster Secrets
  std::string cluster;  ///< --cluster; "": not given
};
/// Registers --kubeconfig, --context, --cluster and --hub-namespace. `what` they lead to: "the live cluster".
void AddMemberFlags(CLI::App& command, MemberOptions& options, const std::string& what);

using Members = std::vector<controllers::distribution::Cluster>;
/// What the hub's cluster Secrets and Karmada Clusters name, by label(); none where the API has neither.
base::Result<Members> ReadMembers(client::Client& hub, const std::string& ns);

/// One line that says so where the API is no hub: it has no members, and knows nothing of ShardPlans.
base::Status CheckIsHub(client::Client& api, const HubOptions& options);
/// The same, after a connection of its own; fine where nobody can tell.
base::Status CheckIsHub(const HubOptions& options);

/// The member of that label, name or server. kNotFound lists them, kBadRequest says that the name is no unique one.
base::Result<const controllers::distribution::Cluster*> FindMember(const Members& members, const std::string& name);

/// An object that is looked for.
struct Wanted {
  kube::Resource resource;
  std::string ns, name;
  std::string text;  ///< "pod default/web"
};
/// Where something was looked for.
struct Sighting {
  std::vector<std::string> in;                ///< labels of members that have it, in their order
  std::map<std::string, std::string> silent;  ///< of members that could not be asked, why
};
using MemberConnector =
    std::function<base::Result<std::unique_ptr<client::Client>>(const controllers::distribution::Cluster& member)>;
/// Asks all members at once.
Sighting LookInMembers(const Members& members, const MemberConnector& connect, const Wanted& wanted);
/// The one member that has it; "": none. kBadRequest: several have it, --cluster has to choose. kNotFound names the members
/// that could not be asked.
base::Result<std::string> ChooseSighting(const Sighting& sighting, const Wanted& wanted, size_t members);

/// The API that a question about a member goes to.
struct AskedMember {
  HubOptions api;               ///< for ConnectToHub
  std::string name;             ///< label of the member; "": the API of the kubeconfig itself
  bool found = false;           ///< it was looked for
  std::string autoscaler_args;  ///< annotation evenkeel.dev/autoscaler-args of the member
};
/// `wanted`: what is looked for where no cluster is named; null: nothing, and then a hub with members is kBadRequest, which
/// lists them.
base::Result<AskedMember> AskMember(const MemberOptions& options, const Wanted* wanted);

}  // namespace evenkeel::cli
