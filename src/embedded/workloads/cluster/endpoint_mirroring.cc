#include "embedded/workloads/cluster/endpoint_mirroring.h"

#include <algorithm>

#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::FindArray;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::resources::EndpointSlices;

constexpr size_t kMirroredPerSubset = 1'000;
constexpr size_t kMirroredPerSlice = 1'000;
constexpr const char* kServiceNameLabel = "kubernetes.io/service-name";
constexpr const char* kManagedByLabel = "endpointslice.kubernetes.io/managed-by";
constexpr const char* kMirrorManager = "endpointslicemirroring-controller.k8s.io";
constexpr const char* kSkipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
constexpr const char* kLeaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

std::string LabelOf(const kube::ObjectMeta& meta, const char* name) {
  const auto found = meta.labels.find(name);
  return found == meta.labels.end() ? "" : found->second;
}

bool IsMirror(const kube::ObjectMeta& slice) { return LabelOf(slice, kManagedByLabel) == kMirrorManager; }

std::string KeyOfEndpoints(const kube::ObjectMeta& slice) { return slice.ns + "/" + LabelOf(slice, kServiceNameLabel); }

JsonObject MirroredEndpoint(const Json& address, bool ready) {
  JsonObject endpoint{{"addresses", JsonArray{Json(FindString(address, {"ip"}))}},
                      {"conditions", JsonObject{{"ready", ready}}}};
  for (const char* field : {"hostname", "nodeName"}) {
    if (const std::string_view text = FindString(address, {field}); !text.empty()) endpoint[field] = text;
  }
  if (const Json* target = base::Find(address, {"targetRef"})) endpoint["targetRef"] = *target;
  return endpoint;
}

JsonArray MirroredPorts(const Json& subset) {
  JsonArray ports;
  for (const Json& port : FindArray(subset, {"ports"})) {
    JsonObject entry{{"name", FindString(port, {"name"})},
                     {"port", base::FindInt(port, {"port"})},
                     {"protocol", FindString(port, {"protocol"}, "TCP")}};
    if (const std::string_view app = FindString(port, {"appProtocol"}); !app.empty()) entry["appProtocol"] = app;
    ports.push_back(std::move(entry));
  }
  return ports;
}

/// What the slices take over of the Endpoints.
JsonObject MirroredAnnotations(const kube::ObjectMeta& endpoints) {
  JsonObject annotations;
  for (const auto& [name, value] : endpoints.annotations) {
    if (name == "kubectl.kubernetes.io/last-applied-configuration" ||
        name == "endpoints.kubernetes.io/last-change-trigger-time")
      continue;
    annotations[name] = value;
  }
  return annotations;
}

Json MirroredLabels(const kube::ObjectMeta& endpoints) {
  kube::Labels labels = endpoints.labels;
  labels[kServiceNameLabel] = endpoints.name;
  labels[kManagedByLabel] = kMirrorManager;
  return LabelsJson(labels);
}

}  // namespace

std::vector<Json> MirroredSlices(const Json& endpoints) {
  // Subsets with the same ports are shown together.
  std::map<std::pair<std::string, std::string>, std::pair<JsonArray, JsonArray>> groups;  // by family and ports
  for (const Json& subset : FindArray(endpoints, {"subsets"})) {
    const JsonArray ports = MirroredPorts(subset);
    const std::string text = base::ToText(Json(ports));
    size_t taken = 0;
    for (const auto& [list, ready] : {std::pair("addresses", true), std::pair("notReadyAddresses", false)}) {
      for (const Json& address : FindArray(subset, {list})) {
        if (taken++ == kMirroredPerSubset) break;
        const std::string family = FindString(address, {"ip"}).contains(':') ? "IPv6" : "IPv4";
        auto& [group_ports, group_endpoints] = groups[{family, text}];
        group_ports = ports;
        group_endpoints.push_back(MirroredEndpoint(address, ready));
      }
      if (taken > kMirroredPerSubset) break;
    }
  }
  std::vector<Json> slices;
  for (const auto& [key, group] : groups) {
    for (size_t begin = 0; begin < group.second.size(); begin += kMirroredPerSlice) {
      const auto first = group.second.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last =
          group.second.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kMirroredPerSlice, group.second.size()));
      slices.push_back(JsonObject{{"addressType", key.first}, {"endpoints", JsonArray(first, last)}, {"ports", group.first}});
    }
  }
  return slices;
}

bool IsMirrored(const kube::ObjectMeta& endpoints) {
  return !endpoints.deletion_time && LabelOf(endpoints, kSkipMirrorLabel) != "true" &&
         !endpoints.annotations.contains(kLeaderAnnotation);
}

