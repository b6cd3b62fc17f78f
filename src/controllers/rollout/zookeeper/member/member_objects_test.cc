#include "controllers/rollout/zookeeper/member/member_objects.h"

#include <algorithm>
#include <map>

#include "controllers/rollout/zookeeper/member/picture_testing.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member::member_objects_test {
namespace {

using base::FindString;
using base::Json;
using testing::SpecOf;

Json Find(const std::vector<Json>& objects, std::string_view kind, std::string_view name) {
  const auto found = std::ranges::find_if(
      objects, [&](const Json& object) { return FindString(object, {"kind"}) == kind && kube::NameOf(object) == name; });
  EXPECT_NE(found, objects.end()) << name;
  return found == objects.end() ? Json() : *found;
}

const std::vector<int64_t> kServers{1, 2, 11};

TEST(MemberObjects, AreThoseOfAnEnsemble) {
  const auto objects = RenderObjects(SpecOf(2, kServers), "super:x", false);
  ASSERT_EQ(objects.size(), 5U);
  const Json config = Find(objects, "ConfigMap", "zk-config");
  EXPECT_EQ(FindString(config, {"data", "zoo.cfg.dynamic"}),
            "server.1=h1:2888:3888:participant;2181\nserver.2=h2:2888:3888:participant;2181\n"
            "server.11=h11:2888:3888:participant;2181\n");
  EXPECT_EQ(FindString(config, {"data", "zoo.cfg"}),
            "4lw.commands.whitelist=ruok,srvr,mntr,conf\nDigestAuthenticationProvider.superDigest=super:x\n"
            "admin.enableServer=false\nautopurge.purgeInterval=24\nautopurge.snapRetainCount=3\ninitLimit=10\n"
            "maxClientCnxns=60\nquorumListenOnAllIPs=true\nreconfigEnabled=true\nstandaloneEnabled=false\nsyncLimit=5\n"
            "tickTime=2000\n");
  const Json headless = Find(objects, "Service", "zk-headless");
  EXPECT_TRUE(base::FindBool(headless, {"spec", "publishNotReadyAddresses"}));
  EXPECT_EQ(FindString(headless, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(base::FindArray(headless, {"spec", "ports"}).size(), 3U);
  EXPECT_FALSE(base::FindBool(Find(objects, "Service", "zk-client"), {"spec", "publishNotReadyAddresses"}));
  EXPECT_EQ(base::FindInt(Find(objects, "PodDisruptionBudget", "zk"), {"spec", "maxUnavailable"}), 1);
  for (const Json& object : objects) {
    EXPECT_EQ(FindString(object, {"metadata", "labels", kEnsembleLabel}), "zk");
    EXPECT_EQ(FindString(base::FindArray(object, {"metadata", "ownerReferences"})[0], {"uid"}), "u1");
  }
}

TEST(MemberObjects, TheStatefulSetReplacesNothingByItself) {
  const Json set = RenderStatefulSet(SpecOf(2, kServers), "super:x", 1);
  EXPECT_EQ(base::FindInt(set, {"spec", "replicas"}), 1);
  EXPECT_EQ(FindString(set, {"spec", "podManagementPolicy"}), "Parallel");
  EXPECT_EQ(FindString(set, {"spec", "updateStrategy", "type"}), "OnDelete");
  EXPECT_EQ(FindString(set, {"spec", "serviceName"}), "zk-headless");
  EXPECT_EQ(base::FindArray(set, {"spec", "volumeClaimTemplates"}).size(), 1U);
  EXPECT_EQ(base::Find(set, {"spec", "ordinals"}), nullptr);
  const Json& container = base::FindArray(set, {"spec", "template", "spec", "containers"})[0];
  EXPECT_EQ(FindString(container, {"image"}), "zookeeper:3.8");
  EXPECT_NE(base::Find(container, {"readinessProbe", "exec"}), nullptr);
}

TEST(MemberObjects, PodsHaveAnAccountThatMayDoNothingUnlessTheyAreGivenAnother) {
  const auto account_of = [](const std::string& more) {
    const Json set = RenderStatefulSet(SpecOf(2, kServers, 0, more), "super:x", 2);
    return std::string(FindString(set, {"spec", "template", "spec", "serviceAccountName"}));
  };
  EXPECT_EQ(account_of("{}"), "zk-servers");
  EXPECT_EQ(account_of(R"({"spec": {"podTemplate": {"spec": {"serviceAccountName": "own"}}}})"), "own");
  const Json account = Find(RenderObjects(SpecOf(2, kServers), "super:x", false), "ServiceAccount", "zk-servers");
  EXPECT_FALSE(base::FindBool(account, {"automountServiceAccountToken"}, true));
}

TEST(MemberObjects, SecretsForTlsAreMounted) {
  const MemberSpec spec = SpecOf(2, kServers, 0, R"({"spec": {"tls": {"quorumSecret": "q", "clientSecret": "c"}}})");
  const Json set = RenderStatefulSet(spec, "super:x", 2);
  std::map<std::string, std::string> volumes, mounts;
  for (const Json& volume : base::FindArray(set, {"spec", "template", "spec", "volumes"})) {
    volumes[std::string(FindString(volume, {"name"}))] = FindString(volume, {"secret", "secretName"});
  }
  const Json& container = base::FindArray(set, {"spec", "template", "spec", "containers"})[0];
  for (const Json& mount : base::FindArray(container, {"volumeMounts"})) {
    mounts[std::string(FindString(mount, {"mountPath"}))] = volumes[std::string(FindString(mount, {"name"}))];
  }
  EXPECT_EQ(mounts.at("/etc/evenkeel-zookeeper-tls/quorum"), "q");
  EXPECT_EQ(mounts.at("/etc/evenkeel-zookeeper-tls/client"), "c");
  EXPECT_TRUE(mounts.contains("/run/evenkeel-zookeeper"));
  const auto objects = RenderObjects(spec, "super:x", false);
  const std::string config(FindString(Find(objects, "ConfigMap", "zk-config"), {"data", "zoo.cfg"}));
  for (const char* line : {"sslQuorum=true\n", "portUnification=false\n", "secureClientPort=2281\n", "ssl.clientAuth=need\n",
                           "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"}) {
    EXPECT_TRUE(config.contains(line)) << line;
  }
  EXPECT_EQ(base::FindArray(Find(objects, "Service", "zk-headless"), {"spec", "ports"}).size(), 4U);
  EXPECT_EQ(base::FindArray(Find(objects, "Service", "zk-client"), {"spec", "ports"}).size(), 2U);
}

TEST(MemberObjects, VolumesMayGoWithTheirPods) {
  const Json set = RenderStatefulSet(SpecOf(2, kServers, 0, R"({"spec": {"storage": {"type": "ephemeral"}}})"), "super:x", 2);
  EXPECT_EQ(base::Find(set, {"spec", "volumeClaimTemplates"}), nullptr);
  EXPECT_EQ(base::FindArray(set, {"spec", "template", "spec", "volumes"}).size(), 2U);
}

TEST(MemberObjects, TheListOfServersDoesNotRestartAnybody) {
  const std::string revision = PodRevision(SpecOf(2, kServers), "super:x");
  EXPECT_EQ(PodRevision(SpecOf(2, {1, 2, 11, 21}), "super:x"), revision);
  EXPECT_EQ(PodRevision(SpecOf(1, kServers), "super:x"), revision);
  EXPECT_EQ(PodRevision(SpecOf(2, kServers, 0, R"({"spec": {"rolloutRevision": "other"}})"), "super:x"), revision);
}

TEST(MemberObjects, WhatServersAreStartedWithDoes) {
  const std::string revision = PodRevision(SpecOf(2, kServers), "super:x");
  for (const char* more : {R"({"spec": {"image": {"tag": "3.9"}}})", R"({"spec": {"config": {"tickTime": 1000}}})",
                           R"({"spec": {"config": {"extra": {"snapCount": "5"}}}})",
                           R"({"spec": {"tls": {"quorumSecret": "q", "quorumMode": "Accept"}}})",
                           R"({"spec": {"podTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}})"}) {
    EXPECT_NE(PodRevision(SpecOf(2, kServers, 0, more), "super:x"), revision) << more;
  }
  EXPECT_NE(PodRevision(SpecOf(2, kServers), "super:y"), revision);
}

TEST(MemberObjects, APodTemplateIsPutOver) {
  const MemberSpec spec = SpecOf(2, kServers, 0, R"({"spec": {"podTemplate": {
      "metadata": {"annotations": {"a": "b"}, "labels": {"evenkeel.dev/zookeeper": "mine", "team": "t"}},
      "spec": {"tolerations": [], "volumes": [], "containers": [
        {"name": "zookeeper", "env": [{"name": "X", "value": "1"}, {"name": "POD_NAME", "value": "y"}], "command": ["z"]},
        {"name": "sidecar", "image": "s"}]}}}})");
  const Json set = RenderStatefulSet(spec, "super:x", 2);
  const Json& pods = *base::Find(set, {"spec", "template"});
  EXPECT_EQ(FindString(pods, {"metadata", "annotations", "a"}), "b");
  EXPECT_EQ(FindString(pods, {"metadata", "labels", "team"}), "t");
  EXPECT_EQ(FindString(pods, {"metadata", "labels", kEnsembleLabel}), "zk") << "who belongs together is not for it to say";
  EXPECT_TRUE(base::FindArray(pods, {"spec", "volumes"}).empty()) << "an empty list replaces what is there";
  EXPECT_NE(base::Find(pods, {"spec", "affinity"}), nullptr);
  const base::JsonArray& containers = base::FindArray(pods, {"spec", "containers"});
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(FindString(containers[0], {"image"}), "zookeeper:3.8");
  EXPECT_EQ(base::FindArray(containers[0], {"command"}).size(), 1U);
  ASSERT_EQ(base::FindArray(containers[0], {"env"}).size(), 2U);
  EXPECT_EQ(FindString(base::FindArray(containers[0], {"env"})[0], {"value"}), "y");
}

