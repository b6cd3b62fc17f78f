#include "base/json.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <bit>
#include <cmath>

#include "base/random.h"
#include "base/utf8.h"

namespace evenkeel::base::json_test {
namespace {

Json Parse(std::string_view text) {
  auto value = ParseJson(text, "test");
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message());
  return value ? *std::move(value) : Json();
}

TEST(JsonTest, ErrorsNameSourceLineAndColumn) {
  const auto bad = ParseJson("{\n  \"a\": nope\n}", "pods.json");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), Code::kBadRequest);
  EXPECT_TRUE(bad.error().message().starts_with("pods.json:2:")) << bad.error().message();
  const auto trailing = ParseJson("{}\n x", "body");
  ASSERT_FALSE(trailing);
  EXPECT_TRUE(trailing.error().message().starts_with("body:2:2:")) << trailing.error().message();
  EXPECT_FALSE(ParseJson("", "body"));
  EXPECT_FALSE(ParseJson("{\"a\":", "body"));
}

TEST(JsonTest, TrailingWhiteSpaceIsFine) { EXPECT_EQ(ToText(Parse(" [1, 2]\r\n\t ")), "[1,2]"); }

TEST(JsonTest, NestingIsBounded) {
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  const auto deepest = ParseJson(nested(kJsonDepthMax), "test");
  ASSERT_TRUE(deepest);
  EXPECT_EQ(DepthOf(*deepest), kJsonDepthMax);
  const auto deeper = ParseJson(nested(kJsonDepthMax + 1), "test");
  ASSERT_FALSE(deeper);
  EXPECT_TRUE(deeper.error().message().ends_with("nested deeper than 1000 levels")) << deeper.error().message();
  EXPECT_EQ(DepthOf(Parse(R"({"a":[1,{"b":2}],"c":{}})")), 3U);
  EXPECT_EQ(DepthOf(Parse("1")), 0U);
}

TEST(JsonTest, TheLastOfDuplicateKeysWins) { EXPECT_EQ(ToText(Parse(R"({"a":1,"a":2})")), R"({"a":2})"); }

TEST(JsonTest, WritesNumbersAsGoDoes) {
  EXPECT_EQ(ToText(Json(1.5)), "1.5");
  EXPECT_EQ(ToText(Json(3.0)), "3");
  EXPECT_EQ(ToText(Json(-0.25)), "-0.25");
  EXPECT_EQ(ToText(Json(1e300)), "1e+300");
  EXPECT_EQ(ToText(Json(1e20)), "100000000000000000000");
  EXPECT_EQ(ToText(Json(int64_t{-9223372036854775807 - 1})), "-9223372036854775808");
  EXPECT_EQ(ToText(Json(uint64_t{18446744073709551615u})), "18446744073709551615");
}

TEST(JsonTest, KeepsTheSignOfZero) {
  for (const char* text : {"-0.0", "-0e5", "-0e0088888", "-1e-400"}) {
    const Json read = Parse(text);
    ASSERT_TRUE(read.is_double()) << text;
    EXPECT_EQ(ToText(read), "-0.0") << text;
    EXPECT_EQ(ToPrettyText(read), "-0.0") << text;
  }
  EXPECT_EQ(ToText(Json(0.0)), "0");
  EXPECT_EQ(ToText(Parse("-0")), "0");
}

TEST(JsonTest, NumbersComeBackBitForBit) {
  Random random(5);
  for (int i = 0; i < 50'000; ++i) {
    const auto number = std::bit_cast<double>(random.Next());
    if (!std::isfinite(number)) continue;
    const std::string digits = fmt::format("{:.17g}", number);
    const Json read = Parse(digits);
    if (read.is_double()) {
      ASSERT_EQ(std::bit_cast<uint64_t>(read.get_double()), std::bit_cast<uint64_t>(number)) << digits;
    }
    ASSERT_EQ(Parse(ToText(read)).to_number<double>(), number) << digits;
  }
  EXPECT_EQ(Parse("123456789012345678901234567890").get_double(), 123456789012345678901234567890.0);
  EXPECT_EQ(Parse("1e-400").get_double(), 0);
  EXPECT_EQ(Parse("5e-324").get_double(), 5e-324);
  for (const char* large : {"1e400", "-1e400", "[1e309]", "1e99999999999999999999"}) {
    const auto refused = ParseJson(large, "body");
    ASSERT_FALSE(refused) << large;
    EXPECT_TRUE(refused.error().message().ends_with("a number is too large")) << refused.error().message();
  }
}

