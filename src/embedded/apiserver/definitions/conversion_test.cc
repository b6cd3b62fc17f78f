// Custom resources that a webhook converts: v1 (stored) has spec.size, v2 has spec.amount.
#include "embedded/apiserver/definitions/conversion.h"

#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::conversion_test {
namespace {

using base::FindString;
using base::Json;

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kV1 = "/apis/example.com/v1/namespaces/default/plums";
constexpr std::string_view kV2 = "/apis/example.com/v2/namespaces/default/plums";

std::string Version(std::string_view name, bool storage, std::string_view field, std::string_view more = "") {
  return fmt::format(R"({{"name":"{}","served":true,"storage":{},"schema":{{"openAPIV3Schema":{{"type":"object","properties":
      {{"spec":{{"type":"object","properties":{{"{}":{{"type":"integer"}},"color":{{"type":"string"{}}}}}}}}}}}}}}})",
                     name, storage, field, more);
}

std::string Definition(std::string_view stored, std::string_view review_versions = R"("v1")") {
  return fmt::format(R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{{"name":"plums.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
      "names":{{"plural":"plums","kind":"Plum"}},"conversion":{{"strategy":"Webhook","webhook":{{
      "conversionReviewVersions":[{}],"clientConfig":{{"url":"https://hook.example.org/convert"}}}}}},"versions":[{},{}]}}}})",
                     review_versions, Version("v1", stored == "v1", "size"),
                     Version("v2", stored == "v2", "amount", R"(,"default":"red")"));
}

class ConversionTest : public ::testing::Test {
 protected:
  ConversionTest() { EXPECT_TRUE(api.Start().has_value()); }

  std::shared_ptr<TestReply> Begin(ApiHandler& to, const std::string& method, const std::string& target,
                                   const std::string& body = "", std::map<std::string, std::string> headers = {}) {
    HttpRequest request = NewTestRequest(method, target, body, std::move(headers));
    request.user = {.name = "admin", .groups = {"system:masters"}};
    auto reply = std::make_shared<TestReply>();
    to.Handle(std::move(request), std::make_unique<TestResponder>(reply));
    return reply;
  }
  TestReply Send(const std::string& method, const std::string& target, const std::string& body = "",
                 std::map<std::string, std::string> headers = {}) {
    return *Begin(handler, method, target, body, std::move(headers));
  }
  void Define(const std::string& definition = Definition("v1")) {
    const TestReply made = Send("POST", std::string(kDefinitions), definition);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Header("Warning"), "") << "nothing is left out";
  }
  TestReply Make(std::string_view path, std::string_view name, std::string_view spec) {
    const std::string version(path.substr(path.find("/v") + 1, 2));
    return Send("POST", std::string(path),
                fmt::format(R"({{"apiVersion":"example.com/{}","kind":"Plum","metadata":{{"name":"{}"}},"spec":{}}})", version,
                            name, spec));
  }
  std::string SpecOf(const TestReply& reply) {
    const Json object = reply.json();
    const Json* spec = base::Find(object, {"spec"});
    return spec == nullptr ? reply.body : base::CanonicalText(*spec);
  }
  std::string SpecAt(std::string_view path, std::string_view name) {
    return SpecOf(Send("GET", fmt::format("{}/{}", path, name)));
  }

  static Json Converted(Json object, std::string_view version) {
    const bool to_v2 = version == "example.com/v2";
    if (Json* spec = base::Find(object, {"spec"})) {
      base::JsonObject& fields = spec->get_object();
      const char* from = to_v2 ? "size" : "amount";
      if (const Json* value = fields.if_contains(from)) {
        const Json kept = *value;
        fields.erase(from);
        fields[to_v2 ? "amount" : "size"] = kept;
      }
    }
    object.get_object()["apiVersion"] = version;
    return object;
  }
  base::Result<std::string> Answer(const WebhookPost& post) {
    asked.push_back(ParseOrFail(post.body));
    timeout = post.timeout;
    const Json& request = asked.back().at("request");
    if (down) return base::Fail(base::Code::kUnavailable, "connection refused");
    base::JsonArray converted;
    for (const Json& object : request.at("objects").get_array()) {
      converted.push_back(Converted(object, FindString(request, {"desiredAPIVersion"})));
    }
    Json review = base::JsonObject{{"apiVersion", asked.back().at("apiVersion")},
                                   {"kind", "ConversionReview"},
                                   {"response", base::JsonObject{{"uid", request.at("uid")},
                                                                 {"result", base::JsonObject{{"status", "Success"}}},
                                                                 {"convertedObjects", std::move(converted)}}}};
    if (spoil) spoil(review);
    return base::ToText(review);
  }
  static Json& First(Json& review) { return base::Find(review, {"response", "convertedObjects"})->get_array()[0]; }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  std::vector<Json> asked;
  base::Duration timeout{};
  bool down = false;
  std::function<void(Json& review)> spoil;
  Api api{{.name = "test",
           .store = store.get(),
           .clock = &executor.clock(),
           .random = base::Random(7),
           .webhook_poster = [this](const WebhookPost& post) { return Answer(post); }}};
  ApiHandler handler{api, {.executor = &executor, .git_version = "v1.36.0+evenkeel"}};
};

