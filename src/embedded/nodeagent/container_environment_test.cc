#include "embedded/nodeagent/container_environment.h"

#include <gtest/gtest.h>

namespace evenkeel::embedded::nodeagent::container_environment_test {
namespace {

using base::Json;

class ContainerEnvironmentTest : public ::testing::Test {
 protected:
  static Json Parse(std::string_view text) { return *base::ParseJson(text, "test"); }

  ContainerEnvironmentTest() {
    objects_["configmap/settings"].data = {{"colour", "blue"}, {"size", "9"}};
    objects_["secret/keys"].data = {{"token", "s3cret"}};
    lookup_ = [this](std::string_view kind, std::string_view name) -> base::Result<kube::DataObject> {
      const auto found = objects_.find(fmt::format("{}/{}", kind, name));
      if (found == objects_.end()) return base::Fail(base::Code::kNotFound, "not here");
      return found->second;
    };
  }

  ConfigurationSource Source() const { return {pod_, identity_, lookup_, allocatable_}; }
  base::Result<std::map<std::string, std::string>> Resolve(std::string_view container) const {
    EVENKEEL_ASSIGN(const Environment list, ResolveEnvironment(Parse(container), Source(), {{"PATH", "/bin"}}));
    return std::map<std::string, std::string>(list.begin(), list.end());
  }

  std::map<std::string, kube::DataObject> objects_;
  DataLookup lookup_;
  PodIdentity identity_{"shop", "web-0", "u1", "n1", "127.10.0.2", "127.0.0.1"};
  kube::ResourceList allocatable_{{"cpu", 4000}, {"memory", 1 << 30}};
  Json pod_ = Parse(R"({"metadata":{"labels":{"app":"web","tier":"a\"b"}},"spec":{"containers":[
      {"name":"main","resources":{"limits":{"cpu":"1500m"},"requests":{"memory":"100Mi"}}}]}})");
};

TEST_F(ContainerEnvironmentTest, ExpandsOnlyWhatIsKnown) {
  const Environment env = {{"A", "1"}, {"B", "2"}};
  EXPECT_EQ(ExpandVariables("x$(A)-$(B)y", env), "x1-2y");
  EXPECT_EQ(ExpandVariables("$(C) $$(A) $A $ $(A", env), "$(C) $(A) $A $ $(A");
  EXPECT_EQ(ExpandVariables("$$$(A)$", env), "$1$");
}

TEST_F(ContainerEnvironmentTest, EnvWinsOverEnvFromAndRefersToWhatStandsBefore) {
  const auto env = Resolve(
      R"json({"name":"main","envFrom":[{"prefix":"P_","configMapRef":{"name":"settings"}},{"secretRef":{"name":"keys"}}],
      "env":[{"name":"P_size","value":"10"},{"name":"BOTH","value":"$(P_colour)/$(P_size)"},{"name":"PATH","value":"/opt:$(PATH)"}]
})json");
  ASSERT_TRUE(env) << env.error().message();
  EXPECT_EQ(env->at("BOTH"), "blue/10");
  EXPECT_EQ(env->at("token"), "s3cret");
  EXPECT_EQ(env->at("PATH"), "/opt:/bin");
}

TEST_F(ContainerEnvironmentTest, OffersTheDownwardApi) {
  const auto env = Resolve(R"({"name":"main","env":[
      {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
      {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},
      {"name":"APP","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},
      {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
      {"name":"CPUM","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
      {"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"requests.memory","divisor":"1Mi"}}},
      {"name":"WHOLE","valueFrom":{"resourceFieldRef":{"resource":"limits.memory"}}}]})");
  ASSERT_TRUE(env) << env.error().message();
  EXPECT_EQ(env->at("IP"), "127.10.0.2");
  EXPECT_EQ(env->at("NODE"), "n1");
  EXPECT_EQ(env->at("APP"), "web");
  EXPECT_EQ(env->at("CPU"), "2");
  EXPECT_EQ(env->at("CPUM"), "1500");
  EXPECT_EQ(env->at("MEM"), "100");
  EXPECT_EQ(env->at("WHOLE"), std::to_string(1 << 30));
  EXPECT_EQ(*FieldValue("metadata.labels", Source()), "app=\"web\"\ntier=\"a\\\"b\"");
  EXPECT_FALSE(FieldValue("spec.secrets", Source()));
}

TEST_F(ContainerEnvironmentTest, MissingReferencesAreErrorsUnlessOptional) {
  const auto missing = Resolve(R"({"env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"none","key":"k"}}}]})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "configmap \"none\" not found");
  const auto key = Resolve(R"({"env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"keys","key":"k"}}}]})");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().message(), "couldn't find key k in Secret shop/keys");
  const auto optional =
      Resolve(R"({"env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"none","key":"k","optional":true}}}],
      "envFrom":[{"secretRef":{"name":"none","optional":true}}]})");
  ASSERT_TRUE(optional);
  EXPECT_FALSE(optional->contains("X"));
}

TEST_F(ContainerEnvironmentTest, VolumesHaveTheFilesThatTheirSourcesName) {
  pod_ = Parse(R"({"metadata":{"labels":{"app":"web"}},"spec":{"volumes":[
      {"name":"all","configMap":{"name":"settings"}},
      {"name":"some","projected":{"sources":[{"secret":{"name":"keys","items":[{"key":"token","path":"a/t","mode":256}]}},
        {"downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}}]}}]}},
      {"name":"unused","secret":{"secretName":"none"}},{"name":"scratch","emptyDir":{}}],
      "containers":[{"name":"main","volumeMounts":[{"name":"all","mountPath":"/a"},{"name":"some","mountPath":"/b"},
        {"name":"scratch","mountPath":"/c"}]}]}})");
  const auto volumes = ResolveVolumes(Source());
  ASSERT_TRUE(volumes) << volumes.error().message();
  ASSERT_EQ(volumes->size(), 3u);
  EXPECT_EQ((*volumes)[0].files.size(), 2u);
  EXPECT_EQ((*volumes)[1].files[0].path, "a/t");
  EXPECT_EQ((*volumes)[1].files[0].mode, 0400u);
  EXPECT_EQ((*volumes)[1].files[1].content, "app=\"web\"");
  EXPECT_EQ((*volumes)[2].kind, Volume::Kind::kEmptyDir);
  EXPECT_EQ(VolumeReferences(pod_), (std::vector<std::string>{"configmap/settings", "secret/keys", "secret/none"}));
}

TEST_F(ContainerEnvironmentTest, AFileCannotLeaveItsVolume) {
  pod_ = Parse(R"({"spec":{"volumes":[{"name":"v","configMap":{"name":"settings","items":[{"key":"size","path":"../../x"}]}}],
      "containers":[{"volumeMounts":[{"name":"v","mountPath":"/a"}]}]}})");
  EXPECT_FALSE(ResolveVolumes(Source()));
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::container_environment_test
