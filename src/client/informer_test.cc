#include "client/informer.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::informer_test {
namespace {

using base::Code;
using base::Error;
using kube::resources::ConfigMaps;

Json Thing(const std::string& name, const std::string& value = "") {
  return {{"metadata", {{"namespace", "default"}, {"name", name}}}, {"data", {{"value", value}}}};
}

class InformerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Informer<kube::Object>> NewInformer(InformerOptions options = {}) {
    auto informer = std::make_unique<Informer<kube::Object>>(client, ConfigMaps(), std::move(options), strand, executor.clock(),
                                                             base::Random(7));
    informer->AddHandler([this](const auto& before, const auto& after) {
      const auto& shown = after ? after : before;
      const std::string value(base::FindString(*shown->json, {"data", "value"}));
      log.push_back((before && after ? "~" : after ? "+" : "-") + shown->meta.name + value);
    });
    return informer;
  }
  std::vector<std::string> Log() { return std::exchange(log, {}); }
  using Lines = std::vector<std::string>;

  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("informer");
  FakeClient client;
  FakeApi& api = client.api();
  Lines log;
};

TEST_F(InformerTest, ListsThenFollows) {
  api.Put(ConfigMaps(), Thing("a", "1"));
  const auto informer = NewInformer();
  informer->Start();
  EXPECT_FALSE(informer->synced());
  executor.RunUntilIdle();
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(Log(), Lines{"+a1"});
  api.Put(ConfigMaps(), Thing("b", "1"));
  api.Put(ConfigMaps(), Thing("a", "2"));
  api.Remove(ConfigMaps(), "default/b");
  EXPECT_EQ(Log(), Lines{}) << "events wait for the strand";
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), (Lines{"+b1", "~a2", "-b1"}));
  EXPECT_EQ(informer->items().size(), 1u);
  EXPECT_EQ(client.calls, (Lines{"list configmaps rv= match=", "watch configmaps rv=101"}));
}

TEST_F(InformerTest, StreamsTheListWhereTheServerDoesAndFollowsTheSameWatch) {
  client.streams_lists = true;
  // More than a watch may be ahead otherwise.
  for (int i = 0; i < 10'050; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunUntilIdle();
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(Log().size(), 10'050u);
  api.Put(ConfigMaps(), Thing("a", "1"));
  api.Remove(ConfigMaps(), "default/t7");
  executor.RunFor(2min);
  EXPECT_EQ(Log(), (Lines{"+a1", "-t7"}));
  EXPECT_EQ(client.calls, (Lines{"watch configmaps initial rv="}));
  // What it has missed comes with the next one, and nothing is told twice.
  api.Compact();
  api.EndWatches(Error(Code::kExpired, "too old"));
  api.Remove(ConfigMaps(), "default/t8");
  executor.RunFor(1min);
  EXPECT_EQ(Log(), Lines{"-t8"});
  EXPECT_EQ(client.calls.back(), "watch configmaps initial rv=10152");
}

TEST_F(InformerTest, ListsWhereTheServerRefusesToStreamOrNeverSaysThatItIsComplete) {
  api.Put(ConfigMaps(), Thing("a", "1"));
  client.streams_lists = true;
  client.FailNext("watch", Error(Code::kInvalid, "sendInitialEvents is forbidden"));
  const auto refused = NewInformer();
  refused->Start();
  executor.RunUntilIdle();
  EXPECT_TRUE(refused->synced());
  EXPECT_EQ(client.calls, (Lines{"watch configmaps initial rv=", "list configmaps rv= match=", "watch configmaps rv=101"}));
  client.calls.clear();
  client.ends_initial_events = false;
  const auto ignored = NewInformer();
  ignored->Start();
  executor.RunFor(5s);
  EXPECT_FALSE(ignored->synced());
  executor.RunFor(25s);
  EXPECT_TRUE(ignored->synced());
  EXPECT_FALSE(ignored->last_error());
  EXPECT_EQ(client.calls, (Lines{"watch configmaps initial rv=", "list configmaps rv= match=", "watch configmaps rv=101"}));
}

TEST_F(InformerTest, AStreamedListThatBreaksOffIsAskedForAgain) {
  api.Put(ConfigMaps(), Thing("a", "1"));
  client.streams_lists = true;
  client.ends_initial_events = false;
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  api.EndWatches(Error(Code::kUnavailable, "connection reset"));
  client.ends_initial_events = true;
  executor.RunFor(5s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(Log(), Lines{"+a1"});
  EXPECT_EQ(client.Count("list"), 0);
  // A server that was restored from a backup counts from before.
  api.version = 50;
  api.EndWatches(Error(Code::kExpired, "too old"));
  executor.RunFor(1min);
  EXPECT_EQ(client.calls.back(), "watch configmaps initial rv=");
}

TEST_F(InformerTest, ListsLargeCollectionsInPages) {
  for (int i = 0; i < 1001; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunUntilIdle();
  EXPECT_EQ(informer->items().size(), 1001u);
  EXPECT_EQ(client.Count("list"), 3);
}

TEST_F(InformerTest, ResumesADroppedWatchAfterTheLastEvent) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(5s);
  api.Put(ConfigMaps(), Thing("a", "1"));
  executor.RunUntilIdle();
  api.EndWatches(Error(Code::kUnavailable, "closed"));
  api.Put(ConfigMaps(), Thing("a", "2"));
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), (Lines{"+a1", "~a2"}));
  EXPECT_EQ(client.Count("list"), 1);
  EXPECT_EQ(client.calls.back(), "watch configmaps rv=101");
  EXPECT_FALSE(informer->last_error()) << "a watch that ends is not a failure";
}

TEST_F(InformerTest, BookmarksMoveTheResumePoint) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(5s);
  api.version = 4711;
  api.Bookmark();
  executor.RunUntilIdle();
  api.Compact();
  api.EndWatches(Error(Code::kUnavailable, "closed"));
  executor.RunFor(1s);
  EXPECT_EQ(client.calls.back(), "watch configmaps rv=4711");
  EXPECT_EQ(client.Count("list"), 1) << "no new list although everything before the bookmark is gone";
}

