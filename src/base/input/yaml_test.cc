#include "base/input/yaml.h"
#include "base/input/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"

namespace evenkeel::base::yaml_test {
namespace {

std::string AsJson(std::string_view text) {
  const auto value = ParseYamlDocument(text, "test");
  return value ? CanonicalText(*value) : "error: " + value.error().message();
}

std::string YamlErrorOf(std::string_view text) {
  const auto value = ParseYaml(text, "pods.yaml");
  return value ? "no error" : value.error().message();
}

TEST(YamlTest, ReadsScalarsAsKubernetesDoes) {
  const std::vector<std::pair<std::string_view, std::string_view>> scalars = {
      {"1", "1"},
      {"-7", "-7"},
      {"+7", "7"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"0644", "420"},
      {"0b11", "3"},
      {"1_000", "1000"},
      {"08", "8"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"1e3", "1000"},
      {"2.0", "2"},
      {"6e-2", "0.06"},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"true", "true"},
      {"Yes", "true"},
      {"on", "true"},
      {"OFF", "false"},
      {"no", "false"},
      {"y", "\"y\""},
      {"tRue", "\"tRue\""},
      {"1.2.3", "\"1.2.3\""},
      {"1Gi", "\"1Gi\""},
      {"-", "\"-\""},
      {"12:30", "\"12:30\""},
      {"2024-12-15", "\"2024-12-15\""},
      {"2024-12-15T01:13:04Z", "\"2024-12-15T01:13:04Z\""},
      {"\"1\"", "\"1\""},
      {"'true'", "\"true\""},
      {"!!str 5", "\"5\""},
      {"!!int \"5\"", "5"},
      {"a b", "\"a b\""},
  };
  for (const auto& [text, json] : scalars) {
    // "- -" is a nested list, so that one case stands in a flow list of its own.
    if (text == "-") continue;
    EXPECT_EQ(AsJson("v: " + std::string(text)), "{\"v\":" + std::string(json) + "}") << text;
  }
  for (const std::string_view null : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_EQ(AsJson("v: " + std::string(null)), "{\"v\":null}") << null;
  }
}

TEST(YamlTest, ReadsBlocksAndCollections) {
  EXPECT_EQ(AsJson("a:\n- 1\n- b: 2\n  c: [x, {y: z}]\n"), R"({"a":[1,{"b":2,"c":["x",{"y":"z"}]}]})");
  EXPECT_EQ(AsJson("a: |\n  one\n   two\n\nb: >-\n  x\n  y\n"), R"({"a":"one\n two\n","b":"x y"})");
  EXPECT_EQ(AsJson("a: |\n  5\n"), R"({"a":"5\n"})");
  EXPECT_EQ(AsJson("1: a\ntrue: b\n\"x y\": c\n"), R"({"1":"a","true":"b","x y":"c"})");
}

TEST(YamlTest, ReadsAnchorsAndMergeKeys) {
  EXPECT_EQ(AsJson("a: &x {p: 1}\nb: *x\n"), R"({"a":{"p":1},"b":{"p":1}})");
  EXPECT_EQ(AsJson("base: &b {x: 1, y: 2}\nv:\n  <<: *b\n  x: 9\n"), R"({"base":{"x":1,"y":2},"v":{"x":9,"y":2}})");
  EXPECT_EQ(AsJson("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nv: {<<: [*a, *b]}\n"),
            R"({"a":{"x":1},"b":{"x":2,"y":2},"v":{"x":1,"y":2}})");
  EXPECT_EQ(AsJson("\"<<\": 1"), R"({"<<":1})");
}

TEST(YamlTest, SplitsDocumentsAndLeavesEmptyOnesOut) {
  const auto documents = ParseYaml("# comment\n---\na: 1\n---\n---\n# nothing\n---\n\nb: 2\n...\n", "test");
  ASSERT_TRUE(documents) << documents.error().message();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].line, 3);
  EXPECT_EQ((*documents)[1].line, 9);
  EXPECT_EQ(CanonicalText((*documents)[1].value), R"({"b":2})");
  EXPECT_TRUE(ParseYaml("", "test")->empty());
  EXPECT_FALSE(ParseYamlDocument("a: 1\n---\nb: 1\n", "test"));
  EXPECT_FALSE(ParseYamlDocument("", "test"));
}

TEST(YamlTest, ReadsJsonAndFlowYaml) {
  EXPECT_EQ(AsJson("\n{\"a\": 1e3, \"b\": \"yes\"}"), R"({"a":1000,"b":"yes"})");
  EXPECT_EQ(AsJson("{a: yes}"), R"({"a":true})");
  EXPECT_EQ(ParseYaml("{\"a\":1}\n---\n{\"b\":2}\n", "test")->size(), 2u);
}

