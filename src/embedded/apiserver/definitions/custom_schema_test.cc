#include "embedded/apiserver/definitions/custom_schema.h"

#include <zlib.h>

#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/http/gzip.h"

namespace evenkeel::embedded::apiserver::custom_schema_test {
namespace {

store::Value TextOf(std::string_view field) {
  return std::make_shared<const std::string>(fmt::format(
      R"({{"spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{{"type":"object",
          "properties":{{"{}":{{"type":"string"}}}}}}}}}}]}}}})",
      field));
}

TEST(CustomSchemaTest, IsReadOnceWhileItIsUsed) {
  const auto recent = std::make_shared<RecentSchemas>();
  const auto text = std::make_shared<DefinitionText>(TextOf("a"));
  const CustomSchema schema(text, "v1", recent);
  const auto read = schema.Get();
  EXPECT_NE(read->FindField("a"), nullptr);
  EXPECT_NE(read->FindField("metadata"), nullptr);
  text->Replace(TextOf("b"));
  EXPECT_EQ(schema.Get(), read);
}

TEST(CustomSchemaTest, WhatWasNotUsedLatelyIsReadAgain) {
  const auto recent = std::make_shared<RecentSchemas>();
  const auto text = std::make_shared<DefinitionText>(TextOf("a"));
  const CustomSchema schema(text, "v1", recent);
  std::weak_ptr<const kube::Schema> read = schema.Get();
  EXPECT_FALSE(read.expired()) << "kept for a while";
  const CustomSchema other(text, "v1", recent);
  recent->Add(other, std::make_shared<const kube::Schema>(), RecentSchemas::kDefinitionBytesMax);
  EXPECT_TRUE(read.expired());
  text->Replace(TextOf("b"));
  EXPECT_NE(schema.Get()->FindField("b"), nullptr);
}

TEST(CustomSchemaTest, TheLastOneStaysHoweverLargeItIs) {
  const auto recent = std::make_shared<RecentSchemas>();
  const CustomSchema schema(std::make_shared<DefinitionText>(TextOf("a")), "v1", recent);
  const auto large = std::make_shared<const kube::Schema>();
  recent->Add(schema, large, 2 * RecentSchemas::kDefinitionBytesMax);
  EXPECT_EQ(large.use_count(), 2);
  recent->Add(schema, std::make_shared<const kube::Schema>(), 1);
  EXPECT_EQ(large.use_count(), 1);
}

TEST(CustomSchemaTest, GoesWithItsDefinition) {
  const auto recent = std::make_shared<RecentSchemas>();
  const auto text = std::make_shared<DefinitionText>(TextOf("a"));
  const CustomSchema other(text, "v1", recent);
  const std::weak_ptr<const kube::Schema> stays = other.Get();
  auto schema = std::make_unique<CustomSchema>(text, "v1", recent);
  const auto used = schema->Get();
  schema.reset();
  EXPECT_EQ(used.use_count(), 1) << "whoever is writing goes on with it";
  EXPECT_FALSE(stays.expired());
  // What is forgotten does not count: the other one stays beside one that has room for itself alone.
  const CustomSchema next(text, "v1", recent);
  recent->Add(next, std::make_shared<const kube::Schema>(), RecentSchemas::kDefinitionBytesMax - text->Get()->size());
  EXPECT_FALSE(stays.expired());
}

class DocumentTest : public ApiFixture {
 protected:
  void Define(const std::string& plural, const std::string& group) {
    Create(fmt::format(
        R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{0}.{1}"}},
        "spec":{{"group":"{1}","scope":"Namespaced","names":{{"plural":"{0}","kind":"Kind{0}"}},"versions":[{{"name":"v1",
        "served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object",
        "properties":{{"of{0}":{{"type":"string"}}}}}}}}}}}}}}]}}}})",
        plural, group));
  }
  std::string UrlOf(const std::string& path) {
    return std::string(base::FindString(Send("GET", "/openapi/v3").json(), {"paths", path, "serverRelativeURL"}));
  }
};

TEST_F(DocumentTest, ChangeWithWhatTheyAreAboutAlone) {
  Define("figs", "one.example.com");
  const std::string apps = UrlOf("apis/apps/v1"), one = UrlOf("apis/one.example.com/v1");
  const std::string all = Send("GET", "/openapi/v2").Header("ETag");
  Define("plums", "two.example.com");
  EXPECT_EQ(UrlOf("apis/apps/v1"), apps);
  EXPECT_EQ(UrlOf("apis/one.example.com/v1"), one);
  EXPECT_NE(Send("GET", "/openapi/v2").Header("ETag"), all);
  Define("dates", "one.example.com");
  EXPECT_NE(UrlOf("apis/one.example.com/v1"), one);
  const std::string text = Send("GET", "/openapi/v3/apis/one.example.com/v1").body;
  EXPECT_NE(text.find("ofdates"), std::string::npos);
  EXPECT_NE(text.find("offigs"), std::string::npos);
  EXPECT_EQ(text.find("ofplums"), std::string::npos);
}

TEST_F(DocumentTest, AreSentAsTheyAreKeptToWhoTakesThem) {
  const TestReply plain = Send("GET", "/openapi/v2");
  EXPECT_EQ(plain.Header("Content-Encoding"), "");
  const TestReply zipped = Send("GET", "/openapi/v2", "", {{"accept-encoding", "gzip"}});
  EXPECT_EQ(zipped.Header("Content-Encoding"), "gzip");
  EXPECT_EQ(zipped.Header("ETag"), plain.Header("ETag"));
  std::string unzipped;
  for (const Chunk& chunk : Decompress(zipped.body)) unzipped += *chunk;
  EXPECT_EQ(unzipped, plain.body);
  EXPECT_TRUE(plain.json().is_object());
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::custom_schema_test
