#include "embedded/federation/policies/overrides.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "embedded/federation/policies/selectors.h"
#include "embedded/federation/policies/validation.h"

// Numbers (O01 ...) are those of cases that Karmada's own tests have, or that follow from its rules.
namespace evenkeel::embedded::federation::overrides_test {
namespace {

using base::Json;

Json Yaml(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

/// `object` after `overriders`, as canonical text of what is at `pointer`.
std::string After(const std::string& object, const std::string& overriders, const char* pointer) {
  Json value = Yaml(object);
  const auto applied = ApplyOverriders(value, Yaml(overriders));
  if (!applied) return "error: " + applied.error().message();
  boost::system::error_code failed;
  const Json* found = value.find_pointer(pointer, failed);
  return found == nullptr ? "absent" : base::CanonicalText(*found);
}

std::string Image(const std::string& image, const std::string& overrider) {
  return After("{kind: Pod, spec: {containers: [{name: c, image: '" + image + "'}]}}", "imageOverrider: [" + overrider + "]",
               "/spec/containers/0/image");
}

TEST(OverridesTest, O01ToO05LabelsAndAnnotations) {
  const std::string two = "{metadata: {labels: {foo: foo, bar: bar}}}";
  EXPECT_EQ(After(two, "labelsOverrider: [{operator: replace, value: {foo: exist, non-exist: x}}]", "/metadata/labels"),
            R"({"bar":"bar","foo":"exist"})")
      << "O01";
  EXPECT_EQ(After("{metadata: {}}", "labelsOverrider: [{operator: add, value: {test2: test2}}]", "/metadata/labels"),
            R"({"test2":"test2"})")
      << "O02";
  EXPECT_EQ(After(two, "labelsOverrider: [{operator: add, value: {test: test}}]", "/metadata/labels"),
            R"({"bar":"bar","foo":"foo","test":"test"})")
      << "O03";
  EXPECT_EQ(After(two, "labelsOverrider: [{operator: remove, value: {foo: foo, non-exist: x}}]", "/metadata/labels"),
            R"({"bar":"bar"})")
      << "O04";
  EXPECT_EQ(After("{metadata: {annotations: {a: b}}}", "annotationsOverrider: [{operator: remove, value: {}}]",
                  "/metadata/annotations"),
            R"({"a":"b"})")
      << "O05";
}

TEST(OverridesTest, O07ToO13Images) {
  const std::string full = "fictional.registry.example/imagename:v1.0.0";
  EXPECT_EQ(Image("perl:5.34.0", "{component: Registry, operator: add, value: registry.k8s.io}"),
            R"("registry.k8s.io/perl:5.34.0")")
      << "O07";
  EXPECT_EQ(Image(full, "{component: Registry, operator: add, value: .test}"),
            R"("fictional.registry.example.test/imagename:v1.0.0")")
      << "O08";
  EXPECT_EQ(Image(full, "{component: Registry, operator: remove}"), R"("imagename:v1.0.0")") << "O09";
  EXPECT_EQ(Image(full, "{component: Repository, operator: add, value: /nginx}"),
            R"("fictional.registry.example/imagename/nginx:v1.0.0")")
      << "O10";
  EXPECT_EQ(Image(full, "{component: Repository, operator: replace, value: nginx}"),
            R"("fictional.registry.example/nginx:v1.0.0")")
      << "O11";
  EXPECT_EQ(Image(full, "{component: Tag, operator: replace, value: 'sha256:0123'}"),
            R"("fictional.registry.example/imagename@sha256:0123")")
      << "O12";
  EXPECT_EQ(Image(full, "{component: Tag, operator: remove}"), R"("fictional.registry.example/imagename")") << "O13";
}

TEST(OverridesTest, ImagesOfOtherKindsNeedAPath) {
  const std::string object = "{kind: ZooKeeper, spec: {image: 'zookeeper:3.8'}}";
  const std::string overrider = "component: Tag, operator: replace, value: '3.9'";
  EXPECT_EQ(After(object, "imageOverrider: [{" + overrider + "}]", "/spec/image"), R"("zookeeper:3.8")");
  EXPECT_EQ(After(object, "imageOverrider: [{" + overrider + ", predicate: {path: /spec/image}}]", "/spec/image"),
            R"("zookeeper:3.9")");
  EXPECT_EQ(After(object, "imageOverrider: [{" + overrider + ", predicate: {path: /spec/none}}]", "/spec/image"),
            "error: imageOverrider: /spec/none is not a string of the object");
}

TEST(OverridesTest, O14AndO15CommandsAndArguments) {
  const std::string pod = "{kind: Pod, spec: {containers: [{name: c, command: [nginx, -v, -t]}, {name: d}]}}";
  EXPECT_EQ(After(pod, "commandOverrider: [{containerName: c, operator: remove, value: [-t]}]", "/spec/containers/0/command"),
            R"(["nginx","-v"])")
      << "O14";
  EXPECT_EQ(After(pod, "commandOverrider: [{containerName: c, operator: remove, value: []}]", "/spec/containers/0/command"),
            R"(["nginx","-v","-t"])");
  EXPECT_EQ(After(pod, "argsOverrider: [{containerName: d, operator: add, value: [x]}]", "/spec/containers/1/args"), R"(["x"])")
      << "O15";
  EXPECT_EQ(After(pod, "argsOverrider: [{containerName: d, operator: remove, value: [x]}]", "/spec/containers/1/args"),
            "absent");
}

TEST(OverridesTest, O17TextsInFields) {
  const std::string map = R"({data: {json: '{"key":{"key1":"value"}}', yaml: "b: 1\na: 2\n"}})";
  EXPECT_EQ(After(map,
                  "fieldOverrider: [{fieldPath: /data/json, json: [{subPath: /key/key1, operator: replace, value: "
                  "updated_value}]}]",
                  "/data/json"),
            R"("{\"key\":{\"key1\":\"updated_value\"}}")");
  EXPECT_EQ(After(map, "fieldOverrider: [{fieldPath: /data/yaml, yaml: [{subPath: /b, operator: remove}]}]", "/data/yaml"),
            R"("a: 2\n")");
  EXPECT_EQ(After(map, "fieldOverrider: [{fieldPath: /data/none, yaml: [{subPath: /b, operator: remove}]}]", "/data/yaml"),
            "error: fieldOverrider: /data/none is not a string of the object");
}

TEST(OverridesTest, O18TheOrderOfPoliciesAndRules) {
  const Json precise = Yaml(R"({metadata: {name: a, namespace: data}, spec: {
      resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: x}], overrideRules: [
      {targetCluster: {clusterNames: [c1, c2]}, overriders: {plaintext: [{path: /data/rule, operator: add, value: '1'}]}},
      {targetCluster: {clusterNames: [c2]}, overriders: {plaintext: [{path: /data/rule, operator: add, value: '2'}]}}]}})");
  const Json all = Yaml(R"({metadata: {name: b, namespace: data}, spec: {overrideRules: [
      {targetCluster: {clusterNames: [c1, c2]}, overriders: {plaintext: [{path: /data/rule, operator: add, value: all}]}}]}})");
  const Json cluster_wide = Yaml(R"({metadata: {name: c}, spec: {overrideRules: [{overriders: {labelsOverrider: []}}]}})");
  const Json elsewhere = Yaml(R"({metadata: {name: d, namespace: other}, spec: {overrideRules: [{overriders: {}}]}})");
  Json object = Yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: data}, data: {}}");
  const auto names = [&](const char* cluster) {
    std::vector<std::string> policies;
    for (const auto& item : SelectOverriders({&precise, &all, &cluster_wide, &elsewhere}, object,
                                             Yaml(std::string("{metadata: {name: ") + cluster + "}}")))
      policies.push_back(item.policy);
    return policies;
  };
  EXPECT_EQ(names("c1"), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(names("c2"), (std::vector<std::string>{"c", "b", "a", "a"}));
  EXPECT_EQ(names("c3"), (std::vector<std::string>{"c"}));
  const auto matched = SelectOverriders({&precise, &all, &cluster_wide}, object, Yaml("{metadata: {name: c2}}"));
  ASSERT_TRUE(ApplyAll(object, matched));
  EXPECT_EQ(base::FindString(object, {"data", "rule"}), "2") << "what comes later wins";
  EXPECT_EQ(AppliedOverridesText(matched, true), R"([{"policyName":"c","overriders":{"labelsOverrider":[]}}])");
  EXPECT_EQ(AppliedOverridesText({}, false), "");
}

