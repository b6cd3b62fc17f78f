// Columns of the kinds by which a cluster is set up, as kubectl knows them.
#include "embedded/apiserver/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;

constexpr std::string_view kNotKnown = "<unknown>";

std::string NumberOr(const Json& object, std::initializer_list<std::string_view> path, std::string_view fallback) {
  return base::Find(object, path) == nullptr ? std::string(fallback) : std::to_string(FindInt(object, path));
}

// "80%", "100m" or "100m (avg)".
std::string AmountText(const Json* amounts) {
  if (amounts == nullptr) return std::string(kNotKnown);
  if (base::Find(*amounts, {"averageUtilization"}) != nullptr) return NumberOr(*amounts, {"averageUtilization"}, "") + "%";
  if (const std::string_view average = FindString(*amounts, {"averageValue"}); !average.empty()) {
    return std::string(average) + " (avg)";
  }
  return Or(FindString(*amounts, {"value"}), kNotKnown);
}

// Of an autoscaler in the form of v2.
std::string TargetsText(const Json& object) {
  constexpr size_t kShown = 2;
  const JsonArray& metrics = FindArray(object, {"spec", "metrics"});
  const JsonArray& current = FindArray(object, {"status", "currentMetrics"});
  if (metrics.empty()) return std::string(kNone);
  std::string text;
  for (size_t i = 0; i < metrics.size() && i < kShown; ++i) {
    const std::string type(FindString(metrics[i], {"type"}));
    std::string key = type;
    if (!key.empty()) key[0] = static_cast<char>(key[0] | 0x20);
    const bool by_name = type == "Resource" || type == "ContainerResource";
    std::string name = by_name ? std::string(FindString(metrics[i], {key, "name"})) + ": " : "";
    const Json* now = i < current.size() ? base::Find(current[i], {key, "current"}) : nullptr;
    text += (text.empty() ? "" : ", ") + name + AmountText(now) + "/" + AmountText(base::Find(metrics[i], {key, "target"}));
  }
  if (metrics.size() > kShown) text += " + " + std::to_string(metrics.size() - kShown) + " more...";
  return text;
}

JsonArray AutoscalerCells(const Json& object, base::Time now) {
  const std::string reference = std::string(FindString(object, {"spec", "scaleTargetRef", "kind"})) + "/" +
                                std::string(FindString(object, {"spec", "scaleTargetRef", "name"}));
  return {NameCell(object),
          Json(reference),
          Json(TargetsText(object)),
          Json(NumberOr(object, {"spec", "minReplicas"}, "<unset>")),
          Json(FindInt(object, {"spec", "maxReplicas"})),
          Json(FindInt(object, {"status", "currentReplicas"})),
          AgeCell(object, now)};
}

JsonArray WebhookCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(static_cast<int64_t>(FindArray(object, {"webhooks"}).size())), AgeCell(object, now)};
}

JsonArray ApiServiceCells(const Json& object, base::Time now) {
  std::string service = "Local";
  if (base::Find(object, {"spec", "service"}) != nullptr) {
    service = std::string(FindString(object, {"spec", "service", "namespace"})) + "/" +
              std::string(FindString(object, {"spec", "service", "name"}));
  }
  std::string available = "Unknown";
  for (const Json& condition : FindArray(object, {"status", "conditions"})) {
    if (FindString(condition, {"type"}) != "Available") continue;
    available = FindString(condition, {"status"});
    if (available != "True") available += " (" + std::string(FindString(condition, {"reason"})) + ")";
  }
  return {NameCell(object), Json(service), Json(available), AgeCell(object, now)};
}

JsonArray FlowSchemaCells(const Json& object, base::Time now) {
  std::string missing = "?";
  for (const Json& condition : FindArray(object, {"status", "conditions"})) {
    if (FindString(condition, {"type"}) == "Dangling") missing = FindString(condition, {"status"});
  }
  return {NameCell(object),
          Json(Or(FindString(object, {"spec", "priorityLevelConfiguration", "name"}), kNone)),
          Json(FindInt(object, {"spec", "matchingPrecedence"})),
          Json(Or(FindString(object, {"spec", "distinguisherMethod", "type"}), kNone)),
          AgeCell(object, now),
          Json(missing)};
}

JsonArray PriorityLevelCells(const Json& object, base::Time now) {
  const std::string_view type = FindString(object, {"spec", "type"});
  const std::string_view part = type == "Exempt" ? "exempt" : "limited";
  const auto queuing = [&](std::string_view field) {
    return Json(NumberOr(object, {"spec", "limited", "limitResponse", "queuing", field}, kNone));
  };
  return {NameCell(object),    Json(type),          Json(NumberOr(object, {"spec", part, "nominalConcurrencyShares"}, kNone)),
          queuing("queues"),   queuing("handSize"), queuing("queueLengthLimit"),
          AgeCell(object, now)};
}

JsonArray RuntimeClassCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(FindString(object, {"handler"})), AgeCell(object, now)};
}

