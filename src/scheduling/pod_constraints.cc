#include "scheduling/pod_constraints.h"

namespace evenkeel::scheduling {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonObject;

const kube::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};

const base::JsonArray& RequiredNodeTerms(const Json& pod) {
  return FindArray(pod,
                   {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
}

std::vector<std::string> SortedTexts(const base::JsonArray& array) {
  std::vector<std::string> texts = base::TextsIn(array);
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

kube::LabelSelector SelectorAt(const Json& json, std::string_view field) {
  const Json* selector = base::Find(json, {field});
  if (selector == nullptr) return kube::LabelSelector::Nothing();
  return kube::LabelSelector::FromJson(*selector).value_or(kube::LabelSelector::Nothing());
}

std::vector<AffinityTerm> DecodeTerms(const Json& pod, std::string_view kind) {
  std::vector<AffinityTerm> terms;
  for (const Json& item : FindArray(pod, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"})) {
    AffinityTerm term;
    term.topology_key = FindString(item, {"topologyKey"});
    term.namespaces = SortedTexts(FindArray(item, {"namespaces"}));
    const Json* namespaces = base::Find(item, {"namespaceSelector"});
    if (namespaces != nullptr && !namespaces->is_null()) term.namespace_selector = SelectorAt(item, "namespaceSelector");
    term.selector = SelectorAt(item, "labelSelector");
    term.match_label_keys = SortedTexts(FindArray(item, {"matchLabelKeys"}));
    term.mismatch_label_keys = SortedTexts(FindArray(item, {"mismatchLabelKeys"}));
    terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<SpreadConstraint> DecodeSpread(const Json& pod) {
  std::vector<SpreadConstraint> constraints;
  int64_t index = -1;
  for (const Json& item : FindArray(pod, {"spec", "topologySpreadConstraints"})) {
    ++index;
    if (FindString(item, {"whenUnsatisfiable"}) == "ScheduleAnyway") continue;
    SpreadConstraint constraint;
    constraint.index = index;
    constraint.topology_key = FindString(item, {"topologyKey"});
    constraint.max_skew = base::FindInt(item, {"maxSkew"}, 1);
    constraint.min_domains = base::FindInt(item, {"minDomains"}, 1);
    constraint.selector = SelectorAt(item, "labelSelector");
    constraint.match_label_keys = SortedTexts(FindArray(item, {"matchLabelKeys"}));
    constraint.honor_affinity = FindString(item, {"nodeAffinityPolicy"}) != "Ignore";
    constraint.honor_taints = FindString(item, {"nodeTaintsPolicy"}) == "Honor";
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

void DecodePorts(const Json& container, bool host_network, std::vector<HostPort>& ports) {
  for (const Json& item : FindArray(container, {"ports"})) {
    int64_t port = base::FindInt(item, {"hostPort"});
    if (port == 0 && host_network) port = base::FindInt(item, {"containerPort"});
    if (port <= 0) continue;
    std::string ip(FindString(item, {"hostIP"}));
    ports.push_back({ip.empty() ? "0.0.0.0" : ip, std::string(FindString(item, {"protocol"}, "TCP")), static_cast<int>(port)});
  }
}

std::vector<HostPort> DecodeHostPorts(const Json& pod) {
  std::vector<HostPort> ports;
  const bool host_network = base::FindBool(pod, {"spec", "hostNetwork"});
  for (const Json& container : FindArray(pod, {"spec", "containers"})) DecodePorts(container, host_network, ports);
  for (const Json& container : FindArray(pod, {"spec", "initContainers"})) {
    if (FindString(container, {"restartPolicy"}) == "Always") DecodePorts(container, host_network, ports);
  }
  return ports;
}

void AddSelector(TextKey& key, const kube::LabelSelector& selector) {
  key.Add(selector.nothing() ? 1 : 0).Add(selector.ToString());
}

void AddTexts(TextKey& key, const std::vector<std::string>& texts) {
  key.Add(static_cast<int64_t>(texts.size()));
  for (const std::string& text : texts) key.Add(text);
}

void AddTerms(TextKey& key, const std::vector<AffinityTerm>& terms) {
  key.Add(static_cast<int64_t>(terms.size()));
  for (const AffinityTerm& term : terms) {
    key.Add(term.topology_key);
    AddTexts(key, term.namespaces);
    key.Add(term.namespace_selector ? 1 : 0);
    if (term.namespace_selector) AddSelector(key, *term.namespace_selector);
    AddSelector(key, term.selector);
    AddTexts(key, term.match_label_keys);
    AddTexts(key, term.mismatch_label_keys);
  }
}

void AddContainers(TextKey& key, const std::vector<ContainerDevices>& containers) {
  key.Add(static_cast<int64_t>(containers.size()));
  for (const ContainerDevices& container : containers) {
    key.Add(container.container).Add(container.init ? 1 : 0).Add(container.stays ? 1 : 0);
    key.Add(static_cast<int64_t>(container.resources.size()));
    for (const auto& resource : container.resources) key.Add(resource.name).Add(resource.amount).Add(resource.index);
  }
}

void AppendField(const JsonObject& object, std::string_view field, std::string& out) {
  if (const Json* value = object.if_contains(field)) {
    out.append(field);
    base::AppendText(out, *value);
  }
}

void AppendContainers(const JsonObject& spec, std::string_view field, std::string& out) {
  const Json* list = spec.if_contains(field);
  const base::JsonArray* containers = list == nullptr ? nullptr : list->if_array();
  if (containers == nullptr) return;
  for (const Json& item : *containers) {
    const JsonObject* container = item.if_object();
    if (container == nullptr) continue;
    out.append(field);
    for (const char* part : {"name", "resources", "ports", "restartPolicy", "restartPolicyRules"})
      AppendField(*container, part, out);
  }
}

void AppendRequiredAffinity(const JsonObject& spec, bool pinned, std::string& out) {
  const Json* affinity = spec.if_contains("affinity");
  const JsonObject* kinds = affinity == nullptr ? nullptr : affinity->if_object();
  if (kinds == nullptr) return;
  for (const char* kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
    if (pinned && std::string_view(kind) == "nodeAffinity") continue;
    const Json* found = kinds->if_contains(kind);
    const JsonObject* rules = found == nullptr ? nullptr : found->if_object();
    if (rules == nullptr) continue;
    out.append(kind);
    AppendField(*rules, "requiredDuringSchedulingIgnoredDuringExecution", out);
  }
}

}  // namespace

bool HostPort::Conflicts(const HostPort& other) const {
  if (port != other.port || protocol != other.protocol) return false;
  return ip == other.ip || ip == "0.0.0.0" || other.ip == "0.0.0.0";
}

bool PodSpec::ToleratesCordon() const { return UntoleratedTaint(tolerations, {kCordon}) == nullptr; }

std::string PodSpec::Key() const {
  TextKey key;
  for (const auto& [name, amount] : requests) {
    if (amount != 0) key.Add(name).Add(amount);
  }
  key.Add(-1);
  nodes.AddTo(key);
  key.Add(static_cast<int64_t>(tolerations.size()));
  for (const auto& toleration : tolerations) {
    key.Add(toleration.key).Add(toleration.op).Add(toleration.value).Add(toleration.effect);
  }
  key.Add(static_cast<int64_t>(ports.size()));
  for (const HostPort& port : ports) key.Add(port.ip).Add(port.protocol).Add(port.port);
  AddTerms(key, affinity);
  AddTerms(key, anti_affinity);
  for (const SpreadConstraint& constraint : spread) {
    key.Add(constraint.index).Add(constraint.topology_key).Add(constraint.max_skew).Add(constraint.min_domains);
    AddSelector(key, constraint.selector);
    AddTexts(key, constraint.match_label_keys);
    key.Add(constraint.honor_affinity ? 1 : 0).Add(constraint.honor_taints ? 1 : 0);
  }
  key.Add(never_preempts ? 1 : 0);
  AddContainers(key, containers);
  AddTexts(key, features);
  return key.Take();
}

/// Follows: kubernetes@1.36 staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features
std::vector<std::string> NeededFeatures(const Json& pod) {
  std::vector<std::string> features;
  const auto restarts_all = [&](std::string_view list) {
    return std::ranges::any_of(FindArray(pod, {"spec", list}), [](const Json& container) {
      return std::ranges::any_of(FindArray(container, {"restartPolicyRules"}),
                                 [](const Json& rule) { return FindString(rule, {"action"}) == "RestartAllContainers"; });
    });
  };
  if (restarts_all("containers") || restarts_all("initContainers")) {
    features.emplace_back("RestartAllContainersOnContainerExits");
  }
  if (base::FindBool(pod, {"spec", "hostNetwork"}) && !base::FindBool(pod, {"spec", "hostUsers"}, true)) {
    features.emplace_back("UserNamespacesHostNetworkSupport");
  }
  return features;
}

PodSpec DecodePodSpec(const Json& pod, bool pinned) {
  PodSpec spec;
  spec.requests = EffectiveRequests(pod);
  spec.nodes.equal = base::FindTextMap(pod, {"spec", "nodeSelector"});
  if (!pinned) {
    const Json* required =
        base::Find(pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
    spec.nodes.required = required != nullptr && required->is_object();
    spec.nodes.terms = DecodeNodeSelectorTerms(RequiredNodeTerms(pod));
  }
  for (const Json& item : FindArray(pod, {"spec", "tolerations"})) {
    const auto text = [&](std::string_view field) { return std::string(FindString(item, {field})); };
    std::string op = text("operator");
    spec.tolerations.push_back({text("key"), op.empty() ? "Equal" : op, text("value"), text("effect"), {}});
  }
  spec.ports = DecodeHostPorts(pod);
  spec.affinity = DecodeTerms(pod, "podAffinity");
  spec.anti_affinity = DecodeTerms(pod, "podAntiAffinity");
  spec.spread = DecodeSpread(pod);
  spec.never_preempts = FindString(pod, {"spec", "preemptionPolicy"}) == "Never";
  spec.containers = DecodeContainerDevices(pod);
  spec.features = NeededFeatures(pod);
  return spec;
}

void AppendSpecText(const Json& pod, bool pinned, std::string& out) {
  const JsonObject& spec = base::FindObject(pod, {"spec"});
  for (const char* field : {"nodeSelector", "tolerations", "overhead", "resources", "topologySpreadConstraints",
                            "preemptionPolicy", "hostNetwork", "hostUsers"}) {
    AppendField(spec, field, out);
  }
  AppendRequiredAffinity(spec, pinned, out);
  AppendContainers(spec, "containers", out);
  AppendContainers(spec, "initContainers", out);
  if (FindString(pod, {"spec", "nodeName"}).empty()) return;
  for (const char* field : {"resources", "allocatedResources"}) AppendField(base::FindObject(pod, {"status"}), field, out);
  for (const char* field : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& item : FindArray(pod, {"status", field})) {
      const JsonObject* status = item.if_object();
      if (status == nullptr || !status->contains("resources")) continue;
      for (const char* part : {"name", "resources", "allocatedResources"}) AppendField(*status, part, out);
    }
  }
  if (const Json* resize = kube::FindCondition(pod, "PodResizePending")) out.append(FindString(*resize, {"reason"}));
}

std::string_view PinnedNode(const Json& pod) {
  const auto& terms = RequiredNodeTerms(pod);
  if (terms.size() != 1 || !FindArray(terms[0], {"matchExpressions"}).empty()) return {};
  const auto& fields = FindArray(terms[0], {"matchFields"});
  if (fields.size() != 1 || FindString(fields[0], {"key"}) != "metadata.name" || FindString(fields[0], {"operator"}) != "In") {
    return {};
  }
  const auto& values = FindArray(fields[0], {"values"});
  if (values.size() != 1 || !values[0].is_string()) return {};
  return values[0].get_string();
}

kube::LabelSelector WithLabelKeys(const kube::LabelSelector& selector, const std::vector<std::string>& match,
                                  const std::vector<std::string>& mismatch, const kube::Labels& labels) {
  if (selector.nothing() || (match.empty() && mismatch.empty())) return selector;
  kube::LabelSelector all = selector;
  const auto add = [&](const std::vector<std::string>& keys, kube::LabelRequirement::Operator op) {
    for (const std::string& key : keys) {
      if (const auto found = labels.find(key); found != labels.end()) all = all.With({key, op, {found->second}});
    }
  };
  add(match, kube::LabelRequirement::Operator::kIn);
  add(mismatch, kube::LabelRequirement::Operator::kNotIn);
  return all;
}

}  // namespace evenkeel::scheduling
