#include "scheduling/devices/pod_devices.h"

#include <algorithm>
#include <set>

#include "kube/amounts.h"
#include "kube/object.h"
#include "scheduling/ids.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// Of a generated name, without the random characters that the API adds.
constexpr size_t kGenerateNameMax = 57;

bool CouldBeDevices(std::string_view resource) {
  return resource.starts_with(kImplicitResourcePrefix) || kube::IsExtendedResourceName(resource);
}

std::map<std::string, const Json*> RequestsOf(const Json& container) {
  std::map<std::string, const Json*> requests;
  for (const char* list : {"requests", "limits"}) {
    for (const auto& [name, amount] : base::FindObject(container, {"resources", list})) {
      // As the API server completes them, and nothing that containers cannot ask for.
      requests.try_emplace(std::string(name), &amount);
    }
  }
  return requests;
}

ContainerDevices ReadContainerDevices(const Json& container, bool init) {
  ContainerDevices devices;
  devices.container = FindString(container, {"name"});
  devices.init = init;
  devices.stays = !init || FindString(container, {"restartPolicy"}) == "Always";
  int index = 0;
  for (const auto& [name, amount] : RequestsOf(container)) {
    const int place = index++;
    if (!CouldBeDevices(name)) continue;
    const auto quantity = kube::Quantity::FromJson(*amount);
    if (quantity && quantity->Value() > 0) devices.resources.push_back({name, Bounded(quantity->Value()), place});
  }
  return devices;
}

/// The requests and mappings for one resource.
class ResourceClaimMaker {
 public:
  ResourceClaimMaker(const std::vector<ContainerDevices>& containers, const std::string& resource,
                     const std::string& class_name)
      : containers_(containers), resource_(resource), class_name_(class_name), requests_(containers.size()) {}

  void AddTo(std::vector<DeviceRequest>& requests, std::vector<RequestMapping>& mappings) {
    std::vector<RequestMapping> lasting, passing;
    for (size_t i = 0; i < containers_.size(); ++i) {
      if (containers_[i].stays) requests_[i] = Ask(i, false, lasting);
    }
    std::optional<DeviceRequest> largest;
    std::set<std::string> names;
    for (size_t i = 0; i < containers_.size(); ++i) {
      if (containers_[i].stays) continue;
      auto request = Ask(i, true, passing);
      if (!request) continue;
      names.insert(request->name);
      if (!largest || largest->count < request->count) largest = std::move(request);
    }
    // Init containers run one after the other: the largest request serves them all.
    for (RequestMapping& mapping : passing) {
      if (names.contains(mapping.request)) mapping.request = largest->name;
    }
    if (largest) requests.push_back(*std::move(largest));
    for (auto& request : requests_) {
      if (request) requests.push_back(*std::move(request));
    }
    mappings.insert(mappings.end(), lasting.begin(), lasting.end());
    mappings.insert(mappings.end(), passing.begin(), passing.end());
  }

 private:
  /// What the container needs beyond what it can take over from later ones.
  std::optional<DeviceRequest> Ask(size_t number, bool takes_over, std::vector<RequestMapping>& mappings) const {
    const ContainerDevices& container = containers_[number];
    const auto wanted = std::ranges::find(container.resources, resource_, &ContainerDevices::Resource::name);
    if (wanted == container.resources.end()) return std::nullopt;
    int64_t there = 0;
    for (size_t i = number; i < requests_.size() && takes_over; ++i) {
      if (!requests_[i]) continue;
      there += requests_[i]->count;
      mappings.push_back({container.container, resource_, requests_[i]->name});
      if (there >= wanted->amount) return std::nullopt;
    }
    DeviceRequest request;
    request.name = "container-" + std::to_string(number) + "-request-" + std::to_string(wanted->index);
    request.class_name = class_name_;
    request.count = wanted->amount - there;
    mappings.push_back({container.container, resource_, request.name});
    return request;
  }

  const std::vector<ContainerDevices>& containers_;
  const std::string& resource_;
  const std::string& class_name_;
  std::vector<std::optional<DeviceRequest>> requests_;  ///< of containers that stay
};

}  // namespace

std::string PodDevices::Key() const {
  TextKey key;
  key.Add(pod_name).Add(pod_uid).Add(extended_claim).Add(static_cast<int64_t>(claims.size()));
  for (const PodDeviceClaim& claim : claims) {
    key.Add(claim.name).Add(claim.claim).Add(claim.template_name).Add(claim.not_needed ? 1 : 0);
  }
  return key.Take();
}