JsonArray RequestCells(const Json& object, base::Time now) {
  std::string conditions;
  for (const Json& condition : FindArray(object, {"status", "conditions"})) {
    conditions += (conditions.empty() ? "" : ",") + std::string(FindString(condition, {"type"}));
  }
  if (conditions.empty()) conditions = "Pending";
  if (!FindString(object, {"status", "certificate"}).empty()) conditions += ",Issued";
  const int64_t seconds = FindInt(object, {"spec", "expirationSeconds"}, -1);
  const std::string duration = seconds < 0 ? std::string(kNone) : base::HumanDuration(std::chrono::seconds(seconds));
  return {NameCell(object),
          AgeCell(object, now),
          Json(FindString(object, {"spec", "signerName"})),
          Json(FindString(object, {"spec", "username"})),
          Json(duration),
          Json(conditions)};
}

JsonArray IpAddressCells(const Json& object, base::Time now) {
  std::string text;
  for (const std::string_view field : {"resource", "namespace", "name"}) {
    const std::string_view part = FindString(object, {"spec", "parentRef", field});
    if (!part.empty()) text += (text.empty() ? "" : "/") + std::string(part);
  }
  return {NameCell(object), Json(Or(text, kNone)), AgeCell(object, now)};
}

JsonArray CidrCells(const Json& object, base::Time now) {
  std::string text;
  for (const Json& cidr : FindArray(object, {"spec", "cidrs"})) {
    if (cidr.is_string()) text += (text.empty() ? "" : ",") + std::string(cidr.get_string());
  }
  return {NameCell(object), Json(text), AgeCell(object, now)};
}

JsonArray AttachmentCells(const Json& object, base::Time now) {
  return {NameCell(object),
          Json(FindString(object, {"spec", "attacher"})),
          Json(FindString(object, {"spec", "source", "persistentVolumeName"})),
          Json(FindString(object, {"spec", "nodeName"})),
          Json(base::FindBool(object, {"status", "attached"})),
          AgeCell(object, now)};
}

JsonArray AttributesCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(FindString(object, {"driverName"})), AgeCell(object, now)};
}

JsonArray ClaimCells(const Json& object, base::Time now) {
  std::string state = "pending";
  if (base::Find(object, {"status", "allocation"}) != nullptr) state = "allocated";
  if (!FindArray(object, {"status", "reservedFor"}).empty()) state += ",reserved";
  if (base::Find(object, {"metadata", "deletionTimestamp"}) != nullptr) state += ",deleted";
  return {NameCell(object), Json(state), AgeCell(object, now)};
}

JsonArray SliceCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(Or(FindString(object, {"spec", "nodeName"}), kNone)),
          Json(FindString(object, {"spec", "driver"})), Json(FindString(object, {"spec", "pool", "name"})),
          AgeCell(object, now)};
}

}  // namespace

void AddPlatformTables(TableMap& tables) {
  const TableColumn name = NameColumn(), age = AgeColumn();
  const auto text = [](std::string_view title) { return TextColumn(title); };
  tables["autoscaling/horizontalpodautoscalers"] = {
      {name, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), age}, AutoscalerCells};
  for (const char* kind : {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}) {
    tables["admissionregistration.k8s.io/" + std::string(kind)] = {{name, IntegerColumn("Webhooks"), age}, WebhookCells};
  }
  tables["apiregistration.k8s.io/apiservices"] = {{name, text("Service"), text("Available"), age}, ApiServiceCells};
  tables["flowcontrol.apiserver.k8s.io/flowschemas"] = {
      {name, text("PriorityLevel"), text("MatchingPrecedence"), text("DistinguisherMethod"), age, text("MissingPL")},
      FlowSchemaCells};
  tables["flowcontrol.apiserver.k8s.io/prioritylevelconfigurations"] = {
      {name, text("Type"), text("NominalConcurrencyShares"), text("Queues"), text("HandSize"), text("QueueLengthLimit"), age},
      PriorityLevelCells};
  tables["node.k8s.io/runtimeclasses"] = {{name, text("Handler"), age}, RuntimeClassCells};
  tables["certificates.k8s.io/certificatesigningrequests"] = {
      {name, age, text("SignerName"), text("Requestor"), text("RequestedDuration"), text("Condition")}, RequestCells};
  tables["networking.k8s.io/ipaddresses"] = {{name, text("ParentRef"), age}, IpAddressCells};
  tables["networking.k8s.io/servicecidrs"] = {{name, text("CIDRs"), age}, CidrCells};
  tables["storage.k8s.io/volumeattachments"] = {{name, text("Attacher"), text("PV"), text("Node"), text("Attached"), age},
                                                AttachmentCells};
  tables["storage.k8s.io/volumeattributesclasses"] = {{name, text("DriverName"), age}, AttributesCells};
  tables["resource.k8s.io/resourceclaims"] = {{name, text("State"), age}, ClaimCells};
  tables["resource.k8s.io/resourceslices"] = {{name, text("Node"), text("Driver"), text("Pool"), age}, SliceCells};
}

}  // namespace evenkeel::embedded::apiserver