TEST(YamlTest, LetsTheLastOfAKeyCountWhereThatIsAskedFor) {
  const auto documents = ParseYaml("a: 1\nb: {c: 1, c: 2}\na: 3\n---\nd: 4\n", "f", YamlDuplicates::kLastCounts).value();
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(ToText(documents[0].value), R"({"a":3,"b":{"c":2}})");
  EXPECT_EQ(documents[0].warnings,
            (std::vector<std::string>{"f:2: the key \"c\" is already set in this map: the last one counts",
                                      "f:3: the key \"a\" is already set in this map: the last one counts"}));
  EXPECT_TRUE(documents[1].warnings.empty());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a: " + std::to_string(i) + "\n";
  const auto bounded = ParseYaml(many, "f", YamlDuplicates::kLastCounts).value();
  EXPECT_EQ(ToText(bounded[0].value), R"({"a":999})");
  EXPECT_LE(bounded[0].warnings.size(), 100U);
}

TEST(YamlTest, ErrorsHaveSourceLineAndColumn) {
  EXPECT_TRUE(YamlErrorOf("a: 1\nb: [1,\n").starts_with("pods.yaml:")) << YamlErrorOf("a: 1\nb: [1,\n");
  EXPECT_EQ(YamlErrorOf("a: 1\nb: 2\na: 3\n"), "pods.yaml:3:1: invalid YAML: the key \"a\" is already set in this map");
  EXPECT_TRUE(YamlErrorOf("a:\n  b: .inf\n").starts_with("pods.yaml:2:6:")) << YamlErrorOf("a:\n  b: .inf\n");
  EXPECT_TRUE(YamlErrorOf("a: b: c\n").starts_with("pods.yaml:1:")) << YamlErrorOf("a: b: c\n");
  EXPECT_TRUE(YamlErrorOf("{\"a\": 1,, }").starts_with("pods.yaml:1:")) << YamlErrorOf("{\"a\": 1,, }");
  EXPECT_EQ(YamlErrorOf(" ,,"), "pods.yaml:1:2: invalid YAML: unexpected text at the start of a document");
  EXPECT_NE(YamlErrorOf("a: 1\n---\n]\n"), "no error");
  EXPECT_NE(YamlErrorOf("? [a]\n: 1\n"), "no error");
  EXPECT_NE(YamlErrorOf("~: 1\n"), "no error");
  EXPECT_NE(YamlErrorOf("<<: 5\n"), "no error");
  EXPECT_NE(YamlErrorOf("a: *nowhere\n"), "no error");
  EXPECT_NE(YamlErrorOf("a: &x [*x]\n"), "no error");
  EXPECT_NE(YamlErrorOf("a: !!int pear\n"), "no error");
}

TEST(YamlTest, ErrorsAreOneLineWhateverTheInput) {
  const std::string text(".0\0\n", 4);
  const auto bad = ParseYaml(text, "in");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message().find_first_of(std::string("\0\n\r", 3)), std::string::npos) << bad.error().message();
}

TEST(YamlTest, ControlCharactersAreNotAllowed) {
  const std::string zero("a: b\nc\0d: e\n", 12);
  EXPECT_EQ(YamlErrorOf(zero), "pods.yaml:2:2: invalid YAML: control characters are not allowed");
  EXPECT_NE(YamlErrorOf("a: \x7f\n"), "no error");
  EXPECT_NE(YamlErrorOf("a: \xc2\x9f\n"), "no error");
  EXPECT_EQ(YamlErrorOf("a: \"\\x01\"\r\nb: \tc \xc2\xa0\n"), "no error");
}

