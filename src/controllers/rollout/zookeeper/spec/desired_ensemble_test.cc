#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "controllers/rollout/zookeeper/plan/membership.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/schema/schema.h"

namespace evenkeel::controllers::rollout::zookeeper::desired_ensemble_test {
namespace {

constexpr const char* kEnsemble = R"(
apiVersion: evenkeel.dev/v1alpha1
kind: MultiClusterZooKeeper
metadata: {name: zk, namespace: data}
spec:
  replicas: 5
  placement:
    clusters:
    - {name: m1, replicas: 2, clusterID: c1}
    - {name: m2, replicas: 2, clusterID: c2}
    - {name: m3, replicas: 1}
    requireClusterFaultTolerance: true
  naming: {mode: clusterset, stride: 10}
  template: {image: {tag: 3.8.4}}
  rollout: {order: [m3, m1, m2], progressDeadlineSeconds: 60, onFailure: Rollback, paused: false}
  revisionHistoryLimit: 3
)";

kube::ManifestObject Edited(std::string_view from = "", std::string_view to = "") {
  std::string text = kEnsemble;
  if (!from.empty()) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return {*base::ParseYamlDocument(text, "test"), "test:1"};
}

std::string ErrorOf(std::string_view from, std::string_view to) {
  const auto spec = DecodeSpec(Edited(from, to));
  if (spec) return "none";
  const std::string prefix = "test:1: MultiClusterZooKeeper data/";
  EXPECT_TRUE(spec.error().message().starts_with(prefix)) << spec.error().message();
  return spec.error().message().substr(spec.error().message().find(": ", prefix.size()) + 2);
}

TEST(EnsembleSpecTest, IsReadAsWritten) {
  const auto spec = DecodeSpec(Edited());
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->shares, (Shares{{"m1", 2}, {"m2", 2}, {"m3", 1}}));
  EXPECT_EQ(spec->cluster_ids.at("m1"), "c1");
  EXPECT_EQ(spec->cluster_ids.at("m3"), "m3");
  EXPECT_EQ(spec->policy.progress_deadline, std::chrono::minutes(1));
  EXPECT_EQ(spec->policy.on_failure, OnFailure::kRollback);
  EXPECT_EQ(spec->policy.history_limit, 3u);
  EXPECT_EQ(spec->unsafe, "");
  EXPECT_EQ(spec->even, "");
}

TEST(EnsembleSpecTest, WhatCannotBeIsRefusedWithFieldAndReason) {
  EXPECT_EQ(ErrorOf("replicas: 5", "replicas: 4"), "spec.replicas: 4, but the clusters of spec.placement have 5 together");
  EXPECT_EQ(ErrorOf("name: m2,", "name: m1,"), "spec.placement.clusters[1].name: \"m1\" is listed twice");
  EXPECT_EQ(ErrorOf("clusterID: c2", "clusterID: c1"), "spec.placement.clusters[1].clusterID: \"c1\" is the one of m1, too");
  EXPECT_EQ(ErrorOf("m1, replicas: 2", "m1, replicas: 0"),
            "spec.placement.clusters[0].replicas: not a whole number from 1 to 255");
  EXPECT_EQ(ErrorOf("stride: 10", "stride: 1"),
            "spec.placement.clusters[0].replicas: 2 replicas, but spec.naming.stride gives a cluster 1 ids");
  EXPECT_EQ(ErrorOf("[m3, m1, m2]", "[m3, m1, m4]"), "spec.rollout.order[2]: \"m4\" is not a cluster of spec.placement");
  EXPECT_EQ(ErrorOf("[m3, m1, m2]", "[m3, m1, m3]"), "spec.rollout.order[2]: \"m3\" is listed twice");
  EXPECT_EQ(ErrorOf("[m3, m1, m2]", "[m3, m1]"), "spec.rollout.order: m2 is missing: it has to name every cluster once");
  EXPECT_EQ(ErrorOf("onFailure: Rollback", "onFailure: Retry"), "spec.rollout.onFailure: \"Retry\" is not Pause or Rollback");
  EXPECT_EQ(ErrorOf("paused: false", "paused: 7"), "spec.rollout.paused: not true or false");
  EXPECT_EQ(ErrorOf("mode: clusterset", "mode: mesh"),
            "spec.naming.mode: \"mesh\" is not clusterset, native, perClusterService or external");
  EXPECT_EQ(ErrorOf("mode: clusterset", "mode: external"),
            "spec.naming.template: external names need a template with <c> and <o>; <c> is missing");
  EXPECT_EQ(ErrorOf("{image: {tag: 3.8.4}}", "{replicas: 3}"),
            "spec.template.replicas: differs from cluster to cluster and is filled in for each: leave it out");
  EXPECT_EQ(ErrorOf("{image: {tag: 3.8.4}}", "{storage: {type: paper}}"),
            "spec.template.storage.type: \"paper\" is not persistent or ephemeral");
  EXPECT_EQ(ErrorOf("{image: {tag: 3.8.4}}", "{tls: {quorumSecret: q, quorumMode: Accept}}"),
            "spec.template.tls.quorumMode: is led from one to the next by itself: leave it out");
  EXPECT_EQ(ErrorOf("  placement:", "  place:").substr(0, 32), "spec.placement.clusters: missing");
}

