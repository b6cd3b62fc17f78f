// Rules of the core kinds that are not about pods, and of the small groups.
#include <set>

#include "kube/object.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr size_t kMaxDataBytes = 1024 * 1024;

const Json& MemberOrNothing(const Json& parent, std::string_view key) {
  static const Json kEmpty = JsonObject();
  const Json* value = Member(parent, key);
  return value == nullptr ? kEmpty : *value;
}

size_t DataKeys(const JsonObject& data, const FieldPath& path, Causes& causes) {
  size_t bytes = 0;
  for (const auto& [key, value] : data) {
    if (std::string problem = CheckConfigKey(key); !problem.empty()) causes.push_back(InvalidText(path.Key(key), key, problem));
    if (value.is_string()) bytes += value.get_string().size();
  }
  return bytes;
}

void ConfigMap(const Json& object, Causes& causes) {
  const FieldPath root;
  const JsonObject& data = Fields(object, "data");
  const JsonObject& binary = Fields(object, "binaryData");
  const FieldPath data_path = root.Field("data");
  size_t bytes = DataKeys(data, data_path, causes);
  bytes += DataKeys(binary, root.Field("binaryData"), causes) / 4 * 3;
  for (const auto& [key, value] : data) {
    if (binary.contains(key)) causes.push_back(InvalidText(data_path.Key(key), key, "duplicate of key present in binaryData"));
  }
  if (bytes > kMaxDataBytes) causes.push_back(TooManyBytes(root, kMaxDataBytes));
}

void Secret(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("data");
  const JsonObject& data = Fields(object, "data");
  if (DataKeys(data, path, causes) / 4 * 3 > kMaxDataBytes) causes.push_back(TooManyBytes(path, kMaxDataBytes));
  const std::string_view type = Text(object, "type");
  std::vector<std::string_view> needed;
  if (type == "kubernetes.io/tls") needed = {"tls.crt", "tls.key"};
  if (type == "kubernetes.io/dockerconfigjson") needed = {".dockerconfigjson"};
  if (type == "kubernetes.io/dockercfg") needed = {".dockercfg"};
  if (type == "kubernetes.io/ssh-auth") needed = {"ssh-privatekey"};
  for (const std::string_view key : needed) {
    if (!data.contains(key) && !Fields(object, "stringData").contains(key)) causes.push_back(RequiredValue(path.Key(key)));
  }
}

void ServicePorts(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath ports = path.Field("ports");
  std::set<std::string_view> names;
  std::set<std::pair<int64_t, std::string_view>> numbers;
  size_t index = 0;
  for (const Json& port : List(spec, "ports")) {
    const FieldPath here = ports.Index(index++);
    const std::string_view name = Text(port, "name");
    if (name.empty() && List(spec, "ports").size() > 1) {
      causes.push_back(RequiredValue(here.Field("name")));
    } else if (!name.empty()) {
      if (std::string problem = CheckDnsLabel(name); !problem.empty())
        causes.push_back(InvalidText(here.Field("name"), name, problem));
      if (!names.insert(name).second) causes.push_back(DuplicateText(here.Field("name"), name));
    }
    Port(Has(port, "port") ? *Member(port, "port") : Json(0), here.Field("port"), causes);
    if (const Json* target = Member(port, "targetPort")) PortOrName(*target, here.Field("targetPort"), causes);
    if (Number(port, "nodePort") != 0) {
      Port(*Member(port, "nodePort"), here.Field("nodePort"), causes);
      if (const int64_t number = Number(port, "nodePort"); number < 30'000 || number > 32'767) {
        causes.push_back(InvalidValue(here.Field("nodePort"), Json(number),
                                      "provided port is not in the valid range. The range of valid ports is 30000-32767"));
      }
      if (Text(spec, "type") == "ClusterIP") {
        causes.push_back(ForbiddenValue(here.Field("nodePort"), "may not be used when `type` is 'ClusterIP'"));
      }
    }
    if (!numbers.emplace(Number(port, "port"), Text(port, "protocol")).second) {
      causes.push_back(DuplicateValue(here, JsonObject{{"protocol", Text(port, "protocol")}, {"port", Number(port, "port")}}));
    }
  }
}

