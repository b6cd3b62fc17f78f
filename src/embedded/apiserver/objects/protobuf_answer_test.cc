#include "embedded/apiserver/objects/protobuf_answer.h"

#include <zlib.h>

#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/http/gzip.h"
#include "embedded/apiserver/http/http_testing.h"
#include "embedded/apiserver/requests/request_info.h"
#include "kube/forms/protobuf.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::embedded::apiserver::protobuf_answer_test {
namespace {

using base::Json;
using namespace std::string_literals;

const std::string kProtobuf(kProtobufType);

Json Decoded(std::string_view bytes) {
  const auto envelope = kube::ReadProtobufEnvelope(bytes);
  EXPECT_TRUE(envelope) << envelope.error().message();
  if (!envelope) return {};
  const kube::Schema* schema = kube::FindKindSchema(envelope->api_version, envelope->kind);
  EXPECT_NE(schema, nullptr) << envelope->api_version << " " << envelope->kind;
  if (schema == nullptr) return {};
  const auto object = kube::DecodeProtobufKind(*schema, envelope->api_version, envelope->kind, envelope->raw);
  EXPECT_TRUE(object) << object.error().message();
  return object ? *object : Json();
}

std::string Encoded(std::string_view json) {
  const Json object = ParseOrFail(json);
  const kube::Schema* schema =
      kube::FindKindSchema(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}));
  EXPECT_NE(schema, nullptr) << json;
  return schema == nullptr ? "" : kube::EncodeProtobufEnvelope(*schema, object);
}

class ProtobufAnswerTest : public ApiFixture {
 protected:
  TestReply Ask(const std::string& method, const std::string& target, const std::string& body = "") {
    return Send(method, target, body, {{"accept", kProtobuf + ",application/json"}, {"content-type", kProtobuf}});
  }
  TestReply Get(const std::string& target, const std::string& accept) { return Send("GET", target, "", {{"accept", accept}}); }
  void CreateCustom() {
    Create(
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
        "spec":{"group":"example.com","names":{"plural":"things","kind":"Thing"},"scope":"Namespaced","versions":[{"name":"v1",
        "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
    Create(R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"one","namespace":"default"},"spec":{"a":1}})");
  }
};

TEST_F(ProtobufAnswerTest, WhatIsWrittenInProtobufIsWhatIsReadInJson) {
  const TestReply made =
      Ask("POST", "/apis/apps/v1/namespaces/default/deployments",
          Encoded(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":0,
      "selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
      {"name":"c","image":"i","ports":[{"containerPort":80}],"readinessProbe":{"httpGet":{"path":"/","port":"http"}}}]}}}})"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.content_type, kProtobuf);
  const Json answer = Decoded(made.body);
  EXPECT_EQ(base::FindInt(answer, {"spec", "replicas"}, -1), 0);
  EXPECT_EQ(base::FindString(answer, {"spec", "strategy", "type"}), "RollingUpdate");
  const Json stored = Send("GET", "/apis/apps/v1/namespaces/default/deployments/web").json();
  EXPECT_EQ(kube::EncodeProtobufEnvelope(*kube::FindKindSchema("apps/v1", "Deployment"), stored), made.body);
  // And a write of what was read.
  EXPECT_EQ(Ask("PUT", "/apis/apps/v1/namespaces/default/deployments/web", made.body).status, 200);
  const TestReply scale =
      Ask("PUT", "/apis/apps/v1/namespaces/default/deployments/web/scale",
          Encoded(R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":3}})"));
  ASSERT_EQ(scale.status, 200) << scale.body;
  EXPECT_EQ(base::FindInt(Decoded(scale.body), {"spec", "replicas"}), 3);
}

TEST_F(ProtobufAnswerTest, ABodyNeedNotSayWhatTheAddressSays) {
  const std::string named = Encoded(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"k":"v"}})");
  const auto envelope = kube::ReadProtobufEnvelope(named);
  ASSERT_TRUE(envelope);
  std::string bare(kube::kProtobufMagic);
  kube::AppendProtobufField(bare, 2, envelope->raw);
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/configmaps", bare).status, 201);
  EXPECT_EQ(base::FindString(Decoded(Ask("GET", "/api/v1/namespaces/default/configmaps/c").body), {"data", "k"}), "v");
  const TestReply gone = Ask("DELETE", "/api/v1/namespaces/default/configmaps/c",
                             Encoded(R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})"));
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_EQ(base::FindString(Decoded(gone.body), {"status"}), "Success");
}

