// The CustomResourceDefinitions of crds.yaml: what makes an API server speak Karmada's kinds, with schemas, status subresources
// and printer columns. kube/karmada.h names the kinds.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "client/client.h"

namespace evenkeel::embedded::federation {

/// All of them, Cluster first.
const std::vector<base::Json>& Definitions();
/// Cluster's alone, for hubs that only name their members.
const base::Json& ClusterDefinition();
/// Puts all of them into the API, or brings those that are there up to date.
base::Status InstallDefinitions(client::Client& client);

/// The text of crds.yaml, compiled in.
extern const std::string_view kDefinitionsYaml;

}  // namespace evenkeel::embedded::federation
