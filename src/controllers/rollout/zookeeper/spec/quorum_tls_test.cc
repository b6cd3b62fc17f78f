#include "controllers/rollout/zookeeper/spec/quorum_tls.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::zookeeper::quorum_tls_test {
namespace {

using base::Json;

Json Body(const std::string& mode) {
  if (mode.empty()) return base::JsonObject{{"paused", false}};
  return base::JsonObject{{"paused", false}, {"tls", base::JsonObject{{"quorumSecret", "q"}, {"quorumMode", mode}}}};
}

/// The mode that follows.
std::string Step(const std::string& wanted, const std::vector<std::string>& in_force) {
  std::vector<Json> bodies;
  for (const std::string& mode : in_force) bodies.push_back(Body(mode));
  std::vector<const Json*> pointers;
  for (const Json& body : bodies) pointers.push_back(&body);
  const Json body = StepQuorumTls(Body(wanted), pointers);
  const std::string mode(base::FindString(body, {"tls", "quorumMode"}));
  EXPECT_EQ(base::FindString(body, {"tls", "quorumSecret"}), mode.empty() ? "" : "q");
  return mode;
}

TEST(QuorumTlsTest, AnEnsembleThatBeginsHasItAtOnce) {
  EXPECT_EQ(Step("Require", {}), "Require");
  EXPECT_EQ(Step("", {}), "");
}

TEST(QuorumTlsTest, OneThatRunsGoesModeByMode) {
  EXPECT_EQ(Step("Require", {""}), "Accept");
  EXPECT_EQ(Step("Require", {"", "Accept"}), "Accept") << "until every cluster has it";
  EXPECT_EQ(Step("Require", {"Accept"}), "Prefer");
  EXPECT_EQ(Step("Require", {"Prefer", "Accept"}), "Prefer");
  EXPECT_EQ(Step("Require", {"Prefer"}), "Require");
  EXPECT_EQ(Step("Require", {"Require"}), "Require");
  EXPECT_EQ(Step("", {"Require"}), "Prefer");
  EXPECT_EQ(Step("", {"Prefer"}), "Accept");
  EXPECT_EQ(Step("", {"Prefer", "Accept"}), "Accept");
  EXPECT_EQ(Step("", {"Accept"}), "");
}

TEST(QuorumTlsTest, WithoutTlsNothingIsAdded) {
  const Json body = *base::ParseJson(R"({"tls": {"clientSecret": "c"}})", "test");
  EXPECT_EQ(StepQuorumTls(body, {&body}), body);
  const Json none = Body("");
  EXPECT_EQ(StepQuorumTls(none, {&none}), none);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::quorum_tls_test