TEST_F(ConversionTest, EachVersionShowsItsOwnFieldsAndOneIsStored) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  EXPECT_TRUE(asked.empty()) << "it is the stored version";
  const TestReply made = Make(kV2, "b", R"({"amount":2})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(SpecOf(made), R"({"amount":2,"color":"red"})");
  EXPECT_EQ(FindString(made.json(), {"apiVersion"}), "example.com/v2");
  EXPECT_NE(FindString(made.json(), {"metadata", "resourceVersion"}), "");
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(FindString(asked[0], {"apiVersion"}), "apiextensions.k8s.io/v1");
  EXPECT_EQ(FindString(asked[0], {"request", "desiredAPIVersion"}), "example.com/v1");
  EXPECT_EQ(timeout, base::Duration(std::chrono::seconds(30)));
  const std::string row = *store->Get("/registry/example.com/plums/default/b").value().value;
  EXPECT_TRUE(row.starts_with(R"({"apiVersion":"example.com/v1","kind":"Plum","metadata":{)")) << row;
  EXPECT_NE(row.find(R"("size":2)"), row.npos) << row;
  EXPECT_EQ(SpecAt(kV1, "b"), R"({"color":"red","size":2})");
  EXPECT_EQ(SpecAt(kV2, "a"), R"({"amount":1,"color":"red"})") << "with the defaults of its version";
  EXPECT_EQ(SpecAt(kV2, "b"), R"({"amount":2,"color":"red"})");
}

TEST_F(ConversionTest, ListsAreConvertedAtOnce) {
  Define();
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(Make(kV1, name, R"({"size":1})").status, 201);
  const TestReply list = Send("GET", std::string(kV2));
  EXPECT_EQ(asked.size(), 1u);
  const Json json = list.json();
  const base::JsonArray& items = base::FindArray(json, {"items"});
  ASSERT_EQ(items.size(), 3u) << list.body;
  for (const Json& item : items) {
    EXPECT_EQ(FindString(item, {"apiVersion"}), "example.com/v2");
    EXPECT_EQ(base::FindInt(item, {"spec", "amount"}), 1);
    EXPECT_NE(FindString(item, {"metadata", "resourceVersion"}), "");
  }
}

TEST_F(ConversionTest, ChangesGoThroughTheVersionThatIsAskedFor) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  const std::map<std::string, std::string> merge = {{"content-type", "application/merge-patch+json"}};
  const TestReply patched = Send("PATCH", std::string(kV2) + "/a", R"({"spec":{"amount":5}})", merge);
  EXPECT_EQ(SpecOf(patched), R"({"amount":5,"color":"red"})");
  EXPECT_EQ(SpecAt(kV1, "a"), R"({"color":"red","size":5})");
  const std::string version(FindString(patched.json(), {"metadata", "resourceVersion"}));
  const TestReply same = Send("PATCH", std::string(kV2) + "/a", R"({"spec":{"amount":5}})", merge);
  EXPECT_EQ(FindString(same.json(), {"metadata", "resourceVersion"}), version) << "nothing has changed";
  EXPECT_EQ(Send("PATCH", std::string(kV2) + "/a", R"({"spec":{"amount":"x"}})", merge).status, 422);
  const TestReply applied = Send("PATCH", std::string(kV2) + "/a?fieldManager=me&force=true",
                                 R"({"apiVersion":"example.com/v2","kind":"Plum","metadata":{"name":"a"},"spec":{"amount":7}})",
                                 {{"content-type", "application/apply-patch+yaml"}});
  EXPECT_EQ(SpecOf(applied), R"({"amount":7,"color":"red"})");
  EXPECT_EQ(Send("DELETE", std::string(kV2) + "/a").status, 200);
  EXPECT_EQ(Send("GET", std::string(kV1) + "/a").status, 404);
}

TEST_F(ConversionTest, AnObjectThatWaitsForItsEndIsStoredInOneVersion) {
  Define();
  ASSERT_EQ(Send("POST", std::string(kV2), R"({"apiVersion":"example.com/v2","kind":"Plum",
      "metadata":{"name":"a","finalizers":["example.com/hold"]},"spec":{"amount":1}})")
                .status,
            201);
  const TestReply marked = Send("DELETE", std::string(kV2) + "/a");
  EXPECT_EQ(SpecOf(marked), R"({"amount":1,"color":"red"})");
  EXPECT_EQ(SpecAt(kV1, "a"), R"({"color":"red","size":1})");
}

