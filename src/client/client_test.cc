#include "client/client.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::client_test {
namespace {

Json ConfigMapNamed(const std::string& name) {
  return {{"metadata", {{"namespace", "default"}, {"name", name}}}, {"data", {{"n", "0"}}}};
}

TEST(ClientTest, OlderVersionsAreComparedAsNumbers) {
  EXPECT_TRUE(IsOlderVersion("9", "10"));
  EXPECT_FALSE(IsOlderVersion("10", "9"));
  EXPECT_FALSE(IsOlderVersion("10", "10"));
  EXPECT_FALSE(IsOlderVersion("", "10"));
  EXPECT_FALSE(IsOlderVersion("abc", "10"));
}

TEST(ClientTest, ListAllReadsEveryPageAtOneVersion) {
  FakeClient client;
  for (int i = 0; i < 1203; ++i)
    client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("c" + std::to_string(10000 + i)));
  const auto all = ListAll(client, kube::resources::ConfigMaps(), {.resource_version = "5"});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 1203u);
  EXPECT_EQ(all->resource_version, std::to_string(client.api().version));
  EXPECT_EQ(client.calls,
            (std::vector<std::string>{"list configmaps rv=5 match=", "list configmaps rv= match= continue=1303/500",
                                      "list configmaps rv= match= continue=1303/1000"}));
}

TEST(ClientTest, ListAllStartsOverOnceWhenTheTokenExpires) {
  FakeClient client;
  for (int i = 0; i < 600; ++i)
    client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("c" + std::to_string(10000 + i)));
  int compactions = 1;
  client.before_list = [&](const ListOptions& options) {
    if (options.continue_token.empty() || compactions-- <= 0) return;
    client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("late"));
    client.api().Compact();
  };
  const auto all = ListAll(client, kube::resources::ConfigMaps());
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->items.size(), 601u);
  EXPECT_EQ(client.Count("list"), 4);
  compactions = 2;
  EXPECT_EQ(ListAll(client, kube::resources::ConfigMaps()).error().code(), base::Code::kExpired);
}

TEST(ClientTest, AListThatDoesNotEndIsAnError) {
  FakeClient client;
  client.endless_lists = true;
  client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("c"));
  const auto endless = ListAll(client, kube::resources::ConfigMaps());
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), base::Code::kTooLarge);
  EXPECT_EQ(endless.error().message(), "answers too much: a list of more than 10000 pages");
}

TEST(ClientTest, AListIsBoundedInPagesObjectsAndBytes) {
  const auto problem = [](ListLimits limits, size_t objects, size_t bytes, std::string_view token = "t") {
    ListBudget budget(limits);
    EXPECT_TRUE(budget.Add(5, 5, "first"));
    const auto added = budget.Add(objects, bytes, token);
    return added ? "" : added.error().message();
  };
  const ListLimits limits{.pages = 2, .objects = 10, .bytes = 2 << 20};
  EXPECT_EQ(problem(limits, 5, (2 << 20) - 5), "");
  EXPECT_EQ(problem(limits, 6, 0), "answers too much: a list of more than 10 objects");
  EXPECT_EQ(problem(limits, 0, 2 << 20), "answers too much: a list of more than 2 MiB");
  EXPECT_EQ(problem({.pages = 1}, 0, 0), "answers too much: a list of more than 1 pages");
  EXPECT_EQ(problem(limits, 0, 0, "first"), "answers too much: a page of a list names itself as the next");
  EXPECT_EQ(problem(limits, 0, 0, ""), "");
}

TEST(ClientTest, ReadModifyWriteReadsAgainAfterAConflict) {
  FakeClient client;
  client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("shared"));
  int others = 2;
  client.before_write = [&](std::string_view, const Json&) {
    if (others-- <= 0) return;
    Json other = client.api().objects["configmaps"]["default/shared"];
    base::Ensure(other, {"data", "other"}) = std::to_string(others);
    client.api().Put(kube::resources::ConfigMaps(), other);
  };
  const auto written =
      ReadModifyWrite(client, kube::resources::ConfigMaps(), "default", "shared", [](Json& object) -> Result<bool> {
        base::Ensure(object, {"data", "n"}) = "1";
        return true;
      });
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(base::FindString(*written, {"data", "n"}), "1");
  EXPECT_EQ(base::FindString(*written, {"data", "other"}), "0") << "the other writer's field is kept";
  EXPECT_EQ(client.Count("update"), 3);
}

TEST(ClientTest, ReadModifyWriteGivesUpAfterFiveConflicts) {
  FakeClient client;
  client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("shared"));
  client.FailNext("update", base::Error(base::Code::kConflict, "again"), 9);
  const auto written =
      ReadModifyWrite(client, kube::resources::ConfigMaps(), "default", "shared", [](Json&) -> Result<bool> { return true; });
  EXPECT_EQ(written.error().code(), base::Code::kConflict);
  EXPECT_EQ(client.Count("update"), 5);
}

TEST(ClientTest, ReadModifyWriteWritesNothingWhenNothingChanges) {
  FakeClient client;
  client.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("shared"));
  EXPECT_TRUE(
      ReadModifyWrite(client, kube::resources::ConfigMaps(), "default", "shared", [](Json&) -> Result<bool> { return false; }));
  EXPECT_EQ(client.Count("update"), 0);
}

TEST(ForwardingClientTest, HandsEveryCallOn) {
  class Unchanged final : public ChangedFakeClient {};
  Unchanged client;
  const Resource& maps = kube::resources::ConfigMaps();
  const auto created = client.Create(maps, ConfigMapNamed("c"), {});
  ASSERT_TRUE(created);
  EXPECT_TRUE(client.Get(maps, "default", "c", ""));
  EXPECT_TRUE(client.List(maps, {}));
  EXPECT_TRUE(client.Update(maps, *created, {}));
  EXPECT_TRUE(client.Patch(maps, "default", "c", PatchType::kMerge, Json(base::JsonObject{}), {}));
  EXPECT_TRUE(client.Post(maps, "default", "c", "sub", {}));
  EXPECT_TRUE(client.NewWatch(maps, {.resource_version = "0"}, [](auto) {}));
  EXPECT_TRUE(client.GetRaw("/version"));
  EXPECT_TRUE(client.Delete(maps, "default", "c", {}));
  EXPECT_EQ(client.fake.calls,
            (std::vector<std::string>{"create configmaps default/c", "get configmaps default/c",
                                      "list configmaps rv= match=", "update configmaps default/c", "patch configmaps default/c",
                                      "post configmaps default/c sub", "watch configmaps rv=0", "raw /version",
                                      "delete configmaps default/c"}));
  client.fake.streams_lists = true;
  client.fake.limits.objects = 7;
  EXPECT_TRUE(client.StreamsLists());
  EXPECT_EQ(client.Limits().objects, 7u);
  EXPECT_EQ(client.Describe(), "fake");
}

TEST(ForwardingClientTest, WhoOverridesListChangesWhatIsVisited) {
  class Empty final : public ChangedFakeClient {
    Result<ListPage> List(const Resource&, const ListOptions&) override { return ListPage{}; }
  };
  Empty client;
  client.fake.api().Put(kube::resources::ConfigMaps(), ConfigMapNamed("c"));
  int visited = 0;
  EXPECT_TRUE(VisitAll(client, kube::resources::ConfigMaps(), [&](const Json&) { ++visited; }));
  EXPECT_EQ(visited, 0);
}

}  // namespace
}  // namespace evenkeel::client::client_test
