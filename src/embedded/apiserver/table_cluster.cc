// Rows of nodes, services, configuration, events and the like.
#include "embedded/apiserver/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

constexpr std::string_view kUnknown = "<unknown>";
constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
// As many endpoints as kubectl shows before it says how many more there are.
constexpr size_t kEndpointsShown = 3;

void Join(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty()) text += ',';
  text += part;
}

std::string AddressOf(const Json& node, std::string_view type) {
  for (const Json& address : base::FindArray(node, {"status", "addresses"})) {
    if (base::FindString(address, {"type"}) == type) return std::string(base::FindString(address, {"address"}));
  }
  return std::string(kNone);
}

JsonArray NodeCells(const Json& node, base::Time now) {
  std::string status = "Unknown";
  for (const Json& condition : base::FindArray(node, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == "Ready")
      status = base::FindString(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  }
  if (base::FindBool(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  for (const auto& label : base::FindObject(node, {"metadata", "labels"})) {
    const std::string_view key = label.key();
    if (key.starts_with(kRolePrefix) && key.size() > kRolePrefix.size()) roles.emplace(key.substr(kRolePrefix.size()));
    if (key == "kubernetes.io/role" && label.value().is_string()) roles.emplace(label.value().get_string());
  }
  std::string role_text;
  for (const std::string& role : roles) Join(role_text, role);
  const auto info = [&](std::string_view field) {
    return Json(Or(base::FindString(node, {"status", "nodeInfo", field}), kUnknown));
  };
  return {NameCell(node),
          Json(status),
          Json(Or(role_text, kNone)),
          AgeCell(node, now),
          Json(base::FindString(node, {"status", "nodeInfo", "kubeletVersion"})),
          Json(AddressOf(node, "InternalIP")),
          Json(AddressOf(node, "ExternalIP")),
          info("osImage"),
          info("kernelVersion"),
          info("containerRuntimeVersion")};
}

std::string ExternalIp(const Json& service) {
  std::string text;
  for (const Json& address : base::FindArray(service, {"spec", "externalIPs"}))
    Join(text, address.is_string() ? address.get_string() : "");
  const std::string_view type = base::FindString(service, {"spec", "type"});
  if (type == "ExternalName") return std::string(base::FindString(service, {"spec", "externalName"}));
  if (type != "LoadBalancer") return Or(text, kNone);
  for (const Json& ingress : base::FindArray(service, {"status", "loadBalancer", "ingress"})) {
    Join(text, base::FindString(ingress, {"ip"}, base::FindString(ingress, {"hostname"})));
  }
  return Or(text, "<pending>");
}

JsonArray ServiceCells(const Json& service, base::Time now) {
  std::string ports;
  for (const Json& port : base::FindArray(service, {"spec", "ports"})) {
    std::string text = std::to_string(base::FindInt(port, {"port"}));
    if (const int64_t node_port = base::FindInt(port, {"nodePort"}); node_port > 0) text += ":" + std::to_string(node_port);
    Join(ports, text + "/" + Or(base::FindString(port, {"protocol"}), "TCP"));
  }
  std::string selector;
  for (const auto& [key, value] : base::FindObject(service, {"spec", "selector"})) {
    Join(selector, std::string(key) + "=" + (value.is_string() ? std::string(value.get_string()) : ""));
  }
  return {NameCell(service),
          Json(base::FindString(service, {"spec", "type"})),
          Json(Or(base::FindString(service, {"spec", "clusterIP"}), kNone)),
          Json(ExternalIp(service)),
          Json(Or(ports, kNone)),
          AgeCell(service, now),
          Json(Or(selector, kNone))};
}

JsonArray EndpointsCells(const Json& object, base::Time now) {
  std::vector<std::string> all;
  for (const Json& subset : base::FindArray(object, {"subsets"})) {
    for (const Json& address : base::FindArray(subset, {"addresses"})) {
      const std::string ip(base::FindString(address, {"ip"}));
      if (base::FindArray(subset, {"ports"}).empty()) all.push_back(ip);
      for (const Json& port : base::FindArray(subset, {"ports"}))
        all.push_back(ip + ":" + std::to_string(base::FindInt(port, {"port"})));
    }
  }
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kEndpointsShown); ++i) Join(text, all[i]);
  if (all.size() > kEndpointsShown) text += " + " + std::to_string(all.size() - kEndpointsShown) + " more...";
  return {NameCell(object), Json(Or(text, kNone)), AgeCell(object, now)};
}

JsonArray EndpointSliceCells(const Json& object, base::Time now) {
  std::string ports, addresses;
  for (const Json& port : base::FindArray(object, {"ports"})) Join(ports, std::to_string(base::FindInt(port, {"port"})));
  size_t count = 0;
  for (const Json& endpoint : base::FindArray(object, {"endpoints"})) {
    for (const Json& address : base::FindArray(endpoint, {"addresses"})) {
      if (count++ < kEndpointsShown && address.is_string()) Join(addresses, address.get_string());
    }
  }
  if (count > kEndpointsShown) addresses += " + " + std::to_string(count - kEndpointsShown) + " more...";
  return {NameCell(object), Json(base::FindString(object, {"addressType"})), Json(Or(ports, "<unset>")),
          Json(Or(addresses, "<unset>")), AgeCell(object, now)};
}

JsonArray ConfigMapCells(const Json& object, base::Time now) {
  const size_t entries = base::FindObject(object, {"data"}).size() + base::FindObject(object, {"binaryData"}).size();
  return {NameCell(object), Json(static_cast<int64_t>(entries)), AgeCell(object, now)};
}

JsonArray SecretCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(base::FindString(object, {"type"})),
          Json(static_cast<int64_t>(base::FindObject(object, {"data"}).size())), AgeCell(object, now)};
}

