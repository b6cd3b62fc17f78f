// Which devices a pod wants: its claims, and its extended resources where a DeviceClass stands behind them.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go,
// staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/claim.go, pkg/controller/resourceclaim/controller.go
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "scheduling/devices/device_objects.h"

namespace evenkeel::scheduling {

inline constexpr std::string_view kPodClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
inline constexpr std::string_view kExtendedClaimAnnotation = "resource.kubernetes.io/extended-resource-claim";
inline constexpr std::string_view kImplicitResourcePrefix = "deviceclass.resource.kubernetes.io/";
/// The name that a pod's extended resources go by among its claims.
inline constexpr std::string_view kExtendedResourcesClaim = "<extended-resources>";

/// An entry of spec.resourceClaims.
struct PodDeviceClaim {
  std::string name;           ///< in the pod
  std::string claim;          ///< of the ResourceClaim; "": not made yet
  std::string template_name;  ///< "": the claim is named by the pod itself
  bool not_needed = false;    ///< the controller says that there is nothing to claim
};

struct PodDevices {
  std::string pod_name, pod_uid;  ///< only with claims made from templates
  std::vector<PodDeviceClaim> claims;
  std::string extended_claim;  ///< the name of the ResourceClaim of its extended resources, once a scheduler has made it

  bool empty() const { return claims.empty() && extended_claim.empty(); }
  std::string Key() const;
};
PodDevices DecodePodDevices(const base::Json& pod);

/// Requests of a container for resources that could be devices.
struct ContainerDevices {
  std::string container;
  bool init = false, stays = false;  ///< stays: restartPolicy Always
  struct Resource {
    std::string name;
    int64_t amount;
    int index;  ///< its place among the container's requests
  };
  std::vector<Resource> resources;
};
/// Init containers first; a container's place is its number. Empty: no container asks for an extended resource.
std::vector<ContainerDevices> DecodeContainerDevices(const base::Json& pod);

struct RequestMapping {
  std::string container, resource, request;
};
/// The claim that stands for a pod's extended resources on a node.
struct ExtendedClaim {
  ClaimSpec spec;
  std::vector<RequestMapping> mappings;  ///< for pod.status.extendedResourceClaimStatus
};
/// `class_of`: the DeviceClass that serves the resource on the node, "" where the node's device plugin does (or nobody).
/// nullopt: nothing is asked for that way.
std::optional<ExtendedClaim> MakeExtendedClaim(const std::vector<ContainerDevices>& containers,
                                               const std::function<std::string(std::string_view)>& class_of);

/// Which DeviceClass stands behind an extended resource: the one that names it (the latest, then the first by name), or the one
/// of the implicit name.
class DeviceClassResolver {
 public:
  template <typename Classes>
  explicit DeviceClassResolver(const Classes& classes) {
    for (const auto& [name, device_class] : classes) Add(device_class);
  }
  DeviceClassResolver() = default;
  /// "": none.
  const std::string& Find(std::string_view resource) const;
  bool empty() const { return by_resource_.empty(); }

 private:
  void Add(const DeviceClass& device_class);
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> by_resource_;  ///< created, name
};

/// An entry of spec.devices.requests of a claim for extended resources.
base::Json WriteExtendedRequest(const ClaimRequest& request);

/// The ResourceClaim that a controller creates of a template for a pod (with generateName).
base::Json ClaimFromTemplate(const base::Json& pod, std::string_view pod_claim, const base::Json& claim_template);

}  // namespace evenkeel::scheduling
