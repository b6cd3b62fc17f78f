// What another version of the program does to servers that run: nothing.
#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/member_world_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::member_versions_test {
namespace {

using base::Json;
using testing::ObjectOf;
using namespace std::chrono_literals;

constexpr char kPlain[] = R"({"spec": {"rolloutRevision": null}})";
constexpr char kPlainOther[] = R"({"spec": {"rolloutRevision": null, "image": {"tag": "3.9"}}})";

class MemberVersionsTest : public testing::MemberZooKeeperTest {
 protected:
  void Begin(const std::string& more) {
    Want(3, {1, 2, 3}, more);
    executor.RunFor(30s);
    ASSERT_EQ(Condition("Ready", "status"), "True");
    ASSERT_EQ(base::FindInt(Status(), {"updatedReplicas"}), 3);
  }
  void Become(int64_t servers, int64_t orders = 1) {
    forms = {.servers = servers, .orders = orders};
    Own();
  }
  std::string Script() {
    return std::string(base::FindString(api->objects["configmaps"].at("data/zk-config"), {"data", kScriptFile}));
  }
  Json& Set() { return api->objects["statefulsets"].at("data/zk"); }
  /// As a program leaves it that does not say what for it has written anything down, and has written pods down otherwise.
  void ForgetAsked(const char* of_pods, const char* of_set) {
    member.reset();
    for (const char* kind : {"pods", "statefulsets", "configmaps"}) {
      for (auto& [key, object] : api->objects[kind]) {
        for (const char* annotation : {kAsked, kMadeAs, kFiles}) base::Erase(object, {"metadata", "annotations", annotation});
      }
    }
    base::Erase(Set(), {"spec", "template", "metadata", "annotations", kAsked});
    base::Ensure(Set(), {"spec", "template", "metadata", "annotations", kPodRevision}) = of_set;
    for (auto& [key, pod] : api->objects["pods"]) base::Ensure(pod, {"metadata", "annotations", kPodRevision}) = of_pods;
  }
};

TEST_F(MemberVersionsTest, ServersThatAreWhatIsAskedStay) {
  ASSERT_NO_FATAL_FAILURE(Begin(kPlain));
  const std::string script = Script();
  for (const int64_t form : {2, 1, 3, 2}) {
    Become(form);
    executor.RunFor(2min);
    EXPECT_TRUE(world.replaced.empty()) << form;
    EXPECT_EQ(Script(), script) << "a server that restarts by itself runs what its pod was made for";
    EXPECT_EQ(base::FindInt(Status(), {"updatedReplicas"}), 3);
  }
  Want(3, {1, 2, 3}, kPlainOther);
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced.size(), 3U);
  EXPECT_NE(Script().find("form=2"), std::string::npos) << "the next order is written down anew";
  EXPECT_EQ(base::FindString(Set(), {"spec", "template", "metadata", "annotations", "evenkeel.dev/form"}), "2");
}

TEST_F(MemberVersionsTest, InTheMiddleOfAnOrderEachServerIsReplacedOnce) {
  ASSERT_NO_FATAL_FAILURE(Begin("{}"));
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  for (int i = 0; i < 600 && world.replaced.empty(); ++i) executor.RunFor(100ms);
  ASSERT_EQ(world.replaced.size(), 1U);
  for (const int64_t form : {2, 1, 2}) {
    Become(form);
    executor.RunFor(2s);
  }
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced.size(), 3U);
  EXPECT_TRUE(Settled("r2"));
}

TEST_F(MemberVersionsTest, WhatAFormerProgramDidNotExplainStays) {
  for (const char* more : {kPlain, "{}"}) {
    ASSERT_NO_FATAL_FAILURE(Begin(more));
    ForgetAsked("former", "former");
    Own();
    executor.RunFor(2min);
    EXPECT_TRUE(world.replaced.empty()) << more;
    EXPECT_EQ(base::FindString(Set(), {"spec", "template", "metadata", "annotations", kPodRevision}), "former");
  }
  // Now it is known what for.
  Become(2);
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced.size(), 3U);
}