JsonArray ServiceAccountCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(static_cast<int64_t>(base::FindArray(object, {"secrets"}).size())), AgeCell(object, now)};
}

JsonArray NamespaceCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(base::FindString(object, {"status", "phase"})), AgeCell(object, now)};
}

JsonArray EventCells(const Json& event, base::Time now) {
  std::string first = AgeText(event, {"firstTimestamp"}, now);
  if (base::FindString(event, {"firstTimestamp"}).empty()) first = AgeText(event, {"eventTime"}, now);
  std::string last = base::FindString(event, {"lastTimestamp"}).empty() ? first : AgeText(event, {"lastTimestamp"}, now);
  int64_t count = std::max<int64_t>(1, base::FindInt(event, {"count"}));
  if (const Json* series = base::Find(event, {"series"}); series != nullptr && series->is_object()) {
    count = base::FindInt(*series, {"count"}, count);
    last = AgeText(event, {"series", "lastObservedTime"}, now);
  }
  const std::string_view kind = base::FindString(event, {"involvedObject", "kind"});
  std::string target;
  for (const char letter : kind) target += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::string_view target_name = base::FindString(event, {"involvedObject", "name"});
  if (!target_name.empty()) target += (target.empty() ? "" : "/") + std::string(target_name);
  std::string source(base::FindString(event, {"source", "component"}, base::FindString(event, {"reportingComponent"})));
  Join(source, base::FindString(event, {"source", "host"}));
  std::string message(base::FindString(event, {"message"}));
  while (message.ends_with('\n') || message.ends_with(' ')) message.pop_back();
  return {Json(last),
          Json(base::FindString(event, {"type"})),
          Json(base::FindString(event, {"reason"})),
          Json(target),
          Json(base::FindString(event, {"involvedObject", "fieldPath"})),
          Json(source),
          Json(message),
          Json(first),
          Json(count),
          NameCell(event)};
}

std::string IntOrNone(const Json* value) {
  if (value == nullptr || value->is_null()) return "N/A";
  return value->is_string() ? std::string(value->get_string()) : base::ToText(*value);
}

JsonArray BudgetCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(IntOrNone(base::Find(object, {"spec", "minAvailable"}))),
          Json(IntOrNone(base::Find(object, {"spec", "maxUnavailable"}))),
          Json(base::FindInt(object, {"status", "disruptionsAllowed"})), AgeCell(object, now)};
}

JsonArray LeaseCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(base::FindString(object, {"spec", "holderIdentity"})), AgeCell(object, now)};
}

JsonArray DefinitionCells(const Json& object, base::Time) {
  return {NameCell(object), Json(base::FindString(object, {"metadata", "creationTimestamp"}))};
}

JsonArray RoleBindingCells(const Json& object, base::Time now) {
  std::string users, groups, accounts;
  for (const Json& subject : base::FindArray(object, {"subjects"})) {
    const std::string_view kind = base::FindString(subject, {"kind"});
    const std::string name(base::FindString(subject, {"name"}));
    if (kind == "User") Join(users, name);
    if (kind == "Group") Join(groups, name);
    if (kind == "ServiceAccount") Join(accounts, std::string(base::FindString(subject, {"namespace"})) + "/" + name);
  }
  return {NameCell(object),
          Json(std::string(base::FindString(object, {"roleRef", "kind"})) + "/" +
               std::string(base::FindString(object, {"roleRef", "name"}))),
          AgeCell(object, now),
          Json(users),
          Json(groups),
          Json(accounts)};
}

JsonArray RoleCells(const Json& object, base::Time) {
  return {NameCell(object), Json(base::FindString(object, {"metadata", "creationTimestamp"}))};
}

JsonArray RevisionCells(const Json& object, base::Time now) {
  std::string controller;
  for (const Json& owner : base::FindArray(object, {"metadata", "ownerReferences"})) {
    if (!base::FindBool(owner, {"controller"})) continue;
    std::string group, version;
    kube::SplitApiVersion(base::FindString(owner, {"apiVersion"}), group, version);
    for (const char letter : base::FindString(owner, {"kind"}))
      controller += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    controller += (group.empty() ? "" : "." + group) + "/" + std::string(base::FindString(owner, {"name"}));
  }
  return {NameCell(object), Json(Or(controller, kNone)), Json(base::FindInt(object, {"revision"})), AgeCell(object, now)};
}