TEST(YamlTest, AliasesAndNestingAreBounded) {
  std::string bomb = "a0: &a0 [" + std::string(1000, 'x') + "]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string name = std::to_string(i);
    bomb += "a" + name + ": &a" + name + " [";
    for (int j = 0; j < 10; ++j) bomb += (j ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(YamlErrorOf(bomb).find("10 MB"), std::string::npos) << YamlErrorOf(bomb);
  // An alias hangs one hundred levels below another hundred, and so on; yaml-cpp itself gives up at 500 as they are written.
  std::string deep = "a0: &a0 x\n";
  for (int i = 1; i <= 11; ++i) {
    deep += fmt::format("a{0}: &a{0} {1}*a{2}{3}\n", i, std::string(100, '['), i - 1, std::string(100, ']'));
  }
  EXPECT_NE(YamlErrorOf(deep).find("deeper than 1000 levels"), std::string::npos) << YamlErrorOf(deep);
  EXPECT_NE(YamlErrorOf(std::string(100'000, '[')).find("pods.yaml:1:"), std::string::npos);
}

TEST(YamlTest, WritesAsKubectlPrints) {
  const auto value = ParseJson(R"({"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"on":"yes","n":"1"},"finalizers":[],
      "creationTimestamp":"2024-12-15T01:13:04Z","annotations":{}},
      "spec":{"containers":[{"name":"web","args":["-v","--x=y","a: b","","*",[1,[2]]],"image":"nginx:1.2"}],"x":null,"f":1.5},
      "data":{"text":"one\n  two\n","none":"a\nb","more":"a\n\n","lead":" a\nb","tab":"a\tb","time":"12:30"}})",
                               "test");
  ASSERT_TRUE(value);
  EXPECT_EQ(ToYaml(*value), R"(apiVersion: v1
data:
  lead: " a\nb"
  more: |+
    a

  none: |-
    a
    b
  tab: "a\tb"
  text: |
    one
      two
  time: "12:30"
kind: Pod
metadata:
  annotations: {}
  creationTimestamp: "2024-12-15T01:13:04Z"
  finalizers: []
  labels:
    "n": "1"
    "on": "yes"
spec:
  containers:
  - args:
    - -v
    - --x=y
    - 'a: b'
    - ""
    - '*'
    - - 1
      - - 2
    image: nginx:1.2
    name: web
  f: 1.5
  x: null
)");
}

TEST(YamlTest, WrittenScalarsAndEmptyCollectionsStandAlone) {
  EXPECT_EQ(ToYaml(Json("a")), "a\n");
  EXPECT_EQ(ToYaml(Json("5")), "\"5\"\n");
  EXPECT_EQ(ToYaml(JsonObject()), "{}\n");
  EXPECT_EQ(ToYaml(JsonArray()), "[]\n");
}

TEST(YamlTest, EveryAwkwardStringReadsBackAsItWas) {
  const std::vector<std::string> pieces = {"a",  "1", " ",  ":",  "#", "-",    "\n",   "'",      "\"",     "\\", "\t",
                                           "{",  "}", "[",  "]",  ",", "&",    "*",    "!",      "|",      ">",  "%",
                                           "@",  "`", "?",  "~",  "ü", "null", "true", "\u2028", "\u0085", "=",  "<<",
                                           "\r", ".", "e5", "0x", "_", "---",  "...",  "\x01",   "\ufeff", "😀"};
  Random random(5);
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (uint64_t j = random.Below(6); j > 0; --j) text += pieces[random.Below(pieces.size())];
    const Json value = JsonObject({{text, JsonArray({text, JsonObject({{"k", text}, {text, text}})})}});
    const std::string yaml = ToYaml(value);
    const auto read = ParseYamlDocument(yaml, "test");
    ASSERT_TRUE(read) << yaml << read.error().message();
    ASSERT_TRUE(Equal(*read, value)) << ToText(value) << "\n" << yaml << ToText(*read);
  }
}

TEST(YamlTest, LongKeysReadBack) {
  const Json value = JsonObject({{"map", JsonObject({{std::string(5000, 'k'), JsonObject({{"a", 1}, {"b", "x\ny"}})}})}});
  const auto read = ParseYamlDocument(ToYaml(value), "test");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(Equal(*read, value));
}

class FileTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }
  const std::string path_ = ::testing::TempDir() + "evenkeel_file_test_" + std::to_string(::getpid());
};

TEST_F(FileTest, WrittenFilesReadBackWithTheirMode) {
  ASSERT_TRUE(WriteFile(path_, "old"));
  ASSERT_TRUE(WriteFile(path_, std::string("new\0content", 11), 0600));
  EXPECT_EQ(*ReadFile(path_), std::string("new\0content", 11));
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FileTest, APipeIsWrittenToAndStays) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFile(path_, "12345"));
  char buffer[8] = {};
  EXPECT_EQ(::read(reader, buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "12345");
  ::close(reader);
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
}

TEST_F(FileTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(ReadFile(path_).error().code(), Code::kNotFound);
  ASSERT_TRUE(WriteFile(path_, "12345"));
  EXPECT_EQ(ReadFile(path_, 4).error().code(), Code::kTooLarge);
  EXPECT_TRUE(ReadFile(path_, 5));
  EXPECT_FALSE(ReadFile("/"));
  EXPECT_EQ(WriteFile("/nowhere/at/all", "x").error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace evenkeel::base::yaml_test
