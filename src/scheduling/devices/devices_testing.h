// Slices, classes, claims and pods that have some, in a few words, for tests and benchmarks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::testing {

inline constexpr const char* kGpuDriver = "gpu.example.com";

/// A slice of one node's pool, which has the node's name.
struct SliceMaker {
  Json json;

  explicit SliceMaker(std::string_view node, std::string_view driver = kGpuDriver) {
    json = JsonObject{{"metadata", JsonObject{{"name", std::string(node) + "-" + std::string(driver)}}},
                      {"spec", JsonObject{{"driver", driver},
                                          {"pool", JsonObject{{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                                          {"nodeName", node},
                                          {"devices", JsonArray{}}}}};
  }
  SliceMaker& Named(std::string_view name) {
    base::Ensure(json, {"metadata", "name"}) = name;
    return *this;
  }
  SliceMaker& Pool(std::string_view name, int generation = 1, int slices = 1) {
    base::Ensure(json, {"spec", "pool"}) =
        JsonObject{{"name", name}, {"generation", generation}, {"resourceSliceCount", slices}};
    return *this;
  }
  SliceMaker& Everywhere() {
    base::Erase(json, {"spec", "nodeName"});
    base::Ensure(json, {"spec", "allNodes"}) = true;
    return *this;
  }
  /// `more`: other fields of the device, as JSON.
  SliceMaker& Device(std::string_view name, std::string_view more = "{}") {
    Json device = Parse(more);
    device.as_object()["name"] = name;
    base::Ensure(json, {"spec", "devices"}).as_array().push_back(std::move(device));
    return *this;
  }
  SliceMaker& Devices(int count, std::string_view more = "{}") {
    for (int i = 0; i < count; ++i) Device("gpu-" + std::to_string(i), more);
    return *this;
  }
  SliceMaker& Spec(std::string_view field, std::string_view value) {
    base::Ensure(json, {"spec", field}) = Parse(value);
    return *this;
  }
};

inline Json DeviceClassOf(std::string_view name, std::string_view driver = kGpuDriver, std::string_view extended = "") {
  Json json = JsonObject{
      {"metadata", JsonObject{{"name", name}}},
      {"spec",
       JsonObject{{"selectors", JsonArray{JsonObject{
                                    {"cel", JsonObject{{"expression", "device.driver == '" + std::string(driver) + "'"}}}}}}}}};
  if (!extended.empty()) base::Ensure(json, {"spec", "extendedResourceName"}) = extended;
  return json;
}

struct ClaimMaker {
  Json json;

  /// For `count` devices of the class "gpu".
  explicit ClaimMaker(std::string_view name, int count = 1) {
    json = JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}, {"uid", "uid-" + std::string(name)}}}};
    Requests(R"([{"name":"gpus","exactly":{"deviceClassName":"gpu","count":)" + std::to_string(count) + "}}]");
  }
  ClaimMaker& Requests(std::string_view requests) {
    base::Ensure(json, {"spec", "devices", "requests"}) = Parse(requests);
    return *this;
  }
  /// Made from a template for the pod (whose uid is its name).
  ClaimMaker& Of(std::string_view pod) {
    base::Ensure(json, {"metadata", "ownerReferences"}) =
        JsonArray{JsonObject{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", pod}, {"controller", true}}};
    return *this;
  }
  ClaimMaker& Allocated(const Json& allocation, const std::vector<std::string_view>& pods) {
    base::Ensure(json, {"status", "allocation"}) = allocation;
    JsonArray consumers;
    for (const std::string_view pod : pods) {
      consumers.push_back(JsonObject{{"resource", "pods"}, {"name", pod}, {"uid", pod}});
    }
    base::Ensure(json, {"status", "reservedFor"}) = std::move(consumers);
    return *this;
  }
  /// Devices of the node's pool, by a request "gpus".
  ClaimMaker& On(std::string_view node, const std::vector<std::string_view>& devices,
                 const std::vector<std::string_view>& pods) {
    JsonArray results;
    for (const std::string_view device : devices) {
      results.push_back(JsonObject{{"request", "gpus"}, {"driver", kGpuDriver}, {"pool", node}, {"device", device}});
    }
    const Json nodes = Parse(R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
                             std::string(node) + R"("]}]}]})");
    return Allocated(JsonObject{{"devices", JsonObject{{"results", results}}}, {"nodeSelector", nodes}}, pods);
  }
};

/// Names the claim itself.
inline PodMaker WithClaim(PodMaker pod, std::string_view claim) {
  pod.Spec("resourceClaims", R"([{"name":"c","resourceClaimName":")" + std::string(claim) + "\"}]");
  return pod;
}
/// Has it made from a template; `claim` "" where that has not happened.
inline PodMaker WithOwnClaim(PodMaker pod, std::string_view claim, std::string_view claim_template = "gpus") {
  pod.Spec("resourceClaims", R"([{"name":"c","resourceClaimTemplateName":")" + std::string(claim_template) + "\"}]");
  if (!claim.empty()) {
    base::Ensure(pod.json, {"status", "resourceClaimStatuses"}) =
        JsonArray{JsonObject{{"name", "c"}, {"resourceClaimName", claim}}};
  }
  return pod;
}

/// "driver/pool/device" of all results, with the request's name before them: "gpus=a/b/c,a/b/d".
inline std::string Text(const PlacedDevices& placed) {
  std::string text;
  for (const PlacedClaim& claim : placed.claims) {
    text += (text.empty() ? "" : "; ") + claim.pod_claim + ":";
    if (claim.allocation == nullptr) text += " none";
    for (size_t i = 0; claim.allocation != nullptr && i < claim.allocation->results.size(); ++i) {
      text += " " + claim.allocation->results[i].request + "=" + claim.allocation->results[i].device.ToString();
    }
  }
  return text;
}

}  // namespace evenkeel::scheduling::testing
