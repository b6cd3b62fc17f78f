#include "scheduling/fit.h"

namespace evenkeel::scheduling {

std::string_view Name(Filter filter) {
  switch (filter) {
    case Filter::kPass:
      return "";
    case Filter::kNodeUnschedulable:
      return "NodeUnschedulable";
    case Filter::kNodeName:
      return "NodeName";
    case Filter::kTaintToleration:
      return "TaintToleration";
    case Filter::kNodeAffinity:
      return "NodeAffinity";
    case Filter::kNodePorts:
      return "NodePorts";
    case Filter::kNodeResourcesFit:
      return "NodeResourcesFit";
    case Filter::kVolumeRestrictions:
      return "VolumeRestrictions";
    case Filter::kNodeVolumeLimits:
      return "NodeVolumeLimits";
    case Filter::kVolumeBinding:
      return "VolumeBinding";
    case Filter::kVolumeZone:
      return "VolumeZone";
    case Filter::kPodTopologySpread:
      return "PodTopologySpread";
    case Filter::kInterPodAffinity:
      return "InterPodAffinity";
    case Filter::kDynamicResources:
      return "DynamicResources";
    case Filter::kNodeDeclaredFeatures:
      return "NodeDeclaredFeatures";
  }
  return "";
}

}  // namespace evenkeel::scheduling