TEST(EnsembleSpecTest, WhoAsksForARecoveryHasToSayAllOfIt) {
  const auto wrong = [](const std::string& request) {
    kube::ManifestObject object = Edited();
    base::Ensure(object.object, {"spec", "forceRecovery"}) = *base::ParseJson(request, "test");
    const auto spec = DecodeSpec(object);
    if (spec) return std::string(spec->recovery ? "none" : "lost");
    const std::string& message = spec.error().message();
    return message.substr(message.find("spec.forceRecovery") + 19);
  };
  const std::string rest = R"(, "survivors": ["m3"], "lost": ["m9"]})";
  EXPECT_EQ(wrong(R"({"request": "a", "acknowledgeDataLoss": true)" + rest), "none");
  EXPECT_EQ(wrong(R"({"request": "", "acknowledgeDataLoss": true)" + rest), "request: not a name of 1 to 63 characters");
  EXPECT_EQ(wrong(R"({"request": "a/b", "acknowledgeDataLoss": true)" + rest), "request: letters, digits and -_.:+ only");
  EXPECT_EQ(wrong(R"({"request": "a")" + rest),
            "acknowledgeDataLoss: has to be true: what only the lost servers knew is gone then");
  const std::string begin = R"({"request": "a", "acknowledgeDataLoss": true, )";
  EXPECT_EQ(wrong(begin + R"("survivors": [], "lost": ["m9"]})"), "survivors: not a list of cluster names");
  EXPECT_EQ(wrong(begin + R"("survivors": ["m3"], "lost": ["m9", "m9"]})"), "lost: not names of different clusters");
  EXPECT_EQ(wrong(begin + R"("survivors": ["m8"], "lost": ["m9"]})"), "survivors: \"m8\" is not a cluster of spec.placement");
  EXPECT_EQ(wrong(begin + R"("survivors": ["m3"], "lost": ["m3"]})"), "lost: \"m3\" is a survivor, too");
  EXPECT_EQ(wrong(begin + R"("survivors": ["m3"], "lost": ["m1"]})").substr(0, 39),
            "lost: \"m1\" is still in spec.placement: ");
}

TEST(EnsembleSpecTest, NamesHaveToFitIntoDns) {
  EXPECT_TRUE(DecodeSpec(Edited("name: zk", "name: " + std::string(54, 'a'))));
  EXPECT_EQ(ErrorOf("name: zk", "name: " + std::string(55, 'a')),
            "metadata.name: the Service " + std::string(55, 'a') + "-headless would be longer than 63 characters");
  EXPECT_NE(ErrorOf("name: zk", "name: 9zk"), "none");
  EXPECT_NE(ErrorOf("clusterID: c1", "clusterID: " + std::string(64, 'c')), "none");
  EXPECT_NE(ErrorOf("name: m1,", "name: " + std::string(49, 'm') + ","), "none");
  // Each label is short enough, all of them together are not.
  EXPECT_NE(ErrorOf("mode: clusterset", "mode: native, clusterDomain: " + std::string(60, 'd') + "." + std::string(60, 'd') +
                                            "." + std::string(60, 'd') + "." + std::string(60, 'd')),
            "none");
}