EndpointMirroring::EndpointMirroring(Context& context) : Reconciler(context, "endpointslicemirroring-controller") {
  for (const kube::Resource* kind : {&kube::resources::Services(), &kube::resources::Endpoints()}) {
    informers().Of(*kind).AddHandler(
        [this](const ObjectPointer& before, const ObjectPointer& after) { EnqueueSoon((after ? after : before)->meta.Key()); });
  }
  informers().Of(EndpointSlices()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (before != nullptr && IsMirror(before->meta)) {
      const auto found = mirrors_.find(KeyOfEndpoints(before->meta));
      if (found != mirrors_.end()) found->second.erase(before->meta.Key());
      if (found != mirrors_.end() && found->second.empty()) mirrors_.erase(found);
      EnqueueSoon(KeyOfEndpoints(before->meta));
    }
    if (after != nullptr && IsMirror(after->meta)) {
      mirrors_[KeyOfEndpoints(after->meta)][after->meta.Key()] = after;
      EnqueueSoon(KeyOfEndpoints(after->meta));
    }
  });
}

std::vector<ObjectPointer> EndpointMirroring::MirrorsOf(const std::string& key) {
  std::vector<ObjectPointer> mirrors;
  const auto found = mirrors_.find(key);
  if (found == mirrors_.end()) return mirrors;
  for (const auto& [slice_key, slice] : found->second) {
    if (!slice->meta.deletion_time) mirrors.push_back(slice);
  }
  return mirrors;
}

base::Status EndpointMirroring::Write(const kube::Object& endpoints, const Json& wanted, const ObjectPointer& existing) {
  Json object = existing != nullptr ? *existing->json : kube::NewObject(EndpointSlices(), endpoints.meta.ns, "");
  for (const char* field : {"addressType", "endpoints", "ports"}) object.get_object()[field] = wanted.at(field);
  base::Ensure(object, {"metadata", "labels"}) = MirroredLabels(endpoints.meta);
  JsonObject annotations = MirroredAnnotations(endpoints.meta);
  if (annotations.empty()) {
    base::Erase(object, {"metadata", "annotations"});
  } else {
    base::Ensure(object, {"metadata", "annotations"}) = std::move(annotations);
  }
  base::Ensure(object, {"metadata", "ownerReferences"}) =
      JsonArray{kube::ControllerReference(kube::resources::Endpoints(), endpoints.meta.name, endpoints.meta.uid)};
  if (existing != nullptr) {
    if (base::Equal(object, *existing->json)) return {};
    const auto written = api().Update(EndpointSlices(), object);
    if (written) return {};
    if (!IsGone(written.error())) return base::Fail(written.error());
    mirrors_[endpoints.meta.Key()].erase(existing->meta.Key());
    return base::Fail(base::Code::kConflict, "the slice " + existing->meta.name + " is gone");
  }
  base::Erase(object, {"metadata", "name"});
  base::Ensure(object, {"metadata", "generateName"}) = endpoints.meta.name + "-";
  const auto made = api().Create(EndpointSlices(), object);
  if (!made) return IsGone(made.error()) ? base::Status() : base::Fail(made.error());
  // Before the watch tells of it: who comes here again must not make a second one.
  const auto slice = std::make_shared<const kube::Object>(kube::Object::Decode(*made));
  mirrors_[endpoints.meta.Key()].emplace(slice->meta.Key(), slice);
  return {};
}

base::Result<Again> EndpointMirroring::Reconcile(const std::string& key) {
  const ObjectPointer endpoints = informers().Of(kube::resources::Endpoints()).Get(key);
  const ObjectPointer service = informers().Of(kube::resources::Services()).Get(key);
  std::vector<Json> wanted;
  const bool mirrored = endpoints != nullptr && service != nullptr && IsMirrored(endpoints->meta) &&
                        FindObject(*service->json, {"spec", "selector"}).empty();
  if (mirrored) wanted = MirroredSlices(*endpoints->json);
  // A slice of the same family and ports is changed, so that few readers hear of much.
  std::vector<ObjectPointer> existing = MirrorsOf(key);
  for (const bool same_ports : {true, false}) {
    for (Json& slice : wanted) {
      if (slice.is_null()) continue;
      const auto fits = std::ranges::find_if(existing, [&](const ObjectPointer& one) {
        return FindString(*one->json, {"addressType"}) == FindString(slice, {"addressType"}) &&
               (!same_ports || base::Equal(Json(FindArray(*one->json, {"ports"})), slice.at("ports")));
      });
      if (fits == existing.end()) continue;
      EVENKEEL_TRY(Write(*endpoints, slice, *fits));
      existing.erase(fits);
      slice = Json();
    }
  }
  for (const Json& slice : wanted) {
    if (!slice.is_null()) EVENKEEL_TRY(Write(*endpoints, slice, nullptr));
  }
  for (const ObjectPointer& slice : existing) {
    const auto removed = api().Delete(EndpointSlices(), slice->meta.ns, slice->meta.name);
    if (!removed && !IsGone(removed.error())) return base::Fail(removed.error());
    if (const auto found = mirrors_.find(key); !removed && found != mirrors_.end()) found->second.erase(slice->meta.Key());
  }
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
