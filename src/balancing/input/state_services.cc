#include <algorithm>

#include "balancing/input/state_reader.h"
#include "balancing/model/messages.h"

namespace evenkeel::balancing {
namespace {

constexpr std::string_view kImplicitProperties[] = {"FaultDomain", "NodeName", "NodeType", "UpgradeDomain"};

constexpr std::pair<std::string_view, bool> kKinds[] = {{"stateful", true}, {"stateless", false}};
constexpr std::pair<std::string_view, double> kWeights[] = {{"High", 1.0}, {"Medium", 0.3}, {"Low", 0.1}, {"Zero", 0.0}};
constexpr std::pair<std::string_view, std::string_view> kPolicies[] = {{"InvalidDomain", "FaultDomain !^ "},
                                                                       {"RequiredDomain", "FaultDomain ^ "},
                                                                       {"PreferredPrimaryDomain", "FaultDomain ^P "},
                                                                       {"RequiredDomainDistribution", "FDPolicy ~ Nonpacking"},
                                                                       {"NonPartiallyPlace", "PlacePolicy ~ NonPartially"}};

constexpr int64_t kReplicasMax = 1'000'000;

}  // namespace

base::Status StateReader::ReadApplication(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"name", "minNodes", "maxNodes", "metrics", "inUpgrade", "upgradedDomains"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "application", kKnown);
  Application application;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  if (!applications_.emplace(name, static_cast<ApplicationId>(cluster_.applications.size())).second) {
    return file_->Refused(fields, "name", "another application has this name");
  }
  application.name = name;
  EVENKEEL_ASSIGN(application.min_nodes, file_->WholeOr(fields, "minNodes", 0, 0));
  EVENKEEL_ASSIGN(application.max_nodes, file_->WholeOr(fields, "maxNodes", 0, 0));
  if (application.max_nodes > 0 && application.min_nodes > application.max_nodes) {
    return file_->Refused(fields, "minNodes",
                          fmt::format("{} is more than maxNodes, which is {}", application.min_nodes, application.max_nodes));
  }
  EVENKEEL_TRY(file_->ForEachItem(fields, "metrics", [&](const base::Json& item, const Where& at) {
    return ReadApplicationMetric(item, at, application);
  }));
  EVENKEEL_ASSIGN(application.in_upgrade, file_->BoolOr(fields, "inUpgrade", false));
  EVENKEEL_TRY(file_->ForEachItem(fields, "upgradedDomains", [&](const base::Json& item, const Where& at) -> base::Status {
    EVENKEEL_ASSIGN(const std::string_view domain, file_->Name(item, at));
    application.upgraded_domains.emplace_back(domain);
    return {};
  }));
  cluster_.applications.push_back(std::move(application));
  return {};
}

base::Status StateReader::ReadApplicationMetric(const base::Json& value, const Where& where, Application& application) {
  constexpr std::string_view kKnown[] = {"name", "totalCapacity", "maxNodeCapacity", "nodeReservation"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "application metric", kKnown);
  ApplicationMetric metric;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  metric.metric = InternMetric(name);
  if (std::ranges::find(application.metrics, metric.metric, &ApplicationMetric::metric) != application.metrics.end()) {
    return file_->Refused(fields, "name", "the application names this metric twice");
  }
  EVENKEEL_ASSIGN(metric.total_capacity, file_->WholeOr(fields, "totalCapacity", 0, 0));
  EVENKEEL_ASSIGN(metric.max_node_capacity, file_->WholeOr(fields, "maxNodeCapacity", 0, 0));
  EVENKEEL_ASSIGN(metric.node_reservation, file_->WholeOr(fields, "nodeReservation", 0, 0));
  if (metric.max_node_capacity > 0 && metric.node_reservation > metric.max_node_capacity) {
    return file_->Refused(
        fields, "nodeReservation",
        fmt::format("{} is more than maxNodeCapacity, which is {}", metric.node_reservation, metric.max_node_capacity));
  }
  using Wide = __int128;
  const Wide at_most = static_cast<Wide>(application.max_nodes) * metric.max_node_capacity;
  if (metric.total_capacity > 0 && at_most > metric.total_capacity) {
    return file_->Refused(fields, "totalCapacity",
                          fmt::format("{} is less than maxNodes ({}) times maxNodeCapacity ({})", metric.total_capacity,
                                      application.max_nodes, metric.max_node_capacity));
  }
  EVENKEEL_TRY(AddToTotal(where, metric.metric, metric.node_reservation));
  application.metrics.push_back(metric);
  return {};
}