TEST_F(ProtobufAnswerTest, BrokenBodiesAreRefused) {
  const std::string path = "/api/v1/namespaces/default/configmaps";
  const auto message = [&](const std::string& body) {
    const TestReply reply = Ask("POST", path, body);
    EXPECT_EQ(reply.status, 400);
    return std::string(base::FindString(Decoded(reply.body), {"message"}));
  };
  EXPECT_EQ(message("{}"), "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  EXPECT_EQ(message("k8s\0\x0a"s), "the protobuf envelope ends in the middle of a value");
  EXPECT_EQ(message("k8s\0\x12\x04\x0a\x02\x0a\x05"s),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: metadata: ends in the middle of a value");
  EXPECT_EQ(message("k8s\0\x0a\x05\x12\x03xyz"s), "no kind \"xyz\" is registered for version \"v1\"");
}

TEST_F(ProtobufAnswerTest, ListsHoldTheSameObjects) {
  CreatePod("a");
  CreatePod("b");
  const TestReply reply = Get("/api/v1/pods?limit=1", kProtobuf);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.content_type, kProtobuf);
  const auto envelope = kube::ReadProtobufEnvelope(reply.body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->kind, "PodList");
  const auto list = kube::ReadProtobufList(envelope->raw);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->items.size(), 1u);
  EXPECT_FALSE(base::FindString(list->metadata, {"continue"}).empty());
  EXPECT_EQ(base::FindInt(list->metadata, {"remainingItemCount"}), 1);
  const auto pod = [&] { return Send("GET", "/api/v1/namespaces/default/pods/a").json(); };
  EXPECT_EQ(list->items[0], kube::EncodeProtobuf(*kube::FindKindSchema("v1", "Pod"), pod()));
  // What has been listed before, and has changed since.
  Patch("/api/v1/namespaces/default/pods/a", "application/merge-patch+json", R"({"metadata":{"labels":{"x":"y"}}})");
  const TestReply again = Get("/api/v1/pods", kProtobuf);
  const auto changed = kube::ReadProtobufList(kube::ReadProtobufEnvelope(again.body)->raw);
  ASSERT_TRUE(changed);
  ASSERT_EQ(changed->items.size(), 2u);
  EXPECT_EQ(changed->items[0], kube::EncodeProtobuf(*kube::FindKindSchema("v1", "Pod"), pod()));
}

TEST_F(ProtobufAnswerTest, EventsOfAWatchAreFrames) {
  CreatePod("a");
  const TestReply reply = Get("/api/v1/namespaces/default/pods?watch=true", kProtobuf);
  ASSERT_NE(reply.stream, nullptr);
  EXPECT_EQ(reply.content_type, kProtobuf + ";stream=watch");
  const std::string frame = reply.stream->text;
  const Json stored = Send("GET", "/api/v1/namespaces/default/pods/a").json();
  const std::string object = kube::EncodeProtobufEnvelope(*kube::FindKindSchema("v1", "Pod"), stored);
  std::string raw, event = "\x0a\x05"s + "ADDED";
  kube::AppendProtobufField(raw, 1, object);
  kube::AppendProtobufField(event, 2, raw);
  ASSERT_GT(frame.size(), 4u);
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(frame[i]);
  EXPECT_EQ(size, event.size());
  EXPECT_EQ(frame.substr(4), event);
  reply.stream->Close();
}

