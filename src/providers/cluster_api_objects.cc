#include "providers/cluster_api_objects.h"

#include <algorithm>
#include <cmath>

#include "base/parse_number.h"
#include "kube/object.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonObject;

constexpr int64_t kSizeMax = INT32_MAX;
constexpr std::string_view kFailedPrefix = "failed-machine-", kDeletingPrefix = "deleting-machine-",
                           kPendingPrefix = "pending-machine-";

std::string Named(const Json& object) {
  return OneLine(base::FindString(object, {"kind"}, "object")) + " " + OneLine(kube::KeyOf(object));
}

std::unexpected<base::Error> Wrong(const Json& object, std::string_view field, std::string_view what) {
  return Fail(Code::kInvalid, Named(object) + ": " + OneLine(field) + ": " + OneLine(what));
}

std::optional<std::string_view> Annotation(const Json& object, std::string_view key) {
  const Json* value = base::Find(object, {"metadata", "annotations", key});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get_string();
}

base::Result<int64_t> ReadSize(const Json& object, const std::string& key) {
  const auto text = Annotation(object, key);
  if (!text) return 0;
  const auto size = base::ParseGoInteger(*text);
  if (size && *size >= 0 && *size <= kSizeMax) return *size;
  return Wrong(object, "metadata.annotations." + key, "\"" + std::string(*text) + "\" is not a whole number of at least 0");
}

class OptionReader {
 public:
  OptionReader(const Json& object, const ClusterApiNames& names, Warnings& warnings)
      : object_(object), prefix_(names.options_prefix), warnings_(warnings) {}

  std::optional<double> Share(const char* name) {
    const auto text = Annotation(object_, prefix_ + name);
    if (!text) return std::nullopt;
    const auto value = base::ParseNumber<double>(*text);
    if (value && *value >= 0 && *value <= 1) return value;
    Warn(name, *text, "is not a number from 0 to 1");
    return std::nullopt;
  }
  std::optional<base::Duration> Wait(const char* name) {
    const auto text = Annotation(object_, prefix_ + name);
    if (!text) return std::nullopt;
    const auto parsed = base::ParseDuration(*text);
    if (parsed && *parsed >= base::Duration{}) return *parsed;
    Warn(name, *text, "is not a duration such as 10m");
    return std::nullopt;
  }

 private:
  void Warn(const char* name, std::string_view text, const char* what) {
    warnings_.Add(Named(object_) + ": metadata.annotations." + prefix_ + name + ": \"" + OneLine(text) + "\" " + what +
                  ", so the flag holds");
  }

  const Json& object_;
  const std::string& prefix_;
  Warnings& warnings_;
};

NodeGroupOptions ReadOptions(const Json& object, const ClusterApiNames& names, Warnings& warnings) {
  OptionReader reader(object, names, warnings);
  NodeGroupOptions options;
  options.scale_down_utilization_threshold = reader.Share("scaledownutilizationthreshold");
  options.scale_down_gpu_utilization_threshold = reader.Share("scaledowngpuutilizationthreshold");
  options.scale_down_unneeded_time = reader.Wait("scaledownunneededtime");
  options.scale_down_unready_time = reader.Wait("scaledownunreadytime");
  options.max_node_provision_time = reader.Wait("maxnodeprovisiontime");
  options.max_node_startup_time = reader.Wait("maxnodestartuptime");
  return options;
}

base::Status ReadMembers(const Json& object, ClusterApiGroup& group) {
  if (group.kind == "MachinePool") {
    group.machines = kube::LabelSelector::Nothing();
    for (const Json& id : base::FindArray(object, {"spec", "providerIDList"})) {
      if (!id.is_string() || id.get_string().empty()) return Wrong(object, "spec.providerIDList", "has an entry that is no id");
      group.pool_provider_ids.emplace_back(id.get_string());
    }
    return {};
  }
  const Json* selector = base::Find(object, {"spec", "selector"});
  if (selector == nullptr || !selector->is_object()) return Wrong(object, "spec.selector", "missing");
  auto parsed = kube::LabelSelector::FromJson(*selector);
  if (!parsed) return Wrong(object, "spec.selector", parsed.error().message());
  // An empty one would claim all machines of the namespace.
  if (parsed->everything()) return Wrong(object, "spec.selector", "selects everything");
  group.machines = *std::move(parsed);
  return {};
}

}  // namespace

ClusterApiNames::ClusterApiNames(const std::string& group)
    : min_size(group + "/cluster-api-autoscaler-node-group-min-size"),
      max_size(group + "/cluster-api-autoscaler-node-group-max-size"),
      options_prefix(group + "/autoscaling-options-"),
      paused(group + "/paused"),
      delete_machine(group + "/delete-machine"),
      machine(group + "/machine"),
      cluster_namespace(group + "/cluster-namespace"),
      cluster_name(group + "/cluster-name") {}

