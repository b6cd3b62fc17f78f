// A live cluster as `plan scale` and `explain` see it: read once, nothing written.
#pragma once

#include <string>

#include "cli/clusters/cloud_provider.h"
#include "client/client.h"
#include "controllers/autoscaler/loop/plan_scale.h"

namespace evenkeel::cli {

/// Reads objects, node groups and the autoscaler's memory into `input`, whose options are set. `warning`: memory that cannot be
/// read; "" otherwise.
base::Status ReadLiveCluster(client::Client& cluster, providers::Provider& provider, controllers::autoscaler::ScaleInput& input,
                             std::string& warning);

}  // namespace evenkeel::cli