void ExternalAddresses(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath addresses = path.Field("externalIPs");
  size_t index = 0;
  for (const Json& one : List(spec, "externalIPs")) {
    const FieldPath here = addresses.Index(index++);
    const std::string_view text = one.is_string() ? std::string_view(one.get_string()) : "";
    if (!IsIpAddress(text)) {
      causes.push_back(InvalidText(here, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    } else if (text == "0.0.0.0" || text == "::") {
      causes.push_back(InvalidText(here, text, "may not be unspecified (" + std::string(text) + ")"));
    } else if (text.starts_with("127.") || text == "::1") {
      causes.push_back(InvalidText(here, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
  }
  if (!List(spec, "loadBalancerSourceRanges").empty() && Text(spec, "type") != "LoadBalancer") {
    causes.push_back(ForbiddenValue(path.Field("loadBalancerSourceRanges"), "may only be used when `type` is 'LoadBalancer'"));
  }
}

void Service(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  const std::string_view type = Text(spec, "type");
  const std::string_view address = Text(spec, "clusterIP");
  if (List(spec, "ports").empty() && type != "ExternalName" && address != "None") {
    causes.push_back(RequiredValue(path.Field("ports")));
  }
  ServicePorts(spec, path, causes);
  ExternalAddresses(spec, path, causes);
  const Json& affinity = MemberOrNothing(MemberOrNothing(spec, "sessionAffinityConfig"), "clientIP");
  if (const int64_t seconds = Number(affinity, "timeoutSeconds", 1); seconds < 1 || seconds > 86'400) {
    causes.push_back(InvalidValue(path.Field("sessionAffinityConfig").Field("clientIP").Field("timeoutSeconds"), Json(seconds),
                                  "must be greater than 0 and less than 86400"));
  }
  Labels(Fields(spec, "selector"), path.Field("selector"), causes);
  if (!address.empty() && address != "None" && !IsIpAddress(address)) {
    const FieldPath addresses = path.Field("clusterIPs");
    causes.push_back(InvalidText(addresses.Index(0), address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
  if (type == "ExternalName") {
    const std::string_view name = Text(spec, "externalName");
    if (name.empty()) {
      causes.push_back(RequiredValue(path.Field("externalName")));
    } else if (std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("externalName"), name, problem));
    }
  }
  if (address == "None" && (type == "NodePort" || type == "LoadBalancer")) {
    const FieldPath addresses = path.Field("clusterIPs");
    causes.push_back(
        InvalidText(addresses.Index(0), address, "may not be set to 'None' for " + std::string(type) + " services"));
  }
}

void Endpoints(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath subsets = root.Field("subsets");
  size_t index = 0;
  for (const Json& subset : List(object, "subsets")) {
    const FieldPath here = subsets.Index(index++);
    for (const char* list : {"addresses", "notReadyAddresses"}) {
      const FieldPath addresses = here.Field(list);
      size_t at = 0;
      for (const Json& address : List(subset, list)) {
        const FieldPath one = addresses.Index(at++);
        const std::string_view ip = Text(address, "ip");
        if (!ip.empty() && !IsIpAddress(ip)) {
          causes.push_back(InvalidText(one.Field("ip"), ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
        }
      }
    }
    const FieldPath ports = here.Field("ports");
    size_t at = 0;
    for (const Json& port : List(subset, "ports")) {
      const FieldPath one = ports.Index(at++);
      Port(Has(port, "port") ? *Member(port, "port") : Json(0), one.Field("port"), causes);
    }
  }
}

void Node(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath spec_path = root.Field("spec");
  const FieldPath taints = spec_path.Field("taints");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  size_t index = 0;
  for (const Json& taint : List(MemberOrNothing(object, "spec"), "taints")) {
    const FieldPath here = taints.Index(index++);
    const std::string_view key = Text(taint, "key");
    if (std::string problem = CheckQualifiedName(key); !problem.empty() && !key.empty()) {
      causes.push_back(InvalidText(here.Field("key"), key, problem));
    }
    if (std::string problem = CheckLabelValue(Text(taint, "value")); !problem.empty()) {
      causes.push_back(InvalidText(here.Field("value"), Text(taint, "value"), problem));
    }
    if (!seen.emplace(key, Text(taint, "effect")).second) causes.push_back(DuplicateValue(here, taint));
  }
  const FieldPath status_path = root.Field("status");
  const Json& status = MemberOrNothing(object, "status");
  NonNegativeAmounts(Fields(status, "capacity"), status_path.Field("capacity"), causes);
  NonNegativeAmounts(Fields(status, "allocatable"), status_path.Field("allocatable"), causes);
}

void Claim(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  const FieldPath resources = path.Field("resources");
  if (List(spec, "accessModes").empty()) {
    causes.push_back(RequiredValue(path.Field("accessModes"), "at least 1 access mode is required"));
  }
  const JsonObject& requests = Fields(MemberOrNothing(spec, "resources"), "requests");
  if (!requests.contains("storage")) causes.push_back(RequiredValue(resources.Key("storage")));
  NonNegativeAmounts(requests, resources.Field("requests"), causes);
}

void Volume(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  if (List(spec, "accessModes").empty()) causes.push_back(RequiredValue(path.Field("accessModes")));
  if (Fields(spec, "capacity").empty()) causes.push_back(RequiredValue(path.Field("capacity")));
  static const std::set<std::string_view> kNotSources = {
      "capacity",     "accessModes", "claimRef",     "persistentVolumeReclaimPolicy", "storageClassName",
      "mountOptions", "volumeMode",  "nodeAffinity", "volumeAttributesClassName"};
  int sources = 0;
  for (const auto& [key, value] : Fields(object, "spec")) {
    if (value.is_null() || kNotSources.contains(key)) continue;
    if (++sources > 1) causes.push_back(ForbiddenValue(path.Field(key), "may not specify more than 1 volume type"));
  }
  if (sources == 0) causes.push_back(RequiredValue(path, "must specify a volume type"));
}

void Event(const Json& object, Causes& causes) {
  const std::string_view ns = NamespaceOf(object);
  const std::string_view involved = Text(MemberOrNothing(object, "involvedObject"), "namespace");
  if (involved.empty() || involved == ns) return;
  const FieldPath root;
  const FieldPath path = root.Field("involvedObject");
  causes.push_back(InvalidText(path.Field("namespace"), involved, "does not match event.namespace"));
}

void Lease(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  if (const Json* seconds = Member(spec, "leaseDurationSeconds");
      seconds != nullptr && Number(spec, "leaseDurationSeconds") <= 0) {
    causes.push_back(InvalidValue(path.Field("leaseDurationSeconds"), *seconds, "must be greater than 0"));
  }
  if (const Json* count = Member(spec, "leaseTransitions"); count != nullptr && Number(spec, "leaseTransitions") < 0) {
    causes.push_back(InvalidValue(path.Field("leaseTransitions"), *count, "must be greater than or equal to 0"));
  }
}

}  // namespace

void CoreKind(const Resource& resource, const Json& object, Causes& causes) {
  if (!resource.group.empty()) return;
  const std::string_view kind = resource.kind;
  if (kind == "Pod") {
    const FieldPath root;
    if (const Json* spec = Member(object, "spec")) {
      PodSpec(*spec, root.Field("spec"), causes);
    } else {
      const FieldPath path = root.Field("spec");
      causes.push_back(RequiredValue(path.Field("containers")));
    }
  } else if (kind == "ConfigMap") {
    ConfigMap(object, causes);
  } else if (kind == "Secret") {
    Secret(object, causes);
  } else if (kind == "Service") {
    Service(object, causes);
  } else if (kind == "Endpoints") {
    Endpoints(object, causes);
  } else if (kind == "Node") {
    Node(object, causes);
  } else if (kind == "PersistentVolumeClaim") {
    Claim(object, causes);
  } else if (kind == "PersistentVolume") {
    Volume(object, causes);
  } else if (kind == "Event") {
    Event(object, causes);
  }
}

void OtherKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group == "coordination.k8s.io") {
    Lease(object, causes);
  }
}

}  // namespace evenkeel::kube::validation
