#include "kube/object.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::object_test {
namespace {

using base::Json;

TEST(ObjectTest, MetadataIsDecodedAndWrongTypesCountAsAbsent) {
  const Json object =
      *base::ParseJson(R"({"metadata":{"name":"n","namespace":"ns","uid":"u","resourceVersion":"12","generation":3,
      "labels":{"a":"b","bad":1},"annotations":"nonsense","creationTimestamp":"2024-12-15T01:13:04Z",
      "deletionTimestamp":"2024-12-15T01:13:34Z","deletionGracePeriodSeconds":30,"finalizers":["x/y",5],
      "ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"apiVersion":"apps/v1","kind":"B","name":"b","uid":"2","controller":true}]}})",
                       "test");
  const ObjectMeta meta = DecodeMeta(object);
  EXPECT_EQ(meta.Key(), "ns/n");
  EXPECT_EQ(meta.labels, (Labels{{"a", "b"}}));
  EXPECT_TRUE(meta.annotations.empty());
  EXPECT_EQ(meta.finalizers, std::vector<std::string>{"x/y"});
  EXPECT_EQ(base::FormatTime(meta.creation_time), "2024-12-15T01:13:04Z");
  ASSERT_TRUE(meta.deletion_time.has_value());
  EXPECT_EQ(meta.deletion_grace_seconds, 30);
  ASSERT_NE(meta.Controller(), nullptr);
  EXPECT_EQ(meta.Controller()->name, "b");
  EXPECT_EQ(KeyOf(object), "ns/n");
  EXPECT_EQ(ResourceVersionOf(object), "12");
  EXPECT_EQ(DecodeMeta(Json(5)).Key(), "");
}

TEST(ObjectTest, KeysAreSplit) {
  std::string ns, name;
  SplitKey("a/b", ns, name);
  EXPECT_EQ(ns + "|" + name, "a|b");
  SplitKey("node", ns, name);
  EXPECT_EQ(ns + "|" + name, "|node");
}

TEST(ObjectTest, NewObjectsOfClusterKindsHaveNoNamespace) {
  EXPECT_EQ(base::ToText(NewObject(resources::Nodes(), "ns", "n")),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})");
  EXPECT_EQ(base::ToText(NewObject(resources::Deployments(), "ns", "d")),
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"ns"}})");
  EXPECT_TRUE(base::FindBool(ControllerReference(resources::Deployments(), "d", "u"), {"controller"}));
}

TEST(ObjectTest, ConditionsKeepTheirTransitionTimeUntilTheStatusChanges) {
  Json object = boost::json::object();
  const base::Time start{std::chrono::seconds(1000)};
  EXPECT_TRUE(SetCondition(object, "Ready", "True", "Up", "all well", start));
  EXPECT_FALSE(SetCondition(object, "Ready", "True", "Up", "all well", start + std::chrono::seconds(5)));
  EXPECT_TRUE(SetCondition(object, "Ready", "True", "Up", "still well", start + std::chrono::seconds(5)));
  EXPECT_EQ(base::FindString(*FindCondition(object, "Ready"), {"lastTransitionTime"}), base::FormatTime(start));
  EXPECT_TRUE(SetCondition(object, "Ready", "False", "Down", "gone", start + std::chrono::seconds(9)));
  EXPECT_EQ(base::FindString(*FindCondition(object, "Ready"), {"lastTransitionTime"}),
            base::FormatTime(start + std::chrono::seconds(9)));
  EXPECT_TRUE(SetCondition(object, "Ready", "False", "Down", "gone", start)) << "the other writer's clock is ahead";
  EXPECT_EQ(base::FindString(*FindCondition(object, "Ready"), {"lastTransitionTime"}), base::FormatTime(start));
  EXPECT_EQ(FindCondition(object, "Other"), nullptr);
}

TEST(ObjectTest, ConditionsThatAreAbsentHaveNoStatus) {
  const Json object =
      *base::ParseJson(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"},{"type":"Odd"}]}})", "test");
  EXPECT_EQ(ConditionStatus(object, "Ready"), "Unknown");
  EXPECT_EQ(ConditionStatus(object, "Odd"), "");
  EXPECT_EQ(ConditionStatus(object, "Valid"), "");
}

TEST(ObjectTest, FinalizersAreSetOnceAndTakenOutWhereverTheyAre) {
  Json object = *base::ParseJson(R"({"metadata":{"finalizers":["a",5,"b","a"]}})", "test");
  EXPECT_TRUE(HasFinalizer(object, "a"));
  EXPECT_FALSE(SetFinalizer(object, "a", true));
  EXPECT_TRUE(SetFinalizer(object, "a", false));
  EXPECT_FALSE(SetFinalizer(object, "a", false));
  EXPECT_TRUE(SetFinalizer(object, "c", true));
  EXPECT_EQ(base::ToText(object), R"({"metadata":{"finalizers":[5,"b","c"]}})");
  EXPECT_TRUE(DecodeMeta(object).HasFinalizer("c"));
  EXPECT_FALSE(DecodeMeta(object).HasFinalizer("a"));

  Json fresh = NewObject(resources::Nodes(), "", "n");
  EXPECT_FALSE(SetFinalizer(fresh, "a", false));
  EXPECT_EQ(base::Find(fresh, {"metadata", "finalizers"}), nullptr);
  EXPECT_TRUE(SetFinalizer(fresh, "a", true));
  EXPECT_TRUE(HasFinalizer(fresh, "a"));
}

TEST(ObjectTest, NamesFollowTheRules) {
  EXPECT_EQ(CheckDnsLabel("web-0"), "");
  EXPECT_NE(CheckDnsLabel("web.0"), "");
  EXPECT_NE(CheckDnsLabel("Web"), "");
  EXPECT_NE(CheckDnsLabel("-a"), "");
  EXPECT_NE(CheckDnsLabel(""), "");
  EXPECT_EQ(CheckDnsLabel(std::string(64, 'a')), "must be no more than 63 characters");
  EXPECT_EQ(CheckDnsSubdomain("a.b-c.d"), "");
  EXPECT_NE(CheckDnsSubdomain("a..b"), "");
  EXPECT_NE(CheckDnsSubdomain("a.-b"), "");
  EXPECT_EQ(CheckQualifiedName("example.com/My_Name.1"), "");
  EXPECT_EQ(CheckQualifiedName("/x"), "prefix part must be non-empty");
  EXPECT_EQ(CheckQualifiedName("a/"), "name part must be non-empty");
  EXPECT_NE(CheckQualifiedName("a/b/c"), "");
  EXPECT_EQ(CheckLabelValue(""), "");
  EXPECT_EQ(CheckLabelValue("V_1.x"), "");
  EXPECT_NE(CheckLabelValue("a b"), "");
}

}  // namespace
}  // namespace evenkeel::kube::object_test
