#include "cli/clusters/shards.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/hash.h"
#include "base/input/file.h"
#include "base/json.h"

namespace evenkeel::cli::shards_test {
namespace {

class PlanShardsTest : public ::testing::Test {
 protected:
  void SetUp() override { file_ = ::testing::TempDir() + "evenkeel-secrets-" + std::to_string(getpid()) + ".json"; }
  void TearDown() override { std::filesystem::remove(file_); }

  void WriteSecrets(int count) {
    base::JsonArray items;
    for (int id = 1; id <= count; ++id) {
      const std::string name = "c" + std::to_string(id);
      items.push_back(base::JsonObject{
          {"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", base::JsonObject{{"name", name},
                                        {"uid", std::to_string(id)},
                                        {"labels", base::JsonObject{{"argocd.argoproj.io/secret-type", "cluster"}}}}},
          {"data",
           base::JsonObject{{"server", base::Base64Encode("https://" + name + "/")}, {"name", base::Base64Encode(name)}}}});
    }
    ASSERT_TRUE(
        base::WriteFile(file_, base::ToText(base::JsonObject{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}})));
  }

  base::Result<base::Json> Plan(int64_t replicas, const std::string& method, const std::string& current = "") {
    PlanShardsOptions options;
    options.common.output = "json";
    options.common.method = method;
    options.files = {file_};
    options.replicas = replicas;
    options.current = current;
    std::ostringstream out;
    EVENKEEL_TRY(PlanShards(options, out));
    return base::ParseJson(out.str(), "plan");
  }

  std::string file_;
};

TEST_F(PlanShardsTest, AnswersWithTheKeysThatOthersRelyOn) {
  WriteSecrets(2);
  const auto plan = Plan(2, "round-robin");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(
      base::ToText(*plan),
      R"({"method":"round-robin","replicas":2,)"
      R"("assignments":[{"cluster":"c1","server":"https://c1","id":"1","shard":0},{"cluster":"c2","server":"https://c2","id":"2","shard":1}],)"
      R"("shards":[{"shard":0,"clusters":1,"weight":1},{"shard":1,"clusters":1,"weight":1}],"moves":[]})");
}

TEST_F(PlanShardsTest, ListsWhatMovesAgainstAnEarlierPlan) {
  WriteSecrets(10);
  const auto before = Plan(3, "legacy");
  ASSERT_TRUE(before);
  const std::string current = file_ + ".current";
  ASSERT_TRUE(base::WriteFile(current, base::ToText(*before)));
  const auto after = Plan(2, "legacy", current);
  std::filesystem::remove(current);
  ASSERT_TRUE(after);
  std::string moved;
  for (const base::Json& move : base::FindArray(*after, {"moves"})) {
    EXPECT_NE(base::FindInt(move, {"from"}), base::FindInt(move, {"to"}));
    moved += std::string(base::FindString(move, {"cluster"})) + " ";
  }
  // 1121220120 over three replicas, 0101010100 over two, in the order 1, 10, 2, 3 ...
  EXPECT_EQ(moved, "c1 c3 c5 c6 c9 ");
}

TEST_F(PlanShardsTest, BadInputIsBadInput) {
  EXPECT_EQ(Plan(2, "legacy").error().code(), base::Code::kBadRequest) << "no such file";
  WriteSecrets(1);
  EXPECT_EQ(Plan(2, "fair").error().code(), base::Code::kBadRequest);
  for (const int64_t replicas : {-1, 0}) EXPECT_EQ(Plan(replicas, "legacy").error().code(), base::Code::kBadRequest);
  EXPECT_EQ(Plan(2, "legacy", "/nowhere").error().code(), base::Code::kBadRequest);
  ASSERT_TRUE(base::WriteFile(file_, "kind: ["));
  EXPECT_EQ(Plan(2, "legacy").error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::cli::shards_test