base::Status StateReader::AddToTotal(const Where& where, MetricId metric, __int128 amount) {
  if (amount > kLoadsMax - metric_totals_[metric]) {
    return file_->Refused(where, "loads and reservations of metric \"" + OneLine(cluster_.metrics[metric].name) +
                                     "\" may come to more than 2^61 together");
  }
  metric_totals_[metric] += static_cast<int64_t>(amount);
  return {};
}

base::Status StateReader::ReadService(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"name",
                                         "kind",
                                         "type",
                                         "application",
                                         "persisted",
                                         "metrics",
                                         "placementConstraints",
                                         "placementPolicies",
                                         "moveCost",
                                         "affinityTo",
                                         "targetReplicas"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "service", kKnown);
  Service service;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  if (!services_.emplace(name, static_cast<ServiceId>(cluster_.services.size())).second) {
    return file_->Refused(fields, "name", "another service has this name");
  }
  service.name = name;
  EVENKEEL_ASSIGN(service.stateful, file_->WordOr(fields, "kind", false, kKinds));
  EVENKEEL_ASSIGN(service.persisted, file_->BoolOr(fields, "persisted", false));
  EVENKEEL_ASSIGN(const std::string_view type, file_->NameOr(fields, "type", ""));
  if (!type.empty()) {
    const auto [entry, is_new] = service_types_.emplace(type, static_cast<ServiceTypeId>(cluster_.service_types.size()));
    if (is_new) cluster_.service_types.push_back({.name = std::string(type), .blocked_nodes = {}});
    service.type = entry->second;
  }
  EVENKEEL_ASSIGN(const std::string_view application, file_->NameOr(fields, "application", ""));
  if (!application.empty()) {
    const auto [entry, is_new] = applications_.emplace(application, static_cast<ApplicationId>(cluster_.applications.size()));
    if (is_new) cluster_.applications.emplace_back().name = application;
    service.application = entry->second;
  }
  EVENKEEL_TRY(ReadTarget(fields, service));
  EVENKEEL_TRY(ReadMetrics(fields, service));
  EVENKEEL_TRY(ReadMoveCost(fields, service));
  EVENKEEL_TRY(ReadConstraint(fields, service));
  cluster_.services.push_back(std::move(service));
  return {};
}

base::Status StateReader::ReadTarget(const Fields& fields, Service& service) {
  EVENKEEL_ASSIGN(const int64_t target, file_->WholeOr(fields, "targetReplicas", 0, -1, kReplicasMax));
  if (target == 0 && file_->Get(fields, "targetReplicas") != nullptr) {
    return file_->Refused(fields, "targetReplicas", "must be at least 1, or -1: one on every node");
  }
  if (target < 0 && service.stateful) {
    return file_->Refused(fields, "targetReplicas", "-1, one on every node, is for stateless services only");
  }
  service.on_every_node = target < 0;
  service.target_replicas = std::max<int64_t>(target, 0);
  return {};
}

base::Status StateReader::ReadMetrics(const Fields& fields, Service& service) {
  EVENKEEL_TRY(file_->ForEachItem(fields, "metrics",
                                  [&](const base::Json& item, const Where& at) { return ReadMetric(item, at, service); }));
  if (service.metrics.empty()) {
    // What Service Fabric gives to a service that names none.
    constexpr std::pair<std::string_view, double> kDefaults[] = {{"PrimaryCount", 1.0}, {"ReplicaCount", 0.3}, {"Count", 0.1}};
    for (const auto& [name, weight] : kDefaults) {
      service.metrics.push_back({.metric = InternMetric(name), .weight = weight, .primary_load = 0, .secondary_load = 0});
    }
  }
  CountMetrics(service);
  return {};
}

double StateReader::DefaultWeight(std::string_view metric) const {
  if (metric == "servicefabric:/_CpuCores") return options_.settings.cpu_cores_metric_weight;
  if (metric == "servicefabric:/_MemoryInMB") return options_.settings.memory_in_mb_metric_weight;
  return 1;
}

