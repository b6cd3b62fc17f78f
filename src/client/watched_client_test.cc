#include "client/watched_client.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::watched_client_test {
namespace {

using base::Code;
using kube::resources::ConfigMaps;

Json Thing(const std::string& name) { return {{"metadata", {{"namespace", "default"}, {"name", name}}}}; }

class WatchedClientTest : public ::testing::Test {
 protected:
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("watched");
  FakeClient next;
  int changes = 0;
  WatchedClient client{next, strand, executor.clock(), base::Random(7), [this] { ++changes; }};
};

TEST_F(WatchedClientTest, AnswersFromACopyThatWatchesKeepCurrent) {
  next.api().Put(ConfigMaps(), Thing("a"));
  EXPECT_EQ(ListAll(client, ConfigMaps()).error().code(), Code::kUnavailable);
  EXPECT_TRUE(client.TakeWaits());
  EXPECT_FALSE(client.TakeWaits());
  executor.RunUntilIdle();
  EXPECT_GT(changes, 0);
  EXPECT_EQ(ListAll(client, ConfigMaps())->items.size(), 1u);
  EXPECT_FALSE(client.TakeWaits());
  next.api().Put(ConfigMaps(), Thing("b"));
  executor.RunUntilIdle();
  EXPECT_EQ(ListAll(client, ConfigMaps())->items.size(), 2u);
  EXPECT_EQ(next.Count("list"), 1);
  next.api().Remove(ConfigMaps(), "default/a");
  executor.RunUntilIdle();
  EXPECT_EQ(kube::NameOf(ListAll(client, ConfigMaps())->items.front()), "b");
}

TEST_F(WatchedClientTest, AnObjectIsFoundOrNot) {
  next.api().Put(ConfigMaps(), Thing("a"));
  EXPECT_EQ(client.Get(ConfigMaps(), "default", "a", "").error().code(), Code::kUnavailable);
  EXPECT_EQ(client.Get(ConfigMaps(), "default", "b", "").error().code(), Code::kUnavailable);
  executor.RunUntilIdle();
  EXPECT_EQ(kube::NameOf(*client.Get(ConfigMaps(), "default", "a", "")), "a");
  EXPECT_EQ(client.Get(ConfigMaps(), "default", "b", "").error().code(), Code::kNotFound);
}

TEST_F(WatchedClientTest, AnEmptyListIsNoticedToo) {
  EXPECT_FALSE(ListAll(client, ConfigMaps()));
  executor.RunFor(1s);
  EXPECT_EQ(changes, 1);
  EXPECT_TRUE(ListAll(client, ConfigMaps())->items.empty());
}

TEST_F(WatchedClientTest, WhatTheApiSaysIsSaid) {
  next.FailNext("list", base::Error(Code::kNotFound, "no such kind"));
  EXPECT_EQ(ListAll(client, ConfigMaps()).error().code(), Code::kUnavailable);
  EXPECT_TRUE(client.TakeWaits());
  executor.RunFor(100ms);
  EXPECT_EQ(ListAll(client, ConfigMaps()).error().code(), Code::kNotFound);
  EXPECT_FALSE(client.TakeWaits());
  executor.RunFor(30s);
  EXPECT_TRUE(ListAll(client, ConfigMaps()));
}

TEST_F(WatchedClientTest, AnOutageIsKnownWhileCopiesGoOnAnswering) {
  next.api().Put(ConfigMaps(), Thing("a"));
  EXPECT_FALSE(ListAll(client, ConfigMaps()));
  executor.RunFor(5s);
  EXPECT_FALSE(client.Outage());
  next.api().EndWatches(base::Error(Code::kUnavailable, "the server closed the watch"));
  executor.RunFor(5s);
  EXPECT_FALSE(client.Outage()) << "it was opened again";
  next.CutOff(true);
  executor.RunFor(2s);
  EXPECT_FALSE(client.Outage()) << "not every hiccup is one";
  executor.RunFor(3s);
  ASSERT_TRUE(client.Outage());
  EXPECT_TRUE(client.Outage()->message().starts_with("configmaps of fake: ")) << client.Outage()->message();
  EXPECT_EQ(ListAll(client, ConfigMaps())->items.size(), 1u) << "as it was";
  next.CutOff(false);
  executor.RunFor(60s);
  EXPECT_FALSE(client.Outage());
}

TEST_F(WatchedClientTest, AKindThatIsNotServedIsNoOutage) {
  next.unserved.insert(ConfigMaps().ApiVersion() + " " + ConfigMaps().plural);
  EXPECT_FALSE(ListAll(client, ConfigMaps()));
  executor.RunFor(30s);
  EXPECT_EQ(ListAll(client, ConfigMaps()).error().code(), Code::kNotFound);
  EXPECT_FALSE(client.Outage());
}

TEST_F(WatchedClientTest, ItOnlyReads) {
  EXPECT_EQ(client.Create(ConfigMaps(), Thing("a"), {}).error().code(), Code::kForbidden);
  EXPECT_EQ(client.Delete(ConfigMaps(), "default", "a", {}).error().code(), Code::kForbidden);
  EXPECT_TRUE(next.calls.empty());
}

}  // namespace
}  // namespace evenkeel::client::watched_client_test
