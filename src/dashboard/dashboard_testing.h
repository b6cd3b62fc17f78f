// A hub and members in memory, and followers that keep what they are sent, for tests of what is above documents.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "client/fake_client_testing.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "dashboard/feed.h"

namespace evenkeel::dashboard::testing {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;

inline constexpr base::Time kStart{std::chrono::seconds(1'734'225'184)};

inline Json Parsed(std::string_view text) { return *base::ParseJson(text, "test"); }

inline Json NodeObject(const std::string& name, bool ready = true, const std::string& cpu = "4") {
  return JsonObject{
      {"metadata", JsonObject{{"name", name},
                              {"creationTimestamp", base::FormatTime(kStart - 1h)},
                              {"labels", JsonObject{{"evenkeel.dev/node-group", "general"}}}}},
      {"status", JsonObject{{"allocatable", JsonObject{{"cpu", cpu}, {"memory", "16Gi"}, {"pods", "110"}}},
                            {"conditions", JsonArray{JsonObject{{"type", "Ready"},
                                                                {"status", ready ? "True" : "False"},
                                                                {"lastTransitionTime", base::FormatTime(kStart - 30min)}}}}}}};
}

inline Json PodObject(const std::string& name, const std::string& node, const std::string& cpu = "1") {
  Json pod = JsonObject{
      {"metadata",
       JsonObject{{"name", name}, {"namespace", "default"}, {"creationTimestamp", base::FormatTime(kStart - 1min)}}},
      {"spec",
       JsonObject{{"containers", JsonArray{JsonObject{{"name", "main"},
                                                      {"resources", JsonObject{{"requests", JsonObject{{"cpu", cpu}}}}}}}}}},
      {"status", JsonObject{{"phase", node.empty() ? "Pending" : "Running"}}}};
  if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
  return pod;
}

/// Follows one view: its document, with all patches applied.
class KeepingFollower final : public Follower {
 public:
  void Refuse(const base::Error& error) override { refused = error; }
  bool Send(const std::shared_ptr<const std::string>& event) override {
    if (gone) return false;
    const size_t data = event->find("\ndata: ");
    const std::string name = event->substr(7, data - 7);
    const Json value = Parsed(event->substr(data + 7));
    if (name == "document") document = value.at("document");
    if (name == "patch") {
      base::ApplyMergePatch(document, value.at("patch"));
      patches.push_back(value.at("patch"));
    }
    events.push_back(name);
    return true;
  }
  std::string Text(std::initializer_list<std::string_view> path) const { return std::string(base::FindString(document, path)); }
  int64_t Number(std::initializer_list<std::string_view> path) const { return base::FindInt(document, path, -1); }

  std::optional<base::Error> refused;
  Json document;
  std::vector<Json> patches;
  std::vector<std::string> events;
  bool gone = false;
};

class FleetFixture : public ::testing::Test {
 protected:
  FleetFixture() {
    PutCluster("member-1");
    PutCluster("member-2");
    namespace distribution = controllers::distribution;
    distribution::PublishedPlan plan;
    plan.epoch = 3;
    plan.leader = "id-a";
    plan.written = kStart;
    plan.shards = {{.shard = 0, .replica = "id-a", .host = "evenkeel-a"},
                   {.shard = 1, .replica = "id-b", .host = "evenkeel-b"}};
    plan.assignments = {
        {.cluster = "member-1", .server = ServerOf("member-1"), .shard = 0, .standby = 1, .epoch = 1, .weight = 20},
        {.cluster = "member-2", .server = ServerOf("member-2"), .shard = 1, .standby = 0, .epoch = 3, .weight = 30}};
    plan.moves = {{.cluster = "member-2", .from = 0, .to = 1, .epoch = 3, .time = kStart - 10s, .reason = "load"}};
    plan.hot = {"member-2"};
    PutPlan(plan);
    PutReplica("a", 0, {{"member-1", kStart - 1h, 1}});
    PutReplica("b", 1, {{"member-2", kStart - 8s, 3}});
    for (const char* name : {"member-1", "member-2"}) {
      members[name] = std::make_shared<client::FakeApi>();
      members[name]->Put(kube::resources::Nodes(), NodeObject("n1"));
      members[name]->Put(kube::resources::Pods(), PodObject("web", "n1"));
    }
    StartFeed({});
  }

  void StartFeed(const controllers::autoscaler::Options& autoscaler) {
    feed = std::make_unique<Feed>(FeedContext{.hub = hub,
                                              .hub_name = "hub",
                                              .executor = executor,
                                              .sources = executor,
                                              .random = base::Random(7),
                                              .distribution = {},
                                              .autoscaler = autoscaler,
                                              .connect = [this](const auto& member) { return Connect(member.name); }});
  }

  static std::string ServerOf(const std::string& name) { return "https://" + name + ":6443"; }

  base::Result<std::unique_ptr<client::Client>> Connect(const std::string& name) {
    auto connected = std::make_unique<client::FakeClient>(members.at(name));
    if (unreachable == name) connected->CutOff(true);
    return connected;
  }

  void PutCluster(const std::string& name) {
    Json secret = JsonObject{{"metadata", JsonObject{{"name", name},
                                                     {"namespace", "evenkeel"},
                                                     {"labels", JsonObject{{"argocd.argoproj.io/secret-type", "cluster"}}}}}};
    base::Ensure(secret, {"data", "name"}) = base::Base64Encode(name);
    base::Ensure(secret, {"data", "server"}) = base::Base64Encode(ServerOf(name));
    base::Ensure(secret, {"data", "config"}) = base::Base64Encode(R"({"bearerToken":"t"})");
    hub.api().Put(kube::resources::Secrets(), secret);
  }

  void PutPlan(const controllers::distribution::PublishedPlan& plan) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", "evenkeel"}, {"namespace", "evenkeel"}}}};
    plan.WriteTo(object);
    hub.api().Put(controllers::distribution::ShardPlans(), object);
  }

  struct Owned {
    std::string cluster;
    base::Time since;
    int64_t epoch;
  };
  void PutReplica(const std::string& name, int64_t shard, const std::vector<Owned>& owned) {
    controllers::distribution::ReplicaReport report;
    report.replica = "id-" + name;
    report.host = "evenkeel-" + name;
    report.shard = shard;
    for (const Owned& each : owned) {
      auto& member = report.members.emplace_back();
      member.server = ServerOf(each.cluster);
      member.cluster = each.cluster;
      member.state = "owner";
      member.epoch = each.epoch;
      member.since = each.since;
    }
    Json object = JsonObject{{"metadata", JsonObject{{"name", "evenkeel-" + name}, {"namespace", "evenkeel"}}}};
    report.WriteTo(object);
    hub.api().Put(controllers::distribution::ShardReplicas(), object);
    Renew(name);
  }

  /// The replica's Lease.
  void Renew(const std::string& name) {
    Json lease = JsonObject{{"metadata", JsonObject{{"name", "evenkeel-" + name}, {"namespace", "evenkeel"}}}};
    base::Ensure(lease, {"spec", "holderIdentity"}) = "id-" + name;
    base::Ensure(lease, {"spec", "renewTime"}) = base::FormatMicroTime(executor.clock().Now());
    hub.api().Put(kube::resources::Leases(), lease);
  }

  std::shared_ptr<KeepingFollower> Follow(const std::string& view) {
    auto follower = std::make_shared<KeepingFollower>();
    feed->Follow(view, follower);
    executor.RunFor(500ms);
    return follower;
  }

  /// How many watches of that kind are open at that API.
  static int64_t Watches(const client::FakeApi& api, const std::string& plural) {
    return std::ranges::count_if(api.watchers, [&](const auto& each) { return each.second->plural == plural; });
  }

  base::VirtualExecutor executor{kStart};
  client::FakeClient hub;
  std::map<std::string, std::shared_ptr<client::FakeApi>> members;
  std::string unreachable;
  std::unique_ptr<Feed> feed;
};

}  // namespace evenkeel::dashboard::testing
