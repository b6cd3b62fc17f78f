#include "controllers/rollout/zookeeper/spec/definitions.h"

#include <map>

#include "client/definitions.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonObject;

/// Of what servers are made from (desired_servers.h).
constexpr char kServersProperties[] = R"({
  "image": {"type": "object", "properties": {
    "repository": {"type": "string", "default": "zookeeper"}, "tag": {"type": "string", "default": "3.8"},
    "pullPolicy": {"type": "string", "enum": ["Always", "IfNotPresent", "Never"]},
    "pullSecrets": {"type": "array", "items": {"type": "string"}}}},
  "config": {"type": "object", "properties": {
    "tickTime": {"type": "integer", "minimum": 1, "default": 2000, "description": "Milliseconds."},
    "initLimit": {"type": "integer", "minimum": 1, "default": 10, "description": "Ticks."},
    "syncLimit": {"type": "integer", "minimum": 1, "default": 5, "description": "Ticks."},
    "maxClientCnxns": {"type": "integer", "minimum": 0, "default": 60},
    "autopurge": {"type": "object", "properties": {
      "snapRetainCount": {"type": "integer", "minimum": 3, "default": 3},
      "purgeInterval": {"type": "integer", "minimum": 0, "default": 24, "description": "Hours; 0: never."}}},
    "extra": {"type": "object", "additionalProperties": {"type": "string"}, "description": "More of zoo.cfg."}}},
  "ports": {"type": "object", "properties": {
    "client": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 2181},
    "quorum": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 2888},
    "election": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 3888},
    "secureClient": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 2281,
                     "description": "With tls.clientSecret."},
    "clientAddress": {"type": "string", "enum": ["Any", "Host"],
                      "description": "Whether the list that a MultiClusterZooKeeper makes binds clients to the server's host."}}},
  "storage": {"type": "object", "properties": {
    "type": {"type": "string", "enum": ["persistent", "ephemeral"], "default": "persistent"},
    "size": {"type": "string", "default": "10Gi"}, "storageClass": {"type": "string"},
    "reclaimPolicy": {"type": "string", "enum": ["Retain", "Delete"], "default": "Retain",
                      "description": "Of the volumes of servers that the ensemble has let go."}}},
  "tls": {"type": "object", "description": "By Secrets as of kubernetes.io/tls, with ca.crt; tls.key has to be PKCS#8.",
    "properties": {
      "quorumSecret": {"type": "string", "maxLength": 253, "description": "Servers encrypt what they say to each other."},
      "quorumMode": {"type": "string", "enum": ["Accept", "Prefer", "Require"],
        "description": "Switched on in this order, one after the other; by default Require. A MultiClusterZooKeeper sees to it."},
      "clientSecret": {"type": "string", "maxLength": 253, "description": "Clients may connect to ports.secureClient."},
      "clientAuth": {"type": "string", "enum": ["need", "want", "none"],
                     "description": "Whether clients have to show a certificate there; by default need."}}},
  "podTemplate": {"type": "object",
    "description": "Put over what is made for the pods; lists of named things (containers, volumes, env) are merged by name.",
    "properties": {
      "metadata": {"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}}}},
      "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "As of a pod."}}},
  "paused": {"type": "boolean"}})";

constexpr char kDefinition[] = R"({
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "multiclusterzookeepers.evenkeel.dev"},
"spec": {"group": "evenkeel.dev", "scope": "Namespaced",
"names": {"kind": "MultiClusterZooKeeper", "listKind": "MultiClusterZooKeeperList", "plural": "multiclusterzookeepers",
          "singular": "multiclusterzookeeper", "shortNames": ["mczk"], "categories": ["evenkeel"]},
"versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
"additionalPrinterColumns": [
  {"name": "Voters", "type": "integer", "jsonPath": ".status.replicas"},
  {"name": "Ready", "type": "integer", "jsonPath": ".status.readyReplicas"},
  {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
  {"name": "Leader", "type": "string", "jsonPath": ".status.leader.cluster"},
  {"name": "Healthy", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"QuorumHealthy\")].status"},
  {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
"schema": {"openAPIV3Schema": {"type": "object", "description": "One ZooKeeper ensemble over several clusters.",
"required": ["spec"], "properties": {
  "spec": {"type": "object", "required": ["placement"], "properties": {
    "replicas": {"type": "integer", "minimum": 1, "maximum": 255, "description": "Voters; the sum over the clusters."},
    "placement": {"type": "object", "required": ["clusters"], "properties": {
      "clusters": {"type": "array", "minItems": 1, "maxItems": 255, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name", "replicas"], "properties": {
          "name": {"type": "string", "minLength": 1, "maxLength": 48, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
          "replicas": {"type": "integer", "minimum": 1, "maximum": 255},
          "clusterID": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
                        "description": "The cluster's name in DNS; by default its own."}}}},
      "requireClusterFaultTolerance": {"type": "boolean", "default": false,
                                       "description": "Refuse a placement that does not survive the loss of any one cluster."}}},
    "naming": {"type": "object", "properties": {
      "mode": {"type": "string", "enum": ["clusterset", "native", "perClusterService", "external"], "default": "clusterset"},
      "stride": {"type": "integer", "minimum": 1, "maximum": 255, "default": 10,
                 "description": "Server ids that each cluster may have; cannot change once servers run."},
      "clusterDomain": {"type": "string", "default": "cluster.local"},
      "template": {"type": "string", "description": "Of external names: <c>, <o>, <id>, <zk> and <ns> are filled in."}}},
    "rollout": {"type": "object", "properties": {
      "order": {"type": "array", "items": {"type": "string"}, "description": "All clusters, in the order of their changes."},
      "progressDeadlineSeconds": {"type": "integer", "minimum": 1, "maximum": 604800, "default": 600},
      "onFailure": {"type": "string", "enum": ["Pause", "Rollback"], "default": "Pause"},
      "allowDegraded": {"type": "boolean", "default": false, "description": "Go on while servers elsewhere are down."},
      "skipUnreachable": {"type": "boolean", "default": false,
                          "description": "Change a cluster that cannot be reached after the others; needs allowDegraded."},
      "paused": {"type": "boolean", "default": false}}},
    "revisionHistoryLimit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
    "forceRecovery": {"type": "object", "required": ["request", "survivors", "lost", "acknowledgeDataLoss"],
      "description": "After the servers of most clusters have been destroyed: goes on with those of the others. Decided on once.",
      "properties": {
      "request": {"type": "string", "minLength": 1, "maxLength": 63,
                  "description": "A name of your choice; another one makes it another request."},
      "survivors": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "Clusters that go on."},
      "lost": {"type": "array", "minItems": 1, "items": {"type": "string"},
               "description": "All other clusters with servers. They must be gone for good, and out of spec.placement."},
      "acknowledgeDataLoss": {"type": "boolean", "description": "What only the lost servers knew is gone then."}}}}},
  "status": {"type": "object", "properties": {
    "observedGeneration": {"type": "integer", "format": "int64"},
    "conditions": {"type": "array", "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}, "message": {"type": "string"},
      "observedGeneration": {"type": "integer", "format": "int64"},
      "lastTransitionTime": {"type": "string", "format": "date-time"}}}},
    "records": {"type": "array", "description": "The last one is the latest.", "items": {"type": "object",
      "x-kubernetes-preserve-unknown-fields": true,
      "required": ["observedGenerations", "order", "status", "lastTransitionTime"], "properties": {
      "observedGenerations": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
      "order": {"type": "array", "items": {"type": "string"}},
      "status": {"type": "string"},
      "currentState": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
      "lastTransitionTime": {"type": "string", "format": "date-time"},
      "advance": {"type": "array", "items": {"type": "integer", "format": "int64"}},
      "revision": {"type": "string"}, "baseRevision": {"type": "string"}, "specHash": {"type": "string"},
      "scheduleHash": {"type": "string"}, "uid": {"type": "string"}, "progress": {"type": "string"},
      "reason": {"type": "string"}, "message": {"type": "string"},
      "startedAt": {"type": "string", "format": "date-time"}, "progressedAt": {"type": "string", "format": "date-time"}}}},
    "phase": {"type": "string"},
    "replicas": {"type": "integer"},
    "readyReplicas": {"type": "integer"},
    "leader": {"type": "object", "properties": {"cluster": {"type": "string"}, "myid": {"type": "integer"}}},
    "format": {"type": "integer", "description": "Of this status and the overrides: who knows only smaller numbers changes nothing. Absent: 1."},
    "stride": {"type": "integer"},
    "namingMode": {"type": "string"},
    "clusterIndices": {"type": "object", "additionalProperties": {"type": "integer"}},
    "retiredIndices": {"type": "array", "items": {"type": "integer"}},
    "clusters": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string"}, "clusterID": {"type": "string"}, "replicas": {"type": "integer"},
      "revision": {"type": "string"}, "previousRevision": {"type": "string"},
      "turn": {"type": "integer", "description": "Which one of all revisions that the cluster has been given this is."},
      "confirmed": {"type": "boolean", "description": "Whether it was ready at this one; only such a one is gone back to."},
      "held": {"type": "boolean", "description": "Whether it is to stop nothing that serves before its turn comes."},
      "boundBy": {"type": "string", "description": "Uid of the binding by which Karmada was first about to bring a ZooKeeper there."},
      "unknownSince": {"type": "string", "format": "date-time", "description": "Since when the cluster cannot be reached."},
      "copied": {"type": "boolean", "description": "Whether the ZooKeeper there has been brought by Karmada, for this ensemble."}}}},
    "scheduling": {"type": "object", "description": "What Karmada's scheduler was asked for again.", "properties": {
      "attempt": {"type": "integer", "description": "Number of the last question ever."},
      "asked": {"type": "integer", "description": "How many since a cluster has been missing."},
      "since": {"type": "string", "format": "date-time"}, "askedAt": {"type": "string", "format": "date-time"}}},
    "recoveries": {"type": "array", "description": "What became of the last requests to recover.",
      "items": {"type": "object", "required": ["request", "outcome"], "properties": {
      "request": {"type": "string"}, "outcome": {"type": "string"}, "message": {"type": "string"},
      "decidedAt": {"type": "string", "format": "date-time"},
      "lost": {"type": "array", "items": {"type": "string"}, "description": "Clusters that still have an index."}}}},
    "revisions": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
      "name": {"type": "string"},
      "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "shares": {"type": "object", "additionalProperties": {"type": "integer"}},
      "servers": {"type": "array", "items": {"type": "string"}}}}}}}
}}}}]}})";

