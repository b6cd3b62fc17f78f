// Whether a DaemonSet's pod may be on a node: selectors, affinity, taints. Pure.
#pragma once

#include <vector>

#include "kube/types.h"

namespace evenkeel::embedded::workloads {

/// nodeSelector and required node affinity.
bool MatchesNodeAffinity(const kube::Pod& pod, const kube::Node& node);
/// The first taint with one of `effects` that no toleration of the pod matches; null when there is none.
const kube::Taint* UntoleratedTaint(const kube::Pod& pod, const std::vector<kube::Taint>& taints, bool no_schedule,
                                    bool no_execute);

}  // namespace evenkeel::embedded::workloads