TEST(OverridesTest, O20AnOldPolicyIsOneRule) {
  const Json old = Yaml(R"({metadata: {name: a, namespace: data}, spec: {targetCluster: {clusterNames: [c1]},
      overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 2}]}}})");
  const Json object = Yaml("{metadata: {name: x, namespace: data}}");
  EXPECT_EQ(SelectOverriders({&old}, object, Yaml("{metadata: {name: c1}}")).size(), 1u);
  EXPECT_TRUE(SelectOverriders({&old}, object, Yaml("{metadata: {name: c2}}")).empty());
}

TEST(OverridesTest, O21ToO24PlainText) {
  const std::string object = "{spec: {replicas: 0}}";
  EXPECT_EQ(After(object, "plaintext: [{path: /spec/replicas, operator: replace, value: 2}]", "/spec/replicas"), "2") << "O21";
  EXPECT_TRUE(After(object, "plaintext: [{path: /spec/missing, operator: replace, value: 1}]", "").starts_with("error:"))
      << "O22";
  EXPECT_TRUE(After(object, "plaintext: [{path: /spec/missing, operator: remove}]", "").starts_with("error:"));
  EXPECT_TRUE(After(object, "plaintext: [{path: /spec/a/b, operator: add, value: 1}]", "").starts_with("error:")) << "O24";
  EXPECT_EQ(After(object, "plaintext: [{path: /spec/replicas, operator: add, value: 3}]", "/spec/replicas"), "3");
}

