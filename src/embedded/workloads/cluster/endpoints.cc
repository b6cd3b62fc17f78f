#include "embedded/workloads/cluster/endpoints.h"

#include <algorithm>

#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::resources::EndpointSlices;

constexpr size_t kSliceSize = 100;

/// The number that a service's port stands for on this pod; 0 when the pod has no port of that name.
int64_t TargetPort(const Json& port, const kube::Pod& pod) {
  const Json* target = Find(port, {"targetPort"});
  if (target == nullptr || target->is_null()) return FindInt(port, {"port"});
  if (!target->is_string()) return FindInt(port, {"targetPort"});
  const std::string_view protocol = FindString(port, {"protocol"}, "TCP");
  for (const kube::Container& container : pod.containers) {
    for (const kube::ContainerPort& each : container.ports) {
      if (each.name == std::string_view(target->get_string()) && each.protocol == protocol) return each.container_port;
    }
  }
  return 0;
}

JsonArray PortsFor(const Json& service, const kube::Pod& pod) {
  JsonArray ports;
  for (const Json& port : FindArray(service, {"spec", "ports"})) {
    const int64_t number = TargetPort(port, pod);
    if (number == 0) continue;
    JsonObject entry{{"port", number}, {"protocol", FindString(port, {"protocol"}, "TCP")}};
    if (const std::string_view name = FindString(port, {"name"}); !name.empty()) entry["name"] = name;
    ports.push_back(std::move(entry));
  }
  return ports;
}

JsonObject TargetRef(const kube::Pod& pod) {
  return JsonObject{{"kind", "Pod"}, {"namespace", pod.meta.ns}, {"name", pod.meta.name}, {"uid", pod.meta.uid}};
}

std::string HostnameFor(const Json& service, const kube::Pod& pod) {
  const std::string_view subdomain = FindString(*pod.json, {"spec", "subdomain"});
  return subdomain == kube::NameOf(service) ? std::string(FindString(*pod.json, {"spec", "hostname"})) : "";
}

/// Pods by the ports that they offer the service on, so that each group can share one list of ports.
std::map<std::string, std::pair<JsonArray, std::vector<PodPointer>>> ByPorts(const Json& service,
                                                                             const std::vector<PodPointer>& pods) {
  std::map<std::string, std::pair<JsonArray, std::vector<PodPointer>>> groups;
  for (const PodPointer& pod : pods) {
    if (pod->pod_ip.empty() || pod->terminal()) continue;
    JsonArray ports = PortsFor(service, *pod);
    auto& group = groups[base::ToText(Json(ports))];
    group.first = std::move(ports);
    group.second.push_back(pod);
  }
  return groups;
}

}  // namespace

JsonArray EndpointSubsets(const Json& service, const std::vector<PodPointer>& pods) {
  JsonArray subsets;
  const bool publish = FindBool(service, {"spec", "publishNotReadyAddresses"});
  for (auto& [text, group] : ByPorts(service, pods)) {
    JsonArray ready, waiting;
    for (const PodPointer& pod : group.second) {
      if (pod->meta.deletion_time && !publish) continue;
      JsonObject address{{"ip", pod->pod_ip}, {"nodeName", pod->node_name}, {"targetRef", TargetRef(*pod)}};
      if (std::string host = HostnameFor(service, *pod); !host.empty()) address["hostname"] = std::move(host);
      (pod->ready || publish ? ready : waiting).push_back(std::move(address));
    }
    if (ready.empty() && waiting.empty()) continue;
    JsonObject subset;
    if (!ready.empty()) subset["addresses"] = std::move(ready);
    if (!waiting.empty()) subset["notReadyAddresses"] = std::move(waiting);
    if (!group.first.empty()) subset["ports"] = group.first;
    subsets.push_back(std::move(subset));
  }
  return subsets;
}