base::Status StateReader::ReadMetric(const base::Json& value, const Where& where, Service& service) {
  constexpr std::string_view kKnown[] = {"name", "weight", "primaryLoad", "secondaryLoad", "load"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "metric", kKnown);
  ServiceMetric metric;
  EVENKEEL_ASSIGN(const std::string_view name, file_->Name(fields, "name"));
  metric.metric = InternMetric(name);
  if (std::ranges::find(service.metrics, metric.metric, &ServiceMetric::metric) != service.metrics.end()) {
    return file_->Refused(fields, "name", "the service names this metric twice");
  }
  metric.weight = DefaultWeight(name);
  if (const base::Json* weight = file_->Get(fields, "weight")) {
    const Where at = fields.where.Member("weight");
    if (weight->is_number()) {
      EVENKEEL_ASSIGN(metric.weight, file_->Number(*weight, at));
      if (metric.weight < 0) return file_->Refused(at, fmt::format("{} is negative", metric.weight));
    } else {
      EVENKEEL_ASSIGN(metric.weight, file_->Word(*weight, at, kWeights));
    }
  }
  EVENKEEL_ASSIGN(const int64_t load, file_->WholeOr(fields, "load", 0, 0));
  EVENKEEL_ASSIGN(metric.primary_load, file_->WholeOr(fields, "primaryLoad", load, 0));
  EVENKEEL_ASSIGN(metric.secondary_load, file_->WholeOr(fields, "secondaryLoad", load, 0));
  if (!service.stateful) {
    for (const std::string_view key : {"primaryLoad", "secondaryLoad"}) {
      if (file_->Get(fields, key) != nullptr) return file_->Refused(fields, key, "a stateless service has one \"load\"");
    }
    metric.primary_load = 0;
  }
  service.metrics.push_back(metric);
  return {};
}

void StateReader::CountMetrics(const Service& service) {
  for (const ServiceMetric& metric : service.metrics) {
    ++cluster_.metrics[metric.metric].services;
    cluster_.metrics[metric.metric].weight_sum += metric.weight;
  }
}

base::Status StateReader::ReadMoveCost(const Fields& fields, Service& service) {
  const base::Json* value = file_->Get(fields, "moveCost");
  if (value == nullptr) return {};
  const Where where = fields.where.Member("moveCost");
  if (!value->is_object()) {
    EVENKEEL_ASSIGN(service.primary_move_cost, file_->Word(*value, where, kMoveCosts));
    service.secondary_move_cost = service.primary_move_cost;
    return {};
  }
  constexpr std::string_view kKnown[] = {"primary", "secondary", "instance"};
  EVENKEEL_ASSIGN(const Fields costs, file_->Object(*value, where));
  file_->CheckKeys(costs, "move cost", kKnown);
  EVENKEEL_ASSIGN(service.primary_move_cost, file_->WordOr(costs, "primary", MoveCost::kLow, kMoveCosts));
  EVENKEEL_ASSIGN(service.secondary_move_cost, file_->WordOr(costs, "instance", MoveCost::kLow, kMoveCosts));
  EVENKEEL_ASSIGN(service.secondary_move_cost, file_->WordOr(costs, "secondary", service.secondary_move_cost, kMoveCosts));
  return {};
}

base::Result<std::string> StateReader::ReadPolicies(const Fields& fields) {
  constexpr std::string_view kKnown[] = {"type", "domain"};
  std::string text;
  EVENKEEL_TRY(file_->ForEachItem(fields, "placementPolicies", [&](const base::Json& item, const Where& at) -> base::Status {
    EVENKEEL_ASSIGN(const Fields policy, file_->Object(item, at));
    file_->CheckKeys(policy, "placement policy", kKnown);
    const base::Json* type = file_->Get(policy, "type");
    if (type == nullptr) return file_->Refused(policy, "type", "is missing");
    EVENKEEL_ASSIGN(const std::string_view begin, file_->Word(*type, at.Member("type"), kPolicies));
    std::string term(begin);
    if (begin.ends_with(' ')) {
      EVENKEEL_ASSIGN(const std::string_view domain, file_->Name(policy, "domain"));
      term += domain;
    }
    const auto parsed = Expression::Parse(term);
    if (!parsed || parsed->terms().size() != 1) return file_->Refused(policy, "domain", "not the URI of a fault domain");
    text += (text.empty() ? "" : " && ") + term;
    return {};
  }));
  return text;
}

