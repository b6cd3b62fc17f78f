// The embedded cloud as the autoscaler sees it: a member's NodeGroup objects, read and written through the member's API. Every
// write states the version that was read, so nothing that others write in between is lost; a conflict is read and decided
// again.
#pragma once

#include <memory>

#include "client/client.h"
#include "providers/provider.h"

namespace evenkeel::embedded::cloud {

/// The client outlives it. A group that makes no sense is left out (and logged), as if it were not there. `atomically` holds
/// against the group's maximum and quota: creations may still fail.
std::unique_ptr<providers::Provider> NewCloudProvider(client::Client& member);

}  // namespace evenkeel::embedded::cloud