TEST(JsonTest, KnowsUtf8) {
  for (const char* good :
       {"", "a", "\x7f", "\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xfe"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(JsonTest, FindsWhereATextIsNotUtf8) {
  EXPECT_EQ(FindNotUtf8("a\xc3\xbc"), std::string_view::npos);
  EXPECT_EQ(FindNotUtf8("a\xc3\xbc\xff"), 3u);
  EXPECT_EQ(FindNotUtf8("ab\xe2\x82"), 2u);
}

TEST(JsonTest, EscapesStrings) {
  EXPECT_EQ(ToText(Json("a\"b\\c\n\t\x01 ü")), "\"a\\\"b\\\\c\\n\\t\\u0001 ü\"");
  EXPECT_EQ(Parse(ToText(Json("a\"b\\c\n\t\x01 ü"))), Json("a\"b\\c\n\t\x01 ü"));
}

TEST(JsonTest, AppendsToTheTextThatIsThere) {
  std::string text = "a: ";
  AppendText(text, Parse(R"({"b":[1.5,"x\"y"]})"));
  text += ' ';
  AppendQuoted(text, "line\n");
  EXPECT_EQ(text, R"(a: {"b":[1.5,"x\"y"]} "line\n")");
}

TEST(JsonTest, ParsesIntoTheStorageOfTheCaller) {
  std::optional<Json> copy;
  {
    boost::json::monotonic_resource storage;
    const auto value = ParseJson(R"({"a":{"b":["a text that does not fit into the value itself"]}})", "test", &storage);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->storage().get(), &storage);
    EXPECT_EQ(Find(*value, {"a", "b"})->storage().get(), &storage);
    copy.emplace(*value, boost::json::storage_ptr());
    EXPECT_FALSE(ParseJson("[1,", "test", &storage));
  }
  EXPECT_EQ(ToText(*copy), R"({"a":{"b":["a text that does not fit into the value itself"]}})");
}

TEST(JsonTest, PrettyTextIsIndentedByTwo) {
  EXPECT_EQ(ToPrettyText(Parse(R"({"b":[1,{}],"a":{}})")), "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {}\n}");
}

TEST(JsonTest, CanonicalTextSortsKeys) {
  EXPECT_EQ(CanonicalText(Parse(R"({"b":{"z":1,"a":2},"a":[{"d":1,"c":2}]})")), R"({"a":[{"c":2,"d":1}],"b":{"a":2,"z":1}})");
}

TEST(JsonTest, FindersFallBackOnOtherTypes) {
  const Json pod = Parse(R"({"metadata":{"name":"web","generation":3,"deep":{"x":true}},"list":[1]})");
  EXPECT_EQ(FindString(pod, {"metadata", "name"}), "web");
  EXPECT_EQ(FindString(pod, {"metadata", "generation"}, "none"), "none");
  EXPECT_EQ(FindInt(pod, {"metadata", "generation"}), 3);
  EXPECT_EQ(FindInt(pod, {"metadata", "name", "x"}, 7), 7);
  EXPECT_EQ(FindInt(Json{{"n", 3.0}}, {"n"}), 3);
  EXPECT_TRUE(FindBool(pod, {"metadata", "deep", "x"}));
  EXPECT_EQ(FindArray(pod, {"list"}).size(), 1u);
  EXPECT_TRUE(FindArray(pod, {"metadata"}).empty());
  EXPECT_EQ(FindObject(pod, {"metadata", "deep"}).size(), 1u);
  EXPECT_TRUE(FindObject(pod, {"list"}).empty());
}

