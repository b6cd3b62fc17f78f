// The kind NodeGroup (evenkeel.dev/v1alpha1) as an API serves it, and the group that every embedded member begins with.
#pragma once

#include "base/json.h"
#include "client/client.h"
#include "kube/resource.h"

namespace evenkeel::embedded::cloud {

const kube::Resource& NodeGroups();

/// Puts the definition into the API, or brings the one that is there up to date.
base::Status InstallDefinition(client::Client& client);

/// A group "general" of 0 to 10 nodes, 4 cpu and 16Gi each, at 0.192 per hour, that come within a few seconds.
base::Json GeneralNodeGroup();

}  // namespace evenkeel::embedded::cloud
