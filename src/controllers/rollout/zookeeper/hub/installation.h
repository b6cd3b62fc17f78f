// What a replica installs on a hub for rollouts: the kinds, and the configurations of their webhooks.
#pragma once

#include <chrono>
#include <string>

#include "base/json.h"
#include "client/client.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Where the webhooks (webhooks.h) are.
struct WebhookTarget {
  std::string url;     ///< "https://HOST:PORT", as the hub reaches it
  std::string ca_pem;  ///< that signed its certificate
};

const kube::Resource& ValidatingWebhookConfigurations();

/// How long the hub waits for admission to answer. A status is not written before, and what writes it has a limit of its own:
/// with a longer wait a webhook that swallows its questions would stop all rollouts, whatever failurePolicy says.
inline constexpr std::chrono::seconds kAdmissionTimeout{1};

/// failurePolicy Ignore: whatever it would refuse the controller refuses, too, and an API that cannot be changed because a
/// webhook is away would be worse than a late answer.
base::Json AdmissionConfiguration(const WebhookTarget& target);
base::Json InterpreterConfiguration(const WebhookTarget& target);

/// Of MultiClusterZooKeeper, and of ZooKeeper, which is only a template on a hub; in members their operator installs it.
base::Status InstallDefinitions(client::Client& hub);
/// Both configurations, made or brought up to date: the latest one to install is the one that is asked. Kinds that the hub
/// does not serve are left out and named in the answer, separated by commas.
base::Result<std::string> InstallWebhooks(client::Client& hub, const WebhookTarget& target);

}  // namespace evenkeel::controllers::rollout::zookeeper
