#include "controllers/rollout/zookeeper/spec/desired_servers.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/object.h"
#include "kube/schema/schema.h"

namespace evenkeel::controllers::rollout::zookeeper::desired_servers_test {
namespace {

using base::Json;

TEST(ServersSpecTest, HasDefaults) {
  ServersSpec spec;
  ASSERT_TRUE(ReadServersSpec(*base::ParseJson("{}", "test"), "spec", spec));
  EXPECT_EQ(spec.image, "zookeeper:3.8");
  EXPECT_EQ(spec.pull_policy, "");
  EXPECT_EQ(spec.config.at("autopurge.purgeInterval"), "24");
  EXPECT_EQ(spec.election_port, 3888);
  EXPECT_EQ(spec.storage_size, "10Gi");
  EXPECT_EQ(spec.pod_template, Json(base::JsonObject{}));
}

constexpr const char* kAll = R"({
    "image": {"repository": "r/zk", "tag": "3.8.4", "pullPolicy": "Always", "pullSecrets": ["one", "two"]},
    "config": {"tickTime": 500, "autopurge": {"purgeInterval": 0}, "extra": {"snapCount": "5"}},
    "ports": {"client": 1, "quorum": 2, "election": 3, "clientAddress": "Host"},
    "storage": {"type": "persistent", "size": "1Gi", "storageClass": "fast", "reclaimPolicy": "Delete"},
    "tls": {"quorumSecret": "q", "quorumMode": "Prefer", "clientSecret": "c", "clientAuth": "want"},
    "paused": true,
    "podTemplate": {"metadata": {"labels": {"team": "t"}, "annotations": {"a": null}}, "spec": {
      "serviceAccountName": "own", "terminationGracePeriodSeconds": 5, "nodeSelector": {"disk": "ssd"}, "affinity": null,
      "tolerations": [{"key": "k", "operator": "Exists"}], "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
      "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
      "containers": [{"name": "zookeeper", "resources": {"requests": {"cpu": "1"}}, "securityContext": {"privileged": false},
                      "env": [{"name": "JVMFLAGS", "value": "-Xmx1g"}]}]}}})";

TEST(ServersSpecTest, EverythingMayBeSaidAndTheSchemasTakeIt) {
  const Json body = *base::ParseJson(kAll, "test");
  ServersSpec spec;
  const auto read = ReadServersSpec(body, "spec", spec);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(spec.pull_secrets, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(spec.client_port, 1);
  EXPECT_TRUE(spec.paused);
  EXPECT_TRUE(spec.reclaim);
  EXPECT_EQ(spec.quorum_secret, "q");
  EXPECT_EQ(spec.config.at("ssl.clientAuth"), "want");
  const auto check = [&](const Json& definition, const Json& object) {
    const Json& version = definition.at("spec").at("versions").as_array()[0];
    kube::SchemaSet owner;
    const auto schema = kube::SchemaFromOpenApi(version.at("schema").at("openAPIV3Schema"), owner);
    ASSERT_TRUE(schema) << schema.error().message();
    owner.Seal();
    Json pruned(object, {});
    std::vector<std::string> unknown;
    kube::Prune(pruned, **schema, &unknown);
    EXPECT_EQ(unknown, std::vector<std::string>{});
    for (const base::Cause& cause : kube::Validate(pruned, **schema)) ADD_FAILURE() << cause.field << ": " << cause.message;
    kube::ApplyDefaults(pruned, **schema);
    if (base::Find(object, {"spec", "template"}) != nullptr) {
      EXPECT_EQ(pruned.at("spec").at("template"), object.at("spec").at("template")) << "a template gets no defaults";
    }
  };
  check(ZooKeeperDefinition(), base::JsonObject{{"spec", body}});
  Json ensemble = base::JsonObject{{"spec", base::JsonObject{{"template", body}}}};
  base::Ensure(ensemble, {"spec", "placement", "clusters"}) =
      base::JsonArray{base::JsonObject{{"name", "m1"}, {"replicas", 1}}};
  check(MultiClusterZooKeeperDefinition(), ensemble);
}

TEST(ServersSpecTest, TlsAmongServersComesInThreeModes) {
  const auto keys = [](const std::string& mode) {
    ServersSpec spec;
    const std::string more = mode.empty() ? "" : R"(, "quorumMode": ")" + mode + "\"";
    EXPECT_TRUE(ReadServersSpec(*base::ParseJson(R"({"tls": {"quorumSecret": "q")" + more + "}}", "test"), "spec", spec));
    return spec.config.at("sslQuorum") + " " + spec.config.at("portUnification");
  };
  EXPECT_EQ(keys("Accept"), "false true");
  EXPECT_EQ(keys("Prefer"), "true true");
  EXPECT_EQ(keys("Require"), "true false");
  EXPECT_EQ(keys(""), "true false");
}