TEST(EnsembleSpecTest, APlacementThatOneClusterCanBringDownIsAWarningOrRefused) {
  EXPECT_EQ(ErrorOf("replicas: 1}\n    require", "replicas: 1}\n    ignore"), "none");
  kube::ManifestObject unsafe = Edited("replicas: 2, clusterID: c1", "replicas: 3, clusterID: c1");
  base::Ensure(unsafe.object, {"spec", "replicas"}) = 6;
  const auto refused = DecodeSpec(unsafe);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("spec.placement: without m1 3 of 6 voters are left, but a majority is 4"),
            std::string::npos);
  base::Ensure(unsafe.object, {"spec", "placement", "requireClusterFaultTolerance"}) = false;
  const auto warned = DecodeSpec(unsafe);
  ASSERT_TRUE(warned);
  EXPECT_NE(warned->unsafe, "");
  EXPECT_EQ(warned->even, "6 voters survive the loss of no more than 5 do");
}

struct PlacementRow {
  std::vector<int> shares;
  bool survives;  ///< the loss of any one cluster
};

TEST(EnsembleSpecTest, WhichPlacementsSurviveTheLossOfACluster) {
  for (const PlacementRow& row :
       {PlacementRow{{1, 1, 1}, true}, PlacementRow{{2, 2, 1}, true}, PlacementRow{{3, 2, 2}, true},
        PlacementRow{{3, 3, 3}, true}, PlacementRow{{2, 1}, false}, PlacementRow{{3, 2}, false}, PlacementRow{{3, 1, 1}, false},
        PlacementRow{{2, 1, 1, 1}, true}, PlacementRow{{1, 1, 1, 1, 1}, true}, PlacementRow{{3}, false},
        PlacementRow{{2, 1, 1}, false}, PlacementRow{{1, 1, 1, 1}, true}}) {
    base::JsonArray clusters;
    std::string name;
    for (const int share : row.shares) {
      clusters.push_back(base::JsonObject{{"name", "m" + std::to_string(clusters.size() + 1)}, {"replicas", share}});
      name += " " + std::to_string(share);
    }
    for (const bool required : {false, true}) {
      kube::ManifestObject object = Edited("order: [m3, m1, m2], ", "");
      object.object.at("spec").as_object().erase("replicas");
      base::Ensure(object.object, {"spec", "placement", "clusters"}) = clusters;
      base::Ensure(object.object, {"spec", "placement", "requireClusterFaultTolerance"}) = required;
      const auto spec = DecodeSpec(object);
      EXPECT_EQ(spec.has_value(), row.survives || !required) << name;
      EXPECT_TRUE(!spec || spec->unsafe.empty() == row.survives) << name;
    }
  }
}

TEST(ServerNamesTest, ATemplateThatGivesTwoServersOneNameIsRefused) {
  kube::ManifestObject object = Edited("{mode: clusterset, stride: 10}", "{mode: external, stride: 20, template: zk-<c><o>}");
  EXPECT_TRUE(DecodeSpec(object));
  base::Ensure(object.object, {"spec"}).as_object().erase("replicas");
  base::Ensure(object.object, {"spec", "rollout"}).as_object().erase("order");
  base::Ensure(object.object, {"spec", "placement"}) =
      *base::ParseYamlDocument("{clusters: [{name: m, replicas: 11}, {name: m1, replicas: 1}]}", "test");
  const auto spec = DecodeSpec(object);
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message().find("spec.naming.template: \"zk-m10\" would be two servers"), std::string::npos)
      << spec.error().message();
}

TEST(ServerNamesTest, EachModeHasItsNames) {
  const auto host = [](const std::string& naming) {
    const auto spec = DecodeSpec(Edited("{mode: clusterset, stride: 10}", naming));
    EXPECT_TRUE(spec) << (spec ? "" : spec.error().message());
    return spec ? HostName(*spec, "m2", {1, "c2"}, 0) : "";
  };
  EXPECT_EQ(host("{}"), "zk-0.c2.zk-headless.data.svc.clusterset.local");
  EXPECT_EQ(host("{mode: native}"), "zk-10.zk-headless.data.svc.cluster.local");
  EXPECT_EQ(host("{mode: perClusterService, clusterDomain: example.org}"), "zk-0.zk-headless-m2.data.svc.example.org");
  EXPECT_EQ(host("{mode: external, template: <zk>-<c>-<o>.<ns>.example.org}"), "zk-m2-0.data.example.org");
  EXPECT_EQ(host("{mode: external, template: 127.9.0.<id>}"), "127.9.0.11");
}