TEST(JsonTest, FindsTextsAmongOtherTypes) {
  const Json value = Parse(R"({"a":{"list":["x",1,null,"y"],"map":{"k":"v","n":1}}})");
  EXPECT_EQ(FindTexts(value, {"a", "list"}), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(FindTexts(*Find(value, {"a", "list"}), {}), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(FindTexts(value, {"a", "map"}).empty());
  EXPECT_EQ(FindTextMap(value, {"a", "map"}), (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_TRUE(FindTextMap(value, {"b"}).empty());
  EXPECT_EQ(ToText(ToJsonArray(std::set<std::string>{"b", "a"})), R"(["a","b"])");
  EXPECT_EQ(ToText(ToJsonArray(std::vector<std::string_view>{})), "[]");
}

TEST(JsonTest, EnsureMakesTheObjectsOnTheWay) {
  Json value;
  Ensure(value, {"a", "b"}) = 1;
  Ensure(value, {"a", "c"}) = 2;
  EXPECT_EQ(ToText(value), R"({"a":{"b":1,"c":2}})");
  Erase(value, {"a", "b"});
  Erase(value, {"a", "x", "y"});
  EXPECT_EQ(ToText(value), R"({"a":{"c":2}})");
}

TEST(JsonTest, EqualComparesNumbersByValueAndObjectsUnordered) {
  EXPECT_TRUE(Equal(Json(int64_t{1}), Json(uint64_t{1})));
  EXPECT_TRUE(Equal(Json(1), Json(1.0)));
  EXPECT_FALSE(Equal(Json(1), Json(1.5)));
  EXPECT_FALSE(Equal(Json(int64_t{-1}), Json(uint64_t{18446744073709551615u})));
  EXPECT_FALSE(Equal(Json(int64_t{9007199254740993}), Json(9007199254740992.0)));
  EXPECT_FALSE(Equal(Json(1), Json("1")));
  EXPECT_FALSE(Equal(Json(nullptr), Json(false)));
  EXPECT_TRUE(Equal(Parse(R"({"a":[1,2],"b":null})"), Parse(R"({"b":null,"a":[1,2]})")));
  EXPECT_FALSE(Equal(Parse("[1,2]"), Parse("[2,1]")));
  EXPECT_FALSE(Equal(Parse("[1]"), Parse("[1,2]")));
}

TEST(JsonTest, MergePatchFollowsTheExamplesOfItsRfc) {
  const std::vector<std::array<std::string_view, 3>> examples = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [target, patch, result] : examples) {
    Json value = Parse(target);
    ApplyMergePatch(value, Parse(patch));
    EXPECT_TRUE(Equal(value, Parse(result))) << target << " + " << patch << " = " << ToText(value);
  }
}

TEST(JsonTest, DiffMergePatchTurnsOneIntoTheOther) {
  Json from = Parse(R"({"a":1,"b":{"c":[1],"d":2,"e":{"f":1}},"gone":{}})");
  const Json to = Parse(R"({"a":1.0,"b":{"c":[1,2],"d":2,"e":"text"},"new":{"x":1}})");
  const Json patch = DiffMergePatch(from, to);
  EXPECT_EQ(CanonicalText(patch), R"({"b":{"c":[1,2],"e":"text"},"gone":null,"new":{"x":1}})");
  ApplyMergePatch(from, patch);
  EXPECT_TRUE(Equal(from, to));
  EXPECT_EQ(ToText(DiffMergePatch(to, to)), "{}");
}

struct JsonPatchCase {
  std::string_view target, patch, result;
};

TEST(JsonTest, JsonPatchDoesEveryOperation) {
  const std::vector<JsonPatchCase> cases = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":["a","c"]})", R"([{"op":"add","path":"/foo/1","value":"b"}])", R"({"foo":["a","b","c"]})"},
      {R"({"foo":["a"]})", R"([{"op":"add","path":"/foo/-","value":["b"]}])", R"({"foo":["a",["b"]]})"},
      {R"({"foo":["a"]})", R"([{"op":"add","path":"/foo/1","value":"b"}])", R"({"foo":["a","b"]})"},
      {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/b"}])", R"({"a":1})"},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])", R"({"a":[1,3]})"},
      {R"({"a":[1,2]})", R"([{"op":"replace","path":"/a/0","value":9}])", R"({"a":[9,2]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
      {R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])", R"({"a":{},"b":{"y":1}})"},
      {R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/2"}])", R"({"a":[2,3,1]})"},
      {R"({"a":{"x":[1]}})", R"([{"op":"copy","from":"/a/x","path":"/b"}])", R"({"a":{"x":[1]},"b":[1]})"},
      {R"({"a/b":1,"c~d":2})", R"([{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c~0d","value":3}])", R"({"c~d":3})"},
      {R"({"~1":1})", R"([{"op":"test","path":"/~01","value":1}])", R"({"~1":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"":1})", R"([{"op":"replace","path":"/","value":2}])", R"({"":2})"},
  };
  for (const auto& [target, patch, result] : cases) {
    Json value = Parse(target);
    const Status applied = ApplyJsonPatch(value, Parse(patch));
    EXPECT_TRUE(applied) << patch << ": " << (applied ? "" : applied.error().message());
    EXPECT_TRUE(Equal(value, Parse(result))) << patch << " gives " << ToText(value);
  }
}

