#include "kube/json_path.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::json_path_test {
namespace {

using base::Json;

const char* const kObject = R"({"a":{"b":[{"t":"x","v":1},{"t":"y","v":2},{"t":"z","v":3}],"c.d":"dot","e":{"f":"deep"}},
  "labels":{"example.org/part":"peel"},"s":"text","none":null,"flag":true})";

std::string Found(std::string_view path) {
  const Json object = base::ParseJson(kObject, "test").value();
  const auto parsed = JsonPath::Parse(path);
  if (!parsed) return "parse: " + parsed.error().message();
  const auto found = parsed->Find(object);
  if (!found) return "find: " + found.error().message();
  std::string text;
  for (const Json* value : *found) text += base::ToText(*value) + ";";
  return text;
}

TEST(JsonPathTest, FollowsFieldsWithEscapesAndQuotes) {
  EXPECT_EQ(Found(".s"), "\"text\";");
  EXPECT_EQ(Found(".a.e.f"), "\"deep\";");
  EXPECT_EQ(Found(R"(.a.c\.d)"), "\"dot\";");
  EXPECT_EQ(Found(R"(.a['c\.d'])"), "\"dot\";");
  EXPECT_EQ(Found(R"(.labels['example\.org/part'])"), "\"peel\";");
  EXPECT_EQ(Found(R"(.labels.example\.org/part)"), "\"peel\";");
  EXPECT_EQ(Found(".a['c.d']"), "") << "dots in quotes are steps, as upstream has it";
  EXPECT_EQ(Found("$.a['e'].f"), "\"deep\";");
  EXPECT_EQ(Found(".nope.deeper"), "");
}

TEST(JsonPathTest, TakesItemsSlicesAndUnions) {
  EXPECT_EQ(Found(".a.b[0].v"), "1;");
  EXPECT_EQ(Found(".a.b[-1].v"), "3;");
  EXPECT_EQ(Found(".a.b[-1:].v"), "3;");
  EXPECT_EQ(Found(".a.b[-2:].v"), "2;3;");
  EXPECT_EQ(Found(".a.b[:2].v"), "1;2;");
  EXPECT_EQ(Found(".a.b[::2].v"), "1;3;");
  EXPECT_EQ(Found(".a.b[*].v"), "1;2;3;");
  EXPECT_EQ(Found(".a.b.*.v"), "1;2;3;");
  EXPECT_EQ(Found(".a.b[0,2].v"), "1;3;");
  EXPECT_EQ(Found(".a['c\\.d','e'].f"), "\"deep\";");
  EXPECT_EQ(Found("..v"), "1;2;3;");
  EXPECT_EQ(Found(".a.b[9]"), "find: array index out of bounds");
  EXPECT_EQ(Found(".a[*]"), "find: it is not array or slice");
  EXPECT_EQ(Found(".none[*]"), "");
}

TEST(JsonPathTest, FiltersByEveryOperator) {
  EXPECT_EQ(Found(R"(.a.b[?(@.t=="y")].v)"), "2;");
  EXPECT_EQ(Found(R"(.a.b[?(@.t == 'y')].v)"), "2;");
  EXPECT_EQ(Found(R"(.a.b[?(@.t!="y")].v)"), "1;3;");
  EXPECT_EQ(Found(".a.b[?(@.v>1)].t"), "\"y\";\"z\";");
  EXPECT_EQ(Found(".a.b[?(@.v<=2)].t"), "\"x\";\"y\";");
  EXPECT_EQ(Found(".a.b[?(@.nope)].t"), "");
  EXPECT_EQ(Found(".a.b[?(@.t)].v"), "1;2;3;");
  EXPECT_EQ(Found(R"(.a.b[?(@.t==")]")].v)"), "");
  EXPECT_EQ(Found(R"(.a.b[?(@.v=="1")].v)"), "find: incompatible types for comparison");
}

TEST(JsonPathTest, RefusesWhatUpstreamRefuses) {
  EXPECT_EQ(Found(".a.b["), "parse: unterminated array");
  EXPECT_EQ(Found(".a.b[x]"), "parse: invalid array index x");
  EXPECT_EQ(Found(".a.b[?(@.v]"), "parse: unterminated filter");
  EXPECT_EQ(Found(".a.b[?(@.v)"), "parse: unclosed array expect ]");
  EXPECT_EQ(Found(".a nope"), "parse: unrecognized identifier nope");
}

TEST(JsonPathTest, IsBounded) {
  EXPECT_FALSE(JsonPath::Parse(std::string(1 << 20, 'a')));
  Json deep = 1;
  for (int i = 0; i < 300; ++i) deep = base::JsonArray{std::move(deep)};
  std::string many;
  for (int i = 0; i < 100; ++i) many += "..";
  EXPECT_FALSE(JsonPath::Parse(many).value().Find(deep)) << "each step multiplies what there is";
}

}  // namespace
}  // namespace evenkeel::kube::json_path_test
