#include "sim/world/device_samples.h"

#include <spdlog/fmt/fmt.h>

#include "kube/object.h"

namespace evenkeel::sim {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::string_view kVersion = "v1";
constexpr std::string_view kLarge = "large", kSmall = "small";

const kube::Resource& DeviceKind(std::string_view plural) { return *kube::FindBuiltIn(kGroup, kVersion, plural); }

JsonObject Asked(std::string_view device_class, int64_t count) {
  return {{"deviceClassName", device_class}, {"allocationMode", "ExactCount"}, {"count", count}};
}

JsonObject Exactly(JsonObject asked) { return {{"name", "devices"}, {"exactly", std::move(asked)}}; }

JsonObject Alternative(std::string_view name, std::string_view device_class, int64_t count) {
  JsonObject alternative = Asked(device_class, count);
  alternative["name"] = name;
  return alternative;
}

JsonObject OneOf(JsonArray alternatives) { return {{"name", "devices"}, {"firstAvailable", std::move(alternatives)}}; }

Json ClaimTemplate(std::string_view ns, std::string_view name, JsonObject request, bool one_model = false) {
  JsonObject devices{{"requests", JsonArray{std::move(request)}}};
  if (one_model) {
    devices["constraints"] = JsonArray{JsonObject{{"matchAttribute", fmt::format("{}/{}", kDeviceDriver, kModelAttribute)}}};
  }
  Json object = kube::NewObject(DeviceKind("resourceclaimtemplates"), ns, name);
  base::Ensure(object, {"spec", "spec", "devices"}) = std::move(devices);
  return object;
}

void AddClaim(JsonObject& pod_spec, JsonObject claim) {
  claim["name"] = "devices";
  pod_spec["resourceClaims"] = JsonArray{std::move(claim)};
  for (Json& container : pod_spec["containers"].get_array()) {
    base::Ensure(container, {"resources", "claims"}) = JsonArray{JsonObject{{"name", "devices"}}};
  }
}

}  // namespace

bool ClassTakes(std::string_view device_class, std::string_view model) {
  return device_class == kAnyDevice || (device_class == kLargeDevice && model == kLarge);
}

JsonArray SlicesOfNodes(int64_t devices) {
  JsonArray halves[2];
  for (int64_t i = 0; i < devices; ++i) {
    const std::string_view model = i % 2 == 0 ? kSmall : kLarge;
    const JsonObject attributes{{kModelAttribute, JsonObject{{"string", model}}}};
    halves[i < (devices + 1) / 2 ? 0 : 1].push_back(JsonObject{{"name", fmt::format("gpu-{}", i)}, {"attributes", attributes}});
  }
  JsonArray slices;
  for (JsonArray& half : halves) {
    if (!half.empty()) slices.push_back(JsonObject{{"driver", kDeviceDriver}, {"devices", std::move(half)}});
  }
  return slices;
}

std::vector<Json> NewDeviceClasses() {
  const auto made = [](const char* name, const std::string& expression) {
    Json object = kube::NewObject(DeviceKind("deviceclasses"), "", name);
    base::Ensure(object, {"spec", "selectors"}) = JsonArray{JsonObject{{"cel", JsonObject{{"expression", expression}}}}};
    return object;
  };
  const std::string of_driver = fmt::format("device.driver == '{}'", kDeviceDriver);
  std::vector<Json> classes{made(kAnyDevice, of_driver),
                            made(kLargeDevice, fmt::format("{} && device.attributes['{}'].{} == '{}'", of_driver, kDeviceDriver,
                                                           kModelAttribute, kLarge))};
  base::Ensure(classes.front(), {"spec", "extendedResourceName"}) = kExtendedDevice;
  return classes;
}

std::vector<Json> NewClaimTemplates(std::string_view ns) {
  JsonObject admin = Asked(kAnyDevice, 1);
  admin["adminAccess"] = true;
  return {
      ClaimTemplate(ns, "one", Exactly(Asked(kAnyDevice, 1))), ClaimTemplate(ns, "pair", Exactly(Asked(kAnyDevice, 2)), true),
      ClaimTemplate(ns, "large", Exactly(Asked(kLargeDevice, 1))),
      ClaimTemplate(ns, "either", OneOf(JsonArray{Alternative("large", kLargeDevice, 2), Alternative("any", kAnyDevice, 1)})),
      ClaimTemplate(ns, "admin", Exactly(std::move(admin)))};
}

Json NewSharedClaim(std::string_view ns, std::string_view name) {
  Json object = kube::NewObject(DeviceKind("resourceclaims"), ns, name);
  base::Ensure(object, {"spec", "devices", "requests"}) = JsonArray{Exactly(Asked(kAnyDevice, 1))};
  return object;
}

void ClaimByName(JsonObject& pod_spec, std::string_view claim) { AddClaim(pod_spec, {{"resourceClaimName", claim}}); }

void ClaimByTemplate(JsonObject& pod_spec, std::string_view claim_template) {
  AddClaim(pod_spec, {{"resourceClaimTemplateName", claim_template}});
}

void ClaimByResource(JsonObject& pod_spec, int64_t devices) {
  Json& container = pod_spec["containers"].get_array().front();
  for (const char* what : {"requests", "limits"}) {
    base::Ensure(container, {"resources", what, kExtendedDevice}) = std::to_string(devices);
  }
}

}  // namespace evenkeel::sim
