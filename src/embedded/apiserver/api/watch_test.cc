#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/api/compactor.h"
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

TEST_F(WatchTest, EndsWhatExistsWithABookmarkOfTheWholeSnapshot) {
  CreatePod("b");
  CreatePod("a");
  const std::string path =
      "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  for (const std::string version : {"", "0", "1"}) {
    const std::string now = std::to_string(store->current_revision());
    const TestReply reply = Send("GET", path + "&resourceVersion=" + version);
    const auto events = reply.stream->TakeEvents();
    EXPECT_EQ(Types(events), "ADDED:a ADDED:b BOOKMARK: ");
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(base::FindString(events[2], {"object", "kind"}), "Pod");
    EXPECT_EQ(base::FindString(events[2], {"object", "apiVersion"}), "v1");
    EXPECT_EQ(base::FindString(events[2], {"object", "metadata", "resourceVersion"}), now);
    EXPECT_EQ(base::FindString(events[2], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
    CreatePod("c");
    ASSERT_TRUE(client->Delete(resources::Pods(), "default", "c", {.grace_period_seconds = 0}));
    EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:c DELETED:c ");
    reply.stream->Close();
  }
}

TEST_F(WatchTest, TellsOldClientsOfTheEndToo) {
  CreatePod("a");
  const TestReply reply = Send("GET", "/api/v1/pods?watch=1&allowWatchBookmarks=1");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:a BOOKMARK: ");
  reply.stream->Close();
}

TEST_F(WatchTest, TheEndIsToldInTheFormOfTheEvents) {
  CreatePod("a");
  const std::string path = "/api/v1/pods?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
  const TestReply partial = Send("GET", path, "", {{"accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}});
  const auto metadata = partial.stream->TakeEvents();
  ASSERT_EQ(metadata.size(), 2u);
  EXPECT_EQ(base::FindString(metadata[1], {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(base::FindString(metadata[1], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  partial.stream->Close();
  const TestReply table =
      Send("GET", path + "&includeObject=None", "", {{"accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}});
  const auto rows = table.stream->TakeEvents();
  ASSERT_EQ(rows.size(), 2u);
  const Json* row = base::Find(rows[1], {"object", "rows"});
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(base::FindString(row->as_array().at(0), {"object", "metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  table.stream->Close();
}

TEST_F(WatchTest, BeginsNowWhereWhatExistsIsNotWanted) {
  CreatePod("a");
  const std::string begin = std::to_string(store->current_revision());
  const TestReply reply =
      Send("GET", "/api/v1/pods?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "");
  executor.RunFor(std::chrono::seconds(62));
  const auto bookmarks = reply.stream->TakeEvents();
  ASSERT_EQ(Types(bookmarks), "BOOKMARK: ");
  EXPECT_EQ(base::FindString(bookmarks[0], {"object", "metadata", "resourceVersion"}), begin);
  CreatePod("b");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:b ");
  reply.stream->Close();
}

TEST_F(WatchTest, WithoutBookmarksNobodyIsToldOfTheEnd) {
  CreatePod("a");
  const TestReply reply = Send("GET", "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(Types(reply.stream->TakeEvents()), "ADDED:a ");
  reply.stream->Close();
}

TEST_F(WatchTest, RefusesParametersThatDoNotGoTogether) {
  const std::pair<std::string, std::string> wrong[] = {
      {"watch=1&sendInitialEvents=true",
       "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
      {"watch=1&resourceVersionMatch=NotOlderThan",
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"},
      {"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"},
      {"watch=1&sendInitialEvents=FALSE&resourceVersionMatch=Exact",
       "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, "
       "resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]"},
      {"sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
      {"resourceVersionMatch=Exact",
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"},
      {"resourceVersionMatch=Exact&resourceVersion=0",
       "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
      {"resourceVersionMatch=Newest&resourceVersion=1",
       "resourceVersionMatch: Unsupported value: \"Newest\": supported values: \"Exact\", \"NotOlderThan\", \"\""},
  };
  for (const auto& [query, why] : wrong) {
    const TestReply reply = Send("GET", "/api/v1/pods?" + query);
    EXPECT_EQ(reply.status, 422) << query;
    EXPECT_EQ(base::FindString(reply.json(), {"message"}), "ListOptions.meta.k8s.io \"\" is invalid: " + why);
    EXPECT_EQ(base::FindString(reply.json(), {"details", "group"}), "meta.k8s.io");
    EXPECT_EQ(base::FindString(reply.json(), {"details", "kind"}), "ListOptions");
  }
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

TEST_F(WatchTest, AQuietWatchDoesNotFallBehindACompaction) {
  const Compactor compactor(*store, executor);
  const std::string begin = std::to_string(store->current_revision());
  std::string in_process = begin, streamed = begin;
  const auto watch = client->NewWatch(resources::Services(), {.resource_version = begin}, [&](const auto& event) {
    ASSERT_TRUE(event) << event.error().message();
    in_process = kube::ResourceVersionOf(event->object);
  });
  const TestReply reply =
      Send("GET", "/api/v1/services?watch=1&allowWatchBookmarks=true&timeoutSeconds=3600&resourceVersion=" + begin);
  for (int minute = 0; minute < 20; ++minute) {
    CreatePod("p" + std::to_string(minute));
    executor.RunFor(std::chrono::minutes(1));
    for (const Json& event : reply.stream->TakeEvents()) {
      streamed = base::FindString(event, {"object", "metadata", "resourceVersion"});
    }
    for (const std::string& seen : {in_process, streamed}) {
      const auto resumed = client->NewWatch(resources::Services(), {.resource_version = seen}, [](const auto&) {});
      EXPECT_TRUE(resumed) << "minute " << minute << ", version " << seen << ": " << resumed.error().message();
    }
  }
  EXPECT_GT(store->compacted_revision(), std::stoll(begin)) << "there is something to fall behind of";
  reply.stream->Close();
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