std::vector<Json> EndpointSlicesOf(const Json& service, const std::vector<PodPointer>& pods) {
  std::vector<Json> slices;
  const bool publish = FindBool(service, {"spec", "publishNotReadyAddresses"});
  for (auto& [text, group] : ByPorts(service, pods)) {
    for (size_t begin = 0; begin < group.second.size(); begin += kSliceSize) {
      JsonArray endpoints;
      for (size_t i = begin; i < std::min(begin + kSliceSize, group.second.size()); ++i) {
        const kube::Pod& pod = *group.second[i];
        const bool terminating = pod.meta.deletion_time.has_value();
        JsonObject endpoint{{"addresses", JsonArray{Json(pod.pod_ip)}},
                            {"conditions", JsonObject{{"ready", publish || (pod.ready && !terminating)},
                                                      {"serving", pod.ready},
                                                      {"terminating", terminating}}},
                            {"nodeName", pod.node_name},
                            {"targetRef", TargetRef(pod)}};
        if (std::string host = HostnameFor(service, pod); !host.empty()) endpoint["hostname"] = std::move(host);
        endpoints.push_back(std::move(endpoint));
      }
      JsonArray ports = group.first;
      for (Json& port : ports) {
        // Written out, as the API stores it.
        if (!port.get_object().contains("name")) port.get_object()["name"] = "";
      }
      slices.push_back(JsonObject{{"endpoints", std::move(endpoints)}, {"ports", std::move(ports)}});
    }
  }
  if (slices.empty()) slices.push_back(JsonObject{{"endpoints", JsonArray{}}, {"ports", JsonArray{}}});
  return slices;
}

EndpointsController::EndpointsController(Context& context) : Reconciler(context, "endpoint-controller") {
  const kube::Resource& services = kube::resources::Services();
  informers().Of(services).AddHandler(
      [this](const ObjectPointer& before, const ObjectPointer& after) { Enqueue((after ? after : before)->meta.Key()); });
  for (const kube::Resource* kind : {&kube::resources::Endpoints(), &EndpointSlices()}) {
    const bool slices = kind == &EndpointSlices();
    informers().Of(*kind).AddHandler([this, slices](const ObjectPointer& before, const ObjectPointer& after) {
      const kube::ObjectMeta& meta = (after ? after : before)->meta;
      auto label = meta.labels.find("kubernetes.io/service-name");
      if (slices && label == meta.labels.end()) return;
      const std::string key = meta.ns + "/" + (slices ? label->second : meta.name);
      if (informers().Of(kube::resources::Services()).Get(key) != nullptr) EnqueueSoon(key);
    });
  }
  informers().Owned(EndpointSlices());
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    const std::string& ns = (after ? after : before)->meta.ns;
    const auto& all = informers().Of(kube::resources::Services()).items();
    const std::string prefix = ns + "/";
    for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) {
      const JsonObject& selector = FindObject(*at->second->json, {"spec", "selector"});
      if (selector.empty()) continue;
      auto matches = [&](const PodPointer& pod) {
        return pod && std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
                 auto found = pod->meta.labels.find(std::string(entry.key()));
                 return found != pod->meta.labels.end() && entry.value() == Json(found->second);
               });
      };
      if (matches(before) || matches(after)) EnqueueSoon(at->first);
    }
  });
}

base::Result<Again> EndpointsController::Reconcile(const std::string& key) {
  const ObjectPointer service = informers().Of(kube::resources::Services()).Get(key);
  if (service == nullptr) {
    const ObjectPointer endpoints = informers().Of(kube::resources::Endpoints()).Get(key);
    if (endpoints == nullptr || !endpoints->meta.annotations.contains("endpoints.kubernetes.io/last-change-trigger-time"))
      return Again{};
    EVENKEEL_TRY(UnlessGone(api().Delete(kube::resources::Endpoints(), endpoints->meta.ns, endpoints->meta.name)));
    return Again{};
  }
  if (service->meta.deletion_time) return Again{};
  const std::map<std::string, std::string> labels = base::FindTextMap(*service->json, {"spec", "selector"});
  // Without a selector they are somebody else's to write.
  if (labels.empty() || FindString(*service->json, {"spec", "type"}) == "ExternalName") return Again{};
  const auto selector = kube::LabelSelector::FromLabels(labels);
  std::vector<PodPointer> pods;
  for (const PodPointer& pod : informers().PodsIn(service->meta.ns)) {
    if (selector.Matches(pod->meta.labels)) pods.push_back(pod);
  }
  EVENKEEL_TRY(SyncEndpoints(*service, pods));
  EVENKEEL_TRY(SyncSlices(*service, pods));
  return Again{};
}

