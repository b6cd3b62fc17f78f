// The marks that the autoscaler puts on nodes, in upstream's formats: edits of v1.Node objects, and writing them.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/utils/taints/taints.go
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "client/client.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::autoscaler {

using scheduling::kDeletionCandidateTaint;
/// A node with an annotation of this prefix is not deleted yet.
inline constexpr const char* kDelayDeletionPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/";

/// Edits of a node; true when anything has changed. The taint's value is the time in seconds; one that is there gets it, too.
bool SetTaint(base::Json& node, std::string_view key, std::string_view effect, base::Time time);
bool RemoveTaint(base::Json& node, std::string_view key);
bool SetCordon(base::Json& node, bool on);
bool WantsDelay(const base::Json& node);

/// Taint ToBeDeletedByClusterAutoscaler:NoSchedule; with `cordon` unschedulable as well. Answers whether the node was cordoned
/// by this call. kNotFound: there is no such node.
base::Result<bool> MarkForDeletion(client::Client& client, const std::string& node, bool cordon, base::Time now);
/// The opposite; a node that is gone is fine.
base::Status Unmark(client::Client& client, const std::string& node, bool uncordon);
/// Sets or takes off the soft taint. Nothing is written when it is as wanted; a node that is gone is fine.
base::Status MarkCandidate(client::Client& client, const std::string& node, bool on, base::Time now);

}  // namespace evenkeel::controllers::autoscaler