constexpr char kZooKeeper[] = R"({
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "zookeepers.evenkeel.dev"},
"spec": {"group": "evenkeel.dev", "scope": "Namespaced",
"names": {"kind": "ZooKeeper", "listKind": "ZooKeeperList", "plural": "zookeepers", "singular": "zookeeper",
          "shortNames": ["zk"], "categories": ["evenkeel"]},
"versions": [{"name": "v1alpha1", "served": true, "storage": true,
"subresources": {"status": {}},
"additionalPrinterColumns": [
  {"name": "Servers", "type": "integer", "jsonPath": ".spec.replicas"},
  {"name": "Ready", "type": "integer", "jsonPath": ".status.readyReplicas"},
  {"name": "Updated", "type": "integer", "jsonPath": ".status.updatedReplicas"},
  {"name": "Leader", "type": "integer", "jsonPath": ".status.leaderID"},
  {"name": "Healthy", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"QuorumHealthy\")].status"},
  {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
"schema": {"openAPIV3Schema": {"type": "object",
"description": "The servers of a ZooKeeper ensemble that are in this cluster.", "required": ["spec"], "properties": {
  "spec": {"type": "object", "properties": {
    "replicas": {"type": "integer", "minimum": 0, "maximum": 255, "default": 0, "description": "Servers here."},
    "myidOffset": {"type": "integer", "minimum": 0, "maximum": 254, "default": 0,
                   "description": "The first server here has this id and one more."},
    "ordinalsStart": {"type": "integer", "minimum": 0, "maximum": 254, "default": 0, "description": "Of the pods."},
    "servers": {"type": "array", "maxItems": 255, "items": {"type": "string"},
                "description": "All servers of the ensemble: server.ID=HOST:PORT:PORT:participant;PORT."},
    "ensemble": {"type": "string", "maxLength": 63,
                 "description": "Which one it is: on a volume of another one servers begin with the list that is given here."},
    "leaving": {"type": "array", "maxItems": 255, "items": {"type": "integer", "minimum": 1, "maximum": 255},
                "description": "Servers of other clusters that are to go: they are let go from here once they do not serve."},
    "recovery": {"type": "object", "properties": {
      "request": {"type": "string", "maxLength": 63},
      "servers": {"type": "array", "maxItems": 255, "items": {"type": "string"}},
      "absent": {"type": "array", "maxItems": 255, "items": {"type": "integer", "minimum": 1, "maximum": 255}}},
      "description": "Once, and on volumes that know of an ensemble: begin again with these servers, without the absent ones."},
    "abandoned": {"type": "boolean", "default": false, "description": "The ensemble goes on without the servers here."},
    "hold": {"type": "boolean", "default": false, "description": "Nothing that serves is stopped; rolloutRevision is echoed at once."},
    "format": {"type": "integer", "description": "Of this order: who knows only smaller numbers leaves all servers as they are. Absent: 1."},
    "rolloutRevision": {"type": "string", "description":
      "Echoed as status.observedRevision once everything here has it. From then on no server is replaced until it is another one."}}},
  "status": {"type": "object", "properties": {
    "observedGeneration": {"type": "integer", "format": "int64"},
    "observedRevision": {"type": "string"},
    "settledServers": {"type": "array", "description": "Ids of the servers here that belonged to the ensemble at observedRevision.",
      "items": {"type": "integer", "format": "int64"}},
    "replicas": {"type": "integer"}, "readyReplicas": {"type": "integer"}, "updatedReplicas": {"type": "integer"},
    "leaderID": {"type": "integer"},
    "problem": {"type": "string", "description": "Why the servers here are not as they should be."},
    "formed": {"type": "boolean", "description": "Whether there ever was a quorum."},
    "members": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
      "id": {"type": "integer"}, "pod": {"type": "string"}, "mode": {"type": "string"}, "zxid": {"type": "string"},
      "synced": {"type": "boolean"}}}},
    "conditions": {"type": "array", "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}, "message": {"type": "string"},
      "observedGeneration": {"type": "integer", "format": "int64"},
      "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}
}}}}]}})";