TEST_F(ConversionTest, WatchesAreConverted) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  const TestReply watch = Send("GET", std::string(kV2) + "?watch=true");
  const std::vector<Json> first = watch.stream->TakeEvents();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(base::FindInt(first[0], {"object", "spec", "amount"}), 1);
  ASSERT_EQ(Make(kV1, "b", R"({"size":2})").status, 201);
  ASSERT_EQ(Send("DELETE", std::string(kV1) + "/a").status, 200);
  const std::vector<Json> more = watch.stream->TakeEvents();
  ASSERT_EQ(more.size(), 2u);
  EXPECT_EQ(FindString(more[0], {"type"}), "ADDED");
  EXPECT_EQ(FindString(more[0], {"object", "apiVersion"}), "example.com/v2");
  EXPECT_EQ(base::FindInt(more[0], {"object", "spec", "amount"}), 2);
  EXPECT_EQ(FindString(more[1], {"type"}), "DELETED");
  EXPECT_EQ(base::FindInt(more[1], {"object", "spec", "amount"}), 1);
  down = true;
  ASSERT_EQ(Make(kV1, "c", R"({"size":3})").status, 201);
  const std::vector<Json> last = watch.stream->TakeEvents();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(FindString(last[0], {"type"}), "ERROR");
  EXPECT_TRUE(watch.stream->closed);
}

TEST_F(ConversionTest, RowsOfAnEarlierStorageVersionAreConverted) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  const TestReply moved = Send("PATCH", std::string(kDefinitions) + "/plums.example.com", Definition("v2"),
                               {{"content-type", "application/merge-patch+json"}});
  ASSERT_EQ(moved.status, 200) << moved.body;
  EXPECT_EQ(SpecAt(kV2, "a"), R"({"amount":1,"color":"red"})");
  EXPECT_EQ(SpecAt(kV1, "a"), R"({"size":1})");
  EXPECT_EQ(asked.size(), 1u) << "it was written as v1";
  ASSERT_EQ(Make(kV1, "b", R"({"size":2})").status, 201);
  EXPECT_EQ(SpecAt(kV2, "b"), R"({"amount":2,"color":"red"})");
}

TEST_F(ConversionTest, MetadataStaysButForLabelsAndAnnotations) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  spoil = [](Json& review) {
    base::Ensure(First(review), {"metadata", "labels", "of"}) = "two";
    base::Ensure(First(review), {"metadata", "finalizers"}) = base::JsonArray{"example.com/mine"};
  };
  const Json seen = Send("GET", std::string(kV2) + "/a").json();
  EXPECT_EQ(FindString(seen, {"metadata", "labels", "of"}), "two");
  EXPECT_EQ(base::Find(seen, {"metadata", "finalizers"}), nullptr);
  const TestReply selected = Send("GET", std::string(kV2) + "?labelSelector=of%3Dtwo");
  EXPECT_EQ(base::FindArray(selected.json(), {"items"}).size(), 1u) << "by what is shown";
}