TEST(ServerNamesTest, TheListIsByIdAndTheSameForAll) {
  const auto spec = DecodeSpec(Edited());
  ASSERT_TRUE(spec);
  const std::vector<std::string> list =
      ServerList(*spec, {{"m1", {2, "c1"}}, {"m2", {0, "c2"}}, {"m3", {1, "m3"}}}, spec->shares);
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0], "server.1=zk-0.c2.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181");
  EXPECT_EQ(list[2], "server.11=zk-0.m3.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181");
  EXPECT_EQ(list[4], "server.22=zk-1.c1.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181");
}

TEST(MembershipTest, OneVoterAtATimeByTheShortestWayAndNeverSmallerThanBothEnds) {
  const Identities identities{{"a", {0, "a"}}, {"b", {1, "b"}}, {"c", {2, "c"}}, {"d", {3, "d"}}};
  const Shares ends[] = {
      {{"a", 3}}, {{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", 2}, {"b", 2}, {"c", 1}}, {{"b", 1}, {"c", 3}, {"d", 3}}, {{"d", 5}}};
  for (const Shares& from : ends) {
    for (const Shares& to : ends) {
      int64_t distance = 0;
      for (const auto& [name, identity] : identities) {
        const auto share = [&](const Shares& shares) { return shares.contains(name) ? shares.at(name) : 0; };
        distance += std::abs(share(from) - share(to));
      }
      Shares now = from;
      for (int64_t i = 0; i < distance; ++i) {
        const Shares next = NextShares(now, to, identities);
        EXPECT_EQ(std::abs(Total(next) - Total(now)), 1);
        EXPECT_GE(Total(next), std::min(Total(from), Total(to)));
        EXPECT_LE(Total(next), std::max(Total(from), Total(to)) + 1);
        now = next;
      }
      EXPECT_EQ(now, to);
    }
  }
}

TEST(MembershipTest, TheLeaderIsLastAndWhoChangesIsFirstOrLast) {
  auto spec = DecodeSpec(Edited("order: [m3, m1, m2], ", ""));
  ASSERT_TRUE(spec);
  const Shares three{{"m1", 1}, {"m2", 1}, {"m3", 1}}, four{{"m1", 1}, {"m2", 2}, {"m3", 1}};
  using Names = std::vector<std::string>;
  const Leader leader{"m1", 1};
  EXPECT_EQ(RolloutOrder(*spec, {}, three, leader), (Names{"m1", "m2", "m3"})) << "at first by name";
  EXPECT_EQ(RolloutOrder(*spec, three, three, leader), (Names{"m2", "m3", "m1"}));
  EXPECT_EQ(RolloutOrder(*spec, three, four, leader), (Names{"m2", "m3", "m1"}));
  EXPECT_EQ(RolloutOrder(*spec, four, three, leader), (Names{"m3", "m1", "m2"}));
  spec->order = {"m3", "m1", "m2"};
  EXPECT_EQ(RolloutOrder(*spec, three, three, leader), (Names{"m3", "m1", "m2"}));
}

TEST(DefinitionsTest, TheSchemaIsStructuralAndTakesWhatThePlannerTakes) {
  const base::Json definition = MultiClusterZooKeeperDefinition();
  const base::Json& version = definition.at("spec").at("versions").as_array()[0];
  kube::SchemaSet owner;
  const auto schema = kube::SchemaFromOpenApi(version.at("schema").at("openAPIV3Schema"), owner);
  ASSERT_TRUE(schema) << schema.error().message();
  owner.Seal();
  base::Json object = Edited().object;
  std::vector<std::string> unknown;
  kube::Prune(object, **schema, &unknown);
  EXPECT_EQ(unknown, std::vector<std::string>{});
  EXPECT_TRUE(kube::Validate(object, **schema).empty());
  base::Ensure(object, {"spec", "rollout", "onFailure"}) = "Retry";
  EXPECT_EQ(kube::Validate(object, **schema).size(), 1u);
  base::Ensure(object, {"spec", "rollout", "onFailure"}) = "Pause";
  base::Ensure(object, {"spec", "placement", "clusters"}) = base::JsonArray{};
  EXPECT_EQ(kube::Validate(object, **schema).size(), 1u);
}

TEST(DefinitionsTest, APauseThatNobodySaysAnythingOfHasNoDefault) {
  const base::Json definition = ZooKeeperDefinition();
  const base::Json& schema = definition.at("spec").at("versions").as_array()[0].at("schema").at("openAPIV3Schema");
  const base::Json& paused = schema.at("properties").at("spec").at("properties").at("paused");
  EXPECT_FALSE(paused.as_object().contains("default")) << "it would take every member's own pause back";
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::desired_ensemble_test
