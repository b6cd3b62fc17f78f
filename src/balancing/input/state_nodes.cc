#include <algorithm>

#include "balancing/input/state_reader.h"
#include "balancing/model/messages.h"

namespace evenkeel::balancing {
namespace {

constexpr std::string_view kImplicit[] = {"NodeType", "NodeName", "UpgradeDomain", "FaultDomain"};

constexpr std::pair<std::string_view, bool> kStates[] = {{"up", true}, {"down", false}};
constexpr std::pair<std::string_view, DeactivationIntent> kIntents[] = {{"None", DeactivationIntent::kNone},
                                                                        {"Pause", DeactivationIntent::kPause},
                                                                        {"Restart", DeactivationIntent::kRestart},
                                                                        {"RemoveData", DeactivationIntent::kRemoveData},
                                                                        {"RemoveNode", DeactivationIntent::kRemoveNode}};
constexpr std::pair<std::string_view, DeactivationStatus> kStatuses[] = {
    {"None", DeactivationStatus::kNone},
    {"SafetyCheckInProgress", DeactivationStatus::kSafetyCheckInProgress},
    {"SafetyCheckComplete", DeactivationStatus::kSafetyCheckComplete},
    {"Complete", DeactivationStatus::kComplete}};

}  // namespace

StateReader::StateReader(std::span<StateFile> files, const ReadClusterOptions& options) : files_(files), options_(options) {
  cluster_.constraints.emplace_back();
  cluster_.constraint_texts.emplace_back();
  constraints_[""] = 0;
  for (const NodeTypeDescription& type : options.node_types) described_types_.emplace(type.name, &type);
  for (const NodeDescription& node : options.nodes) listed_nodes_.emplace(node.name, &node);
}

const NodeTypeDescription* StateReader::Described(std::string_view type) const {
  const auto described = described_types_.find(type);
  return described == described_types_.end() ? nullptr : described->second;
}

MetricId StateReader::InternMetric(std::string_view name) {
  const auto [entry, is_new] = metrics_.try_emplace(std::string(name), static_cast<MetricId>(cluster_.metrics.size()));
  if (is_new) {
    Metric metric;
    metric.name = name;
    metric.built_in = BuiltIn(name);
    cluster_.metrics.push_back(std::move(metric));
    metric_totals_.push_back(0);
  }
  return entry->second;
}

NodeTypeId StateReader::InternNodeType(std::string_view name) {
  const auto [entry, is_new] = node_types_.try_emplace(std::string(name), static_cast<NodeTypeId>(cluster_.node_types.size()));
  if (is_new) cluster_.node_types.emplace_back(name);
  return entry->second;
}

base::Status StateReader::ReadNode(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"name",       "nodeType",   "faultDomain", "upgradeDomain",
                                         "capacities", "properties", "state",       "deactivation"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "node", kKnown);
  Node node;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  if (!nodes_.emplace(name, static_cast<NodeId>(cluster_.nodes.size())).second) {
    return file_->Refused(fields, "name", "another node has this name");
  }
  node.name = name;
  const NodeDescription none;
  const auto listed = listed_nodes_.find(name);
  const NodeDescription& given = listed == listed_nodes_.end() ? none : *listed->second;
  EVENKEEL_ASSIGN(const std::string_view type, file_->NameOr(fields, "nodeType", given.node_type));
  node.type = InternNodeType(type);
  EVENKEEL_ASSIGN(node.fault_domain_uri, file_->NameOr(fields, "faultDomain", given.fault_domain));
  node.fault_domain = DomainSegments(node.fault_domain_uri);
  EVENKEEL_ASSIGN(node.upgrade_domain, file_->NameOr(fields, "upgradeDomain", given.upgrade_domain));
  EVENKEEL_ASSIGN(node.up, file_->WordOr(fields, "state", true, kStates));
  EVENKEEL_TRY(ReadDeactivation(fields, node));
  const NodeTypeDescription* description = Described(type);
  EVENKEEL_TRY(ReadCapacities(fields, node, description));
  EVENKEEL_TRY(ReadProperties(fields, node, description));
  AddNode(std::move(node));
  return {};
}

void StateReader::AddNode(Node node) {
  for (const std::string_view name : kImplicit) node.properties.erase(std::string(name));
  for (const auto& [name, value] : node.properties) property_names_.insert(name);
  cluster_.nodes.push_back(std::move(node));
}

