#include "client/fenced_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/executor.h"
#include "client/fake_client_testing.h"

namespace evenkeel::client::fenced_client_test {
namespace {

using base::Code;
namespace resources = kube::resources;

class FencedClientTest : public ::testing::Test {
 protected:
  FencedClientTest() {
    auto fake = std::make_unique<FakeClient>(api);
    next = fake.get();
    client = NewFencedClient(std::move(fake), fence);
    fence->Extend(Now() + 10s);
    map = api->Put(resources::ConfigMaps(), {{"metadata", {{"namespace", "n"}, {"name", "m"}}}});
  }
  base::Instant Now() { return executor.clock().Monotonic(); }
  Code CodeOf(const Result<Json>& answer) { return answer ? Code::kCancelled : answer.error().code(); }

  /// One of each kind of write, all with their preconditions.
  std::vector<Result<Json>> WriteEverything() {
    std::vector<Result<Json>> answers;
    const Json fresh = {{"metadata", {{"namespace", "n"}, {"name", "new"}}}};
    answers.push_back(client->Create(resources::ConfigMaps(), fresh));
    answers.push_back(client->Create(resources::ConfigMaps(), fresh, {.dry_run = true}));
    answers.push_back(client->Update(resources::ConfigMaps(), map));
    answers.push_back(client->Patch(resources::ConfigMaps(), "n", "m", PatchType::kMerge, {{"metadata", {{"uid", "uid-1"}}}}));
    answers.push_back(client->Post(resources::Pods(), "n", "p", "binding", {{"metadata", {{"uid", "u"}}}}));
    answers.push_back(client->Delete(resources::ConfigMaps(), "n", "m", {.uid = "uid-1"}));
    return answers;
  }

  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<FakeApi> api = std::make_shared<FakeApi>();
  std::shared_ptr<Fence> fence = std::make_shared<Fence>(executor.clock(), 7);
  FakeClient* next = nullptr;
  std::unique_ptr<Client> client;
  Json map;
};

TEST_F(FencedClientTest, LetsWritesThroughWhileTheFenceIsOpen) {
  executor.RunFor(9s);
  for (const auto& answer : WriteEverything()) {
    EXPECT_TRUE(answer || answer.error().code() == Code::kAlreadyExists || answer.error().code() == Code::kConflict)
        << answer.error().message();
  }
  EXPECT_EQ(next->calls.size(), 6u);
}

TEST_F(FencedClientTest, SendsNoWriteOnceTheFenceIsShut) {
  executor.RunFor(10s);
  for (const auto& answer : WriteEverything()) EXPECT_EQ(CodeOf(answer), Code::kForbidden);
  EXPECT_TRUE(next->calls.empty());
  EXPECT_EQ(client->Update(resources::ConfigMaps(), map).error().message(),
            "update configmaps n/m in fake: not sent: the Lease kube-system/evenkeel-owner there is no longer held by this "
            "replica (epoch 7)");
  fence->Extend(Now() + 1s);
  EXPECT_TRUE(client->Update(resources::ConfigMaps(), map)) << "renewed in time after all";
  fence->Close();
  fence->Extend(Now() + 1h);
  EXPECT_EQ(CodeOf(client->Update(resources::ConfigMaps(), map)), Code::kForbidden) << "closed for good";
}

TEST_F(FencedClientTest, IsShutBeforeTheFirstRenewal) {
  const auto early = std::make_shared<Fence>(executor.clock(), 1);
  const auto fenced = NewFencedClient(std::make_unique<FakeClient>(api), early);
  EXPECT_EQ(CodeOf(fenced->Update(resources::ConfigMaps(), map)), Code::kForbidden);
}

TEST_F(FencedClientTest, ReadsWithoutAFence) {
  fence->Close();
  EXPECT_TRUE(client->Get(resources::ConfigMaps(), "n", "m"));
  EXPECT_EQ(client->List(resources::ConfigMaps(), {})->items.size(), 1u);
  EXPECT_TRUE(client->NewWatch(resources::ConfigMaps(), {.resource_version = "0"}, [](const Result<WatchEvent>&) {}));
  EXPECT_EQ(*client->GetRaw("/version"), "ok");
  EXPECT_EQ(client->Describe(), "fake");
}

TEST_F(FencedClientTest, InsistsOnPreconditionsOfUpdatesAndDeletes) {
  Json loose = map;
  for (const char* version : {"", "0"}) {
    base::Ensure(loose, {"metadata", "resourceVersion"}) = version;
    EXPECT_EQ(CodeOf(client->Update(resources::ConfigMaps(), loose)), Code::kBadRequest) << version;
  }
  EXPECT_EQ(client->Update(resources::ConfigMaps(), loose).error().message(),
            "update configmaps n/m in fake: not sent: a fenced write needs metadata.resourceVersion");
  EXPECT_EQ(CodeOf(client->Delete(resources::ConfigMaps(), "n", "m")), Code::kBadRequest);
  EXPECT_TRUE(next->calls.empty());
  EXPECT_TRUE(client->Delete(resources::ConfigMaps(), "n", "m", {.resource_version = "101"}));
}

TEST_F(FencedClientTest, InsistsOnPreconditionsOfPatches) {
  const auto patch = [this](PatchType type, const char* body) {
    return client->Patch(resources::ConfigMaps(), "n", "m", type, base::ParseJson(body, "test").value());
  };
  for (const PatchType type : {PatchType::kMerge, PatchType::kStrategic, PatchType::kApply}) {
    EXPECT_EQ(CodeOf(patch(type, R"({"data":{"a":"b"}})")), Code::kBadRequest);
    EXPECT_EQ(CodeOf(patch(type, R"({"metadata":{"resourceVersion":"0"}})")), Code::kBadRequest);
    EXPECT_EQ(CodeOf(patch(type, R"({"metadata":{"uid":null}})")), Code::kBadRequest);
    EXPECT_TRUE(patch(type, R"({"metadata":{"uid":"uid-1"}})"));
    EXPECT_TRUE(patch(type, R"({"metadata":{"resourceVersion":"101"}})"));
  }
  EXPECT_EQ(CodeOf(patch(PatchType::kJson, R"([{"op":"add","path":"/data","value":{}}])")), Code::kBadRequest);
  EXPECT_EQ(CodeOf(patch(PatchType::kJson, R"([{"op":"test","path":"/metadata/name","value":"m"}])")), Code::kBadRequest);
  EXPECT_EQ(CodeOf(patch(PatchType::kJson, R"([{"op":"replace","path":"/metadata/uid","value":"u"}])")), Code::kBadRequest);
  EXPECT_EQ(CodeOf(patch(PatchType::kJson, R"({"metadata":{"uid":"uid-1"}})")), Code::kBadRequest) << "not a JSON patch";
  // What the stand-in makes of a JSON patch is no matter: it was let through.
  const size_t before = next->calls.size();
  (void)patch(PatchType::kJson, R"([{"op":"test","path":"/metadata/uid","value":"uid-1"},{"op":"remove","path":"/data"}])");
  (void)patch(PatchType::kJson, R"([{"op":"test","path":"/metadata/resourceVersion","value":"101"}])");
  EXPECT_EQ(next->calls.size(), before + 2);
}

TEST_F(FencedClientTest, InsistsOnPreconditionsOfBindingsAndEvictions) {
  const auto post = [this](const char* subresource, const char* body) {
    return CodeOf(client->Post(resources::Pods(), "n", "p", subresource, base::ParseJson(body, "test").value()));
  };
  EXPECT_EQ(post("binding", R"({"target":{"name":"node"}})"), Code::kBadRequest);
  EXPECT_EQ(post("eviction", R"({"metadata":{"name":"p","uid":"u"}})"), Code::kBadRequest);
  EXPECT_EQ(post("eviction", R"({"deleteOptions":{"preconditions":{}}})"), Code::kBadRequest);
  EXPECT_EQ(post("token", R"({"metadata":{"uid":"u"}})"), Code::kBadRequest);
  EXPECT_TRUE(next->calls.empty());
  EXPECT_EQ(post("binding", R"({"metadata":{"uid":"u"},"target":{"name":"node"}})"), Code::kCancelled);
  EXPECT_EQ(post("eviction", R"({"deleteOptions":{"preconditions":{"uid":"u"}}})"), Code::kCancelled);
  EXPECT_EQ(post("eviction", R"({"deleteOptions":{"preconditions":{"resourceVersion":"5"}}})"), Code::kCancelled);
}

TEST_F(FencedClientTest, ATokenNeedsNoPreconditionButTheFence) {
  const auto ask = [this] {
    return CodeOf(
        client->Post(resources::ServiceAccounts(), "n", "a", "token", base::JsonObject{{"spec", base::JsonObject{}}}));
  };
  EXPECT_EQ(ask(), Code::kCancelled);
  EXPECT_EQ(next->calls, std::vector<std::string>{"post serviceaccounts n/a token"});
  fence->Close();
  EXPECT_EQ(ask(), Code::kForbidden);
  EXPECT_EQ(next->calls.size(), 1u);
}

TEST_F(FencedClientTest, TellsTheFenceOfWritesWithoutAnAnswer) {
  for (const Code code : {Code::kTimeout, Code::kUnavailable, Code::kInternal}) {
    EXPECT_FALSE(fence->MayStillTakeEffect(3s));
    next->FailNext("update", base::Error(code, "broken"));
    EXPECT_EQ(CodeOf(client->Update(resources::ConfigMaps(), map)), code);
    EXPECT_TRUE(fence->MayStillTakeEffect(3s));
    executor.RunFor(2999ms);
    EXPECT_TRUE(fence->MayStillTakeEffect(3s));
    executor.RunFor(1ms);
    fence->Extend(Now() + 10s);
  }
}

TEST_F(FencedClientTest, TakesRefusalsAndFailedReadsForAnswers) {
  for (const Code code : {Code::kConflict, Code::kForbidden, Code::kInvalid, Code::kTooManyRequests, Code::kNotFound}) {
    next->FailNext("update", base::Error(code, "no"));
    EXPECT_EQ(CodeOf(client->Update(resources::ConfigMaps(), map)), code);
  }
  next->FailNext("get", base::Error(Code::kTimeout, "slow"));
  EXPECT_FALSE(client->Get(resources::ConfigMaps(), "n", "m"));
  EXPECT_FALSE(fence->MayStillTakeEffect(1h));
}

TEST_F(FencedClientTest, CountsAWriteThatIsStillUnderWay) {
  bool during = false;
  next->before_write = [&](std::string_view, const Json&) {
    fence->Close();
    during = fence->MayStillTakeEffect(0s);
  };
  EXPECT_TRUE(client->Update(resources::ConfigMaps(), map));
  EXPECT_TRUE(during);
  EXPECT_FALSE(fence->MayStillTakeEffect(1h)) << "it has been answered";
}

TEST(FenceTest, ShowsEveryWriteThatAClosingMissed) {
  for (int round = 0; round < 2000; ++round) {
    Fence fence(base::SystemClock(), 1);
    fence.Extend(base::SystemClock().Monotonic() + 1h);
    bool let_in = false;
    std::thread writer([&] { let_in = fence.Begin(); });
    fence.Close();
    const bool seen = fence.MayStillTakeEffect(0s);
    writer.join();
    ASSERT_TRUE(seen || !let_in) << "a write began unseen, round " << round;
  }
}

}  // namespace
}  // namespace evenkeel::client::fenced_client_test
