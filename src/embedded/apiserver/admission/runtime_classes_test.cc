#include "embedded/apiserver/admission/runtime_classes.h"

#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::runtime_classes_test {
namespace {

class RuntimeClassesTest : public ApiFixture {
 protected:
  void SetUp() override {
    ApiFixture::SetUp();
    for (const char* one :
         {R"({"metadata":{"name":"plain"},"handler":"runc"})",
          R"({"metadata":{"name":"vm"},"handler":"kata","overhead":{"podFixed":{"cpu":"250m","memory":"120Mi"}},
              "scheduling":{"nodeSelector":{"runtime":"kata"},"tolerations":[{"key":"vm","operator":"Exists"}]}})"}) {
      const TestReply made = Send("POST", "/apis/node.k8s.io/v1/runtimeclasses", one);
      ASSERT_EQ(made.status, 201) << made.body;
    }
  }
  /// Of a new pod with these fields, too.
  TestReply Make(const std::string& fields) {
    return Send("POST", "/api/v1/namespaces/default/pods?dryRun=All",
                R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}])" +
                    (fields.empty() ? "" : "," + fields) + "}}");
  }
};

TEST_F(RuntimeClassesTest, APodTakesOverWhatItsClassSays) {
  const TestReply made =
      Make(R"("runtimeClassName":"vm","nodeSelector":{"a":"b"},"tolerations":[{"key":"own","operator":"Exists"}])");
  ASSERT_EQ(made.status, 201) << made.body;
  const Json pod = made.json();
  EXPECT_EQ(base::ToText(*base::Find(pod, {"spec", "overhead"})), R"({"cpu":"250m","memory":"120Mi"})");
  EXPECT_EQ(base::ToText(*base::Find(pod, {"spec", "nodeSelector"})), R"({"a":"b","runtime":"kata"})");
  std::set<std::string> keys;
  for (const Json& toleration : base::FindArray(pod, {"spec", "tolerations"})) {
    keys.emplace(base::FindString(toleration, {"key"}));
  }
  EXPECT_TRUE(keys.contains("own") && keys.contains("vm"));
  EXPECT_EQ(
      Make(R"("runtimeClassName":"vm","overhead":{"cpu":"0.25","memory":"120Mi"},"nodeSelector":{"runtime":"kata"})").status,
      201);
  const Json without = Make(R"("runtimeClassName":"plain")").json();
  EXPECT_EQ(base::Find(without, {"spec", "overhead"}), nullptr);
}

TEST_F(RuntimeClassesTest, WhatContradictsTheClassIsRefused) {
  const std::pair<const char*, const char*> refused[] = {
      {R"("runtimeClassName":"none")", R"(pods "p" is forbidden: pod rejected: RuntimeClass "none" not found)"},
      {R"("runtimeClassName":"vm","overhead":{"cpu":"1"})",
       R"(pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead)"},
      {R"("runtimeClassName":"plain","overhead":{"cpu":"1"})",
       R"(pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead)"},
      {R"("overhead":{"cpu":"1"})",
       R"(pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead)"},
      {R"("runtimeClassName":"vm","nodeSelector":{"runtime":"runc"})",
       "pods \"p\" is forbidden: conflict: "
       "runtimeClass.scheduling.nodeSelector[runtime] = kata; pod.spec.nodeSelector[runtime] = runc"}};
  for (const auto& [fields, why] : refused) {
    const TestReply reply = Make(fields);
    EXPECT_EQ(reply.status, 403) << fields;
    EXPECT_EQ(base::FindString(reply.json(), {"message"}), why);
  }
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::runtime_classes_test
