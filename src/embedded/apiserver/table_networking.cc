// Columns of the kinds about networks, as kubectl knows them.
#include "embedded/apiserver/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

void Append(std::string& list, std::string_view text) {
  if (text.empty()) return;
  if (!list.empty()) list += ',';
  list += text;
}

JsonArray NetworkPolicyCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(SelectorText(base::Find(object, {"spec", "podSelector"}))), AgeCell(object, now)};
}

JsonArray IngressCells(const Json& object, base::Time now) {
  // As many hosts as kubectl shows.
  constexpr size_t kHostsShown = 3;
  std::string hosts, addresses;
  size_t count = 0;
  for (const Json& rule : base::FindArray(object, {"spec", "rules"})) {
    const std::string_view host = base::FindString(rule, {"host"});
    if (!host.empty() && count++ < kHostsShown) Append(hosts, host);
  }
  if (count > kHostsShown) hosts += " + " + std::to_string(count - kHostsShown) + " more...";
  for (const Json& address : base::FindArray(object, {"status", "loadBalancer", "ingress"})) {
    Append(addresses, base::FindString(address, {"ip"}, base::FindString(address, {"hostname"})));
  }
  const bool secure = !base::FindArray(object, {"spec", "tls"}).empty();
  return {NameCell(object),
          Json(Or(base::FindString(object, {"spec", "ingressClassName"}), kNone)),
          Json(Or(hosts, "*")),
          Json(addresses),
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

}  // namespace

void AddNetworkingTables(TableMap& tables) {
  tables["networking.k8s.io/networkpolicies"] = {{NameColumn(), TextColumn("Pod-Selector"), AgeColumn()}, NetworkPolicyCells};
  tables["networking.k8s.io/ingresses"] = {
      {NameColumn(), TextColumn("Class"), TextColumn("Hosts"), TextColumn("Address"), TextColumn("Ports"), AgeColumn()},
      IngressCells};
  tables["networking.k8s.io/ingressclasses"] = {{NameColumn(), TextColumn("Controller"), TextColumn("Parameters"), AgeColumn()},
                                                IngressClassCells};
}

}  // namespace evenkeel::embedded::apiserver
