// --cloud-provider: which provider makes the nodes of member clusters.
#pragma once

#include <functional>
#include <memory>

#include "base/random.h"
#include "base/time.h"
#include "client/client.h"
#include "controllers/autoscaler/options.h"
#include "providers/provider.h"

namespace evenkeel::cli {

/// Makes the provider of one member from a client of that member, which must outlive it, as the maker must.
using ProviderMaker = std::function<base::Result<std::unique_ptr<providers::Provider>>(client::Client& member)>;

/// embedded, kwok, clusterapi or externalgrpc, with --cloud-config (clusterapi: the kubeconfig of another management cluster;
/// externalgrpc: the service) and --node-group-auto-discovery. kBadRequest names the flag.
base::Result<ProviderMaker> MakeProviderMaker(const controllers::autoscaler::Options& options, base::Clock& clock,
                                              const base::Random& random);

}  // namespace evenkeel::cli
