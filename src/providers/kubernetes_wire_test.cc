#include "providers/kubernetes_wire.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "kube/schema.h"

namespace evenkeel::providers::kubernetes_wire_test {
namespace {

using base::Json;
using kube::Schema;
using namespace std::string_literals;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

TEST(KubernetesWire, ANodeIsWrittenAsGoWritesIt) {
  const Json node = Yaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n, labels: {a: b}}
spec: {providerID: p}
status: {capacity: {cpu: "2"}}
)");
  const std::string metadata = "\x0a\x01n" + "\x5a\x06"s +
                               "\x0a\x01"
                               "a" +
                               "\x12\x01"
                               "b";
  const std::string capacity =
      "\x0a\x0a\x0a\x03"
      "cpu" +
      "\x12\x03\x0a\x01"
      "2"s;
  EXPECT_EQ(EncodeNode(node), "\x0a\x0b" + metadata + "\x12\x03\x1a\x01p" + "\x1a\x0c" + capacity);
}

TEST(KubernetesWire, ANodeIsReadAsItWas) {
  const Json node = Yaml(R"(
apiVersion: v1
kind: Node
metadata:
  name: worker-1
  creationTimestamp: "2024-12-15T01:13:04Z"
  labels: {topology.kubernetes.io/zone: a, empty: ""}
  annotations: {x: ü}
  ownerReferences: [{apiVersion: v1, kind: K, name: o, uid: u, controller: true}]
spec:
  providerID: cloud://1
  podCIDRs: [10.0.0.0/24]
  unschedulable: true
  taints: [{key: k, value: v, effect: NoSchedule, timeAdded: "2024-01-01T00:00:00Z"}]
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "1"}
  allocatable: {cpu: 7910m, memory: 30Gi}
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2024-12-15T01:14:04Z"}]
  nodeInfo: {kubeletVersion: v1.31.0, architecture: amd64, operatingSystem: linux}
  images: [{names: [a, b], sizeBytes: 123456789012}]
  daemonEndpoints: {kubeletEndpoint: {Port: 10250}}
)");
  const auto read = DecodeNode(EncodeNode(node));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(base::Equal(*read, node)) << base::ToText(*read);
}

TEST(KubernetesWire, APodIsReadAsItWasAlsoWhereJsonHidesMessages) {
  const Json pod = Yaml(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns, uid: 0-1}
spec:
  priority: -5
  terminationGracePeriodSeconds: 0
  nodeSelector: {a: b}
  tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
  containers:
  - name: c
    image: i
    resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 2Gi}}
    ports: [{containerPort: 80, hostPort: 8080, protocol: TCP}]
    env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]
    readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
    livenessProbe: {tcpSocket: {port: 80}}
  securityContext: {supplementalGroups: [1, 2]}
  volumes:
  - {name: v, persistentVolumeClaim: {claimName: x}}
  - {name: w, configMap: {name: cm, items: [{key: a, path: b}]}}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}, minDomains: 2}
  overhead: {cpu: 10m}
  schedulingGates: [{name: g}]
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
)");
  const std::string bytes = EncodePod(pod);
  const auto read = DecodePod(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(base::Equal(*read, pod)) << base::ToText(*read);
  EXPECT_EQ(EncodePod(*read), bytes);
}

TEST(KubernetesWire, WhatGoWritesForAbsentValuesIsAbsent) {
  // metadata{name:"" creationTimestamp{}} spec{podCIDR:""}
  const auto node = DecodeNode("\x0a\x04\x0a\x00\x42\x00\x12\x02\x0a\x00"s);
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(base::ToText(*node), R"({"apiVersion":"v1","kind":"Node","metadata":{},"spec":{}})");
}

