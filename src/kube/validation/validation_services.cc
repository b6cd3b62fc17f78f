// Rules of services and of their endpoints (kubernetes@1.36:pkg/apis/core/validation, ValidateService, ValidateEndpoints).
#include <set>

#include "kube/object.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

void ServicePorts(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath ports = path.Field("ports");
  std::set<std::string_view> names;
  std::set<std::pair<int64_t, std::string_view>> numbers, node_ports;
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
    const std::string_view protocol = Text(port, "appProtocol");
    if (std::string problem = CheckQualifiedName(protocol); !problem.empty() && Has(port, "appProtocol")) {
      causes.push_back(InvalidText(here.Field("appProtocol"), protocol, problem));
    }
    if (Number(port, "nodePort") != 0) {
      Port(*Member(port, "nodePort"), here.Field("nodePort"), causes);
      if (const int64_t number = Number(port, "nodePort"); number < 30'000 || number > 32'767) {
        causes.push_back(InvalidValue(here.Field("nodePort"), Json(number),
                                      "provided port is not in the valid range. The range of valid ports is 30000-32767"));
      }
      if (!node_ports.emplace(Number(port, "nodePort"), Text(port, "protocol")).second) {
        causes.push_back(DuplicateValue(here.Field("nodePort"), Number(port, "nodePort")));
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

void Balancer(const Json& spec, const FieldPath& path, Causes& causes) {
  constexpr std::string_view kOnly = "may only be used when `type` is 'LoadBalancer'";
  const bool balanced = Text(spec, "type") == "LoadBalancer";
  const JsonArray& ranges = List(spec, "loadBalancerSourceRanges");
  // With the capital that upstream gives it here.
  const FieldPath ranges_path = path.Field("LoadBalancerSourceRanges");
  if (!ranges.empty() && !balanced) causes.push_back(ForbiddenValue(ranges_path, kOnly));
  for (size_t i = 0; i < ranges.size(); ++i) {
    std::string_view range = ranges[i].is_string() ? std::string_view(ranges[i].get_string()) : "";
    while (range.starts_with(' ')) range.remove_prefix(1);
    while (range.ends_with(' ')) range.remove_suffix(1);
    AddressRange(range, ranges_path.Index(i), causes);
  }
  for (const char* field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) {
    if (!balanced && Has(spec, field)) causes.push_back(ForbiddenValue(path.Field(field), kOnly));
  }
  const std::string_view balancer = Text(spec, "loadBalancerClass");
  if (std::string problem = CheckQualifiedName(balancer); balanced && Has(spec, "loadBalancerClass") && !problem.empty()) {
    causes.push_back(InvalidText(path.Field("loadBalancerClass"), balancer, problem));
  }
}

/// How traffic from outside comes in.
void Outside(const Json& spec, const FieldPath& path, Causes& causes) {
  const std::string_view type = Text(spec, "type"), policy = Text(spec, "externalTrafficPolicy");
  const JsonArray& addresses = List(spec, "externalIPs");
  const bool reachable = type == "NodePort" || type == "LoadBalancer" || (type == "ClusterIP" && !addresses.empty());
  if (!reachable && !policy.empty()) {
    causes.push_back(
        InvalidText(path.Field("externalTrafficPolicy"), policy, "may only be set for externally-accessible services"));
  }
  const bool checked = type == "LoadBalancer" && policy == "Local";
  if (const int64_t port = Number(spec, "healthCheckNodePort"); port != 0) {
    const FieldPath here = path.Field("healthCheckNodePort");
    if (checked) {
      Port(*Member(spec, "healthCheckNodePort"), here, causes);
    } else {
      causes.push_back(
          InvalidValue(here, port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
    }
  }
  const FieldPath addresses_path = path.Field("externalIPs");
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view text = addresses[i].is_string() ? std::string_view(addresses[i].get_string()) : "";
    ReachableAddress(text, addresses_path.Index(i), causes);
  }
}

/// A service that is only a name of another.
void ExternalName(const Json& spec, const FieldPath& path, Causes& causes) {
  for (const char* field : {"clusterIPs", "ipFamilies"}) {
    if (List(spec, field).empty() && !(field == std::string_view("clusterIPs") && Has(spec, "clusterIP"))) continue;
    causes.push_back(ForbiddenValue(path.Field(field), "may not be set for ExternalName services"));
  }
  if (Has(spec, "ipFamilyPolicy")) {
    causes.push_back(ForbiddenValue(path.Field("ipFamilyPolicy"), "may not be set for ExternalName services"));
  }
  std::string_view name = Text(spec, "externalName");
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) {
    causes.push_back(RequiredValue(path.Field("externalName")));
  } else if (std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
    causes.push_back(InvalidText(path.Field("externalName"), name, problem));
  }
}

void Service(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  const std::string_view type = Text(spec, "type");
  const std::string_view address = Text(spec, "clusterIP");
  const FieldPath addresses = path.Field("clusterIPs");
  if (List(spec, "ports").empty() && type != "ExternalName" && address != "None") {
    causes.push_back(RequiredValue(path.Field("ports")));
  }
  ServicePorts(spec, path, causes);
  Outside(spec, path, causes);
  Balancer(spec, path, causes);
  const Json& affinity = MemberOrNothing(MemberOrNothing(spec, "sessionAffinityConfig"), "clientIP");
  if (const int64_t seconds = Number(affinity, "timeoutSeconds", 1); seconds < 1 || seconds > 86'400) {
    causes.push_back(InvalidValue(path.Field("sessionAffinityConfig").Field("clientIP").Field("timeoutSeconds"), Json(seconds),
                                  "must be greater than 0 and less than 86400"));
  }
  Labels(Fields(spec, "selector"), path.Field("selector"), causes);
  if (type == "ExternalName") return ExternalName(spec, path, causes);
  if (!address.empty() && address != "None") Address(address, addresses.Index(0), causes);
  if (address == "None" && (type == "NodePort" || type == "LoadBalancer")) {
    causes.push_back(
        InvalidText(addresses.Index(0), address, "may not be set to 'None' for " + std::string(type) + " services"));
  }
}

void EndpointPorts(const Json& subset, const FieldPath& path, Causes& causes) {
  const JsonArray& ports = List(subset, "ports");
  const FieldPath list = path.Field("ports");
  for (size_t i = 0; i < ports.size(); ++i) {
    const FieldPath here = list.Index(i);
    const std::string_view name = Text(ports[i], "name");
    if (name.empty() && ports.size() > 1) {
      causes.push_back(RequiredValue(here.Field("name")));
    } else if (std::string problem = CheckDnsLabel(name); !name.empty() && !problem.empty()) {
      causes.push_back(InvalidText(here.Field("name"), name, problem));
    }
    Port(Has(ports[i], "port") ? *Member(ports[i], "port") : Json(0), here.Field("port"), causes);
  }
}

void Endpoints(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath subsets = root.Field("subsets");
  size_t index = 0;
  for (const Json& subset : List(object, "subsets")) {
    const FieldPath here = subsets.Index(index++);
    if (List(subset, "addresses").empty() && List(subset, "notReadyAddresses").empty()) {
      causes.push_back(RequiredValue(here, "must specify `addresses` or `notReadyAddresses`"));
    }
    for (const char* list : {"addresses", "notReadyAddresses"}) {
      const FieldPath addresses = here.Field(list);
      size_t at = 0;
      for (const Json& address : List(subset, list)) {
        const FieldPath one = addresses.Index(at++);
        const std::string_view ip = Text(address, "ip"), hostname = Text(address, "hostname");
        // Upstream refuses the loopback range, too; here that is where processes listen.
        const bool loopback = IsIpAddress(ip) && (ip.starts_with("127.") || ip == "::1");
        if (!ip.empty() && !loopback) ReachableAddress(ip, one.Field("ip"), causes);
        if (std::string problem = CheckDnsLabel(hostname); !hostname.empty() && !problem.empty()) {
          causes.push_back(InvalidText(one.Field("hostname"), hostname, problem));
        }
      }
    }
    EndpointPorts(subset, here, causes);
  }
}

}  // namespace

void ServiceKind(const Resource& resource, const Json& object, Causes& causes) {
  if (!resource.group.empty()) return;
  if (resource.kind == "Service") Service(object, causes);
  if (resource.kind == "Endpoints") Endpoints(object, causes);
}

}  // namespace evenkeel::kube::validation