/// Defaults in a template would change what its clusters run wherever they change.
void EraseDefaults(Json& schema) {
  base::Erase(schema, {"default"});
  for (const char* below : {"items", "additionalProperties"}) {
    if (Json* item = base::Find(schema, {below})) EraseDefaults(*item);
  }
  if (Json* properties = base::Find(schema, {"properties"})) {
    for (auto& [name, property] : properties->as_object()) EraseDefaults(property);
  }
}

Json& PartOf(Json& definition, const char* part) {
  Json& version = base::Find(definition, {"spec", "versions"})->as_array()[0];
  return *base::Find(version, {"schema", "openAPIV3Schema", "properties", part});
}

void Number(const Forms& forms, Json& definition) {
  base::Ensure(definition, {"metadata", "annotations", client::kDefinitionNumber}) = std::to_string(forms.definitions);
}

JsonObject ServersProperties() { return base::ParseJson(kServersProperties, "the servers' schema")->as_object(); }

kube::Resource Own(const char* kind, const char* plural, const char* singular) {
  kube::Resource resource;
  resource.group = "evenkeel.dev";
  resource.version = "v1alpha1";
  resource.kind = kind;
  resource.plural = plural;
  resource.singular = singular;
  resource.subresources = {"status"};
  resource.storage_group = "evenkeel.dev/" + resource.plural;
  return resource;
}

}  // namespace

