#include "providers/object_bytes.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace evenkeel::providers::object_bytes_test {
namespace {

using base::Json;
using namespace std::string_literals;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

/// Of `all` the fields that `some` has.
Json Common(const Json& all, const Json& some) {
  if (all.is_array() && some.is_array() && all.get_array().size() == some.get_array().size()) {
    base::JsonArray items;
    for (size_t i = 0; i < all.get_array().size(); ++i) items.push_back(Common(all.get_array()[i], some.get_array()[i]));
    return items;
  }
  if (!all.is_object() || !some.is_object()) return all;
  base::JsonObject fields;
  for (const auto& [key, value] : some.get_object()) {
    if (const Json* found = base::Find(all.get_object(), key)) fields[key] = Common(*found, value);
  }
  return fields;
}

TEST(ObjectBytesTest, ANodeIsReadAsItWas) {
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
  // Besides what it was it has what Go always writes.
  EXPECT_TRUE(base::Equal(Common(*read, node), node)) << base::ToText(*read);
  EXPECT_EQ(EncodeNode(*read), EncodeNode(node));
}

TEST(ObjectBytesTest, APodIsReadAsItWasAlsoWhereJsonHidesMessages) {
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
  EXPECT_TRUE(base::Equal(Common(*read, pod), pod)) << base::ToText(*read);
  EXPECT_EQ(EncodePod(*read), bytes);
}

TEST(ObjectBytesTest, WhatGoWritesForAbsentValuesIsAbsent) {
  // metadata{name:"" creationTimestamp{}} spec{podCIDR:""}
  const auto node = DecodeNode("\x0a\x04\x0a\x00\x42\x00\x12\x02\x0a\x00"s);
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(base::ToText(*node), R"({"apiVersion":"v1","kind":"Node","metadata":{},"spec":{}})");
}

TEST(ObjectBytesTest, GarbageIsNamedByFieldInOneLine) {
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

TEST(ObjectBytesTest, UnknownFieldsArePassedOver) {
  const auto node = DecodeNode("\xfa\x01\x03xyz\x0a\x03\x0a\x01n"s);
  ASSERT_TRUE(node);
  EXPECT_EQ(base::FindString(*node, {"metadata", "name"}), "n");
}

}  // namespace
}  // namespace evenkeel::providers::object_bytes_test