base::Result<ClusterApiDiscovery> ClusterApiDiscovery::Parse(const std::string& spec) {
  const auto wrong = [&](std::string_view what) {
    return Fail(Code::kBadRequest, "--node-group-auto-discovery=" + OneLine(spec) + ": " + OneLine(what));
  };
  const size_t colon = spec.find(':');
  if (colon == std::string::npos || spec.find(':', colon + 1) != std::string::npos) {
    return wrong("clusterapi:KEY=VALUE,KEY=VALUE is expected");
  }
  if (spec.substr(0, colon) != "clusterapi") return wrong("only the discoverer \"clusterapi\" is known");
  ClusterApiDiscovery discovery;
  std::string labels;
  std::string_view rest = std::string_view(spec).substr(colon + 1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string pair(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || pair.find('=', equals + 1) != std::string::npos) {
      return wrong("\"" + pair + "\" is not KEY=VALUE");
    }
    const std::string key = pair.substr(0, equals), value = pair.substr(equals + 1);
    if (key == "clusterName") {
      discovery.cluster_name = value;
    } else if (key == "namespace") {
      discovery.ns = value;
    } else {
      if (const std::string why = kube::CheckQualifiedName(key); !why.empty()) return wrong("\"" + key + "\": " + why);
      if (const std::string why = kube::CheckLabelValue(value); !why.empty()) return wrong("\"" + value + "\": " + why);
      labels += (labels.empty() ? "" : ",") + key + "=" + value;
    }
  }
  auto selector = kube::LabelSelector::Parse(labels);
  if (!selector) return wrong(selector.error().message());
  discovery.labels = *std::move(selector);
  return discovery;
}

base::Result<ClusterApiOptions> ClusterApiOptions::From(const Environment& environment,
                                                        const std::vector<std::string>& discovery) {
  ClusterApiOptions options;
  if (std::string group = environment("CAPI_GROUP"); !group.empty()) options.group = std::move(group);
  options.version = environment("CAPI_VERSION");
  if (std::string name = environment("CAPI_SCALE_ZERO_DEFAULT_ARCH"); !name.empty()) {
    options.default_architecture = std::move(name);
  }
  for (const std::string& spec : discovery) {
    EVENKEEL_ASSIGN(ClusterApiDiscovery parsed, ClusterApiDiscovery::Parse(spec));
    options.discovery.push_back(std::move(parsed));
  }
  return options;
}

bool IsAllowed(const std::vector<ClusterApiDiscovery>& discovery, const ClusterApiNames& names, const Json& object) {
  return discovery.empty() || std::ranges::any_of(discovery, [&](const ClusterApiDiscovery& spec) {
           return (spec.ns.empty() || spec.ns == kube::NamespaceOf(object)) &&
                  (spec.cluster_name.empty() || spec.cluster_name == ClusterNameOf(object, names)) &&
                  spec.labels.Matches(base::FindObject(object, {"metadata", "labels"}));
         });
}

std::string ClusterNameOf(const Json& object, const ClusterApiNames& names) {
  const Json* name = base::Find(object, {"spec", "clusterName"});
  if (name != nullptr && name->is_string()) return std::string(name->get_string());
  return std::string(base::FindString(object, {"metadata", "labels", names.cluster_name}));
}

std::string OwnerOf(const Json& object, std::string_view kind) {
  for (const Json& owner : base::FindArray(object, {"metadata", "ownerReferences"})) {
    const std::string_view name = base::FindString(owner, {"name"});
    if (base::FindString(owner, {"kind"}) == kind && !name.empty()) return std::string(name);
  }
  return "";
}

int64_t RevisionOf(const Json& set) {
  return base::ParseNumber<int64_t>(Annotation(set, "machinedeployment.clusters.x-k8s.io/revision").value_or("")).value_or(-1);
}

int64_t ReplicasOf(const Json& set) {
  return std::max(base::FindInt(set, {"spec", "replicas"}, 0), base::FindInt(set, {"status", "replicas"}, 0));
}

base::Result<std::pair<int64_t, int64_t>> ReadScalingBounds(const Json& object, const ClusterApiNames& names) {
  EVENKEEL_ASSIGN(const int64_t min, ReadSize(object, names.min_size));
  EVENKEEL_ASSIGN(const int64_t max, ReadSize(object, names.max_size));
  if (max < min) {
    return Wrong(object, "metadata.annotations." + names.max_size,
                 std::to_string(max) + " is less than the least size " + std::to_string(min));
  }
  return std::pair(min, max);
}

