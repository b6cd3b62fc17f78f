#include "controllers/distribution/sharding/options.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::distribution::options_test {
namespace {

using Environment = std::map<std::string, std::string>;

std::vector<std::string> Read(const Environment& environment, Options& options) {
  return ReadEnvironment(
      [&](const char* name) -> const char* {
        auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      options);
}

TEST(ModeTest, WeightedIsCoordinatedAndArgoCdsMethodsAreCompatible) {
  EXPECT_TRUE(CheckMethod(Mode::kCoordinated, ""));
  EXPECT_TRUE(CheckMethod(Mode::kCoordinated, "weighted"));
  EXPECT_TRUE(CheckMethod(Mode::kCompatible, "legacy"));
  EXPECT_EQ(CheckMethod(Mode::kCompatible, "weighted").error().code(), base::Code::kBadRequest);
  EXPECT_EQ(CheckMethod(Mode::kCoordinated, "round-robin").error().code(), base::Code::kBadRequest);
}

TEST(EnvironmentTest, ReadsEveryVariable) {
  Options options;
  EXPECT_TRUE(Read({{"ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION", "True"},
                    {"ARGOCD_CONTROLLER_HEARTBEAT_TIME", "30"},
                    {"ARGOCD_CONTROLLER_REPLICAS", "3"},
                    {"ARGOCD_CONTROLLER_SHARD", "2"},
                    {"ARGOCD_CONTROLLER_SHARDING_ALGORITHM", "round-robin"},
                    {"ARGOCD_APPLICATION_CONTROLLER_NAME", "controller"}},
                   options)
                  .empty());
  EXPECT_TRUE(options.dynamic);
  EXPECT_EQ(options.heartbeat, std::chrono::seconds(30));
  EXPECT_EQ(options.static_replicas, 3);
  EXPECT_EQ(options.shard, 2);
  EXPECT_EQ(options.method, Method::kRoundRobin);
  EXPECT_EQ(options.controller_name, "controller");
}

TEST(EnvironmentTest, KeepsTheDefaultAndWarnsOnValuesItCannotUse) {
  for (const char* heartbeat : {"10s", "9", "61", "", "1e1", " 20"}) {
    Options options;
    const auto warnings = Read({{"ARGOCD_CONTROLLER_HEARTBEAT_TIME", heartbeat}}, options);
    EXPECT_EQ(options.heartbeat, std::chrono::seconds(10)) << heartbeat;
    EXPECT_EQ(warnings.size(), *heartbeat == '\0' ? 0u : 1u) << heartbeat;
  }
  Options options;
  EXPECT_EQ(Read({{"ARGOCD_CONTROLLER_SHARDING_ALGORITHM", "fair"}, {"ARGOCD_CONTROLLER_REPLICAS", "-1"}}, options).size(), 2u);
  EXPECT_EQ(options.method, Method::kLegacy);
  EXPECT_EQ(options.static_replicas, 0);
}

TEST(StaticShardTest, InfersTheOrdinalFromTheHostName) {
  std::vector<std::string> warnings;
  EXPECT_EQ(StaticShard(5, -1, "example-shard-3", warnings), 3);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(StaticShard(5, -1, "exampleshard", warnings), 0);
  EXPECT_EQ(StaticShard(5, -1, "example-shard", warnings), 0);
  EXPECT_EQ(warnings.size(), 2u);
}

TEST(StaticShardTest, MatchesTheVectorsForReplicasAndShards) {
  std::vector<std::string> warnings;
  EXPECT_EQ(StaticShard(1, -1, "host-7", warnings), 0);
  EXPECT_EQ(StaticShard(3, -1, "example-shard-3", warnings), 3) << "equal to the replicas is accepted, as upstream does";
  EXPECT_EQ(StaticShard(1, 3, "host", warnings), 0);
  EXPECT_EQ(StaticShard(2, 3, "host", warnings), 0);
  EXPECT_EQ(StaticShard(2, 1, "host", warnings), 1);
}

TEST(QuirksTest, AreSwitchedByName) {
  Quirks quirks;
  ASSERT_TRUE(ApplyQuirks({"frozen-replicas", "no-vnode-collisions", "no-release"}, quirks));
  EXPECT_TRUE(quirks.frozen_replicas);
  EXPECT_FALSE(quirks.vnode_collisions);
  EXPECT_TRUE(quirks.no_release);
  ASSERT_TRUE(ApplyQuirks({"none", "no-no-release"}, quirks));
  for (const auto& [name, on] : ListQuirks(quirks)) EXPECT_FALSE(on) << name;
  const auto unknown = ApplyQuirks({"fast"}, quirks);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("frozen-replicas"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::options_test
