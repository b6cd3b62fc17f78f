#include "base/input/field.h"

#include <gtest/gtest.h>

namespace evenkeel::base::field_test {
namespace {

using namespace std::chrono_literals;

class FieldTest : public ::testing::Test {
 protected:
  const Json document_ = *ParseJson(R"({"text": "a", "flag": true, "whole": 3, "large": 18446744073709551615, "part": 1.5,
      "wait": "90s", "at": "2026-01-02T03:04:05Z", "none": null, "list": ["a", 2], "map": {"x y": 1, "a\nb": 2}})",
                                    "document");
  const Field root_{&document_, "a.yaml:3: Thing t", "spec"};
  int64_t whole_ = 7;
  double number_ = 7;
  std::string text_ = "before";
};

std::string Message(const Status& status) { return status ? "" : status.error().message(); }

TEST_F(FieldTest, WhatIsAbsentOrNullChangesNothing) {
  std::optional<double> share;
  bool flag = true;
  Duration wait = 1s;
  std::optional<Time> at;
  for (const Field& field : {root_["absent"], root_["none"], root_["text"]["below"], root_["list"]["member"], root_.Item(0)}) {
    EXPECT_FALSE(field);
    EXPECT_TRUE(field.Text(text_) && field.Whole(whole_, 8, 9) && field.Number(number_) && field.Number(share) &&
                field.Flag(flag) && field.Wait(wait) && field.Instant(at) && field.Word(text_, {"b"}));
    EXPECT_TRUE(field.ForEach([](const Field&) -> Status { return Fail(Code::kInternal, "visited"); }));
  }
  EXPECT_EQ(text_, "before");
  EXPECT_EQ(whole_, 7);
  EXPECT_TRUE(flag);
  EXPECT_EQ(wait, 1s);
  EXPECT_FALSE(share || at);
  EXPECT_EQ(Message(root_["none"].Required("it is needed")), "a.yaml:3: Thing t: spec.none: missing: it is needed");
  EXPECT_TRUE(root_["text"].Required());
}

TEST_F(FieldTest, ValuesAreReadByTheirTypes) {
  std::optional<bool> flag;
  std::optional<Duration> wait;
  std::optional<Time> at;
  EXPECT_TRUE(root_["text"].Text(text_));
  EXPECT_TRUE(root_["whole"].Whole(whole_, 3, 3));
  EXPECT_TRUE(root_["part"].Number(number_, 0, 2));
  EXPECT_TRUE(root_["flag"].Flag(flag) && root_["wait"].Wait(wait) && root_["at"].Instant(at));
  EXPECT_EQ(text_, "a");
  EXPECT_EQ(whole_, 3);
  EXPECT_EQ(number_, 1.5);
  EXPECT_EQ(flag, true);
  EXPECT_EQ(wait, 90s);
  EXPECT_EQ(FormatTime(*at), "2026-01-02T03:04:05Z");
}

TEST_F(FieldTest, ErrorsSayWhereWhichFieldAndWhatIsExpected) {
  const std::string at = "a.yaml:3: Thing t: spec.";
  bool flag = false;
  Duration wait{};
  EXPECT_EQ(Message(root_["whole"].Text(text_)), at + "whole: not a text");
  EXPECT_EQ(Message(root_["text"].Flag(flag)), at + "text: not true or false");
  EXPECT_EQ(Message(root_["whole"].Whole(whole_, 4, 9)), at + "whole: not a whole number from 4 to 9");
  EXPECT_EQ(Message(root_["part"].Whole(whole_)), at + "part: not a whole number of at least 0");
  EXPECT_EQ(Message(root_["large"].Whole(whole_)), at + "large: not a whole number of at least 0");
  EXPECT_EQ(Message(root_["text"].Number(number_, 0, 1)), at + "text: not a number from 0 to 1");
  EXPECT_EQ(Message(root_["part"].Number(number_, 2)), at + "part: not a number of at least 2");
  EXPECT_EQ(Message(root_["text"].Wait(wait)), at + "text: not a duration such as 10m or 1h30m");
  EXPECT_EQ(Message(root_["wait"].Wait(wait, 1s, 60s)), at + "wait: not a duration from 1s to 1m");
  EXPECT_EQ(Message(root_["text"].Word(text_, {"b", "c", "d"})), at + "text: \"a\" is not b, c or d");
  EXPECT_EQ(Message(root_["whole"].Word<int64_t>(whole_, {{"b", 1}, {"c", 2}})), at + "whole: not b or c");
  EXPECT_EQ(Message(root_["list"].IsObject()), at + "list: not an object");
  EXPECT_EQ(Message(root_["text"].ForEach([](const Field&) -> Status { return {}; })), at + "text: not a list");
  std::vector<std::string> texts;
  EXPECT_EQ(Message(root_["list"].Texts(texts)), at + "list[1]: not a text");
  EXPECT_EQ(text_, "before");
}

TEST_F(FieldTest, MembersKnowTheirWaysAndMessagesStayOnOneLine) {
  std::vector<std::string> paths;
  EXPECT_TRUE(root_["map"].ForEachMember([&](std::string_view, const Field& member) -> Status {
    paths.push_back(member.path());
    return {};
  }));
  EXPECT_EQ(paths, (std::vector<std::string>{"spec.map.x y", "spec.map.a\nb"}));
  EXPECT_EQ(Message(root_["map"].Named("x y").Text(text_)), "a.yaml:3: Thing t: spec.map[\"x y\"]: not a text");
  const auto wrong = root_["map"]["a\nb"].Wrong("not\tso");
  EXPECT_EQ(wrong.error().message(), "a.yaml:3: Thing t: spec.map.a b: not so");
  EXPECT_EQ(wrong.error().details()->causes[0].field, "spec.map.a\nb");
  EXPECT_EQ(Field(&document_, "", "", Code::kInvalid)["text"].Wrong("no").error().code(), Code::kInvalid);
  EXPECT_EQ(Field(&document_, "").Wrong("no").error().message(), "no");
}

}  // namespace
}  // namespace evenkeel::base::field_test