void StateReader::AddListedNodes() {
  for (const NodeDescription& listed : options_.nodes) {
    nodes_.emplace(listed.name, static_cast<NodeId>(cluster_.nodes.size()));
    Node node;
    node.name = listed.name;
    node.type = InternNodeType(listed.node_type);
    node.fault_domain_uri = listed.fault_domain;
    node.fault_domain = DomainSegments(listed.fault_domain);
    node.upgrade_domain = listed.upgrade_domain;
    const NodeTypeDescription* type = Described(listed.node_type);
    SetCapacities(CapacitiesOf(type), node);
    if (type != nullptr) node.properties = type->properties;
    AddNode(std::move(node));
  }
}

base::Status StateReader::ReadDeactivation(const Fields& fields, Node& node) {
  const base::Json* value = file_->Get(fields, "deactivation");
  if (value == nullptr) return {};
  const Where where = fields.where.Member("deactivation");
  if (!value->is_object()) {
    EVENKEEL_ASSIGN(node.intent, file_->Word(*value, where, kIntents));
    node.status = node.intent == DeactivationIntent::kNone ? DeactivationStatus::kNone : DeactivationStatus::kComplete;
    return {};
  }
  constexpr std::string_view kKnown[] = {"intent", "status"};
  EVENKEEL_ASSIGN(const Fields deactivation, file_->Object(*value, where));
  file_->CheckKeys(deactivation, "deactivation", kKnown);
  EVENKEEL_ASSIGN(node.intent, file_->WordOr(deactivation, "intent", DeactivationIntent::kNone, kIntents));
  const bool none = node.intent == DeactivationIntent::kNone;
  EVENKEEL_ASSIGN(node.status, file_->WordOr(deactivation, "status",
                                             none ? DeactivationStatus::kNone : DeactivationStatus::kComplete, kStatuses));
  return {};
}

base::Status StateReader::ReadCapacities(const Fields& fields, Node& node, const NodeTypeDescription* type) {
  std::map<MetricId, int64_t> capacities = CapacitiesOf(type);
  EVENKEEL_TRY(file_->ForEachMember(fields, "capacities",
                                    [&](std::string_view metric, const base::Json& value, const Where& at) -> base::Status {
                                      EVENKEEL_ASSIGN(capacities[InternMetric(metric)], file_->Whole(value, at, 0));
                                      return {};
                                    }));
  SetCapacities(capacities, node);
  return {};
}

std::map<MetricId, int64_t> StateReader::CapacitiesOf(const NodeTypeDescription* type) {
  std::map<MetricId, int64_t> capacities;
  if (type == nullptr) return capacities;
  for (const auto& [metric, amount] : type->capacities) capacities[InternMetric(metric)] = amount;
  return capacities;
}

void StateReader::SetCapacities(const std::map<MetricId, int64_t>& capacities, Node& node) {
  for (const auto& [metric, amount] : capacities) node.capacities.push_back({metric, amount});
}

base::Status StateReader::ReadProperties(const Fields& fields, Node& node, const NodeTypeDescription* type) {
  if (type != nullptr) node.properties = type->properties;
  EVENKEEL_TRY(file_->ForEachMember(
      fields, "properties", [&](std::string_view name, const base::Json& value, const Where& at) -> base::Status {
        if (value.is_structured() || value.is_null()) return file_->Refused(at, "expected a text, a number or a boolean");
        if (std::ranges::find(kImplicit, name) != std::end(kImplicit)) {
          file_->Warn(at, "implicit property", "every node has this property by itself; it is left out");
          return {};
        }
        node.properties.insert_or_assign(std::string(name),
                                         value.is_string() ? std::string(value.get_string()) : base::ToText(value));
        return {};
      }));
  return {};
}

base::Status StateReader::ReadServiceType(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"name", "blockedNodes"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "service type", kKnown);
  ServiceType type;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  if (!service_types_.emplace(name, static_cast<ServiceTypeId>(cluster_.service_types.size())).second) {
    return file_->Refused(fields, "name", "another service type has this name");
  }
  type.name = name;
  EVENKEEL_TRY(file_->ForEachItem(fields, "blockedNodes", [&](const base::Json& item, const Where& at) -> base::Status {
    EVENKEEL_ASSIGN(const std::string_view node, file_->Name(item, at));
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return file_->Refused(at, "there is no node \"" + OneLine(node) + "\"");
    type.blocked_nodes.push_back(found->second);
    return {};
  }));
  std::ranges::sort(type.blocked_nodes);
  type.blocked_nodes.erase(std::ranges::unique(type.blocked_nodes).begin(), type.blocked_nodes.end());
  cluster_.service_types.push_back(std::move(type));
  return {};
}

}  // namespace evenkeel::balancing
