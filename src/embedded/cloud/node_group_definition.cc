#include "embedded/cloud/node_group_definition.h"

#include "client/definitions.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Json;

constexpr char kDefinition[] = R"({
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nodegroups.evenkeel.dev"},
"spec": {"group": "evenkeel.dev", "scope": "Cluster",
"names": {"kind": "NodeGroup", "listKind": "NodeGroupList", "plural": "nodegroups", "singular": "nodegroup",
          "shortNames": ["ng"], "categories": ["evenkeel"]},
"versions": [{"name": "v1alpha1", "served": true, "storage": true,
"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.targetSize", "statusReplicasPath": ".status.readyNodes"}},
"additionalPrinterColumns": [
  {"name": "Min", "type": "integer", "jsonPath": ".spec.minSize"},
  {"name": "Max", "type": "integer", "jsonPath": ".spec.maxSize"},
  {"name": "Target", "type": "integer", "jsonPath": ".spec.targetSize"},
  {"name": "Ready", "type": "integer", "jsonPath": ".status.readyNodes"},
  {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
"schema": {"openAPIV3Schema": {"type": "object", "description": "Nodes that are alike and that come and go.",
"required": ["spec"], "properties": {
  "spec": {"type": "object", "required": ["maxSize"], "properties": {
    "minSize": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "Fewest nodes."},
    "maxSize": {"type": "integer", "minimum": 0, "maximum": 1000000, "description": "Most nodes; no more are ever made."},
    "targetSize": {"type": "integer", "minimum": 0, "maximum": 1000000,
                   "description": "Nodes wanted now; minSize when not given."},
    "pricePerHour": {"type": "number", "minimum": 0, "description": "Of one node."},
    "selector": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "description": "Label selector of the group's nodes; by default their label evenkeel.dev/node-group."},
    "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "description": "What a new node is like: labels, taints, allocatable and capacity of a v1 Node."},
    "options": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "What the autoscaler is to do differently for this group, e.g. scaleDownUnneededTime."},
    "deleting": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                 "description": "Ids of instances that the cloud is to remove."},
    "cloud": {"type": "object", "description": "How the embedded cloud behaves.", "properties": {
      "provisionDelay": {"type": "string", "description": "Until an instance runs, a fifth more or less (30s)."},
      "deleteDelay": {"type": "string", "description": "Until a deleted instance is gone (10s)."},
      "quota": {"type": "integer", "minimum": 0, "nullable": true, "description": "Instances there is room for; 0: out of stock."},
      "failCreations": {"x-kubernetes-preserve-unknown-fields": true, "description": "true, or the share that fails."},
      "neverRegister": {"x-kubernetes-preserve-unknown-fields": true,
                        "description": "true, or the share that runs without becoming a node."},
      "failForGood": {"x-kubernetes-preserve-unknown-fields": true,
                      "description": "true, or the share that fails before it runs and stays so."},
      "showFailures": {"type": "boolean", "description": "Instances that run are told with an error."},
      "silent": {"type": "boolean", "description": "Increases are carried out and never answered."},
      "unreadable": {"type": "boolean", "description": "What the group is like cannot be read."}}}}},
  "status": {"type": "object", "properties": {
    "created": {"type": "integer", "description": "Instances ever made."},
    "readyNodes": {"type": "integer", "description": "Nodes that are ready."},
    "instances": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
      "id": {"type": "string"}, "node": {"type": "string"}, "number": {"type": "integer"},
      "state": {"type": "string", "enum": ["Creating", "Running", "Deleting"]},
      "dueTime": {"type": "string", "format": "date-time"},
      "doomed": {"type": "boolean"}, "failed": {"type": "boolean"}, "neverRegisters": {"type": "boolean"},
      "errorClass": {"type": "string", "enum": ["OutOfResources", "Other"]},
      "errorCode": {"type": "string"}, "errorMessage": {"type": "string"}}}},
    "conditions": {"type": "array", "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
      "message": {"type": "string"}, "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}
}}}}]}})";

constexpr char kGeneral[] = R"({
"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "general"},
"spec": {"minSize": 0, "maxSize": 10, "targetSize": 0, "pricePerHour": 0.192,
  "template": {"metadata": {"labels": {"node.kubernetes.io/instance-type": "general-4"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}}},
  "cloud": {"provisionDelay": "5s", "deleteDelay": "2s"}}})";

}  // namespace

const kube::Resource& NodeGroups() {
  static const kube::Resource resource = [] {
    kube::Resource made;
    made.group = "evenkeel.dev";
    made.version = "v1alpha1";
    made.kind = "NodeGroup";
    made.plural = "nodegroups";
    made.singular = "nodegroup";
    made.namespaced = false;
    made.subresources = {"status", "scale"};
    made.storage_group = "evenkeel.dev/nodegroups";
    return made;
  }();
  return resource;
}

Json NodeGroupDefinition() { return *base::ParseJson(kDefinition, "NodeGroup definition"); }

base::Status InstallDefinition(client::Client& client) { return client::InstallDefinition(client, NodeGroupDefinition()); }

Json GeneralNodeGroup() { return *base::ParseJson(kGeneral, "NodeGroup general"); }

}  // namespace evenkeel::embedded::cloud
