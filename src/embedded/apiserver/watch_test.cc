#include "embedded/apiserver/api_test_support.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::watch_test {
namespace {

using base::Json;
namespace resources = kube::resources;

class WatchTest : public ApiFixture {
 protected:
  std::string Types(const std::vector<Json>& events) {
    std::string text;
    for (const Json& event : events) {
      text += std::string(base::FindString(event, {"type"})) + ":" +
              std::string(base::FindString(event, {"object", "metadata", "name"})) + " ";
    }
    return text;
  }
  void Label(const std::string& name, const std::string& value) {
    ASSERT_TRUE(client->Patch(resources::Pods(), "default", name, client::PatchType::kMerge,
                              ParseOrFail(R"({"metadata":{"labels":{"app":)" + value + "}}}")));
  }
};

TEST_F(WatchTest, ShowsWhatExistsAndThenWhatHappens) {
  CreatePod("a");
  const TestReply reply = Send("GET", "/api/v1/namespaces/default/pods?watch=true");
  ASSERT_NE(reply.stream, nullptr);
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:a ");
  CreatePod("b");
  Label("b", R"("x")");
  ASSERT_TRUE(client->Delete(resources::Pods(), "default", "b"));
  const auto events = reply.stream->TakeEvents();
  EXPECT_EQ(Types(events), "ADDED:b MODIFIED:b DELETED:b ");
  EXPECT_EQ(base::FindString(events[2], {"object", "metadata", "resourceVersion"}), std::to_string(store->current_revision()))
      << "a delete carries its own revision";
  reply.stream->Close();
}

TEST_F(WatchTest, GoesOnAfterARevision) {
  const Json a = CreatePod("a");
  CreatePod("b");
  const TestReply reply = Send("GET", "/api/v1/pods?watch=1&resourceVersion=" + std::string(kube::ResourceVersionOf(a)));
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:b ");
  reply.stream->Close();
}

TEST_F(WatchTest, TurnsSelectionsIntoComingAndGoing) {
  CreatePod("a", "", R"({"app":"x"})");
  const TestReply reply = Send("GET", "/api/v1/namespaces/default/pods?watch=1&labelSelector=app%3Dx&resourceVersion=" +
                                          std::to_string(store->current_revision()));
  Label("a", R"("y")");
  Label("a", R"("z")");
  Label("a", R"("x")");
  CreatePod("b");
  const auto events = reply.stream->TakeEvents();
  EXPECT_EQ(Types(events), "DELETED:a ADDED:a ");
  EXPECT_EQ(base::FindString(events[0], {"object", "metadata", "labels", "app"}), "x") << "the version that last matched";
  reply.stream->Close();
}

TEST_F(WatchTest, SaysInTheStreamThatARevisionIsTooOld) {
  CreatePod("a");
  CreatePod("b");
  ASSERT_TRUE(store->Compact(store->current_revision()));
  const TestReply reply = Send("GET", "/api/v1/pods?watch=1&resourceVersion=1");
  EXPECT_EQ(reply.status, 200);
  const auto events = reply.stream->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(base::FindString(events[0], {"type"}), "ERROR");
  EXPECT_EQ(base::FindInt(events[0], {"object", "code"}), 410);
  EXPECT_TRUE(base::FindString(events[0], {"object", "message"}).starts_with("too old resource version: 1 ("));
  EXPECT_TRUE(reply.stream->closed);
}

TEST_F(WatchTest, RefusesABadSelectorBeforeTheStreamBegins) {
  EXPECT_EQ(Send("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nonsense%3D1").status, 400);
  EXPECT_EQ(Send("GET", "/api/v1/pods?watch=1&labelSelector=%3D%3D").status, 400);
}

TEST_F(WatchTest, SharesTheBytesOfAnEventAmongAllStreams) {
  std::vector<TestReply> replies;
  for (int i = 0; i < 3; ++i) replies.push_back(Send("GET", "/api/v1/pods?watch=1"));
  replies.push_back(Send("GET", "/api/v1/namespaces/default/pods?watch=1"));
  CreatePod("a");
  for (const TestReply& reply : replies) {
    ASSERT_EQ(reply.stream->chunks.size(), 1u);
    EXPECT_EQ(reply.stream->chunks[0], replies[0].stream->chunks[0]) << "one buffer, not equal ones";
  }
  for (const TestReply& reply : replies) reply.stream->Close();
}

TEST_F(WatchTest, SendsBookmarksAndEndsInTime) {
  CreatePod("a");
  const TestReply reply = Send("GET", "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=90");
  reply.stream->TakeEvents();
  executor.RunFor(std::chrono::seconds(62));
  auto events = reply.stream->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(base::FindString(events[0], {"type"}), "BOOKMARK");
  EXPECT_EQ(base::FindString(events[0], {"object", "metadata", "resourceVersion"}), std::to_string(store->current_revision()));
  EXPECT_FALSE(reply.stream->closed);
  executor.RunFor(std::chrono::seconds(30));
  EXPECT_TRUE(reply.stream->closed);
}

TEST_F(WatchTest, WatchesOneObjectByName) {
  CreatePod("a");
  CreatePod("ab");
  const TestReply reply = Send("GET", "/api/v1/namespaces/default/pods?watch=1&fieldSelector=metadata.name%3Da");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:a ");
  Label("ab", R"("x")");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "");
  reply.stream->Close();
}

TEST_F(WatchTest, PrintsTablesForKubectl) {
  const TestReply reply = Send("GET", "/api/v1/namespaces/default/pods?watch=1", "",
                               {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}});
  CreatePod("a");
  const auto events = reply.stream->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(base::FindString(events[0], {"object", "kind"}), "Table");
  EXPECT_EQ(base::FindString(base::FindArray(events[0], {"object", "rows"})[0], {"object", "metadata", "name"}), "a");
  reply.stream->Close();
}

TEST_F(WatchTest, DeliversToInProcessClientsWithinTheWrite) {
  std::vector<std::string> seen;
  auto watch =
      client->NewWatch(resources::Pods(), {.ns = "default", .label_selector = "", .field_selector = "", .resource_version = ""},
                       [&](base::Result<client::WatchEvent> event) {
                         if (event && event->type != client::WatchEvent::Type::kBookmark)
                           seen.emplace_back(kube::NameOf(event->object));
                       });
  ASSERT_TRUE(watch);
  CreatePod("a");
  EXPECT_EQ(seen, std::vector<std::string>{"a"});
  watch->reset();
  CreatePod("b");
  EXPECT_EQ(seen.size(), 1u);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::watch_test
