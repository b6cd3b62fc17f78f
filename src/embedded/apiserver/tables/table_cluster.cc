// Rows of nodes, services, configuration, events and the like.
#include "base/text.h"
#include "embedded/apiserver/tables/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

constexpr std::string_view kUnknown = "<unknown>";
constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
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
  for (const std::string& role : roles) AppendPart(role_text, role);
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
  std::string target = base::Lower(kind);
  const std::string_view target_name = base::FindString(event, {"involvedObject", "name"});
  if (!target_name.empty()) target += (target.empty() ? "" : "/") + std::string(target_name);
  const auto first_of = [&](std::string_view field, std::string_view other) {
    return Or(base::FindString(event, {"source", field}), base::FindString(event, {other}));
  };
  std::string source = first_of("component", "reportingComponent");
  if (const std::string host = first_of("host", "reportingInstance"); !host.empty()) source += ", " + host;
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::string_view message = base::FindString(event, {"message"});
  message.remove_prefix(std::min(message.find_first_not_of(kBlanks), message.size()));
  message = message.substr(0, message.find_last_not_of(kBlanks) + 1);
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

JsonArray RoleBindingCells(const Json& object, base::Time now) {
  std::string users, groups, accounts;
  for (const Json& subject : base::FindArray(object, {"subjects"})) {
    const std::string_view kind = base::FindString(subject, {"kind"});
    const std::string name(base::FindString(subject, {"name"}));
    if (kind == "User") AppendPart(users, name, ", ");
    if (kind == "Group") AppendPart(groups, name, ", ");
    if (kind == "ServiceAccount") {
      AppendPart(accounts, std::string(base::FindString(subject, {"namespace"})) + "/" + name, ", ");
    }
  }
  return {NameCell(object),
          Json(std::string(base::FindString(object, {"roleRef", "kind"})) + "/" +
               std::string(base::FindString(object, {"roleRef", "name"}))),
          AgeCell(object, now),
          Json(users),
          Json(groups),
          Json(accounts)};
}

// What is used of each, and what is allowed: "cpu: 1/2, pods: 3/4", limits apart.
JsonArray QuotaCells(const Json& object, base::Time now) {
  std::map<std::string_view, std::string_view> hard;
  for (const auto& [name, amount] : base::FindObject(object, {"status", "hard"})) {
    hard.emplace(name, amount.is_string() ? std::string_view(amount.get_string()) : "");
  }
  std::string requests, limits;
  for (const auto& [name, amount] : hard) {
    std::string& column = name.starts_with("limits.") ? limits : requests;
    AppendPart(
        column,
        std::string(name) + ": " + Or(base::FindString(object, {"status", "used", name}), "0") + "/" + std::string(amount),
        ", ");
  }
  return {NameCell(object), Json(requests), Json(limits), AgeCell(object, now)};
}

JsonArray RevisionCells(const Json& object, base::Time now) {
  std::string controller;
  for (const Json& owner : base::FindArray(object, {"metadata", "ownerReferences"})) {
    if (!base::FindBool(owner, {"controller"})) continue;
    std::string group, version;
    kube::SplitApiVersion(base::FindString(owner, {"apiVersion"}), group, version);
    controller += base::Lower(base::FindString(owner, {"kind"}));
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

TableColumn BooleanColumn(std::string_view name, int priority) {
  return {std::string(name), "boolean", "", std::string(name) + " of the object.", priority};
}

void AppendPart(std::string& list, std::string_view part, std::string_view comma) {
  if (part.empty()) return;
  if (!list.empty()) list += comma;
  list += part;
}

std::string FirstOf(const std::vector<std::string>& all, size_t shown) {
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), shown); ++i) AppendPart(text, all[i]);
  if (all.size() > shown) text += " + " + std::to_string(all.size() - shown) + " more...";
  return text;
}

std::string LabelsText(const Json& object, std::initializer_list<std::string_view> path) {
  std::map<std::string_view, std::string_view> sorted;
  for (const auto& [key, value] : base::FindObject(object, path)) {
    sorted.emplace(key, value.is_string() ? std::string_view(value.get_string()) : "");
  }
  std::string text;
  for (const auto& [key, value] : sorted) AppendPart(text, std::string(key) + "=" + std::string(value));
  return Or(text, kNone);
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
  tables["/configmaps"] = {{NameColumn(), text("Data", 0), AgeColumn()}, ConfigMapCells};
  tables["/secrets"] = {{NameColumn(), text("Type", 0), text("Data", 0), AgeColumn()}, SecretCells};
  tables["/serviceaccounts"] = {{NameColumn(), text("Secrets", 0), AgeColumn()}, ServiceAccountCells};
  tables["/namespaces"] = {{NameColumn(), text("Status", 0), AgeColumn()}, NamespaceCells};
  TableColumn event_name = NameColumn();
  event_name.priority = 1;
  tables["/events"] = {{text("Last Seen", 0), text("Type", 0), text("Reason", 0), text("Object", 0), text("Subobject", 1),
                        text("Source", 1), text("Message", 0), text("First Seen", 1), text("Count", 1), event_name},
                       EventCells};
  tables["events.k8s.io/events"] = tables["/events"];
  tables["policy/poddisruptionbudgets"] = {
      {NameColumn(), text("Min Available", 0), text("Max Unavailable", 0), number("Allowed Disruptions", 0), AgeColumn()},
      BudgetCells};
  tables["coordination.k8s.io/leases"] = {{NameColumn(), text("Holder", 0), AgeColumn()}, LeaseCells};
  tables["/resourcequotas"] = {{NameColumn(), text("Request", 0), text("Limit", 0), AgeColumn()}, QuotaCells};
  for (const std::string_view kind : {"rolebindings", "clusterrolebindings"}) {
    tables["rbac.authorization.k8s.io/" + std::string(kind)] = {
        {NameColumn(), text("Role", 0), AgeColumn(), text("Users", 1), text("Groups", 1), text("ServiceAccounts", 1)},
        RoleBindingCells};
  }
  tables["apps/controllerrevisions"] = {{NameColumn(), text("Controller", 0), text("Revision", 0), AgeColumn()}, RevisionCells};
  tables["scheduling.k8s.io/priorityclasses"] = {
      {NameColumn(), number("Value", 0), BooleanColumn("Global-Default"), AgeColumn(), text("PreemptionPolicy", 0)},
      PriorityClassCells};
}

const BuiltInTable* FindBuiltInTable(std::string_view group, std::string_view plural) {
  static const TableMap kTables = [] {
    TableMap tables;
    AddWorkloadTables(tables);
    AddClusterTables(tables);
    AddNetworkingTables(tables);
    AddPlatformTables(tables);
    AddStorageTables(tables);
    return tables;
  }();
  const auto found = kTables.find(std::string(group) + "/" + std::string(plural));
  return found == kTables.end() ? nullptr : &found->second;
}

}  // namespace evenkeel::embedded::apiserver