TEST_F(MemberVersionsTest, AnotherListRestartsNobodyHoweverTheyWereWrittenDown) {
  ASSERT_NO_FATAL_FAILURE(Begin("{}"));
  // The one before has written the template down anew, and left the pods for the next order.
  ForgetAsked("first", "second");
  Own();
  executor.RunFor(30s);
  Become(2);
  Want(3, {1, 2, 3, 11}, R"({"spec": {"rolloutRevision": "r2"}})");
  executor.RunFor(2min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_TRUE(Settled("r2"));
}

TEST_F(MemberVersionsTest, WhatANewerOneWroteIsHeldAndSaid) {
  ASSERT_NO_FATAL_FAILURE(Begin("{}"));
  const struct {
    std::string more, said;
  } kCases[] = {
      {R"({"spec": {"format": 2, "image": {"tag": "3.9"}, "rolloutRevision": "r2"}})", "spec.format is 2"},
      {R"({"spec": {"zones": ["a"], "image": {"tag": "3.9"}, "rolloutRevision": "r2"}})", "spec.zones: unknown field"}};
  for (const auto& [more, said] : kCases) {
    api->objects["events"].clear();
    Want(3, {1, 2, 3}, more);
    executor.RunFor(2min);
    EXPECT_TRUE(world.replaced.empty()) << more;
    EXPECT_EQ(base::FindString(Status(), {"observedRevision"}), "r");
    EXPECT_EQ(Condition("Valid", "reason"), "WrittenByNewer");
    EXPECT_NE(Condition("Valid", "message").find(said), std::string::npos) << Condition("Valid", "message");
    size_t told = 0;
    for (const auto& [key, event] : api->objects["events"])
      told += base::FindString(event, {"reason"}) == "WrittenByNewer" ? 1 : 0;
    EXPECT_EQ(told, 1U);
  }
  Become(2, 2);
  Want(3, {1, 2, 3}, kCases[0].more);
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced.size(), 3U);
  EXPECT_TRUE(Settled("r2"));
}

TEST_F(MemberVersionsTest, AnAnnotationThatCannotBeReadHoldsEverything) {
  ASSERT_NO_FATAL_FAILURE(Begin("{}"));
  member.reset();
  base::Ensure(Set(), {"metadata", "annotations", kAsked}) = "2/0123";
  Own();
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_NE(Condition("Valid", "message").find("StatefulSet data/zk"), std::string::npos) << Condition("Valid", "message");
}

TEST_F(MemberVersionsTest, WhatSomebodyEditsInTheFilesDoesNotStay) {
  ASSERT_NO_FATAL_FAILURE(Begin("{}"));
  const std::string script = Script();
  Json config = api->objects["configmaps"].at("data/zk-config");
  base::Ensure(config, {"data", kScriptFile}) = "exit 1\n";
  api->Put(kube::resources::ConfigMaps(), config);
  executor.RunFor(10s);
  EXPECT_EQ(Script(), script);
}

TEST(AskedBody, IsWhatServersAreStartedWith) {
  const Json usual = AskedBody(ObjectOf(3, {1, 2, 3}));
  EXPECT_EQ(base::ToText(usual), "{}");
  for (const char* same :
       {R"({"spec": {"replicas": 2, "hold": true, "format": 2, "ensemble": "e", "paused": true, "leaving": [9]}})",
        R"({"spec": {"image": {"repository": "zookeeper", "tag": "3.8"}, "config": {"tickTime": 2000, "autopurge": {}}}})",
        R"({"spec": {"storage": {"type": "persistent", "size": "20Gi", "reclaimPolicy": "Delete"}}})"}) {
    EXPECT_EQ(AskedBody(ObjectOf(3, {1, 2, 3}, 0, same)), usual) << same;
  }
  for (const char* other : {R"({"spec": {"image": {"tag": "3.9"}}})", R"({"spec": {"config": {"extra": {"a": "b"}}}})",
                            R"({"spec": {"storage": {"type": "ephemeral"}}})", R"({"spec": {"tls": {"quorumSecret": "s"}}})",
                            R"({"spec": {"podTemplate": {"metadata": {"annotations": {"restarted": "1"}}}}})",
                            R"({"spec": {"myidOffset": 10, "servers": []}})"}) {
    EXPECT_NE(AskedBody(ObjectOf(3, {1, 2, 3}, 0, other)), usual) << other;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::member_versions_test
