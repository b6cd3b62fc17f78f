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

struct PodReader {
  const Json& pod;
  bool bound, infeasible;

  explicit PodReader(const Json& of) : pod(of), bound(!FindString(of, {"spec", "nodeName"}).empty()) {
    const Json* resize = kube::FindCondition(pod, "PodResizePending");
    infeasible = resize != nullptr && FindString(*resize, {"reason"}) == "Infeasible";
  }

  ResourceList Requests(const Json& container, std::string_view statuses) const {
    const Json* resources = base::Find(container, {"resources"});
    ResourceList requests = resources == nullptr ? ResourceList() : RequestsIn(*resources);
    const Json* status = bound ? StatusOf(pod, statuses, FindString(container, {"name"})) : nullptr;
    if (status == nullptr) return requests;
    ResourceList held = kube::DecodeResourceList(base::Find(*status, {"resources", "requests"}));
    Raise(held, kube::DecodeResourceList(base::Find(*status, {"allocatedResources"})));
    if (!infeasible) Raise(held, requests);
    return held;
  }
};

}  // namespace

ResourceList EffectiveRequests(const Json& pod) {
  const PodReader reader(pod);
  // Sidecars start in order with the init containers and stay: an init container runs beside those started before it.
  ResourceList sidecars, peak, sum;
  for (const Json& container : FindArray(pod, {"spec", "initContainers"})) {
    const ResourceList own = reader.Requests(container, "initContainerStatuses");
    ResourceList here = sidecars;
    Sum(here, own);
    Raise(peak, here);
    if (FindString(container, {"restartPolicy"}) == "Always") Sum(sidecars, own);
  }
  for (const Json& container : FindArray(pod, {"spec", "containers"}))
    Sum(sum, reader.Requests(container, "containerStatuses"));
  Sum(sum, sidecars);
  Raise(sum, peak);
  if (const Json* resources = base::Find(pod, {"spec", "resources"})) {
    for (const auto& [name, amount] : RequestsIn(*resources)) {
      if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) sum[name] = amount;
    }
  }
  Sum(sum, kube::DecodeResourceList(base::Find(pod, {"spec", "overhead"})));
  return sum;
}

}  // namespace evenkeel::scheduling
