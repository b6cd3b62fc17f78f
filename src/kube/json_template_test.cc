#include "kube/json_template.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::json_template_test {
namespace {

std::string Printed(std::string_view text) {
  static const base::Json object =
      base::ParseJson(R"({"items":[{"name":"a","tags":["x","y"],"n":1},{"name":"b","tags":[],"n":2.5}],"}":"brace"})", "test")
          .value();
  const auto parsed = JsonTemplate::Parse(text);
  if (!parsed) return "parse: " + parsed.error().message();
  const auto printed = parsed->Print(object);
  return printed ? *printed : "print: " + printed.error().message();
}

TEST(JsonTemplateTest, PathsStandInTheirText) {
  EXPECT_EQ(Printed("{.items[*].name}"), "a b");
  EXPECT_EQ(Printed("first {.items[0].name}, last { .items[-1:].name }!"), "first a, last b!");
  EXPECT_EQ(Printed("{.items[0]}"), R"({"name":"a","tags":["x","y"],"n":1})");
  EXPECT_EQ(Printed("{.items[?(@.n>2)].name}"), "b");
  EXPECT_EQ(Printed("{.nothing}|{.items[*].nothing}"), "|");
}

TEST(JsonTemplateTest, APathNeedsNoBraces) {
  EXPECT_EQ(Printed(".items[0].name"), "a");
  EXPECT_EQ(Printed("items[1].n"), "2.5");
}

TEST(JsonTemplateTest, RangesPrintEachItem) {
  EXPECT_EQ(Printed(R"({range .items[*]}{.name}{"\t"}{.n}{"\n"}{end})"), "a\t1\nb\t2.5\n");
  EXPECT_EQ(Printed(R"({range .items[*]}{.name}:{range .tags[*]}<{@}>{end};{end}.)"), "a:<x><y>;b:;.");
}

TEST(JsonTemplateTest, QuotedTextMayHaveBraces) { EXPECT_EQ(Printed(R"({"}{"}{'a\'b'})"), "}{a'b"); }

TEST(JsonTemplateTest, WhatDoesNotParseSaysWhy) {
  EXPECT_EQ(Printed("{.items"), "parse: a { without its }");
  EXPECT_EQ(Printed("{end}"), "parse: {end} without {range ...}");
  EXPECT_EQ(Printed("{range .items[*]}{.name}"), "parse: {range ...} without {end}");
  EXPECT_TRUE(Printed("{nonsense}").starts_with("parse: unrecognized identifier"));
  EXPECT_EQ(Printed(""), "parse: there is no path");
  EXPECT_TRUE(Printed("{.items[9].name}").starts_with("print: "));
}

TEST(JsonTemplateTest, SizesAreBounded) {
  std::string deep, wide;
  for (int i = 0; i < 20; ++i) deep += "{range .items[*]}";
  EXPECT_EQ(Printed(deep), "parse: ranges are nested too deeply");
  EXPECT_EQ(Printed(std::string(1 << 20, 'x') + "{.a}"), "parse: the template is too long");
  for (int i = 0; i < 8; ++i) wide += "{range $..}";
  for (int i = 0; i < 8; ++i) wide += "{end}";
  EXPECT_EQ(Printed(wide), Printed(wide)) << "it ends";
}

TEST(JsonTemplateTest, PathsOfColumnsAreWrittenInThreeWays) {
  const base::Json object = base::JsonObject{{"a", base::JsonArray{1, "b", nullptr}}};
  for (const char* path : {"{.a[*]}", ".a[*]", "a[*]", " a[*] "}) {
    const auto parsed = ParseColumnPath(path);
    ASSERT_TRUE(parsed) << path;
    EXPECT_EQ(TextOfValues(*parsed->Find(object), ","), "1,b,null") << path;
  }
  EXPECT_FALSE(ParseColumnPath("{}"));
}

}  // namespace
}  // namespace evenkeel::kube::json_template_test