TEST(MemberObjects, NothingThatEmptiesNodesTakesAServerUnlessThatIsAskedFor) {
  const auto safe = [](const char* more) {
    const Json set = RenderStatefulSet(SpecOf(2, kServers, 0, more), "super:x", 2);
    return std::string(
        FindString(set, {"spec", "template", "metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}));
  };
  EXPECT_EQ(safe("{}"), "false");
  EXPECT_EQ(safe(R"({"spec": {"podTemplate": {"metadata": {"annotations": {
      "cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}}}})"),
            "true");
}

TEST(MemberObjects, TheServiceIsTheOneOfTheServersNames) {
  const MemberSpec spec = SpecOf(1, {}, 0, R"({"spec": {"servers": [
      "server.1=zk-0.zk-headless-m1.data.svc.example.org:2888:3888:participant;2181"]}})");
  EXPECT_EQ(FindString(RenderStatefulSet(spec, "super:x", 1), {"spec", "serviceName"}), "zk-headless-m1");
  Find(RenderObjects(spec, "super:x", false), "Service", "zk-headless-m1");
  const MemberSpec native = SpecOf(1, {}, 10, R"({"spec": {"ordinalsStart": 10, "servers": [
      "server.11=zk-10.zk-headless.data.svc.example.org:2888:3888:participant;2181"]}})");
  const Json set = RenderStatefulSet(native, "super:x", 1);
  EXPECT_EQ(FindString(set, {"spec", "serviceName"}), "zk-headless");
  EXPECT_EQ(base::FindInt(set, {"spec", "ordinals", "start"}), 10);
}

