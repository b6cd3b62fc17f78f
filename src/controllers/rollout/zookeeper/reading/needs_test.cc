#include "controllers/rollout/zookeeper/reading/needs.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::zookeeper::needs_test {
namespace {

std::string NeedsIn(const std::string& spec) { return ToText(NeedsOf(*base::ParseJson(spec, "test"))); }

TEST(NeedsTest, AreWhatASpecNames) {
  EXPECT_EQ(NeedsIn("{}"), "");
  EXPECT_EQ(NeedsIn(R"({"image": {"pullSecrets": ["p"]}, "podTemplate": {"spec": {
      "serviceAccountName": "s", "volumes": [{"name": "v", "projected": {"sources": [
        {"secret": {"name": "a"}}, {"configMap": {"name": "b"}}, {"downwardAPI": {}}]}}]}}})"),
            "ConfigMap/b Secret/a Secret/p ServiceAccount/s");
  EXPECT_EQ(NeedsIn(R"({"tls": {"quorumSecret": "q", "clientSecret": "c"}})"), "Secret/c Secret/q");
  EXPECT_EQ(NeedsIn(R"({"podTemplate": {"spec": {"serviceAccountName": "default"}}})"), "") << "members have their own";
}

TEST(NeedsTest, AreReadAsTheyAreWritten) {
  const Needs needs{{"ConfigMap", "b"}, {"Secret", "a"}};
  EXPECT_EQ(ParseNeeds(ToText(needs)), needs);
  EXPECT_EQ(ToText(ParseNeeds("  Secret/a Pod/b Secret Secret/ ConfigMap/b")), "ConfigMap/b Secret/a");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::needs_test
