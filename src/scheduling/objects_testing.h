// Kubernetes objects in a few words, for tests and benchmarks.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling::testing {

using base::Json;
using base::JsonArray;
using base::JsonObject;

inline Json Parse(std::string_view text) { return *base::ParseJson(text, "test"); }

/// "a=b,c=d" as an object.
inline JsonObject Map(std::string_view text) {
  JsonObject map;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    map[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
  }
  return map;
}

struct NodeMaker {
  Json json;

  explicit NodeMaker(std::string_view name, std::string_view cpu = "4", std::string_view memory = "8Gi", int pods = 110) {
    json = JsonObject{{"metadata", JsonObject{{"name", name}, {"labels", JsonObject{{kHostnameLabel, name}}}}},
                      {"spec", JsonObject{}},
                      {"status", JsonObject{{"allocatable", JsonObject{{"cpu", cpu}, {"memory", memory}, {"pods", pods}}}}}};
  }
  NodeMaker& Label(std::string_view key, std::string_view value) {
    base::Ensure(json, {"metadata", "labels", key}) = value;
    return *this;
  }
  NodeMaker& Zone(std::string_view zone) { return Label("topology.kubernetes.io/zone", zone); }
  NodeMaker& Taint(std::string_view key, std::string_view value, std::string_view effect = "NoSchedule") {
    Json& taints = base::Ensure(json, {"spec", "taints"});
    if (!taints.is_array()) taints = JsonArray{};
    taints.as_array().push_back(JsonObject{{"key", key}, {"value", value}, {"effect", effect}});
    return *this;
  }
  NodeMaker& Cordon() {
    base::Ensure(json, {"spec", "unschedulable"}) = true;
    return *this;
  }
  NodeMaker& Has(std::string_view resource, std::string_view amount) {
    base::Ensure(json, {"status", "allocatable", resource}) = amount;
    return *this;
  }
};

struct PodMaker {
  Json json;