TEST_F(InformerTest, ListsAgainWhenItsVersionIsGoneAndTellsOnlyWhatChanged) {
  api.Put(ConfigMaps(), Thing("gone", "1"));
  api.Put(ConfigMaps(), Thing("kept", "1"));
  api.Put(ConfigMaps(), Thing("moved", "1"));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(5s);
  Log();
  api.EndWatches(Error(Code::kExpired, "too old"));
  api.Remove(ConfigMaps(), "default/gone");
  api.Put(ConfigMaps(), Thing("moved", "2"));
  api.Put(ConfigMaps(), Thing("new", "1"));
  executor.RunFor(1s);
  EXPECT_EQ(Log(), (Lines{"-gone1", "~moved2", "+new1"}));
  EXPECT_EQ(client.Count("list configmaps rv=103 match=NotOlderThan"), 1);
}

TEST_F(InformerTest, TakesTheNewestListWhenTheServerHasNotGotItsVersion) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(5s);
  api.EndWatches(Error(Code::kExpired, "too old"));
  client.FailNext("list", Error(Code::kExpired, "compacted"));
  executor.RunFor(10s);
  EXPECT_EQ(client.calls.back(), "watch configmaps rv=100");
  EXPECT_EQ(client.calls[client.calls.size() - 2], "list configmaps rv= match=");
}

TEST_F(InformerTest, FollowsAServerThatWasRestoredFromABackup) {
  const auto informer = NewInformer();
  api.version = 5000;
  api.Put(ConfigMaps(), Thing("a", "late"));
  informer->Start();
  executor.RunFor(5s);
  Log();
  api.objects.clear();
  api.history.clear();
  api.version = 200;
  Json early = Thing("a", "early");
  base::Ensure(early, {"metadata", "uid"}) = "uid-1";
  api.Put(ConfigMaps(), early);
  api.EndWatches(Error(Code::kExpired, "too old"));
  executor.RunFor(10s);
  EXPECT_EQ(Log(), Lines{"~aearly"});
  api.Put(ConfigMaps(), Thing("a", "next"));
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), Lines{"~anext"});
}