base::Status EndpointsController::SyncEndpoints(const kube::Object& service, const std::vector<PodPointer>& pods) {
  const kube::Resource& kind = kube::resources::Endpoints();
  const ObjectPointer existing = informers().Of(kind).Get(service.meta.Key());
  JsonArray subsets = EndpointSubsets(*service.json, pods);
  Json object = existing ? *existing->json : kube::NewObject(kind, service.meta.ns, service.meta.name);
  if (existing && base::Equal(Json(FindArray(object, {"subsets"})), Json(subsets)) &&
      existing->meta.labels == service.meta.labels)
    return {};
  if (subsets.empty()) {
    base::Erase(object, {"subsets"});
  } else {
    object.get_object()["subsets"] = std::move(subsets);
  }
  base::Ensure(object, {"metadata", "labels"}) = LabelsJson(service.meta.labels);
  base::Ensure(object, {"metadata", "annotations", "endpoints.kubernetes.io/last-change-trigger-time"}) =
      base::FormatTime(Now());
  auto written = existing ? api().Update(kind, object) : api().Create(kind, object);
  if (!written && written.error().code() == base::Code::kAlreadyExists)
    return base::Fail(base::Code::kConflict, "endpoints exist already");
  return UnlessGone(written);
}

base::Status EndpointsController::SyncSlices(const kube::Object& service, const std::vector<PodPointer>& pods) {
  std::vector<Json> wanted = EndpointSlicesOf(*service.json, pods);
  std::vector<ObjectPointer> existing;
  for (const auto& [key, slice] : informers().Owned(EndpointSlices()).OwnedBy(service.meta.uid)) {
    auto manager = slice->meta.labels.find("endpointslice.kubernetes.io/managed-by");
    if (manager != slice->meta.labels.end() && manager->second == "endpointslice-controller.k8s.io") existing.push_back(slice);
  }
  for (size_t i = 0; i < std::max(wanted.size(), existing.size()); ++i) {
    if (i >= wanted.size()) {
      EVENKEEL_TRY(UnlessGone(api().Delete(EndpointSlices(), service.meta.ns, existing[i]->meta.name)));
      continue;
    }
    const bool exists = i < existing.size();
    // The slices' names do not depend on what is in them, so a change of one is a write of one.
    const std::string name = service.meta.name + "-" + SafeName(10000 + i);
    Json object = exists ? *existing[i]->json : kube::NewObject(EndpointSlices(), service.meta.ns, name);
    if (exists && base::Equal(Json(FindArray(object, {"endpoints"})), wanted[i].at("endpoints")) &&
        base::Equal(Json(FindArray(object, {"ports"})), wanted[i].at("ports"))) {
      continue;
    }
    object.get_object()["addressType"] = "IPv4";
    object.get_object()["endpoints"] = wanted[i].at("endpoints");
    object.get_object()["ports"] = wanted[i].at("ports");
    base::Ensure(object, {"metadata", "labels"}) = LabelsJson(service.meta.labels);
    base::Ensure(object, {"metadata", "labels", "kubernetes.io/service-name"}) = service.meta.name;
    base::Ensure(object, {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}) = "endpointslice-controller.k8s.io";
    base::Ensure(object, {"metadata", "ownerReferences"}) =
        JsonArray{kube::ControllerReference(kube::resources::Services(), service.meta.name, service.meta.uid)};
    auto written = exists ? api().Update(EndpointSlices(), object) : api().Create(EndpointSlices(), object);
    if (!written && written.error().code() == base::Code::kAlreadyExists)
      return base::Fail(base::Code::kConflict, name + " exists already");
    if (!written && !IsGone(written.error())) return base::Fail(written.error());
  }
  return {};
}

}  // namespace evenkeel::embedded::workloads