TEST(SelectorsTest, O30ToO32Resources) {
  const Json object = Yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: data, labels: {a: b}}}");
  const auto match = [&](const std::string& more) {
    return MatchResource(Yaml("{apiVersion: v1, kind: ConfigMap" + more + "}"), object);
  };
  EXPECT_EQ(match(", name: x, labelSelector: {matchLabels: {a: other}}"), SelectorMatch::kName) << "O30";
  EXPECT_EQ(match(", namespace: other, name: x"), SelectorMatch::kNone) << "O31";
  EXPECT_EQ(MatchResource(Yaml("{apiVersion: v1, kind: Secret}"), object), SelectorMatch::kNone) << "O31";
  EXPECT_EQ(MatchResource(Yaml("{apiVersion: v2, kind: ConfigMap}"), object), SelectorMatch::kNone) << "O31";
  EXPECT_EQ(match(""), SelectorMatch::kAll) << "O32";
  EXPECT_EQ(match(", labelSelector: {matchLabels: {a: b}}"), SelectorMatch::kLabels);
  EXPECT_EQ(match(", labelSelector: {matchLabels: {a: c}}"), SelectorMatch::kNone);
}

TEST(SelectorsTest, O33ToO36Clusters) {
  const Json cluster = Yaml("{metadata: {name: m1, labels: {tier: prod}}, spec: {provider: p, zones: [z1, z2]}}");
  const auto matches = [&](const std::string& affinity) {
    const Json value = Yaml(affinity);
    return MatchesCluster(&value, cluster);
  };
  EXPECT_FALSE(matches("{clusterNames: [m1], exclude: [m1]}")) << "O33";
  EXPECT_TRUE(matches("{}")) << "O34";
  EXPECT_TRUE(MatchesCluster(nullptr, cluster));
  EXPECT_TRUE(matches("{fieldSelector: {matchExpressions: [{key: zone, operator: In, values: [z2, z9]}]}}")) << "O35";
  EXPECT_FALSE(matches("{fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [z2]}]}}")) << "O35";
  EXPECT_TRUE(matches("{fieldSelector: {matchExpressions: [{key: provider, operator: NotIn, values: [q]}]}}"));
  EXPECT_FALSE(matches("{clusterNames: [m2], labelSelector: {matchLabels: {tier: prod}}}")) << "O36";
  EXPECT_TRUE(matches("{clusterNames: [m1], labelSelector: {matchLabels: {tier: prod}}}"));
  EXPECT_FALSE(matches("{clusterNames: [m1], labelSelector: {matchLabels: {tier: test}}}"));
}

