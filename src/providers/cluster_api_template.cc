// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/cloudprovider/clusterapi/clusterapi_unstructured.go

#include "base/parse_number.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "providers/cluster_api_objects.h"

#include "base/text.h"

namespace evenkeel::providers {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// As many as a ResourceSlice may have.
constexpr int64_t kDevicesMax = 128;
constexpr std::string_view kPrefix = "capacity.cluster-autoscaler.kubernetes.io/";
constexpr std::string_view kDefaultPods = "110";

class TemplateMaker {
 public:
  TemplateMaker(const ClusterApiGroup& group, const Json* infrastructure, Warnings& warnings)
      : group_(group), infrastructure_(infrastructure), warnings_(warnings) {}

  std::optional<Json> Make(const Json* sample, const std::string& default_architecture) {
    const std::optional<JsonObject> capacity = Capacity();
    if (!capacity) return std::nullopt;
    const std::string name = group_.name + "-asg-0";
    Json node = kube::NewObject(kube::resources::Nodes(), "", name);
    base::Ensure(node, {"metadata", "labels"}) = Labels(name, sample, default_architecture);
    base::Ensure(node, {"spec", "providerID"}) = "";
    if (const std::string_view limits = Annotation("csi-driver"); !limits.empty()) {
      base::Ensure(node, {"metadata", "annotations", kCsiDriverAnnotation}) = limits;
    }
    if (JsonArray slices = Slices(); !slices.empty()) node.get_object()["resourceSlices"] = std::move(slices);
    if (JsonArray taints = Taints(); !taints.empty()) base::Ensure(node, {"spec", "taints"}) = std::move(taints);
    base::Ensure(node, {"status", "capacity"}) = *capacity;
    base::Ensure(node, {"status", "allocatable"}) = *capacity;
    JsonArray conditions{{{"type", "Ready"}, {"status", "True"}}};
    for (const char* type : {"NetworkUnavailable", "DiskPressure", "MemoryPressure", "PIDPressure"}) {
      conditions.push_back({{"type", type}, {"status", "False"}});
    }
    base::Ensure(node, {"status", "conditions"}) = std::move(conditions);
    return node;
  }

 private:
  std::string_view Annotation(std::string_view name) const {
    return base::FindString(*group_.object, {"metadata", "annotations", std::string(kPrefix) + std::string(name)});
  }
  void Warn(std::string_view name, std::string_view value, std::string_view what) {
    warnings_.Add(group_.kind + " " + group_.ns + "/" + group_.name + ": metadata.annotations." + std::string(kPrefix) +
                  std::string(name) + ": \"" + OneLine(value) + "\" " + std::string(what));
  }

  /// Puts the annotation's amount under that name. False: it is wrong.
  bool Take(std::string_view name, std::string_view resource, bool whole, JsonObject& capacity) {
    const std::string_view text = Annotation(name);
    if (text.empty()) return true;
    if (whole) {
      const auto count = base::ParseNumber<int64_t>(text);
      if (!count || *count < 0) {
        Warn(name, text, "is not a whole number of at least 0, so the group cannot be scaled from zero");
        return false;
      }
      if (*count > 0) capacity[resource] = std::to_string(*count);
      return true;
    }
    const auto quantity = kube::Quantity::Parse(text);
    if (!quantity || *quantity < kube::Quantity()) {
      Warn(name, text, "is not an amount of at least 0, so the group cannot be scaled from zero");
      return false;
    }
    if (!quantity->IsZero()) capacity[resource] = quantity->ToString();
    return true;
  }

  std::optional<JsonObject> Capacity() {
    JsonObject capacity{{"pods", kDefaultPods}};
    if (infrastructure_ != nullptr) {
      for (const auto& [name, value] : base::FindObject(*infrastructure_, {"status", "capacity"})) {
        const auto quantity = kube::Quantity::FromJson(value);
        // The annotation maxPods and its default go before what the infrastructure says.
        if (quantity && *quantity >= kube::Quantity() && name != "pods") capacity[name] = quantity->ToString();
      }
    }
    bool sound = Take("cpu", "cpu", false, capacity);
    sound = Take("memory", "memory", false, capacity) && sound;
    sound = Take("ephemeral-disk", "ephemeral-storage", false, capacity) && sound;
    sound = Take("maxPods", "pods", true, capacity) && sound;
    const std::string_view gpu = Annotation("gpu-type");
    if (!gpu.empty()) sound = Take("gpu-count", gpu, true, capacity) && sound;
    if (!sound || !capacity.contains("cpu") || !capacity.contains("memory")) return std::nullopt;
    return capacity;
  }