base::Result<std::optional<ClusterApiGroup>> ReadGroup(const Json& object, const ClusterApiNames& names, Warnings& warnings) {
  if (base::Find(object, {"metadata", "annotations", names.paused}) != nullptr) return std::nullopt;
  ClusterApiGroup group;
  group.kind = base::FindString(object, {"kind"});
  group.ns = kube::NamespaceOf(object);
  group.name = kube::NameOf(object);
  EVENKEEL_ASSIGN(const auto bounds, ReadScalingBounds(object, names));
  std::tie(group.group.min_size, group.group.max_size) = bounds;
  if (group.group.max_size == 0) return std::nullopt;
  if (group.name.empty()) return Wrong(object, "metadata.name", "missing");
  group.group.id = group.kind + "/" + group.ns + "/" + group.name;
  const Json* replicas = base::Find(object, {"spec", "replicas"});
  if (replicas == nullptr || replicas->is_null()) return Wrong(object, "spec.replicas", "missing");
  group.group.target_size = base::FindInt(object, {"spec", "replicas"}, -1);
  if (group.group.target_size < 0 || group.group.target_size > kSizeMax) {
    return Wrong(object, "spec.replicas", "not a whole number of at least 0");
  }
  group.cluster_name = ClusterNameOf(object, names);
  EVENKEEL_TRY(ReadMembers(object, group));
  group.group.options = ReadOptions(object, names, warnings);
  group.group.debug = group.group.id + " (min: " + std::to_string(bounds.first) + ", max: " + std::to_string(bounds.second) +
                      ", replicas: " + std::to_string(group.group.target_size) + ")";
  group.object = &object;
  return std::optional(std::move(group));
}

base::Result<ClusterApiMachine> ReadMachine(const Json& object, const ClusterApiNames& names) {
  ClusterApiMachine machine;
  machine.ns = kube::NamespaceOf(object);
  machine.name = kube::NameOf(object);
  if (machine.name.empty()) return Wrong(object, "metadata.name", "missing");
  for (const std::string_view part : {"spec", "status"}) {
    const Json* value = base::Find(object, {part});
    if (value != nullptr && !value->is_null() && !value->is_object()) return Wrong(object, part, "not an object");
  }
  const Json* id = base::Find(object, {"spec", "providerID"});
  if (id != nullptr && !id->is_null()) {
    if (!id->is_string()) return Wrong(object, "spec.providerID", "not a text");
    machine.provider_id = id->get_string();
  }
  const Json* reference = base::Find(object, {"status", "nodeRef"});
  machine.has_node_ref = reference != nullptr && !reference->is_null();
  if (machine.has_node_ref && !reference->is_object()) return Wrong(object, "status.nodeRef", "not an object");
  const std::string_view kind = base::FindString(object, {"status", "nodeRef", "kind"}, "Node");
  if (kind == "Node") machine.node = base::FindString(object, {"status", "nodeRef", "name"});
  machine.deleting = !base::FindString(object, {"metadata", "deletionTimestamp"}).empty();
  machine.failed = base::FindString(object, {"status", "phase"}) == "Failed";
  machine.marked = base::Find(object, {"metadata", "annotations", names.delete_machine}) != nullptr;
  machine.cluster_name = ClusterNameOf(object, names);
  machine.machine_set = OwnerOf(object, "MachineSet");
  machine.labels = JsonObject(base::FindObject(object, {"metadata", "labels"}), {});
  return machine;
}

std::optional<Instance> InstanceOf(const ClusterApiMachine& machine, std::string_view node_provider_id) {
  Instance instance;
  const std::string suffix = machine.ns + "_" + machine.name;
  if (machine.failed) {
    // Also with a provider's id: it is not to count among the nodes any more.
    instance.id = std::string(kFailedPrefix) + suffix;
    if (machine.deleting) {
      instance.state = Instance::State::kDeleting;
      instance.error = {Instance::ErrorClass::kOther, "DeletingFailed", "Machine deletion failed"};
    } else if (!machine.has_node_ref) {
      instance.state = Instance::State::kCreating;
      instance.error = {Instance::ErrorClass::kOther, "ProvisioningFailed", "Machine provisioning failed"};
    }
    return instance;
  }
  if (machine.deleting) {
    instance.id = std::string(kDeletingPrefix) + suffix;
    instance.state = Instance::State::kDeleting;
    return instance;
  }
  if (!machine.provider_id.empty()) {
    instance.id = machine.provider_id;
    return instance;
  }
  if (!machine.has_node_ref) {
    instance.id = std::string(kPendingPrefix) + suffix;
    instance.state = Instance::State::kCreating;
    return instance;
  }
  if (node_provider_id.empty()) return std::nullopt;
  instance.id = node_provider_id;
  return instance;
}

std::string MachineOfInstance(std::string_view id) {
  for (const std::string_view prefix : {kFailedPrefix, kDeletingPrefix, kPendingPrefix}) {
    if (!id.starts_with(prefix)) continue;
    std::string key(id.substr(prefix.size()));
    // No namespace has an underscore.
    const size_t underscore = key.find('_');
    if (underscore == std::string::npos) return "";
    key[underscore] = '/';
    return key;
  }
  return "";
}

}  // namespace evenkeel::providers
