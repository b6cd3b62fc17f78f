// What the autoscaler's rules know about pods, nodes, budgets and owners (cluster_view.h), read off their objects. Never fails:
// what is missing or of the wrong type counts as absent.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// Resources that are GPUs, as upstream knows them (kubernetes/autoscaler@1.37: utils/gpu).
inline constexpr std::array<std::string_view, 5> kGpuResources = {"nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe",
                                                                  "amd.com/gpu", "microsoft.com/directx"};
inline bool IsGpuResource(std::string_view name) { return std::ranges::find(kGpuResources, name) != kGpuResources.end(); }

/// About 8 us, most of it for spec_hash, which is left 0 for pods that are on a node (pending ones form groups).
PodFacts DecodePodFacts(const base::Json& pod, const kube::ObjectMeta& meta);
PodFacts DecodePodFacts(const base::Json& pod);

/// Equal for pods of one controller that upstream takes for the same: labels, and the spec without env, hostname, projected
/// volumes and their mounts; amounts by value, nothing equal to empty.
uint64_t PodSpecHash(const base::Json& pod);

/// Readiness by conditions and taints, then what makes a ready node count as unready: a startup taint, or a GPU label (of the
/// provider; "": it has none) without GPUs, unless a driver of devices tells of those. `group`: the node's, "" when not
/// managed. `lacks_devices`: drivers have not published yet what the node will have, so it is not ready. Cordoned nodes can be
/// ready.
NodeFacts DecodeNodeFacts(const base::Json& node, const Options& options, std::string_view gpu_label, std::string_view group,
                          bool lacks_devices = false);

/// Whether nodes with that taint are still starting: --startup-taint, --startup-taint-prefix, --ignore-taint and the prefixes
/// startup-taint. and ignore-taint.cluster-autoscaler.kubernetes.io/.
bool IsStartupTaint(const Options& options, std::string_view key);

Budget DecodeBudget(const base::Json& budget);

/// A ReplicaSet, ReplicationController, StatefulSet, Job (replicas: parallelism) or DaemonSet; `kind` as in the object.
Owner DecodeOwner(const base::Json& object);

}  // namespace evenkeel::controllers::autoscaler
