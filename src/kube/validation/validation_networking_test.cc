#include <gtest/gtest.h>

#include <algorithm>

#include "kube/forms/defaulting.h"
#include "kube/schema/schema_text.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::validation_networking_test {
namespace {

using base::Json;

const Resource& Kind(std::string_view kind) {
  const auto& resources = BuiltInSchemas().resources;
  const auto found = std::ranges::find_if(
      resources, [&](const Resource& one) { return one.group == "networking.k8s.io" && one.kind == kind; });
  EXPECT_NE(found, resources.end()) << kind;
  return *found;
}

Json Parsed(std::string_view spec) {
  auto object = base::ParseJson(R"({"metadata":{"name":"n"},"spec":)" + std::string(spec) + "}", "test");
  EXPECT_TRUE(object) << spec;
  return object ? *object : Json();
}

std::string Problems(std::string_view kind, std::string_view spec) {
  Json object = Parsed(spec);
  ApplyKindDefaults(Kind(kind), object);
  std::string text;
  for (const base::Cause& cause : ValidateObject(Kind(kind), object)) {
    text += (text.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  }
  return text;
}

std::string PolicyPort(std::string_view port) {
  return Problems("NetworkPolicy", R"({"podSelector":{},"ingress":[{"ports":[)" + std::string(port) + "]}]}");
}
std::string PolicyPeer(std::string_view peer) {
  return Problems("NetworkPolicy", R"({"podSelector":{},"egress":[{"to":[)" + std::string(peer) + "]}]}");
}

TEST(NetworkPolicyTest, SpeaksOfWhatComesInUnlessItSaysOtherwise) {
  const auto types = [](std::string_view spec) {
    Json object = Parsed(spec);
    ApplyKindDefaults(Kind("NetworkPolicy"), object);
    return base::ToText(*base::Find(object, {"spec", "policyTypes"}));
  };
  EXPECT_EQ(types(R"({"podSelector":{}})"), R"(["Ingress"])");
  EXPECT_EQ(types(R"({"podSelector":{},"egress":[{}]})"), R"(["Ingress","Egress"])");
  EXPECT_EQ(types(R"({"podSelector":{},"policyTypes":["Egress"]})"), R"(["Egress"])");
}

TEST(NetworkPolicyTest, PortsAreCheckedInUpstreamsWords) {
  EXPECT_EQ(PolicyPort(R"({"protocol":"TCP","port":80,"endPort":90})"), "");
  EXPECT_EQ(PolicyPort(R"({"port":"http"})"), "");
  const std::string at = "spec.ingress[0].ports[0].";
  EXPECT_EQ(PolicyPort(R"({"port":70000})"), at + "port: Invalid value: 70000: must be between 1 and 65535, inclusive");
  EXPECT_EQ(PolicyPort(R"({"port":80,"endPort":70})"),
            at + "endPort: Invalid value: 80: must be greater than or equal to `port`");
  EXPECT_EQ(PolicyPort(R"({"endPort":70})"),
            at + "endPort: Invalid value: 70: may not be specified when `port` is not specified");
  EXPECT_EQ(PolicyPort(R"({"port":"http","endPort":70})"),
            at + "endPort: Invalid value: 70: may not be specified when `port` is non-numeric");
  EXPECT_EQ(PolicyPort(R"({"protocol":"ICMP"})"),
            at + R"(protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP")");
}

TEST(NetworkPolicyTest, PeersArePodsOrAddresses) {
  EXPECT_EQ(PolicyPeer(R"({"podSelector":{},"namespaceSelector":{"matchLabels":{"a":"b"}}})"), "");
  EXPECT_EQ(PolicyPeer(R"({"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}})"), "");
  EXPECT_EQ(PolicyPeer(R"({"ipBlock":{"cidr":"2001:db8::/64","except":["2001:db8::1/128"]}})"), "");
  const std::string at = "spec.egress[0].to[0]";
  EXPECT_EQ(PolicyPeer("{}"), at + ": Required value: must specify a peer");
  EXPECT_EQ(PolicyPeer(R"({"podSelector":{},"ipBlock":{"cidr":"10.0.0.0/8"}})"),
            at + ": Forbidden: may not specify both ipBlock and another peer");
  const std::string bad = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  for (const char* cidr : {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "::/129", "a/8"}) {
    EXPECT_EQ(PolicyPeer(R"({"ipBlock":{"cidr":")" + std::string(cidr) + R"("}})"),
              at + ".ipBlock.cidr: Invalid value: \"" + cidr + "\": " + bad);
  }
  for (const char* except : {"11.0.0.0/16", "10.0.0.0/8", "0.0.0.0/0", "::/16"}) {
    EXPECT_EQ(PolicyPeer(R"({"ipBlock":{"cidr":"10.0.0.0/8","except":[")" + std::string(except) + R"("]}})"),
              at + ".ipBlock.except[0]: Invalid value: \"" + except + "\": must be a strict subset of `cidr`");
  }
}

TEST(IngressTest, LeadsSomewhere) {
  const auto rule = [](std::string_view path) {
    return Problems("Ingress", R"({"rules":[{"host":"a.example","http":{"paths":[)" + std::string(path) + "]}}]}");
  };
  const std::string backend = R"("backend":{"service":{"name":"web","port":{"number":80}}})";
  EXPECT_EQ(rule(R"({"path":"/","pathType":"Prefix",)" + backend + "}"), "");
  EXPECT_EQ(Problems("Ingress", "{}"), "spec: Invalid value: {}: either `defaultBackend` or `rules` must be specified");
  const std::string at = "spec.rules[0].http.paths[0].";
  EXPECT_EQ(rule(R"({"path":"/",)" + backend + "}"), at + "pathType: Required value: pathType must be specified");
  EXPECT_EQ(rule(R"({"path":"a","pathType":"Exact",)" + backend + "}"),
            at + R"(path: Invalid value: "a": must be an absolute path)");
  EXPECT_EQ(rule(R"({"path":"/a//b","pathType":"Prefix",)" + backend + "}"),
            at + R"(path: Invalid value: "/a//b": must not contain '//')");
  EXPECT_EQ(rule(R"({"path":"/a/..","pathType":"Prefix",)" + backend + "}"),
            at + R"(path: Invalid value: "/a/..": cannot end with '/..')");
  EXPECT_EQ(rule(R"({"path":"/","pathType":"Prefix","backend":{"service":{"name":"web"}}})"),
            at + "backend: Required value: port name or number is required");
  EXPECT_EQ(rule(R"({"path":"/","pathType":"Prefix","backend":{}})"),
            at + R"(backend: Invalid value: "": resource or service backend is required)");
  EXPECT_EQ(Problems("Ingress", R"({"rules":[{"host":"10.0.0.1"}]})"),
            R"(spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address)");
  EXPECT_EQ(Problems("Ingress", R"({"rules":[{"host":"*.example"}],"tls":[{"hosts":["*.example"],"secretName":"s"}]})"), "");
  EXPECT_NE(Problems("Ingress", R"({"rules":[{"host":"a.*.example"}]})"), "");
}

TEST(IngressTest, NamesSecretsAndOneClass) {
  EXPECT_NE(Problems("Ingress", R"({"rules":[{"host":"a.example"}],"tls":[{"secretName":"A_b"}]})"), "");
  const auto created = [](std::string_view annotation) {
    const Json object =
        *base::ParseJson(R"({"metadata":{"name":"n","annotations":{"kubernetes.io/ingress.class":")" + std::string(annotation) +
                             R"("}},"spec":{"ingressClassName":"a","rules":[{"host":"a.b"}]}})",
                         "test");
    return std::pair(ValidateObject(Kind("Ingress"), object), ValidateObject(Kind("Ingress"), object, &object));
  };
  EXPECT_TRUE(created("a").first.empty());
  ASSERT_EQ(created("b").first.size(), 1u);
  EXPECT_EQ(created("b").first[0].message, R"(Invalid value: "b": must match `ingressClassName` when both are specified)");
  EXPECT_TRUE(created("b").second.empty()) << "only when it is new";
}

TEST(IngressClassTest, NamesItsControllerForGood) {
  EXPECT_EQ(Problems("IngressClass", "{}"), "spec.controller: Required value");
  EXPECT_EQ(Problems("IngressClass", R"({"controller":"example.com/ingress"})"), "");
  EXPECT_NE(Problems("IngressClass", R"({"controller":"ingress"})"), "");
  EXPECT_EQ(
      Problems("IngressClass", R"({"controller":"example.com/a","parameters":{"kind":"K","name":"n","scope":"Namespace"}})"),
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'");
  const auto causes =
      ValidateUpdate(Kind("IngressClass"), Parsed(R"({"controller":"a.com/b"})"), Parsed(R"({"controller":"a.com/a"})"));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].field, "spec.controller");
}

}  // namespace
}  // namespace evenkeel::kube::validation_networking_test