TEST(SelectorsTest, TaintsKeepPlacementsOutThatDoNotTolerateThem) {
  const Json cluster =
      Yaml("{spec: {taints: [{key: k, value: v, effect: NoSchedule}, {key: soft, effect: PreferNoSchedule}]}}");
  EXPECT_FALSE(ToleratesCluster(Yaml("{}"), cluster));
  EXPECT_TRUE(ToleratesCluster(Yaml("{clusterTolerations: [{key: k, operator: Exists}]}"), cluster));
  EXPECT_TRUE(ToleratesCluster(Yaml("{}"), Yaml("{}")));
}

TEST(ValidationTest, O40AndO41Overrides) {
  EXPECT_FALSE(ValidateOverride(Yaml("{spec: {overrideRules: [{overriders: {}}], overriders: {}}}"))) << "O40";
  EXPECT_FALSE(ValidateOverride(Yaml("{spec: {overrideRules: [{overriders: {}}], targetCluster: {}}}"))) << "O40";
  const auto field = [](const std::string& more) {
    return ValidateOverride(
        Yaml("{spec: {overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /data/x" + more + "}]}}]}}"));
  };
  EXPECT_FALSE(field("")) << "O41";
  EXPECT_FALSE(field(", json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]")) << "O41";
  EXPECT_TRUE(field(", json: [{subPath: /a, operator: remove}]"));
}

TEST(ValidationTest, O42ToO45Propagation) {
  const auto error = [](const std::string& spec) {
    const auto valid = ValidatePropagation(Yaml("{metadata: {namespace: data}, spec: " + spec + "}"));
    return valid ? std::string() : valid.error().message();
  };
  EXPECT_NE(error("{placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}}"), "") << "O42";
  EXPECT_NE(
      error("{placement: {spreadConstraints: [{spreadByField: region}]}}")
          .find("the cluster spread constraint must be enabled in one of the constraints in case of SpreadByField is enabled"),
      std::string::npos);
  EXPECT_EQ(error("{placement: {spreadConstraints: [{spreadByField: region}, {spreadByField: cluster}]}}"), "") << "O43";
  EXPECT_NE(error("{suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [x]}}}")
                .find("suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"),
            std::string::npos)
      << "O44";
  EXPECT_EQ(error("{suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: []}}}"), "") << "O44";
  EXPECT_EQ(error("{suspension: {dispatching: false, dispatchingOnClusters: {clusterNames: [x]}}}"), "") << "O44";
  EXPECT_NE(error("{preemption: Always, resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}"), "") << "O45";
  EXPECT_NE(error("{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: other}]}"), "");
}

TEST(ValidationTest, Interpreters) {
  const auto error = [](const std::string& name, const std::string& config, const std::string& operations) {
    const auto valid =
        ValidateInterpreter(Yaml("{webhooks: [{name: " + name + ", clientConfig: {" + config + "}, rules: [{operations: [" +
                                 operations + "], apiGroups: [g], apiVersions: ['*'], kinds: [K]}]}]}"));
    return valid ? std::string() : valid.error().message();
  };
  const std::string name = "k.g.example", url = "url: 'https://h/i'";
  EXPECT_EQ(error(name, url, "Retain, ReviseReplica"), "");
  EXPECT_EQ(error(name, "service: {namespace: n, name: s}", "'*'"), "");
  EXPECT_EQ(error("k.g", url, "Retain"), "webhooks[0].name: should be a domain with at least three segments separated by dots");
  EXPECT_EQ(error(name, "", "Retain"), "webhooks[0].clientConfig: exactly one of url or service is required");
  EXPECT_EQ(error(name, url + ", service: {namespace: n, name: s}", "Retain"),
            "webhooks[0].clientConfig: exactly one of url or service is required");
  EXPECT_EQ(error(name, url, "'*', Retain"),
            "webhooks[0].rules[0].operations: if '*' is present, must not specify other operations");
  EXPECT_EQ(error(name, url, "Prune"), "webhooks[0].rules[0].operations: unsupported value: \"Prune\"");
  EXPECT_EQ(error(name, url, ""), "webhooks[0].rules[0].operations: at least one is required");
}

}  // namespace
}  // namespace evenkeel::embedded::federation::overrides_test