TEST_F(ProtobufAnswerTest, ErrorsFollowAccept) {
  const TestReply lost = Get("/api/v1/namespaces/default/pods/none", kProtobuf);
  EXPECT_EQ(lost.status, 404);
  EXPECT_EQ(lost.content_type, kProtobuf);
  EXPECT_EQ(base::FindString(Decoded(lost.body), {"message"}), "pods \"none\" not found");
  const TestReply table = Get("/api/v1/namespaces/default/pods/none", "application/json;as=Table;v=v1;g=meta.k8s.io");
  EXPECT_EQ(table.content_type, "application/json");
  const TestReply refused = Get("/api/v1/pods", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io");
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(
      refused.message(),
      "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf");
  EXPECT_EQ(Get("/api/v1/pods?watch=1", "application/yaml").message(),
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
}

TEST_F(ProtobufAnswerTest, OfCustomObjectsThereIsOnlyTheMetadata) {
  CreateCustom();
  const std::string path = "/apis/example.com/v1/namespaces/default/things";
  EXPECT_EQ(Get(path, kProtobuf).status, 406);
  EXPECT_EQ(Get(path, kProtobuf + ",application/json").content_type, "application/json");
  EXPECT_EQ(Ask("POST", path, "k8s\0"s).status, 415);
  const std::string partial =
      kProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const TestReply one = Get(path + "/one", partial);
  EXPECT_EQ(one.content_type, kProtobuf);
  EXPECT_EQ(base::FindString(Decoded(one.body), {"metadata", "name"}), "one");
  const TestReply list = Get(path, kProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  const auto envelope = kube::ReadProtobufEnvelope(list.body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->api_version, "meta.k8s.io/v1");
  EXPECT_EQ(envelope->kind, "PartialObjectMetadataList");
  EXPECT_EQ(kube::ReadProtobufList(envelope->raw)->items.size(), 1u);
  const TestReply watch = Get(path + "?watch=1", partial);
  ASSERT_NE(watch.stream, nullptr);
  EXPECT_NE(watch.stream->text.find("PartialObjectMetadata"), std::string::npos);
  watch.stream->Close();
}

TEST_F(ProtobufAnswerTest, OurClientListsTheSameObjectsInBoth) {
  CreatePod("a");
  CreatePod("b");
  std::vector<std::string> accepted;
  testing::LambdaHandler front([&](HttpRequest request, std::unique_ptr<Responder> responder) {
    request.user = user;
    accepted.push_back(request.headers["accept"]);
    handler.Handle(std::move(request), std::move(responder));
  });
  auto server = HttpServer::Start(testing::TlsServerOptions(), front).value();
  const auto remote = client::NewHttpClient(testing::TlsClientConfig(server->port())).value();
  const kube::Resource& pods = kube::resources::Pods();
  const auto json = remote->List(pods, {.limit = 1});
  std::vector<base::Json> visited;
  const client::ObjectVisitor keep = [&visited](const base::Json& object) { visited.push_back(base::Json(object, {})); };
  const auto protobuf = remote->Visit(pods, {.limit = 1}, keep);
  ASSERT_TRUE(json && protobuf);
  EXPECT_EQ(accepted.at(1), "application/vnd.kubernetes.protobuf, application/json");
  EXPECT_TRUE(protobuf->items.empty());
  ASSERT_EQ(visited.size(), 1u);
  EXPECT_EQ(base::FindString(visited[0], {"kind"}), "Pod");
  EXPECT_EQ(base::FindString(visited[0], {"apiVersion"}), "v1");
  EXPECT_EQ(kube::EncodeProtobuf(*pods.schema, visited[0]), kube::EncodeProtobuf(*pods.schema, json->items[0]));
  EXPECT_EQ(protobuf->continue_token, json->continue_token);
  EXPECT_EQ(protobuf->resource_version, json->resource_version);
  EXPECT_EQ(protobuf->remaining, 1);
  const auto refused = remote->Visit(pods, {.label_selector = "a in"}, keep);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), remote->List(pods, {.label_selector = "a in"}).error().message());
  const auto all = client::VisitAll(*remote, pods, keep);
  EXPECT_TRUE(all);
  EXPECT_EQ(visited.size(), 3u);
}

TEST_F(ProtobufAnswerTest, WhatCannotBeReadFailsTheList) {
  CreatePod("a");
  ASSERT_TRUE(
      store->CommitAndWait({.key = "/registry/pods/default/a",
                            .value = std::make_shared<const std::string>(
                                R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":)")}));
  const TestReply reply = Get("/api/v1/pods", kProtobuf);
  EXPECT_EQ(reply.status, 500);
  EXPECT_NE(std::string(base::FindString(Decoded(reply.body), {"message"})).find("cannot be read"), std::string::npos);
}

TEST(NegotiationTest, TheHighestQualityWinsThenTheMoreExactThenTheFirst) {
  const Offer all{.forms = {Form::kTable}, .protobuf = Offer::Protobuf::kAll};
  const auto encoding = [&](std::string_view accept) { return NegotiateForm(accept, all)->encoding; };
  EXPECT_EQ(encoding(""), Encoding::kJson);
  EXPECT_EQ(encoding("application/yaml, application/json"), Encoding::kYaml);
  EXPECT_EQ(encoding("application/yaml;q=0.5, application/json;q=0.9"), Encoding::kJson);
  EXPECT_EQ(encoding("*/*, application/vnd.kubernetes.protobuf"), Encoding::kProtobuf);
  EXPECT_EQ(encoding("application/*;q=0.9, application/vnd.kubernetes.protobuf;q=0.8"), Encoding::kJson);
  EXPECT_EQ(encoding("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/yaml"), Encoding::kYaml);
  EXPECT_FALSE(NegotiateForm("application/json;q=0", all));
  EXPECT_FALSE(NegotiateForm("text/html", all));
}

TEST(GzipTest, LargeAnswersAreCompressedTogether) {
  std::string text;
  for (int i = 0; text.size() <= kGzipBytesMin; ++i) text += "object " + std::to_string(i * 7919) + "\n";
  std::vector<Chunk> chunks{std::make_shared<const std::string>(text.substr(0, 1000)), std::make_shared<const std::string>(),
                            std::make_shared<const std::string>(text.substr(1000))};
  ASSERT_TRUE(CompressLarge(chunks));
  std::string compressed, plain(text.size() + 1, ' ');
  for (const Chunk& chunk : chunks) compressed += *chunk;
  EXPECT_LT(compressed.size(), text.size() / 2);
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_EQ(plain, text);
  std::vector<Chunk> small{std::make_shared<const std::string>(kGzipBytesMin, 'x')};
  EXPECT_FALSE(CompressLarge(small));
}

TEST_F(ProtobufAnswerTest, LargeAnswersAreCompressedWhereThatIsAccepted) {
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"default"},"data":{"k":")" +
         std::string(200'000, 'x') + R"("}})");
  const std::string path = "/api/v1/namespaces/default/configmaps";
  const TestReply zipped = Send("GET", path, "", {{"accept-encoding", "deflate, gzip;q=1.0"}});
  EXPECT_EQ(zipped.Header("Content-Encoding"), "gzip");
  EXPECT_LT(zipped.body.size(), 10'000u);
  EXPECT_EQ(Send("GET", path).Header("Content-Encoding"), "");
  EXPECT_EQ(Send("GET", "/api/v1/pods", "", {{"accept-encoding", "gzip"}}).Header("Content-Encoding"), "") << "small";
  const TestReply watch = Send("GET", path + "?watch=1", "", {{"accept-encoding", "gzip"}});
  ASSERT_NE(watch.stream, nullptr);
  EXPECT_GT(watch.stream->text.size(), 200'000u);
  watch.stream->Close();
}

TEST(ProtobufCacheTest, FullItKeepsWhatItHasUntilThatIsGone) {
  ProtobufCache cache(1'000);
  const kube::Schema& schema = *kube::FindKindSchema("v1", "Pod");
  int made = 0;
  const auto make = [&](const Stored&) -> base::Result<std::string> {
    ++made;
    return std::string(200, 'x');
  };
  std::vector<Stored> items;
  for (int i = 0; i < 5; ++i) items.push_back({std::make_shared<const std::string>("{}"), i + 1});
  ASSERT_TRUE(cache.Find(schema, items, make));
  EXPECT_EQ(made, 5);
  EXPECT_LE(cache.bytes(), 1'000u);
  ASSERT_TRUE(cache.Find(schema, items, make));
  EXPECT_EQ(made, 5 + 3) << "two are kept, as many as there is room for";
  items.clear();
  items.push_back({std::make_shared<const std::string>("{}"), 9});
  ASSERT_TRUE(cache.Find(schema, items, make));
  ASSERT_TRUE(cache.Find(schema, items, make));
  EXPECT_EQ(made, 5 + 3 + 1) << "what is gone makes room";
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::protobuf_answer_test
