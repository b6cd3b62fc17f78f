// cluster-autoscaler's kwok provider (--cloud-provider=kwok): nodes that nobody runs, made as objects in the cluster itself,
// for trying out what the autoscaler would do. Configured by the ConfigMap kwok-provider-config.
//
// A group is called as the value of its label or annotation; it keeps that name over restarts and hand-overs, where upstream
// adds the time of its start and then no longer knows its own nodes. The target is the number of nodes.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/cloudprovider/kwok
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "client/client.h"
#include "providers/environment.h"
#include "providers/provider.h"

namespace evenkeel::providers {

struct KwokOptions {
  std::string config_map = "kwok-provider-config";
  std::string ns = "kube-system";  ///< where the ConfigMaps are

  /// KWOK_PROVIDER_CONFIGMAP and POD_NAMESPACE; without the latter `ns`.
  static KwokOptions From(const Environment& environment, const std::string& ns);
};

/// The client must outlive the provider. Refresh reads the ConfigMaps anew; with readNodesFrom: cluster, a group once found
/// stays when its last node goes. Thread-safe.
std::unique_ptr<Provider> NewKwokProvider(client::Client& client, KwokOptions options, base::Random random);

}  // namespace evenkeel::providers