JsonArray PriorityClassCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(base::FindInt(object, {"value"})), Json(base::FindBool(object, {"globalDefault"})),
          AgeCell(object, now), Json(Or(base::FindString(object, {"preemptionPolicy"}), "PreemptLowerPriority"))};
}

}  // namespace

TableColumn TextColumn(std::string_view name, int priority) {
  return {std::string(name), "string", "", std::string(name) + " of the object.", priority};
}

TableColumn IntegerColumn(std::string_view name, int priority) {
  return {std::string(name), "integer", "", std::string(name) + " of the object.", priority};
}

Json NameCell(const Json& object) { return Json(base::FindString(object, {"metadata", "name"})); }

Json AgeCell(const Json& object, base::Time now) { return Json(AgeText(object, {"metadata", "creationTimestamp"}, now)); }

void AddClusterTables(TableMap& tables) {
  const auto text = TextColumn;
  const auto number = IntegerColumn;
  tables["/nodes"] = {
      {NameColumn(), text("Status", 0), text("Roles", 0), AgeColumn(), text("Version", 0), text("Internal-IP", 1),
       text("External-IP", 1), text("OS-Image", 1), text("Kernel-Version", 1), text("Container-Runtime", 1)},
      NodeCells};
  tables["/services"] = {{NameColumn(), text("Type", 0), text("Cluster-IP", 0), text("External-IP", 0), text("Port(s)", 0),
                          AgeColumn(), text("Selector", 1)},
                         ServiceCells};
  tables["/endpoints"] = {{NameColumn(), text("Endpoints", 0), AgeColumn()}, EndpointsCells};
  tables["discovery.k8s.io/endpointslices"] = {
      {NameColumn(), text("AddressType", 0), text("Ports", 0), text("Endpoints", 0), AgeColumn()}, EndpointSliceCells};
  tables["/configmaps"] = {{NameColumn(), number("Data", 0), AgeColumn()}, ConfigMapCells};
  tables["/secrets"] = {{NameColumn(), text("Type", 0), number("Data", 0), AgeColumn()}, SecretCells};
  tables["/serviceaccounts"] = {{NameColumn(), number("Secrets", 0), AgeColumn()}, ServiceAccountCells};
  tables["/namespaces"] = {{NameColumn(), text("Status", 0), AgeColumn()}, NamespaceCells};
  TableColumn event_name = NameColumn();
  event_name.priority = 1;
  tables["/events"] = {{text("Last Seen", 0), text("Type", 0), text("Reason", 0), text("Object", 0), text("Subobject", 1),
                        text("Source", 1), text("Message", 0), text("First Seen", 1), number("Count", 1), event_name},
                       EventCells};
  tables["events.k8s.io/events"] = tables["/events"];
  tables["policy/poddisruptionbudgets"] = {
      {NameColumn(), text("Min Available", 0), text("Max Unavailable", 0), number("Allowed Disruptions", 0), AgeColumn()},
      BudgetCells};
  tables["coordination.k8s.io/leases"] = {{NameColumn(), text("Holder", 0), AgeColumn()}, LeaseCells};
  tables["apiextensions.k8s.io/customresourcedefinitions"] = {{NameColumn(), text("Created At", 0)}, DefinitionCells};
  for (const std::string_view kind : {"roles", "clusterroles"}) {
    tables["rbac.authorization.k8s.io/" + std::string(kind)] = {{NameColumn(), text("Created At", 0)}, RoleCells};
  }
  for (const std::string_view kind : {"rolebindings", "clusterrolebindings"}) {
    tables["rbac.authorization.k8s.io/" + std::string(kind)] = {
        {NameColumn(), text("Role", 0), AgeColumn(), text("Users", 1), text("Groups", 1), text("ServiceAccounts", 1)},
        RoleBindingCells};
  }
  tables["apps/controllerrevisions"] = {{NameColumn(), text("Controller", 0), number("Revision", 0), AgeColumn()},
                                        RevisionCells};
  tables["scheduling.k8s.io/priorityclasses"] = {{NameColumn(),
                                                  number("Value", 0),
                                                  {"Global-Default", "boolean", "", "Whether pods without a class get it.", 0},
                                                  AgeColumn(),
                                                  text("PreemptionPolicy", 0)},
                                                 PriorityClassCells};
}

const BuiltInTable* FindBuiltInTable(std::string_view group, std::string_view plural) {
  static const TableMap kTables = [] {
    TableMap tables;
    AddWorkloadTables(tables);
    AddClusterTables(tables);
    AddNetworkingTables(tables);
    AddPlatformTables(tables);
    return tables;
  }();
  const auto found = kTables.find(std::string(group) + "/" + std::string(plural));
  return found == kTables.end() ? nullptr : &found->second;
}

}  // namespace evenkeel::embedded::apiserver
