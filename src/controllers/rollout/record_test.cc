#include "controllers/rollout/record.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::record_test {
namespace {

using base::Json;

constexpr const char* kUnderWay =
    R"([{"observedGenerations": {"multiclusterzookeeper": 2, "zookeeper": 3}, "order": ["a", "b", "c"],
  "status": "Deploying", "currentState": {"deploying": ["b"], "completed": ["a"], "pending": ["c"]},
  "lastTransitionTime": "2026-01-01T00:00:00Z"}])";

base::Result<std::vector<Record>> Read(const std::string& text) {
  const Json json = *base::ParseJson(text, "test");
  return ReadRecords(base::Field(&json, "", "status.records"));
}

/// The records above with one text replaced.
std::string Edited(std::string_view from, std::string_view to) {
  std::string text = kUnderWay;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const auto records = Read(text);
  return records ? "none" : records.error().message();
}

TEST(RecordTest, AreReadAndWrittenUnderTheNamesOfTheOriginalSchema) {
  const auto records = Read(kUnderWay);
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 1u);
  const Record& record = records->front();
  EXPECT_EQ(record.observed_generations.at("zookeeper"), 3);
  EXPECT_EQ(record.order, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(record.deploying, (std::vector<std::string>{"b"}));
  EXPECT_EQ(base::FormatTime(record.last_transition), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(base::Equal(Json(WriteRecords(*records)), *base::ParseJson(kUnderWay, "test")));
}

TEST(RecordTest, WhatOthersAddedIsKept) {
  const std::string text = Edited("\"status\"", R"("revision": "r1", "baseRevision": "r0", "startedAt": "2026-01-01T00:00:00Z",
    "advance": [0, 2], "approvedBy": {"name": "eve"}, "status")");
  const auto records = Read(text);
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_EQ(records->front().revision, "r1");
  EXPECT_EQ(records->front().advance, (std::vector<int64_t>{0, 2}));
  EXPECT_TRUE(base::Equal(Json(WriteRecords(*records)), *base::ParseJson(text, "test")));
}

TEST(RecordTest, TheDialectsOfOtherWritersAreUnderstood) {
  EXPECT_EQ(base::FindString(WriteRecords(*Read(Edited("Deploying", "Deploy")))[0], {"status"}), "Deploying");
  // Its authors never fill "pending".
  EXPECT_EQ(Read(Edited(R"(, "pending": ["c"])", ""))->front().pending, (std::vector<std::string>{"c"}));
  const char* bare =
      R"([{"observedGenerations": {}, "order": ["a", "b"], "status": "STATUS", "lastTransitionTime": "2026-01-01T00:00:00Z"}])";
  std::string text = bare;
  EXPECT_EQ(Read(text.replace(text.find("STATUS"), 6, "Deploying"))->front().pending, (std::vector<std::string>{"a", "b"}));
  text = bare;
  EXPECT_EQ(Read(text.replace(text.find("STATUS"), 6, "Ready"))->front().completed, (std::vector<std::string>{"a", "b"}));
}

TEST(RecordTest, HandEditedOnesAreRefusedWithTheFieldAndTheReason) {
  EXPECT_EQ(ErrorOf("{}"), "status.records: not a list");
  EXPECT_EQ(ErrorOf("[3]"), "status.records[0]: not an object");
  EXPECT_EQ(ErrorOf(Edited("Deploying", "Done")),
            "status.records[0].status: \"Done\" is not Ready, Deploying, Paused, Failed, RollingBack or Superseded");
  EXPECT_EQ(ErrorOf(Edited("\"zookeeper\": 3", "\"zookeeper\": -3")),
            "status.records[0].observedGenerations[\"zookeeper\"]: not a whole number of at least 0");
  EXPECT_EQ(ErrorOf(Edited(R"(["a", "b", "c"])", R"(["a", "b", "b"])")), "status.records[0].order: \"b\" is listed twice");
  EXPECT_EQ(ErrorOf(Edited(R"(["a", "b", "c"])", R"(["a", 5])")), "status.records[0].order[1]: not the name of a cluster");
  EXPECT_EQ(ErrorOf(Edited(R"("completed": ["a"])", R"("completed": ["a", "b"])")),
            "status.records[0].currentState.completed: \"b\" is deploying as well");
  EXPECT_EQ(ErrorOf(Edited(R"("completed": ["a"])", R"("completed": ["x"])")),
            "status.records[0].currentState.completed: \"x\" is not in order");
  EXPECT_EQ(ErrorOf(Edited(R"("completed": ["a"])", R"("completed": [])")),
            "status.records[0].currentState: \"a\" is neither deploying nor completed nor pending");
  EXPECT_EQ(ErrorOf(Edited(R"("deploying": ["b"], "completed": ["a"])", R"("deploying": ["b", "a"])")),
            "status.records[0].currentState.deploying: more than one cluster");
  EXPECT_EQ(ErrorOf(Edited(R"("deploying": ["b"], "completed": ["a"], "pending": ["c"])",
                           R"("deploying": ["b"], "completed": [], "pending": ["c", "a"])")),
            "status.records[0].currentState.pending: not in the order of the record's order");
  EXPECT_EQ(ErrorOf(Edited("\"Deploying\"", "\"Ready\"")),
            "status.records[0].currentState: the record is Ready, but not every cluster is completed");
  EXPECT_EQ(ErrorOf(Edited("\"Deploying\"", "\"Failed\"")),
            "status.records[0].currentState.deploying: the record has Failed, but a cluster is deploying");
  EXPECT_EQ(ErrorOf(Edited("\"pending\"", "\"waiting\"")),
            "status.records[0].currentState: \"waiting\" is not deploying, completed or pending");
  EXPECT_EQ(ErrorOf(Edited("\"order\"", R"("advance": ["a"], "order")")), "status.records[0].advance[0]: not a whole number");
  EXPECT_EQ(ErrorOf(Edited("2026-01-01T00:00:00Z", "yesterday")), "status.records[0].lastTransitionTime: not an RFC 3339 time");
  std::string two = kUnderWay;
  two.insert(1, std::string(kUnderWay).substr(1, two.size() - 2) + ",");
  EXPECT_EQ(ErrorOf(two), "status.records[0].status: Deploying, but only the last record may be under way");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::record_test
