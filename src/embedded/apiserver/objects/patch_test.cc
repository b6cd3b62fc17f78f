#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::patch_test {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps/one";
constexpr const char* kMerge = "application/merge-patch+json";

class PatchTest : public ApiFixture {
 protected:
  PatchTest() {
    Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"default"},"data":{"a":"b"}})");
  }
};

TEST_F(PatchTest, UnknownFieldsMakeAPatchInvalidWhereTheyAreNotAllowed) {
  const TestReply refused = Patch(std::string(kMaps) + "?fieldValidation=Strict", kMerge, R"({"dota":{"c":"d"}})");
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_TRUE(refused.message().starts_with(R"( "" is invalid: patch: Invalid value: "{)")) << refused.message();
  EXPECT_TRUE(refused.message().ends_with(R"(strict decoding error: unknown field "dota")")) << refused.message();
  const TestReply json = Patch(std::string(kMaps) + "?fieldValidation=Strict", "application/json-patch+json",
                               R"([{"op":"add","path":"/dota","value":{}}])");
  EXPECT_EQ(json.status, 422) << json.body;
  const TestReply put = Send("PUT", std::string(kMaps) + "?fieldValidation=Strict",
                             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"dota":{}})");
  EXPECT_EQ(put.status, 400) << put.body;
}

TEST_F(PatchTest, StrategicPatchesAreShownAsGoDoes) {
  const TestReply refused = Patch(std::string(kMaps) + "?fieldValidation=Strict", "application/strategic-merge-patch+json",
                                  R"({"dota":{"c":[1,true,null]},"data":{"b":"c d"}})");
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_EQ(refused.message(), R"( "" is invalid: patch: Invalid value: "map[data:map[b:c d] dota:map[c:[1 true <nil>]]]": )"
                               R"(strict decoding error: unknown field "dota")");
}

TEST_F(PatchTest, UnknownFieldsAreToldOfOnce) {
  const TestReply warned = Patch(std::string(kMaps) + "?fieldValidation=Warn", kMerge, R"({"dota":{},"data":{"c":"d"}})");
  EXPECT_EQ(warned.status, 200) << warned.body;
  EXPECT_EQ(std::ranges::count(warned.headers, "Warning", [](const auto& header) { return header.first; }), 1);
  EXPECT_EQ(warned.Header("Warning"), R"(299 - "unknown field \"dota\"")");
}

TEST_F(PatchTest, AWrongTypeMakesAPatchInvalid) {
  EXPECT_EQ(Patch(kMaps, kMerge, R"({"data":["a"]})").status, 422);
  EXPECT_EQ(Send("PUT", kMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":["a"]})").status, 400);
}

TEST_F(PatchTest, ErrorsDoNotShowSecrets) {
  Create(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"data":{"a":"aGlkZGVu"}})");
  const TestReply refused =
      Patch("/api/v1/namespaces/default/secrets/s?fieldValidation=Strict", kMerge, R"({"dota":{"c":"aGlkZGVu"}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.body.find("aGlkZGVu"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::patch_test