TEST(KubernetesWire, GarbageIsNamedByFieldInOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x0a\x05n"s, "v1.Node: ends in the middle of a value"},
      {"\x0a\x02\x0a\x05"s, "v1.Node: metadata: ends in the middle of a value"},
      {"\x0a\x02\x08\x01"s, "v1.Node: metadata.name: has a value of another type"},
      {"\x0a\x04\x0a\x02\xff\xfe"s, "v1.Node: metadata.name: is not UTF-8"},
      {"\x0b"s, "v1.Node: has a value of a kind that protocol buffers do not know"},
      {"\x00\x00"s, "v1.Node: has a field without a number"},
      {"\x1a\x0a\x0a\x08\x0a\x01"
       "c"
       "\x12\x03\x0a\x01"
       "x"s,
       "v1.Node: status.capacity.c: is no amount"},
      {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "v1.Node: has a number of more than 64 bits"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto node = DecodeNode(bytes);
    ASSERT_FALSE(node) << message;
    EXPECT_EQ(node.error().message(), message);
    EXPECT_EQ(node.error().code(), base::Code::kBadRequest);
  }
}

TEST(KubernetesWire, UnknownFieldsArePassedOver) {
  const auto node = DecodeNode("\xfa\x01\x03xyz\x0a\x03\x0a\x01n"s);
  ASSERT_TRUE(node);
  EXPECT_EQ(base::FindString(*node, {"metadata", "name"}), "n");
}

void CollectWithoutNumber(const Schema* schema, const std::string& path, std::set<const Schema*>& seen,
                          std::set<std::string>& missing) {
  while (schema->type == Schema::Type::kArray || schema->type == Schema::Type::kMap) schema = schema->item;
  if (schema->type != Schema::Type::kObject || !seen.insert(schema).second) return;
  const std::string numbers = std::string(kKubernetesFieldNumbers) + "\n";
  const size_t begin = numbers.find("\n" + schema->name + " ");
  size_t end = begin == std::string::npos ? begin : numbers.find('\n', begin + 1);
  while (end != std::string::npos && numbers.substr(end + 1, 2) == "  ") end = numbers.find('\n', end + 1);
  const std::string line = begin == std::string::npos ? "" : numbers.substr(begin, end - begin) + " ";
  for (const Schema::FieldSchema& field : schema->fields) {
    if (line.find("=" + field.name + " ") == std::string::npos && line.find("=" + field.name + "\n") == std::string::npos) {
      missing.insert(schema->name + "." + field.name);
      continue;
    }
    CollectWithoutNumber(field.schema, path + "." + field.name, seen, missing);
  }
}

TEST(KubernetesWire, EveryFieldOfNodesAndPodsHasANumberButThoseWithoutAShape) {
  std::set<const Schema*> seen;
  std::set<std::string> missing;
  for (const char* kind : {"Node", "Pod"}) {
    CollectWithoutNumber(kube::FindBuiltInSchema("io.k8s.api.core.v1."s + kind), kind, seen, missing);
  }
  std::erase_if(missing, [](const std::string& field) {
    return field.ends_with(".apiVersion") || field.ends_with(".kind");  // of the objects themselves
  });
  const std::set<std::string> known = {"NodeSpec.configSource",
                                       "NodeStatus.config",
                                       "ObjectMeta.managedFields",
                                       "PodResourceClaim.source",
                                       "Volume.awsElasticBlockStore",
                                       "Volume.azureDisk",
                                       "Volume.azureFile",
                                       "Volume.cephfs",
                                       "Volume.cinder",
                                       "Volume.fc",
                                       "Volume.flexVolume",
                                       "Volume.flocker",
                                       "Volume.gcePersistentDisk",
                                       "Volume.gitRepo",
                                       "Volume.glusterfs",
                                       "Volume.iscsi",
                                       "Volume.photonPersistentDisk",
                                       "Volume.portworxVolume",
                                       "Volume.quobyte",
                                       "Volume.rbd",
                                       "Volume.scaleIO",
                                       "Volume.storageos",
                                       "Volume.vsphereVolume"};
  EXPECT_EQ(missing, known);
  EXPECT_GT(seen.size(), 90u);
}

TEST(KubernetesWire, NoMessageGivesANumberTwice) {
  std::string message;
  std::set<std::string> numbers;
  std::string_view rest = kKubernetesFieldNumbers;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      message = word;
    } else {
      EXPECT_TRUE(numbers.insert(message + " " + word.substr(0, equals)).second) << message << " " << word;
    }
  }
}

}  // namespace
}  // namespace evenkeel::providers::kubernetes_wire_test
