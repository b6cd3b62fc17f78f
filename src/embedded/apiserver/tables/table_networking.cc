// Columns of the kinds about networks, as kubectl knows them.
#include "embedded/apiserver/tables/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

// As many endpoints as kubectl shows before it says how many more there are.
constexpr size_t kEndpointsShown = 3;

// Each address once, in order.
std::string LoadBalancerText(const Json& object) {
  std::set<std::string_view> addresses;
  for (const Json& one : base::FindArray(object, {"status", "loadBalancer", "ingress"})) {
    const std::string_view ip = base::FindString(one, {"ip"});
    addresses.insert(ip.empty() ? base::FindString(one, {"hostname"}) : ip);
  }
  std::string text;
  for (const std::string_view address : addresses) AppendPart(text, address);
  return text;
}

std::string ExternalIp(const Json& service) {
  const std::string_view type = base::FindString(service, {"spec", "type"});
  if (type == "ExternalName") return std::string(base::FindString(service, {"spec", "externalName"}));
  std::string text = type == "LoadBalancer" ? LoadBalancerText(service) : "";
  for (const Json& address : base::FindArray(service, {"spec", "externalIPs"})) {
    if (address.is_string()) AppendPart(text, address.get_string());
  }
  return Or(text, type == "LoadBalancer" ? "<pending>" : kNone);
}

JsonArray NetworkPolicyCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(SelectorText(base::Find(object, {"spec", "podSelector"}))), AgeCell(object, now)};
}

JsonArray IngressCells(const Json& object, base::Time now) {
  // As many hosts as kubectl shows. Rules without one count once there are so many.
  constexpr size_t kHostsShown = 3;
  std::vector<std::string> hosts;
  bool more = false;
  const JsonArray& rules = base::FindArray(object, {"spec", "rules"});
  for (const Json& rule : rules) {
    const std::string_view host = base::FindString(rule, {"host"});
    if (hosts.size() == kHostsShown) more = true;
    if (!more && !host.empty()) hosts.emplace_back(host);
  }
  std::string host_text = FirstOf(hosts, kHostsShown);
  if (more) host_text += " + " + std::to_string(rules.size() - kHostsShown) + " more...";
  const bool secure = !base::FindArray(object, {"spec", "tls"}).empty();
  return {NameCell(object),
          Json(Or(base::FindString(object, {"spec", "ingressClassName"}), kNone)),
          Json(Or(host_text, "*")),
          Json(LoadBalancerText(object)),
          Json(secure ? "80, 443" : "80"),
          AgeCell(object, now)};
}

JsonArray IngressClassCells(const Json& object, base::Time now) {
  std::string parameters;
  if (const Json* reference = base::Find(object, {"spec", "parameters"}); reference != nullptr && reference->is_object()) {
    parameters = base::FindString(*reference, {"kind"});
    if (const std::string_view group = base::FindString(*reference, {"apiGroup"}); !group.empty()) {
      parameters += "." + std::string(group);
    }
    parameters += "/" + std::string(base::FindString(*reference, {"name"}));
  }
  return {NameCell(object), Json(base::FindString(object, {"spec", "controller"})), Json(Or(parameters, kNone)),
          AgeCell(object, now)};
}

JsonArray ServiceCells(const Json& service, base::Time now) {
  std::string ports;
  for (const Json& port : base::FindArray(service, {"spec", "ports"})) {
    std::string text = std::to_string(base::FindInt(port, {"port"}));
    if (const int64_t node_port = base::FindInt(port, {"nodePort"}); node_port > 0) text += ":" + std::to_string(node_port);
    AppendPart(ports, text + "/" + Or(base::FindString(port, {"protocol"}), "TCP"));
  }
  return {NameCell(service),
          Json(base::FindString(service, {"spec", "type"})),
          Json(Or(base::FindString(service, {"spec", "clusterIP"}), kNone)),
          Json(ExternalIp(service)),
          Json(Or(ports, kNone)),
          AgeCell(service, now),
          Json(LabelsText(service, {"spec", "selector"}))};
}

// An address and a port, or the address alone where there are no ports.
std::vector<std::string> EndpointTexts(const Json& object) {
  std::vector<std::string> all;
  for (const Json& subset : base::FindArray(object, {"subsets"})) {
    const JsonArray& addresses = base::FindArray(subset, {"addresses"});
    const JsonArray& ports = base::FindArray(subset, {"ports"});
    for (const Json& port : ports) {
      const std::string number = std::to_string(base::FindInt(port, {"port"}));
      for (const Json& address : addresses) {
        const std::string ip(base::FindString(address, {"ip"}));
        all.push_back((ip.contains(':') ? "[" + ip + "]" : ip) + ":" + number);
      }
    }
    if (!ports.empty()) continue;
    for (const Json& address : addresses) all.emplace_back(base::FindString(address, {"ip"}));
  }
  return all;
}

JsonArray EndpointsCells(const Json& object, base::Time now) {
  const std::string text = FirstOf(EndpointTexts(object), kEndpointsShown);
  return {NameCell(object), Json(base::FindArray(object, {"subsets"}).empty() ? std::string(kNone) : text),
          AgeCell(object, now)};
}

JsonArray EndpointSliceCells(const Json& object, base::Time now) {
  std::vector<std::string> ports, addresses;
  for (const Json& port : base::FindArray(object, {"ports"})) {
    const Json* number = base::Find(port, {"port"});
    const Json* name = base::Find(port, {"name"});
    if (number != nullptr && !number->is_null()) {
      ports.push_back(base::ToText(*number));
    } else {
      ports.emplace_back(name != nullptr && name->is_string() ? std::string_view(name->get_string()) : "*");
    }
  }
  for (const Json& endpoint : base::FindArray(object, {"endpoints"})) {
    std::ranges::move(base::FindTexts(endpoint, {"addresses"}), std::back_inserter(addresses));
  }
  return {NameCell(object), Json(base::FindString(object, {"addressType"})),
          Json(Or(FirstOf(ports, kEndpointsShown), "<unset>")), Json(Or(FirstOf(addresses, kEndpointsShown), "<unset>")),
          AgeCell(object, now)};
}

}  // namespace

void AddNetworkingTables(TableMap& tables) {
  tables["/services"] = {{NameColumn(), TextColumn("Type"), TextColumn("Cluster-IP"), TextColumn("External-IP"),
                          TextColumn("Port(s)"), AgeColumn(), TextColumn("Selector", 1)},
                         ServiceCells};
  tables["/endpoints"] = {{NameColumn(), TextColumn("Endpoints"), AgeColumn()}, EndpointsCells};
  tables["discovery.k8s.io/endpointslices"] = {
      {NameColumn(), TextColumn("AddressType"), TextColumn("Ports"), TextColumn("Endpoints"), AgeColumn()}, EndpointSliceCells};
  tables["networking.k8s.io/networkpolicies"] = {{NameColumn(), TextColumn("Pod-Selector"), AgeColumn()}, NetworkPolicyCells};
  tables["networking.k8s.io/ingresses"] = {
      {NameColumn(), TextColumn("Class"), TextColumn("Hosts"), TextColumn("Address"), TextColumn("Ports"), AgeColumn()},
      IngressCells};
  tables["networking.k8s.io/ingressclasses"] = {{NameColumn(), TextColumn("Controller"), TextColumn("Parameters"), AgeColumn()},
                                                IngressClassCells};
}

}  // namespace evenkeel::embedded::apiserver
