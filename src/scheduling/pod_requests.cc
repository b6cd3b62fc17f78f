#include "scheduling/pod_constraints.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using kube::ResourceList;

void Sum(ResourceList& sum, const ResourceList& more) {
  for (const auto& [name, amount] : more) sum[name] = Bounded(sum[name]) + Bounded(amount);
}

void Raise(ResourceList& floor, const ResourceList& other) {
  for (const auto& [name, amount] : other) floor[name] = std::max(floor[name], amount);
}

ResourceList RequestsIn(const Json& resources) {
  ResourceList requests = kube::DecodeResourceList(base::Find(resources, {"requests"}));
  for (const auto& [name, amount] : kube::DecodeResourceList(base::Find(resources, {"limits"})))
    requests.try_emplace(name, amount);
  return requests;
}

/// What the kubelet says the container holds, while a resize is on its way; null for a pod that no node has.
const Json* StatusOf(const Json& pod, std::string_view list, std::string_view container) {
  for (const Json& status : FindArray(pod, {"status", list})) {
    if (FindString(status, {"name"}) == container && base::Find(status, {"resources"}) != nullptr) return &status;
  }
  return nullptr;
}

class PodReader {
 public:
  explicit PodReader(const Json& of) : pod_(of), bound_(!FindString(of, {"spec", "nodeName"}).empty()) {
    const Json* resize = kube::FindCondition(pod_, "PodResizePending");
    infeasible_ = resize != nullptr && FindString(*resize, {"reason"}) == "Infeasible";
  }

  ResourceList Requests(const Json& container, std::string_view statuses) const {
    const Json* resources = base::Find(container, {"resources"});
    ResourceList requests = resources == nullptr ? ResourceList() : RequestsIn(*resources);
    const Json* status = bound_ ? StatusOf(pod_, statuses, FindString(container, {"name"})) : nullptr;
    return status == nullptr ? requests : Held(*status, requests);
  }

  /// At the level of the pod, where they take the place of the containers' sum. As the API server completes them: a limit is
  /// the request of what no container requests.
  ResourceList OfPod(const ResourceList& of_containers) const {
    const Json* resources = base::Find(pod_, {"spec", "resources"});
    if (resources == nullptr) return {};
    ResourceList requests = kube::DecodeResourceList(base::Find(*resources, {"requests"}));
    for (const auto& [name, amount] : kube::DecodeResourceList(base::Find(*resources, {"limits"}))) {
      if (IsHugePages(name) || !of_containers.contains(name)) requests.try_emplace(name, amount);
    }
    const Json* status = base::Find(pod_, {"status"});
    if (bound_ && status != nullptr && base::Find(*status, {"resources"}) != nullptr) requests = Held(*status, requests);
    std::erase_if(requests,
                  [](const auto& item) { return item.first != "cpu" && item.first != "memory" && !IsHugePages(item.first); });
    return requests;
  }

 private:
  static bool IsHugePages(std::string_view name) { return name.starts_with("hugepages-"); }

  /// What is asked for, and what the kubelet says is held (status.resources, status.allocatedResources).
  ResourceList Held(const Json& status, const ResourceList& requests) const {
    ResourceList held = kube::DecodeResourceList(base::Find(status, {"resources", "requests"}));
    Raise(held, kube::DecodeResourceList(base::Find(status, {"allocatedResources"})));
    if (!infeasible_) Raise(held, requests);
    return held;
  }

  const Json& pod_;
  const bool bound_;
  bool infeasible_ = false;
};

}  // namespace

ResourceList EffectiveRequests(const Json& pod) {
  const PodReader reader(pod);
  // Sidecars start in order with the init containers and stay: an init container runs beside those started before it.
  ResourceList sidecars, peak, sum;
  for (const Json& container : FindArray(pod, {"spec", "initContainers"})) {
    const bool stays = FindString(container, {"restartPolicy"}) == "Always";
    // Only what stays can be resized.
    const ResourceList own = reader.Requests(container, stays ? "initContainerStatuses" : "");
    ResourceList here = sidecars;
    Sum(here, own);
    Raise(peak, here);
    if (stays) Sum(sidecars, own);
  }
  for (const Json& container : FindArray(pod, {"spec", "containers"}))
    Sum(sum, reader.Requests(container, "containerStatuses"));
  Sum(sum, sidecars);
  Raise(sum, peak);
  for (const auto& [name, amount] : reader.OfPod(sum)) sum[name] = amount;
  Sum(sum, kube::DecodeResourceList(base::Find(pod, {"spec", "overhead"})));
  return sum;
}

}  // namespace evenkeel::scheduling