TEST(ServersSpecTest, WithoutTlsItsKeysMayBeSaidInOtherWays) {
  ServersSpec spec;
  EXPECT_TRUE(ReadServersSpec(*base::ParseJson(R"({"config": {"extra": {"sslQuorum": "true"}}})", "test"), "spec", spec));
  EXPECT_EQ(spec.config.at("sslQuorum"), "true");
}

struct Case {
  std::string name, body, wrong;
};
class WrongServersSpecTest : public ::testing::TestWithParam<Case> {};

TEST_P(WrongServersSpecTest, SaysWhat) {
  ServersSpec spec;
  const auto read = ReadServersSpec(*base::ParseJson(GetParam().body, "test"), "spec.template", spec);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "spec.template." + GetParam().wrong);
  EXPECT_EQ(read.error().code(), base::Code::kBadRequest);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, WrongServersSpecTest,
    ::testing::Values(
        Case{"Tag", R"({"image": {"tag": 3.8}})", "image.tag: not a text"},
        Case{"PullPolicy", R"({"image": {"pullPolicy": "Sometimes"}})",
             "image.pullPolicy: \"Sometimes\" is not Always, IfNotPresent or Never"},
        Case{"PullSecrets", R"({"image": {"pullSecrets": [{"name": "a"}]}})", "image.pullSecrets[0]: not a text"},
        Case{"TickTime", R"({"config": {"tickTime": "soon"}})", "config.tickTime: not a whole number from 1 to 2147483647"},
        Case{"Retained", R"({"config": {"autopurge": {"snapRetainCount": 2}}})",
             "config.autopurge.snapRetainCount: not a whole number from 3 to 2147483647"},
        Case{"ReservedKey", R"({"config": {"extra": {"peerType": "observer"}}})",
             "config.extra.peerType: is not for you to set"},
        Case{"OfItsOwn", R"({"config": {"extra": {"tickTime": "1"}}})",
             "config.extra.tickTime: has a field of its own, spec.template.config.tickTime"},
        Case{"Port", R"({"ports": {"quorum": 65536}})", "ports.quorum: not a whole number from 1 to 65535"},
        Case{"ClientAddress", R"({"ports": {"clientAddress": "here"}})", "ports.clientAddress: \"here\" is not Any or Host"},
        Case{"Storage", R"({"storage": {"type": "tape"}})", "storage.type: \"tape\" is not persistent or ephemeral"},
        Case{"Size", R"({"storage": {"size": "much"}})", "storage.size: not a quantity"},
        Case{"ReclaimPolicy", R"({"storage": {"reclaimPolicy": "Recycle"}})",
             "storage.reclaimPolicy: \"Recycle\" is not Retain or Delete"},
        Case{"QuorumSecret", R"({"tls": {"quorumSecret": "a/b"}})", "tls.quorumSecret: " + kube::CheckDnsSubdomain("a/b")},
        Case{"QuorumMode", R"({"tls": {"quorumSecret": "q", "quorumMode": "Hope"}})",
             "tls.quorumMode: \"Hope\" is not Accept, Prefer or Require"},
        Case{"ModeAlone", R"({"tls": {"quorumMode": "Accept"}})", "tls.quorumMode: needs a quorumSecret"},
        Case{"AuthAlone", R"({"tls": {"clientAuth": "none"}})", "tls.clientAuth: needs a clientSecret"},
        Case{"SamePort", R"({"tls": {"clientSecret": "c"}, "ports": {"secureClient": 2181}})",
             "ports.secureClient: is ports.client, too"},
        Case{"QuorumTwice", R"({"tls": {"quorumSecret": "q"}, "config": {"extra": {"ssl.quorum.keyStore.location": "/x"}}})",
             "config.extra.ssl.quorum.keyStore.location: is said by spec.template.tls"},
        Case{"ClientTwice", R"({"tls": {"clientSecret": "c"}, "config": {"extra": {"secureClientPort": "1"}}})",
             "config.extra.secureClientPort: is said by spec.template.tls"},
        Case{"Paused", R"({"paused": "yes"})", "paused: not true or false"},
        Case{"PodName", R"({"podTemplate": {"metadata": {"name": "a"}}})",
             "podTemplate.metadata.name: only labels and annotations are known"},
        Case{"PodField", R"({"podTemplate": {"containers": []}})", "podTemplate.containers: only metadata and spec are known"},
        Case{"NoContainer", R"({"podTemplate": {"spec": {"containers": []}}})",
             "podTemplate.spec.containers: empty, which would leave no server: leave it out"},
        Case{"Nameless", R"({"podTemplate": {"spec": {"containers": [{"image": "a"}]}}})",
             "podTemplate.spec.containers: one has no name; the server's is zookeeper"},
        Case{"PodType", R"({"podTemplate": {"spec": {"terminationGracePeriodSeconds": "soon"}}})",
             "podTemplate.spec.terminationGracePeriodSeconds: Invalid value: \"string\": "
             "spec.template.podTemplate.spec.terminationGracePeriodSeconds in body must be of type integer: \"string\""}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::desired_servers_test
