#include "controllers/balancer/kinds.h"

#include "client/definitions.h"

namespace evenkeel::controllers::balancer {
namespace {

using base::Json;

constexpr char kPolicyDefinition[] = R"({
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "balancingpolicies.evenkeel.dev"},
"spec": {"group": "evenkeel.dev", "scope": "Cluster",
"names": {"kind": "BalancingPolicy", "listKind": "BalancingPolicyList", "plural": "balancingpolicies",
          "singular": "balancingpolicy", "shortNames": ["bpol"], "categories": ["evenkeel"]},
"versions": [{"name": "v1alpha1", "served": true, "storage": true,
"subresources": {"status": {}},
"additionalPrinterColumns": [
  {"name": "Valid", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Valid\")].status"},
  {"name": "Balanced", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Balanced\")].status"},
  {"name": "Dry run", "type": "boolean", "jsonPath": ".spec.dryRun"},
  {"name": "Last plan", "type": "string", "jsonPath": ".status.lastPlan"},
  {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
"schema": {"openAPIV3Schema": {"type": "object",
"description": "What is to be even on the nodes of this cluster. Of several policies the first by name is in force.",
"properties": {
  "spec": {"type": "object", "properties": {
    "metrics": {"type": "array", "description": "What is balanced; cpu and memory by requests when there are none.",
      "items": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string"},
      "source": {"type": "string", "description": "Requests (default), Usage (PodMetrics) or Annotation (evenkeel.dev/load)."},
      "resource": {"type": "string", "description": "Whose amounts count, and the nodes' capacity; by default that of the metric's name."},
      "weight": {"type": "number", "description": "1 by default."},
      "balancingThreshold": {"type": "number", "description": "Largest load of a node by smallest from which on it is uneven (1.5)."},
      "activityThreshold": {"x-kubernetes-int-or-string": true, "description": "Nothing moves while no node carries more."},
      "nodeBuffer": {"type": "number", "description": "Share of each node's capacity that is kept free, 0 to 1."}}}},
    "nodeTypeLabel": {"type": "string", "description": "Nodes of one value are balanced among themselves."},
    "nodeTypes": {"type": "array", "description": "What differs for single values of nodeTypeLabel.",
      "items": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string"},
      "balancingInterval": {"type": "string"},
      "metrics": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "balancingThreshold": {"type": "number"},
        "activityThreshold": {"x-kubernetes-int-or-string": true}}}}}}},
    "intervals": {"type": "object", "properties": {
      "balancing": {"type": "string", "description": "Between two looks at the balance (1m)."},
      "constraintCheck": {"type": "string", "description": "Between two looks for nodes above their capacity (10s)."},
      "afterNewNode": {"type": "string", "description": "Without balancing after a node came (2m)."},
      "afterNodeDown": {"type": "string", "description": "Without balancing after a node went (2m)."}}},
    "throttles": {"type": "object", "properties": {
      "window": {"type": "string", "description": "In which movements are counted (10m)."},
      "movements": {"type": "integer", "description": "Most movements in a window (100); 0: unlimited."},
      "movementsPerPod": {"type": "integer", "description": "Most of one pod and its successors in a window (1); 0: unlimited."},
      "maxShare": {"type": "number", "description": "Most pods that one plan moves, as a share of all (0.3)."},
      "inFlight": {"type": "integer", "description": "Movements at a time (1)."}}},
    "moveCosts": {"type": "array", "description": "The first that selects a pod counts; Medium otherwise.",
      "items": {"type": "object", "required": ["cost"], "properties": {
      "selector": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "cost": {"type": "string", "description": "Zero, Low, Medium, High or VeryHigh."}}}},
    "exclude": {"type": "object", "description": "Pods that count but are never moved.", "properties": {
      "namespaces": {"type": "array", "items": {"type": "string"}, "description": "kube-system when not given."},
      "namespaceSelector": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "podSelector": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
    "faultDomainKeys": {"type": "array", "items": {"type": "string"},
      "description": "Node labels from the outermost domain inwards; zone and host name when not given."},
    "dryRun": {"type": "boolean", "description": "Plans are only written; one whose spec.approved is set is carried out."}}},
  "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
    "lastPlan": {"type": "string"},
    "conditions": {"type": "array", "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
      "message": {"type": "string"}, "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}
}}}}]}})";