TEST_F(InformerTest, IgnoresWhatIsOlderThanItsCopy) {
  const auto informer = NewInformer();
  const Json old = api.Put(ConfigMaps(), Thing("a", "1"));
  api.version = 999;
  const Json present = api.Put(ConfigMaps(), Thing("a", "2"));
  informer->Start();
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), Lines{"+a2"});
  api.Send(WatchEvent::Type::kModified, old);
  executor.RunUntilIdle();
  Json former = old;
  base::Ensure(former, {"metadata", "uid"}) = "an earlier one of that name";
  api.Send(WatchEvent::Type::kDeleted, former);
  api.Send(WatchEvent::Type::kModified, former);
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), Lines{});
  api.Send(WatchEvent::Type::kDeleted, present);
  executor.RunUntilIdle();
  EXPECT_EQ(Log(), Lines{"-a2"});
}

TEST_F(InformerTest, ADeletionOfThisVeryObjectCountsWhateverItsVersionUnlessASelectorIsUsed) {
  const Json old = api.Put(ConfigMaps(), Thing("a", "1"));
  api.Put(ConfigMaps(), Thing("a", "2"));
  const auto all = NewInformer();
  all->Start();
  const auto some = NewInformer({.label_selector = "x=y"});
  some->Start();
  executor.RunUntilIdle();
  api.Send(WatchEvent::Type::kDeleted, old);
  executor.RunUntilIdle();
  EXPECT_EQ(all->items().size(), 0u);
  EXPECT_EQ(some->items().size(), 1u);
}

TEST_F(InformerTest, TellsAReplacedObjectAsDeletedAndAdded) {
  api.Put(ConfigMaps(), Thing("a", "1"));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  api.EndWatches(Error(Code::kExpired, "too old"));
  api.Remove(ConfigMaps(), "default/a");
  api.Put(ConfigMaps(), Thing("a", "2"));
  executor.RunFor(2s);
  EXPECT_EQ(Log(), (Lines{"+a1", "-a1", "+a2"}));
}

TEST_F(InformerTest, BacksOffWhileTheApiIsAwayAndRecovers) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  const base::Instant contact = informer->last_contact();
  client.CutOff(true);
  executor.RunFor(10min);
  const int attempts = client.Count("watch");
  // Waits are 0.8 s doubling to 30 s, stretched up to twofold.
  EXPECT_GE(attempts, 12);
  EXPECT_LE(attempts, 30);
  EXPECT_EQ(client.Count("list"), 1) << "the resume point is still good";
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->code(), Code::kUnavailable);
  EXPECT_LE(informer->last_contact() - contact, 1s);
  ASSERT_TRUE(informer->health().failing_since);
  client.CutOff(false);
  api.Put(ConfigMaps(), Thing("a", "1"));
  executor.RunFor(61s);
  EXPECT_EQ(Log(), Lines{"+a1"});
  EXPECT_FALSE(informer->last_error());
  EXPECT_FALSE(informer->health().failing_since);
}

TEST_F(InformerTest, AWatchThatEndsAtOnceIsNotOpenedInATightLoop) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunUntilIdle();
  for (int i = 0; i < 600; ++i) {
    api.EndWatches(Error(Code::kUnavailable, "closed"));
    executor.RunFor(100ms);
  }
  EXPECT_LE(client.Count("watch"), 20);
}

TEST_F(InformerTest, OpensAQuietWatchAnewWithinTenMinutes) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(10min + 1s);
  EXPECT_GE(client.Count("watch"), 2);
  EXPECT_EQ(api.watchers.size(), 1u);
  EXPECT_EQ(client.Count("list"), 1);
}

TEST_F(InformerTest, AStrandThatCannotKeepUpLosesTheWatchButNoChange) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  for (int i = 0; i < 10500; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  executor.RunFor(5s);
  EXPECT_EQ(informer->items().size(), 10500u);
  EXPECT_EQ(client.Count("watch"), 2);
}