  /// What a driver of devices will publish of the node, as a NodeGroup's template says it.
  JsonArray Slices() {
    const std::string_view driver = Annotation("dra-driver"), text = Annotation("gpu-count");
    if (driver.empty() || text.empty()) return {};
    const auto count = base::ParseNumber<int64_t>(text);
    if (!count || *count < 0 || *count > kDevicesMax) {
      Warn("gpu-count", text, "is not a whole number from 0 to 128, so new nodes are taken for having no devices");
      return {};
    }
    JsonArray devices;
    for (int64_t i = 0; i < *count; ++i) {
      devices.push_back(JsonObject{{"name", "gpu-" + std::to_string(i)},
                                   {"attributes", JsonObject{{"type", JsonObject{{"string", "gpu"}}}}}});
    }
    if (devices.empty()) return {};
    return JsonArray{JsonObject{{"driver", driver}, {"devices", std::move(devices)}}};
  }

  /// Labels of machines that Cluster API passes on to nodes.
  static bool IsManaged(std::string_view key) {
    const size_t slash = key.find('/');
    if (slash == std::string_view::npos) return false;
    const std::string_view domain = key.substr(0, slash);
    const auto is_in = [&](std::string_view parent) {
      return domain == parent ||
             (domain.ends_with(parent) && domain.size() > parent.size() && domain[domain.size() - parent.size() - 1] == '.');
    };
    return domain == "node-role.kubernetes.io" || is_in("node-restriction.kubernetes.io") || is_in("node.cluster.x-k8s.io");
  }

  JsonObject Labels(const std::string& name, const Json* sample, const std::string& default_architecture) {
    JsonObject labels{
        {"kubernetes.io/arch", default_architecture}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/hostname", name}};
    if (infrastructure_ != nullptr) {
      const std::string_view arch = base::FindString(*infrastructure_, {"status", "nodeInfo", "architecture"});
      const std::string_view os = base::FindString(*infrastructure_, {"status", "nodeInfo", "operatingSystem"});
      if (!arch.empty()) labels["kubernetes.io/arch"] = arch;
      if (!os.empty()) labels["kubernetes.io/os"] = os;
    }
    for (const auto& [key, value] : base::FindObject(*group_.object, {"spec", "template", "metadata", "labels"})) {
      if (value.is_string() && IsManaged(key)) labels[key] = value;
    }
    if (const std::string_view given = Annotation("labels"); !given.empty()) {
      for (const std::string_view label : base::Split(given, ',')) {
        const size_t equals = label.find('=');
        if (equals == label.npos || equals == 0) {
          Warn("labels", label, "is not KEY=VALUE, so it is left out");
          continue;
        }
        labels[label.substr(0, equals)] = label.substr(equals + 1);
      }
    }
    if (sample != nullptr) CopyPlace(*sample, labels);
    return labels;
  }

  static void CopyPlace(const Json& sample, JsonObject& labels) {
    for (const std::string_view key :
         {"kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
          "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
          "topology.kubernetes.io/zone"}) {
      const std::string_view value = base::FindString(sample, {"metadata", "labels", key});
      if (!value.empty()) labels[key] = value;
    }
  }

  static void PutTaint(JsonArray& taints, JsonObject taint) {
    const Json added(std::move(taint));
    for (Json& other : taints) {
      if (base::FindString(other, {"key"}) == base::FindString(added, {"key"}) &&
          base::FindString(other, {"effect"}) == base::FindString(added, {"effect"})) {
        other = added;
        return;
      }
    }
    taints.push_back(added);
  }

  JsonArray Taints() {
    JsonArray taints;
    for (const Json& taint : base::FindArray(*group_.object, {"spec", "template", "spec", "taints"})) {
      if (base::FindString(taint, {"key"}).empty()) continue;
      PutTaint(taints, {{"key", base::FindString(taint, {"key"})},
                        {"value", base::FindString(taint, {"value"})},
                        {"effect", base::FindString(taint, {"effect"})}});
    }
    const std::string_view given = Annotation("taints");
    if (given.empty()) return taints;
    for (const std::string_view text : base::Split(given, ',')) {
      const std::vector<std::string_view> parts = base::Split(text, ':');
      const std::vector<std::string_view> pair = base::Split(parts[0], '=');
      const std::string_view value = pair.size() == 2 ? pair[1] : "";
      if (parts.size() > 2 || pair.size() > 2 || !kube::CheckQualifiedName(pair[0]).empty() ||
          !kube::CheckLabelValue(value).empty()) {
        Warn("taints", text, "is not KEY=VALUE:EFFECT, so it is left out");
        continue;
      }
      PutTaint(taints, {{"key", pair[0]}, {"value", value}, {"effect", parts.size() == 2 ? parts[1] : ""}});
    }
    return taints;
  }

  const ClusterApiGroup& group_;
  const Json* const infrastructure_;
  Warnings& warnings_;
};

}  // namespace

std::optional<Json> MakeClusterApiTemplate(const ClusterApiGroup& group, const Json* infrastructure, const Json* sample,
                                           const std::string& default_architecture, Warnings& warnings) {
  return TemplateMaker(group, infrastructure, warnings).Make(sample, default_architecture);
}

}  // namespace evenkeel::providers