TEST(JsonTest, AJsonPatchIsBounded) {
  const Json original = Parse(R"({"a":{"text":"12345678"}})");
  Json value = original;
  std::string doubling = "[", many = "[";
  for (int i = 0; i < 40; ++i)
    doubling += fmt::format(R"({}{{"op":"copy","from":"/a","path":"/a/x{}"}})", i == 0 ? "" : ",", i);
  for (int i = 0; i <= 10'000; ++i)
    many += fmt::format(R"({}{{"op":"test","path":"/a/text","value":"12345678"}})", i == 0 ? "" : ",");
  const Status doubled = ApplyJsonPatch(value, Parse(doubling + "]"));
  ASSERT_FALSE(doubled);
  EXPECT_EQ(doubled.error().code(), Code::kInvalid);
  EXPECT_NE(doubled.error().message().find("more than 3145728 bytes"), std::string::npos) << doubled.error().message();
  const Status too_many = ApplyJsonPatch(value, Parse(many + "]"));
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code(), Code::kTooLarge);
  EXPECT_TRUE(Equal(value, original));
}

TEST(JsonTest, AFailingJsonPatchChangesNothing) {
  const std::vector<std::string_view> patches = {
      R"([{"op":"replace","path":"/a","value":5},{"op":"test","path":"/a","value":1}])",
      R"([{"op":"remove","path":"/missing"}])",
      R"([{"op":"replace","path":"/missing","value":1}])",
      R"([{"op":"add","path":"/missing/x","value":1}])",
      R"([{"op":"add","path":"/list/3","value":1}])",
      R"([{"op":"add","path":"/list/01","value":1}])",
      R"([{"op":"remove","path":"/list/-"}])",
      R"([{"op":"add","path":"/a/x","value":1}])",
      R"([{"op":"add","path":"a","value":1}])",
      R"([{"op":"add","path":"/a~2","value":1}])",
      R"([{"op":"add","path":"/a"}])",
      R"([{"op":"move","from":"/list","path":"/list/0"}])",
      R"([{"op":"copy","path":"/x"}])",
      R"([{"op":"turn","path":"/a"}])",
      R"([5])",
      R"({"op":"add"})",
  };
  const Json original = Parse(R"({"a":1,"list":[1,2]})");
  for (const std::string_view patch : patches) {
    Json value = original;
    const Status applied = ApplyJsonPatch(value, Parse(patch));
    ASSERT_FALSE(applied) << patch;
    EXPECT_EQ(applied.error().code(), Code::kInvalid);
    EXPECT_TRUE(Equal(value, original)) << patch;
  }
}

TEST(JsonTest, AFailingJsonPatchNamesItsOperation) {
  Json value = Parse(R"({"a":1})");
  const Status applied = ApplyJsonPatch(value, Parse(R"([{"op":"test","path":"/a","value":2}])"));
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().message(), "operation 0 (test /a): the value is 1, not 2");
}

}  // namespace
}  // namespace evenkeel::base::json_test