TEST_F(ConversionTest, WrongAnswersAreErrorsInUpstreamsWords) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  const auto message = [this](std::function<void(Json&)> wrong) {
    spoil = std::move(wrong);
    const TestReply reply = Send("GET", std::string(kV2) + "/a");
    EXPECT_EQ(reply.status, 500) << reply.body;
    return reply.message();
  };
  const std::string at = "conversion webhook for example.com/v1, Kind=Plum ";
  EXPECT_EQ(message([](Json& review) { base::Ensure(review, {"response", "convertedObjects"}) = base::JsonArray(); }),
            at + "returned 0 objects, expected 1");
  EXPECT_EQ(message([](Json& review) { base::Ensure(First(review), {"apiVersion"}) = "example.com/v3"; }),
            at + "returned invalid object: invalid groupVersion (expected example.com/v2, received example.com/v3)");
  EXPECT_EQ(message([](Json& review) { base::Ensure(First(review), {"kind"}) = "Fig"; }),
            at + "returned invalid object: invalid kind (expected Plum, received Fig)");
  EXPECT_EQ(message([](Json& review) { base::Ensure(First(review), {"metadata", "name"}) = "b"; }),
            at + "returned invalid object: must have the same name: a != b");
  EXPECT_EQ(message([](Json& review) { base::Ensure(First(review), {"metadata", "labels", "a b"}) = "c"; }).substr(0, 75),
            (at + "returned invalid metadata: metadata.labels").substr(0, 75));
  EXPECT_EQ(message([](Json& review) { base::Ensure(First(review), {"metadata", "labels", "a"}) = 1; }),
            at + "returned invalid metadata: metadata.labels[a] must be a string in converted object");
  EXPECT_EQ(message([](Json& review) { First(review) = "text"; }), at + "returned invalid object: it is no object");
  EXPECT_EQ(
      message([](Json& review) { base::Ensure(review, {"response", "result"}) = base::JsonObject{{"message", "too old"}}; }),
      at + "failed: too old");
  EXPECT_EQ(message([](Json& review) { base::Ensure(review, {"response", "result", "status"}) = "Failed"; }),
            at + "failed: response.result.status was 'Failed', not 'Success'");
  EXPECT_EQ(message([](Json& review) {
              review = base::JsonObject{{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "ConversionReview"}};
            }),
            at + "failed: no response provided");
  EXPECT_NE(message([](Json& review) { base::Ensure(review, {"response", "uid"}) = "other"; }).find("expected response.uid="),
            std::string::npos);
  EXPECT_NE(message([](Json& review) { review = base::JsonObject(); }).find("expected webhook response of"), std::string::npos);
  spoil = nullptr;
  down = true;
  EXPECT_EQ(message(nullptr), at + "failed: connection refused");
  EXPECT_EQ(Make(kV2, "b", R"({"amount":1})").status, 500);
  EXPECT_EQ(Send("GET", std::string(kV1) + "/b").status, 404) << "nothing was written";
  EXPECT_EQ(Send("GET", std::string(kV2)).status, 500);
  EXPECT_EQ(SpecAt(kV1, "a"), R"({"size":1})") << "others are not concerned";
}

TEST_F(ConversionTest, TheFirstReviewThatIsKnownIsUsed) {
  Define(Definition("v1", R"("v2","v1beta1","v1")"));
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  spoil = [](Json& review) { base::Ensure(review, {"response", "uid"}) = "not looked at"; };
  EXPECT_EQ(SpecAt(kV2, "a"), R"({"amount":1,"color":"red"})");
  EXPECT_EQ(FindString(asked.at(0), {"apiVersion"}), "apiextensions.k8s.io/v1beta1");
}

TEST_F(ConversionTest, WhoeverNeedsNoConversionWaitsForNone) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  // The same objects, by an API whose questions are asked on strands.
  Api waiting{{.name = "waiting",
               .store = store.get(),
               .clock = &executor.clock(),
               .random = base::Random(8),
               .webhook_poster = [this](const WebhookPost& post) { return Answer(post); },
               .executor = &executor}};
  ASSERT_TRUE(waiting.Start().has_value());
  ApiHandler beside{waiting, {.executor = &executor, .git_version = "v1.36.0+evenkeel"}};
  const auto plum = Begin(beside, "GET", std::string(kV2) + "/a"), plums = Begin(beside, "GET", std::string(kV2));
  const auto made = Begin(beside, "POST", std::string(kV2),
                          R"({"apiVersion":"example.com/v2","kind":"Plum","metadata":{"name":"b"},"spec":{"amount":1}})");
  EXPECT_EQ(plum->status + plums->status + made->status, 0);
  EXPECT_EQ(Begin(beside, "GET", "/api/v1/pods")->status, 200);
  EXPECT_EQ(Begin(beside, "POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c"}})")->status, 201);
  executor.RunUntilIdle();
  EXPECT_EQ(SpecOf(*plum), R"({"amount":1,"color":"red"})");
  EXPECT_EQ(plums->status, 200);
  EXPECT_EQ(made->status, 201);
  const auto watch = Begin(beside, "GET", std::string(kV2) + "?watch=true");
  executor.RunUntilIdle();
  watch->stream->TakeEvents();
  ASSERT_EQ(Make(kV1, "d", R"({"size":4})").status, 201);
  EXPECT_TRUE(watch->stream->TakeEvents().empty()) << "not on the thread of the store";
  executor.RunUntilIdle();
  EXPECT_EQ(watch->stream->TakeEvents().size(), 1u);
  ASSERT_EQ(Make(kV1, "e", R"({"size":5})").status, 201);
  watch->stream->Close();
  executor.RunUntilIdle();
  EXPECT_TRUE(watch->stream->text.empty()) << "it has ended";
}

TEST_F(ConversionTest, ADefinitionGoesAlthoughItsWebhookIsDown) {
  Define();
  ASSERT_EQ(Make(kV1, "a", R"({"size":1})").status, 201);
  down = true;
  EXPECT_EQ(Send("DELETE", std::string(kDefinitions) + "/plums.example.com").status, 200);
  EXPECT_EQ(Send("GET", std::string(kDefinitions) + "/plums.example.com").status, 404);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::conversion_test
