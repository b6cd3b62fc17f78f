// Columns of the kinds by which a cluster is set up, as kubectl knows them.
#include "embedded/apiserver/tables/table_columns.h"

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

std::string PercentOr(const Json& object, std::initializer_list<std::string_view> path, std::string_view fallback) {
  const std::string number = NumberOr(object, path, "");
  return number.empty() ? std::string(fallback) : number + "%";
}

// "cpu: 10%/80%", "1/2 (avg)": what there is of one metric, and what is asked for.
std::string MetricText(const Json& spec, const Json& status) {
  const std::string_view type = FindString(spec, {"type"});
  std::string key(type);
  if (!key.empty()) key[0] = static_cast<char>(key[0] | 0x20);
  const bool of_resource = type == "Resource" || type == "ContainerResource";
  if (!of_resource && type != "External" && type != "Object" && type != "Pods") return "<unknown type>";
  const std::string intro = of_resource ? std::string(FindString(spec, {key, "name"})) + ": " : "";
  const std::string_view average = FindString(spec, {key, "target", "averageValue"});
  if (of_resource && average.empty()) {
    return intro + PercentOr(status, {key, "current", "averageUtilization"}, kNotKnown) + "/" +
           PercentOr(spec, {key, "target", "averageUtilization"}, "<auto>");
  }
  const bool by_average = !average.empty() || type == "Pods";
  const std::string_view field = by_average ? "averageValue" : "value";
  // A quantity that is not there is zero where there is a status at all, but for averages that are optional.
  const bool known = base::Find(status, {key}) != nullptr;
  const bool optional = by_average && (type == "External" || type == "Object");
  const std::string now = Or(FindString(status, {key, "current", field}), known && !optional ? "0" : kNotKnown);
  return intro + now + "/" + Or(FindString(spec, {key, "target", field}), "0") + (optional ? " (avg)" : "");
}

// Of an autoscaler in the form of v2.
std::string TargetsText(const Json& object) {
  constexpr size_t kMetricsShown = 2;
  const JsonArray& metrics = FindArray(object, {"spec", "metrics"});
  const JsonArray& current = FindArray(object, {"status", "currentMetrics"});
  if (metrics.empty()) return std::string(kNone);
  std::string text;
  for (size_t i = 0; i < metrics.size() && i < kMetricsShown; ++i) {
    AppendPart(text, MetricText(metrics[i], i < current.size() ? current[i] : Json()), ", ");
  }
  if (metrics.size() > kMetricsShown) text += " + " + std::to_string(metrics.size() - kMetricsShown) + " more...";
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

JsonArray PolicyCells(const Json& object, base::Time now) {
  std::string params(FindString(object, {"spec", "paramKind", "kind"}));
  if (!params.empty()) params = std::string(FindString(object, {"spec", "paramKind", "apiVersion"})) + "/" + params;
  return {NameCell(object), Json(static_cast<int64_t>(FindArray(object, {"spec", "validations"}).size())),
          Json(Or(params, "<unset>")), AgeCell(object, now)};
}

JsonArray PolicyBindingCells(const Json& object, base::Time now) {
  std::string params(FindString(object, {"spec", "paramRef", "name"}));
  if (const std::string_view ns = FindString(object, {"spec", "paramRef", "namespace"}); !ns.empty() && !params.empty()) {
    params = std::string(ns) + "/" + params;
  }
  return {NameCell(object), Json(FindString(object, {"spec", "policyName"})), Json(Or(params, "<unset>")),
          AgeCell(object, now)};
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
          Json(FindString(object, {"spec", "priorityLevelConfiguration", "name"})),
          Json(FindInt(object, {"spec", "matchingPrecedence"})),
          Json(Or(FindString(object, {"spec", "distinguisherMethod", "type"}), kNone)),
          AgeCell(object, now),
          Json(missing)};
}

JsonArray PriorityLevelCells(const Json& object, base::Time now) {
  const auto number = [&](std::initializer_list<std::string_view> path) {
    return base::Find(object, path) == nullptr ? Json(kNone) : Json(FindInt(object, path));
  };
  const auto queuing = [&](std::string_view field) { return number({"spec", "limited", "limitResponse", "queuing", field}); };
  return {NameCell(object),
          Json(FindString(object, {"spec", "type"})),
          number({"spec", "limited", "nominalConcurrencyShares"}),
          queuing("queues"),
          queuing("handSize"),
          queuing("queueLengthLimit"),
          AgeCell(object, now)};
}

JsonArray RuntimeClassCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(FindString(object, {"handler"})), AgeCell(object, now)};
}

JsonArray RequestCells(const Json& object, base::Time now) {
  const auto is = [&](std::string_view type) {
    return std::ranges::any_of(FindArray(object, {"status", "conditions"}),
                               [&](const Json& condition) { return FindString(condition, {"type"}) == type; });
  };
  std::string conditions = is("Denied") ? "Denied" : is("Approved") ? "Approved" : "Pending";
  if (is("Failed")) conditions += ",Failed";
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

JsonArray IpAddressCells(const Json& object, base::Time) {
  std::string text(FindString(object, {"spec", "parentRef", "resource"}));
  AppendPart(text, FindString(object, {"spec", "parentRef", "group"}), ".");
  for (const std::string_view field : {"namespace", "name"}) {
    AppendPart(text, FindString(object, {"spec", "parentRef", field}), "/");
  }
  return {NameCell(object), Json(Or(text, kNone))};
}

JsonArray CidrCells(const Json& object, base::Time now) {
  std::string text;
  for (const Json& cidr : FindArray(object, {"spec", "cidrs"})) {
    if (cidr.is_string()) AppendPart(text, cidr.get_string());
  }
  return {NameCell(object), Json(text), AgeCell(object, now)};
}

JsonArray ClaimCells(const Json& object, base::Time now) {
  const bool deleted = base::Find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  const bool allocated = base::Find(object, {"status", "allocation"}) != nullptr;
  std::string state = deleted ? "deleted" : "";
  if (allocated) AppendPart(state, "allocated");
  if (allocated && !FindArray(object, {"status", "reservedFor"}).empty()) AppendPart(state, "reserved");
  if (!allocated && !deleted) state = "pending";
  return {NameCell(object), Json(state), AgeCell(object, now)};
}

JsonArray SliceCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(FindString(object, {"spec", "nodeName"})), Json(FindString(object, {"spec", "driver"})),
          Json(FindString(object, {"spec", "pool", "name"})), AgeCell(object, now)};
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
  tables["admissionregistration.k8s.io/validatingadmissionpolicies"] = {
      {name, IntegerColumn("Validations"), text("ParamKind"), age}, PolicyCells};
  tables["admissionregistration.k8s.io/validatingadmissionpolicybindings"] = {{name, text("PolicyName"), text("ParamRef"), age},
                                                                              PolicyBindingCells};
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
  tables["networking.k8s.io/ipaddresses"] = {{name, text("ParentRef")}, IpAddressCells};
  tables["networking.k8s.io/servicecidrs"] = {{name, text("CIDRs"), age}, CidrCells};
  for (const char* kind : {"deviceclasses", "resourceclaimtemplates"}) {
    tables["resource.k8s.io/" + std::string(kind)] = {{name, age}, NameAgeCells};
  }
  tables["resource.k8s.io/resourceclaims"] = {{name, text("State"), age}, ClaimCells};
  tables["resource.k8s.io/resourceslices"] = {{name, text("Node"), text("Driver"), text("Pool"), age}, SliceCells};
}

}  // namespace evenkeel::embedded::apiserver
