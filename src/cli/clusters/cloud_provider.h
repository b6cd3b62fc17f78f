// --cloud-provider: which provider makes the nodes of member clusters.
#pragma once

#include <functional>
#include <memory>

#include "base/random.h"
#include "base/time.h"
#include "client/http/http_client.h"
#include "controllers/autoscaler/options/options.h"
#include "providers/cluster_api.h"
#include "providers/provider.h"

namespace evenkeel::cli {

/// Puts a client of another cluster behind the fence of the member whose things it changes.
using Guard = std::function<std::unique_ptr<client::Client>(std::unique_ptr<client::Client> other)>;
/// Another member whose autoscaler asks the same provider.
using Rival = providers::ClusterApiRival;
using Rivals = std::function<std::vector<Rival>()>;
/// Which provider several members may have in common.
struct SharedProvider {
  std::string name;  ///< "externalgrpc HOST:PORT", "clusterapi SERVER"; "": each member has its own
  std::vector<providers::ClusterApiDiscovery> discovery;
};
/// `server`: the member's. Reads the file of --cloud-config; kBadRequest names the flag.
base::Result<SharedProvider> IdentityOf(const controllers::autoscaler::Options& options, const std::string& server);

/// Makes the provider of one member from a client of that member, which must outlive it, as the maker must.
using ProviderMaker =
    std::function<base::Result<std::unique_ptr<providers::Provider>>(client::Client& member, const Guard& guard)>;

/// embedded, kwok, clusterapi or externalgrpc, with --cloud-config (clusterapi: the kubeconfig of another management cluster;
/// externalgrpc: the service) and --node-group-auto-discovery. kBadRequest names the flag.
/// @param rivals  asked with every Refresh; absent: there are none.
/// @param connection  how to speak to a management cluster; its write time-out is that of fenced clients.
base::Result<ProviderMaker> MakeProviderMaker(const controllers::autoscaler::Options& options,
                                              const client::HttpClientOptions& connection, base::Clock& clock,
                                              const base::Random& random, Rivals rivals = {});

}  // namespace evenkeel::cli