base::Status StateReader::ReadConstraint(const Fields& fields, Service& service) {
  EVENKEEL_ASSIGN(const std::string_view given, file_->NameOr(fields, "placementConstraints", ""));
  EVENKEEL_ASSIGN(const std::string policies, ReadPolicies(fields));
  std::string text(given);
  if (!policies.empty()) text = text.empty() ? policies : "(" + text + ") && " + policies;
  const auto [entry, is_new] = constraints_.try_emplace(text, static_cast<uint32_t>(cluster_.constraints.size()));
  service.constraint = entry->second;
  if (!is_new) return {};
  const auto own = Expression::Parse(given);
  if (!own) return file_->Refused(fields, "placementConstraints", own.error().message());
  EVENKEEL_TRY(CheckConstraint(fields, *own));
  auto constraint = Expression::Parse(text);
  if (!constraint) return file_->Refused(fields, "placementPolicies", constraint.error().message());
  cluster_.constraints.push_back(*std::move(constraint));
  cluster_.constraint_texts.push_back(std::move(text));
  return {};
}

base::Status StateReader::CheckConstraint(const Fields& fields, const Expression& constraint) {
  const Where at = fields.where.Member("placementConstraints");
  const std::string hint = HyphenHint(constraint);
  if (!hint.empty()) file_->Warn(at, "hyphen", hint);
  if (cluster_.nodes.empty()) return {};
  for (const std::string& name : constraint.PropertyNames()) {
    if (property_names_.contains(name) || std::ranges::find(kImplicitProperties, name) != std::end(kImplicitProperties)) {
      continue;
    }
    std::vector<std::string_view> known(property_names_.begin(), property_names_.end());
    known.insert(known.end(), std::begin(kImplicitProperties), std::end(kImplicitProperties));
    const std::string what = "no node has a property \"" + OneLine(name) + "\"" + NearestNameHint(name, known);
    if (options_.settings.validate_placement_constraint) return file_->Refused(at, what);
    file_->Warn(at, "undefined property", what);
  }
  return {};
}

base::Status StateReader::ReadAffinity(const base::Json& value, const Where& where, ServiceId child) {
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  const base::Json* affinity = file_->Get(fields, "affinityTo");
  if (affinity == nullptr) return {};
  Service& service = cluster_.services[child];
  Where at = where.Member("affinityTo");
  std::string_view name;
  if (affinity->is_object()) {
    constexpr std::string_view kKnown[] = {"service", "aligned"};
    const Where object_at = at;
    EVENKEEL_ASSIGN(const Fields object, file_->Object(*affinity, object_at));
    file_->CheckKeys(object, "affinity", kKnown);
    EVENKEEL_ASSIGN(name, file_->Name(object, "service"));
    EVENKEEL_ASSIGN(service.aligned_affinity, file_->BoolOr(object, "aligned", true));
  } else {
    EVENKEEL_ASSIGN(name, file_->Name(*affinity, at));
  }
  const auto parent = services_.find(name);
  if (parent == services_.end()) return file_->Refused(at, "there is no service \"" + OneLine(name) + "\"");
  if (parent->second == child) {
    file_->Warn(at, "own parent", "a service cannot follow itself; this is left out");
    return {};
  }
  service.affinity_to = parent->second;
  return {};
}

base::Status StateReader::CheckAffinity(const Where& where, ServiceId child) {
  const ServiceId parent = cluster_.services[child].affinity_to;
  if (parent == kNoId) return {};
  const Service& service = cluster_.services[parent];
  const Where at = where.Member("affinityTo");
  if (service.affinity_to != kNoId) {
    return file_->Refused(at, "\"" + OneLine(service.name) + "\" follows \"" +
                                  OneLine(cluster_.services[service.affinity_to].name) + "\" itself; chains are not possible");
  }
  if (!service.stateful) file_->Warn(at, "stateless parent", "the parent is stateless; Service Fabric wants a stateful one");
  return {};
}

void StateReader::CheckParent(const Where& where, ServiceId child) {
  const ServiceId parent = cluster_.services[child].affinity_to;
  if (parent == kNoId || cluster_.services[parent].partitions.size() <= 1) return;
  file_->Warn(where.Member("affinityTo"), "parent with partitions",
              "the parent has several partitions; Service Fabric wants a parent with one");
}

}  // namespace evenkeel::balancing