TEST_F(InformerTest, AFewLargeEventsAreAsMuchAsManySmallOnes) {
  client.bytes_each = 1 << 20;
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  for (int i = 0; i < 200; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  executor.RunFor(30s);
  EXPECT_EQ(informer->items().size(), 200u) << "resumed from what was delivered";
  EXPECT_GE(client.Count("watch"), 3);
  EXPECT_FALSE(informer->last_error());
}

TEST_F(InformerTest, AnApiWhoseEventsNeverStopIsTriedMoreAndMoreRarely) {
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  const auto torrent = [&] {
    for (int i = 0; i < 10'500; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i % 100)));
  };
  int opened = client.Count("watch"), seconds_of_error = 0;
  torrent();
  executor.RunFor(50ms);
  EXPECT_FALSE(informer->last_error()) << "one burst is no torrent";
  for (int second = 0; second < 120; ++second) {
    if (client.Count("watch") != opened) torrent();
    opened = client.Count("watch");
    executor.RunFor(1s);
    if (!informer->last_error()) continue;
    ++seconds_of_error;
    EXPECT_EQ(informer->last_error()->message(), "answers too much: events come faster than they can be read");
  }
  EXPECT_LE(client.Count("watch"), 12);
  EXPECT_GE(seconds_of_error, 40) << "a member is set aside by it";
  executor.RunFor(2min);
  EXPECT_FALSE(informer->last_error());
  EXPECT_EQ(informer->items().size(), 100u);
}

TEST_F(InformerTest, AnApiThatAnswersWithoutEndIsSetAsideAndTriedAgain) {
  client.endless_lists = true;
  client.bytes_each = 1 << 20;
  api.Put(ConfigMaps(), Thing("a"));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(1min);
  EXPECT_FALSE(informer->synced());
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->message(), "answers too much: a list of more than 1024 MiB");
  EXPECT_LE(client.Count("list"), 8 * 1026) << "with back-off";
  client.endless_lists = false;
  executor.RunFor(1min);
  EXPECT_TRUE(informer->synced());
}

TEST_F(InformerTest, WhatAWatchBringsIsBoundedAsAListIs) {
  client.limits = {.objects = 50, .bytes = 100 << 20};
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  ASSERT_TRUE(informer->synced());
  for (int i = 0; i < 200; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  executor.RunFor(1min);
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->message(), "answers too much: a list of more than 50 objects");
  EXPECT_EQ(informer->items().size(), 51u) << "what is held stays as it is";
  for (int i = 50; i < 200; ++i) api.Remove(ConfigMaps(), "default/t" + std::to_string(i));
  executor.RunFor(2min);
  EXPECT_FALSE(informer->last_error());
  EXPECT_EQ(informer->items().size(), 50u);
}

TEST_F(InformerTest, WhatIsHeldCountsAsItIsNow) {
  client.limits = {.bytes = 100 << 20};
  client.bytes_each = 10 << 20;
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(2s);
  for (const char* value : {"made", "changed", "changed again"}) {
    for (int i = 0; i < 9; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i), value));
  }
  for (int i = 0; i < 5; ++i) api.Remove(ConfigMaps(), "default/t" + std::to_string(i));
  for (int i = 10; i < 15; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  executor.RunFor(2min);
  EXPECT_FALSE(informer->last_error());
  for (int i = 20; i < 22; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  executor.RunFor(100ms);
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->message(), "answers too much: a list of more than 100 MiB");
}

TEST_F(InformerTest, AStreamedListThatIsTooLargeIsAskedForInPages) {
  client.streams_lists = true;
  client.bytes_each = 1 << 20;
  for (int i = 0; i < 100; ++i) api.Put(ConfigMaps(), Thing("t" + std::to_string(i)));
  const auto informer = NewInformer();
  informer->Start();
  executor.RunFor(5s);
  EXPECT_EQ(informer->items().size(), 100u);
  EXPECT_GE(client.Count("list"), 1);
}

TEST_F(InformerTest, DeliversNothingAfterItIsGone) {
  auto informer = NewInformer();
  informer->Start();
  executor.RunUntilIdle();
  api.Put(ConfigMaps(), Thing("a", "1"));
  informer.reset();
  executor.RunFor(1min);
  EXPECT_EQ(Log(), Lines{});
  EXPECT_TRUE(api.watchers.empty());
}

TEST_F(InformerTest, ListsAgainWhenTheKindIsRefused) {
  const auto informer = NewInformer();
  client.FailNext("list", Error(Code::kForbidden, "no"), 2);
  informer->Start();
  executor.RunUntilIdle();
  EXPECT_FALSE(informer->synced());
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->code(), Code::kForbidden);
  executor.RunFor(6s);
  EXPECT_TRUE(informer->synced());
}

}  // namespace
}  // namespace evenkeel::client::informer_test
