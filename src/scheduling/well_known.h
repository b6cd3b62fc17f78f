// Taints and annotations by which Kubernetes' parts, and ours beside them, tell each other what becomes of nodes and pods.
// Follows: kubernetes/autoscaler@1.36 cluster-autoscaler/utils/taints/taints.go, utils/drain/drain.go
#pragma once

namespace evenkeel::scheduling {

/// Of nodes that an autoscaler is removing; the value is the time in seconds.
inline constexpr char kToBeDeletedTaint[] = "ToBeDeletedByClusterAutoscaler";
/// Of nodes that an autoscaler does not need and may remove.
inline constexpr char kDeletionCandidateTaint[] = "DeletionCandidateOfClusterAutoscaler";

/// Of pods that a kubelet has from a file: they belong to their node.
inline constexpr char kMirrorAnnotation[] = "kubernetes.io/config.mirror";
/// Of pods: "true" and "false" say whether they may be evicted, whatever else says so.
inline constexpr char kSafeToEvictAnnotation[] = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Of pods: volumes, with commas between, whose content may be lost.
inline constexpr char kSafeVolumesAnnotation[] = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
/// Of pods: anything but "false" keeps them where they are; ours, and Karpenter's.
inline constexpr char kDoNotDisruptAnnotation[] = "evenkeel.dev/do-not-disrupt";
inline constexpr char kKarpenterDoNotDisruptAnnotation[] = "karpenter.sh/do-not-disrupt";

}  // namespace evenkeel::scheduling