constexpr char kPlanDefinition[] = R"({
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "balancingplans.evenkeel.dev"},
"spec": {"group": "evenkeel.dev", "scope": "Cluster",
"names": {"kind": "BalancingPlan", "listKind": "BalancingPlanList", "plural": "balancingplans", "singular": "balancingplan",
          "shortNames": ["bplan"], "categories": ["evenkeel"]},
"versions": [{"name": "v1alpha1", "served": true, "storage": true,
"subresources": {"status": {}},
"additionalPrinterColumns": [
  {"name": "Policy", "type": "string", "jsonPath": ".spec.policy"},
  {"name": "For", "type": "string", "jsonPath": ".spec.phase"},
  {"name": "Approved", "type": "boolean", "jsonPath": ".spec.approved"},
  {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
  {"name": "Message", "type": "string", "jsonPath": ".status.message"},
  {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
"schema": {"openAPIV3Schema": {"type": "object",
"description": "Movements of pods that were decided together. Carried out as approved or not at all.",
"required": ["spec"], "properties": {
  "spec": {"type": "object", "required": ["policy", "actions"], "properties": {
    "policy": {"type": "string"},
    "approved": {"type": "boolean", "default": false, "description": "Set it, and exactly this plan is carried out."},
    "inputVersion": {"type": "string", "description": "Of the facts that the plan rests on."},
    "phase": {"type": "string", "description": "QuickBalancing, Balancing or ConstraintCheck."},
    "deviationBefore": {"type": "number"}, "deviationAfter": {"type": "number"},
    "energyBefore": {"type": "number"}, "energyAfter": {"type": "number"},
    "actions": {"type": "array", "items": {"type": "object", "required": ["pod", "podUid", "from", "to"], "properties": {
      "partition": {"type": "string"}, "service": {"type": "string"}, "action": {"type": "string"},
      "from": {"type": "string", "description": "Node."}, "to": {"type": "string", "description": "Node."},
      "pod": {"type": "string", "description": "namespace/name"}, "podUid": {"type": "string"},
      "ownerUid": {"type": "string", "description": "Of the controller that will make another pod."},
      "loads": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
      "reason": {"type": "string"}, "energyGain": {"type": "number"}}}}}},
  "status": {"type": "object", "properties": {
    "phase": {"type": "string", "enum": ["Pending", "Executing", "Done", "Refused", "Failed"]},
    "message": {"type": "string"},
    "startedAt": {"type": "string", "format": "date-time"},
    "finishedAt": {"type": "string", "format": "date-time"},
    "actions": {"type": "array", "description": "As in spec.actions, one for one.", "items": {"type": "object", "properties": {
      "state": {"type": "string", "enum": ["Waiting", "Evicting", "Evicted", "Landed", "Elsewhere", "Failed"]},
      "replacement": {"type": "string"}, "replacementUid": {"type": "string"}, "node": {"type": "string"},
      "newest": {"type": "string", "format": "date-time"}, "newestUids": {"type": "array", "items": {"type": "string"}},
      "since": {"type": "string", "format": "date-time"},
      "evictedAt": {"type": "string", "format": "date-time"},
      "reserveUntil": {"type": "string", "format": "date-time",
                       "description": "Until then room on the target is kept for the successor."},
      "message": {"type": "string"}}}}}}
}}}}]}})";

kube::Resource MakeResource(std::string kind, std::string singular, std::string plural) {
  kube::Resource made;
  made.group = "evenkeel.dev";
  made.version = "v1alpha1";
  made.kind = std::move(kind);
  made.storage_group = "evenkeel.dev/" + plural;
  made.plural = std::move(plural);
  made.singular = std::move(singular);
  made.namespaced = false;
  made.subresources = {"status"};
  return made;
}

}  // namespace

const kube::Resource& BalancingPolicies() {
  static const kube::Resource resource = MakeResource("BalancingPolicy", "balancingpolicy", "balancingpolicies");
  return resource;
}

const kube::Resource& BalancingPlans() {
  static const kube::Resource resource = MakeResource("BalancingPlan", "balancingplan", "balancingplans");
  return resource;
}

Json BalancingPolicyDefinition() { return *base::ParseJson(kPolicyDefinition, "BalancingPolicy definition"); }
Json BalancingPlanDefinition() { return *base::ParseJson(kPlanDefinition, "BalancingPlan definition"); }

base::Status InstallDefinitions(client::Client& client) {
  for (const Json& definition : {BalancingPolicyDefinition(), BalancingPlanDefinition()})
    EVENKEEL_TRY(client::InstallDefinition(client, definition));
  return {};
}

}  // namespace evenkeel::controllers::balancer