PodDevices DecodePodDevices(const Json& pod) {
  PodDevices devices;
  bool made = false;
  for (const Json& item : FindArray(pod, {"spec", "resourceClaims"})) {
    PodDeviceClaim& claim = devices.claims.emplace_back();
    claim.name = FindString(item, {"name"});
    claim.claim = FindString(item, {"resourceClaimName"});
    if (!claim.claim.empty()) continue;
    made = true;
    claim.template_name = FindString(item, {"resourceClaimTemplateName"});
    for (const Json& status : FindArray(pod, {"status", "resourceClaimStatuses"})) {
      if (FindString(status, {"name"}) != claim.name) continue;
      claim.claim = FindString(status, {"resourceClaimName"});
      claim.not_needed = claim.claim.empty();
    }
  }
  devices.extended_claim = FindString(pod, {"status", "extendedResourceClaimStatus", "resourceClaimName"});
  if (made) {
    devices.pod_name = kube::NameOf(pod);
    devices.pod_uid = kube::UidOf(pod);
  }
  return devices;
}

std::vector<ContainerDevices> DecodeContainerDevices(const Json& pod) {
  std::vector<ContainerDevices> containers;
  bool any = false;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : FindArray(pod, {"spec", list})) {
      containers.push_back(ReadContainerDevices(container, std::string_view(list) == "initContainers"));
      any |= !containers.back().resources.empty();
    }
  }
  if (!any) containers.clear();
  return containers;
}

std::optional<ExtendedClaim> MakeExtendedClaim(const std::vector<ContainerDevices>& containers,
                                               const std::function<std::string(std::string_view)>& class_of) {
  std::set<std::string> resources;
  for (const ContainerDevices& container : containers) {
    for (const auto& resource : container.resources) resources.insert(resource.name);
  }
  ExtendedClaim claim;
  std::vector<DeviceRequest> requests;
  for (const std::string& resource : resources) {
    const std::string class_name = class_of(resource);
    if (!class_name.empty()) ResourceClaimMaker(containers, resource, class_name).AddTo(requests, claim.mappings);
  }
  if (requests.empty()) return std::nullopt;
  std::ranges::sort(requests, {}, &DeviceRequest::name);
  TextKey text;
  for (DeviceRequest& request : requests) {
    text.Add(request.name).Add(request.class_name).Add(request.count);
    std::string name = request.name;
    claim.spec.requests.push_back({std::move(name), std::move(request), {}});
  }
  claim.spec.text = text.Take();
  return claim;
}

void DeviceClassResolver::Add(const DeviceClass& device_class) {
  by_resource_[std::string(kImplicitResourcePrefix) + device_class.name] = {"", device_class.name};
  if (device_class.extended_resource.empty()) return;
  const auto [found, added] = by_resource_.try_emplace(device_class.extended_resource, device_class.created, device_class.name);
  if (added) return;
  auto& [created, name] = found->second;
  if (device_class.created > created || (device_class.created == created && device_class.name < name)) {
    found->second = {device_class.created, device_class.name};
  }
}

const std::string& DeviceClassResolver::Find(std::string_view resource) const {
  static const std::string kNobody;
  const auto found = by_resource_.find(resource);
  return found == by_resource_.end() ? kNobody : found->second.second;
}

Json WriteExtendedRequest(const ClaimRequest& request) {
  return JsonObject{{"name", request.name},
                    {"exactly", JsonObject{{"deviceClassName", request.exactly->class_name},
                                           {"allocationMode", "ExactCount"},
                                           {"count", request.exactly->count}}}};
}

Json ClaimFromTemplate(const Json& pod, std::string_view pod_claim, const Json& claim_template) {
  const std::string_view pod_name = kube::NameOf(pod);
  std::string generate = std::string(pod_name) + "-" + std::string(pod_claim) + "-";
  if (const size_t length = generate.size(); length > kGenerateNameMax) {
    generate = std::string(pod_name.substr(0, pod_name.size() * kGenerateNameMax / length)) + "-" +
               std::string(pod_claim.substr(0, pod_claim.size() * kGenerateNameMax / length));
  }
  JsonObject metadata{{"generateName", generate}, {"namespace", kube::NamespaceOf(pod)}};
  if (const JsonObject& labels = base::FindObject(claim_template, {"spec", "metadata", "labels"}); !labels.empty()) {
    metadata["labels"] = labels;
  }
  JsonObject annotations = base::FindObject(claim_template, {"spec", "metadata", "annotations"});
  annotations[kPodClaimAnnotation] = pod_claim;
  metadata["annotations"] = std::move(annotations);
  metadata["ownerReferences"] = JsonArray{
      JsonObject{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod_name}, {"uid", kube::UidOf(pod)}, {"controller", true}}};
  return JsonObject{{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceClaim"},
                    {"metadata", std::move(metadata)},
                    {"spec", base::FindObject(claim_template, {"spec", "spec"})}};
}

}  // namespace evenkeel::scheduling