TEST(MemberObjects, ServersWithAnAddressOfTheirOwnKeepToIt) {
  const MemberSpec spec =
      SpecOf(1, {}, 0, R"({"spec": {"servers": ["server.1=127.9.0.1:2888:3888:participant;127.9.0.1:2181"]}})");
  const auto objects = RenderObjects(spec, "super:x", false);
  EXPECT_TRUE(FindString(objects[0], {"data", "zoo.cfg"}).contains("quorumListenOnAllIPs=false\n"));
}

TEST(MemberObjects, ThePasswordIsDigestedAsZooKeeperDoes) {
  // As `java org.apache.zookeeper.server.auth.DigestAuthenticationProvider super:secret` prints it.
  EXPECT_EQ(SuperDigest("secret"), "super:lK75jTNcA+U9vtVEw5vB51mj/w4=");
  EXPECT_EQ(FindString(RenderAdminSecret(SpecOf(1, {1}), "secret"), {"data", "password"}), "c2VjcmV0");
}

TEST(MemberObjectsTest, ServersOnVolumesHearThatThereIsAnEnsemble) {
  const auto hears = [](const MemberSpec& spec, bool formed) {
    const Json config = Find(RenderObjects(spec, "super:x", formed), "ConfigMap", "zk-config");
    return base::Find(config, {"data", "formed"}) != nullptr;
  };
  const MemberSpec spec = SpecOf(2, kServers);
  EXPECT_TRUE(hears(spec, true));
  EXPECT_FALSE(hears(spec, false));
  EXPECT_FALSE(hears(SpecOf(2, kServers, 0, R"({"spec": {"storage": {"type": "ephemeral"}}})"), true));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::member_objects_test