  explicit PodMaker(std::string_view name, std::string_view cpu = "", std::string_view memory = "") {
    JsonObject requests;
    if (!cpu.empty()) requests["cpu"] = cpu;
    if (!memory.empty()) requests["memory"] = memory;
    json = JsonObject{
        {"metadata", JsonObject{{"name", name}, {"namespace", "default"}, {"uid", name}}},
        {"spec",
         JsonObject{{"containers", JsonArray{JsonObject{{"name", "c"}, {"resources", JsonObject{{"requests", requests}}}}}}}}};
  }
  PodMaker& Namespace(std::string_view ns) {
    base::Ensure(json, {"metadata", "namespace"}) = ns;
    return *this;
  }
  PodMaker& Labels(std::string_view labels) {
    base::Ensure(json, {"metadata", "labels"}) = Map(labels);
    return *this;
  }
  PodMaker& On(std::string_view node) {
    base::Ensure(json, {"spec", "nodeName"}) = node;
    return *this;
  }
  PodMaker& Priority(int priority) {
    base::Ensure(json, {"spec", "priority"}) = priority;
    return *this;
  }
  PodMaker& Terminating() {
    base::Ensure(json, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
    return *this;
  }
  /// A field of spec, from JSON.
  PodMaker& Spec(std::string_view field, std::string_view value) {
    base::Ensure(json, {"spec", field}) = Parse(value);
    return *this;
  }
  PodMaker& Request(std::string_view resource, std::string_view amount) {
    Json& container = json.at("spec").at("containers").at(0);
    base::Ensure(container, {"resources", "requests", resource}) = amount;
    return *this;
  }
  PodMaker& HostPort(int port, std::string_view ip = "", std::string_view protocol = "TCP") {
    Json& container = json.at("spec").at("containers").at(0);
    Json& ports = base::Ensure(container, {"ports"});
    if (!ports.is_array()) ports = JsonArray{};
    ports.as_array().push_back(JsonObject{{"hostPort", port}, {"containerPort", port}, {"hostIP", ip}, {"protocol", protocol}});
    return *this;
  }
  PodMaker& Tolerates(std::string_view key, std::string_view op, std::string_view value = "", std::string_view effect = "") {
    Json& list = base::Ensure(json, {"spec", "tolerations"});
    if (!list.is_array()) list = JsonArray{};
    list.as_array().push_back(JsonObject{{"key", key}, {"operator", op}, {"value", value}, {"effect", effect}});
    return *this;
  }
  PodMaker& NodeTerms(std::string_view terms) {
    base::Ensure(json, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                        "nodeSelectorTerms"}) = Parse(terms);
    return *this;
  }
  /// kind: podAffinity or podAntiAffinity; extra: more fields of the term, as JSON.
  PodMaker& Term(std::string_view kind, std::string_view key, std::string_view labels, std::string_view extra = "{}") {
    Json& list = base::Ensure(json, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
    if (!list.is_array()) list = JsonArray{};
    Json term = Parse(extra);
    term.as_object()["topologyKey"] = key;
    if (!labels.empty()) term.as_object()["labelSelector"] = JsonObject{{"matchLabels", Map(labels)}};
    list.as_array().push_back(std::move(term));
    return *this;
  }
  PodMaker& Affinity(std::string_view key, std::string_view labels, std::string_view extra = "{}") {
    return Term("podAffinity", key, labels, extra);
  }
  PodMaker& AntiAffinity(std::string_view key, std::string_view labels, std::string_view extra = "{}") {
    return Term("podAntiAffinity", key, labels, extra);
  }
  PodMaker& Spread(int max_skew, std::string_view key, std::string_view labels, std::string_view extra = "{}") {
    Json& list = base::Ensure(json, {"spec", "topologySpreadConstraints"});
    if (!list.is_array()) list = JsonArray{};
    Json constraint = Parse(extra);
    constraint.as_object()["maxSkew"] = max_skew;
    constraint.as_object()["topologyKey"] = key;
    constraint.as_object()["whenUnsatisfiable"] = "DoNotSchedule";
    constraint.as_object()["labelSelector"] = JsonObject{{"matchLabels", Map(labels)}};
    list.as_array().push_back(std::move(constraint));
    return *this;
  }
  PodMaker& Claim(std::string_view claim) {
    Json& list = base::Ensure(json, {"spec", "volumes"});
    if (!list.is_array()) list = JsonArray{};
    list.as_array().push_back(JsonObject{{"name", claim}, {"persistentVolumeClaim", JsonObject{{"claimName", claim}}}});
    return *this;
  }
  PodMaker& Volume(std::string_view volume) {
    Json& list = base::Ensure(json, {"spec", "volumes"});
    if (!list.is_array()) list = JsonArray{};
    list.as_array().push_back(Parse(volume));
    return *this;
  }
};

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kHost = "kubernetes.io/hostname";

/// A snapshot with words for what tests ask: nodes by name, the answer as text.
class Cluster {
 public:
  Snapshot snapshot;

  Cluster& Add(const NodeMaker& node) {
    snapshot.UpsertNode(node.json);
    return *this;
  }
  Cluster& Add(const PodMaker& pod) {
    snapshot.UpsertPod(pod.json);
    return *this;
  }
  NodeId Node(std::string_view name) { return snapshot.FindNodeByName(name); }
  Fit Check(const PodMaker& pod, std::string_view node, bool keep_node_name = false) {
    const ClassId id = snapshot.InternClass(pod.json, keep_node_name);
    Fit fit = snapshot.Check(id, Node(node));
    EVENKEEL_CHECK(fit.fits() == snapshot.Fits(id, Node(node)));
    snapshot.ReleaseClass(id);
    return fit;
  }
  /// "" when it fits, otherwise "FILTER: reason, reason".
  std::string Why(const PodMaker& pod, std::string_view node, bool keep_node_name = false) {
    const Fit fit = Check(pod, node, keep_node_name);
    std::string text(Name(fit.filter));
    for (size_t i = 0; i < fit.reasons.size(); ++i) text += (i == 0 ? ": " : ", ") + fit.reasons[i].text;
    return text;
  }
  /// Names of the nodes that fit, in the order of the search.
  std::string Where(const PodMaker& pod) {
    const ClassId id = snapshot.InternClass(pod.json);
    std::string names;
    for (const NodeId node : snapshot.order()) {
      if (snapshot.Fits(id, node)) names += (names.empty() ? "" : " ") + snapshot.NodeName(node);
    }
    snapshot.ReleaseClass(id);
    return names;
  }
};

}  // namespace evenkeel::scheduling::testing