const kube::Resource& MultiClusterZooKeepers() {
  static const kube::Resource resource = Own("MultiClusterZooKeeper", "multiclusterzookeepers", "multiclusterzookeeper");
  return resource;
}

const kube::Resource& ZooKeepers() {
  static const kube::Resource resource = Own("ZooKeeper", "zookeepers", "zookeeper");
  return resource;
}

Json MultiClusterZooKeeperDefinition(const Forms& forms) {
  Json definition = *base::ParseJson(kDefinition, "MultiClusterZooKeeper definition");
  Json body = JsonObject{{"type", "object"},
                         {"x-kubernetes-preserve-unknown-fields", true},
                         {"description", "Body of the ZooKeeper in each member, without what differs from cluster to cluster."},
                         {"properties", ServersProperties()}};
  EraseDefaults(body);
  base::Ensure(PartOf(definition, "spec"), {"properties", "template"}) = std::move(body);
  Number(forms, definition);
  return definition;
}

Json ZooKeeperDefinition(const Forms& forms) {
  Json definition = *base::ParseJson(kZooKeeper, "ZooKeeper definition");
  JsonObject& properties = base::Find(PartOf(definition, "spec"), {"properties"})->as_object();
  for (auto& [name, property] : ServersProperties()) properties[name] = property;
  Number(forms, definition);
  return definition;
}

const Json& SchemaOf(const kube::Resource& kind, const char* part) {
  static const auto schemas = [] {
    std::map<std::pair<std::string, std::string>, Json> made;
    for (Json definition : {MultiClusterZooKeeperDefinition(), ZooKeeperDefinition()}) {
      const std::string of(base::FindString(definition, {"spec", "names", "kind"}));
      for (const char* one : {"spec", "status"}) made[{of, one}] = PartOf(definition, one);
    }
    return made;
  }();
  return schemas.at({kind.kind, part});
}

}  // namespace evenkeel::controllers::rollout::zookeeper
