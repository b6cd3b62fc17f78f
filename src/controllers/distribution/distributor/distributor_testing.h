// A hub, members and replicas in virtual time, for the Distributor's tests. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "client/fake_client_testing.h"
#include "controllers/distribution/distributor/distributor.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "controllers/distribution/sharding/shard_mapping.h"

namespace evenkeel::controllers::distribution {

/// A hub as one replica sees it: kinds may be absent, and every call may be looked at before it is made.
class HubDouble final : public client::ChangedFakeClient {
 public:
  explicit HubDouble(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(std::move(api)) {}

  std::set<std::string> absent;     ///< plurals that answer 404
  std::set<std::string> away;       ///< plurals that answer 503
  std::function<void()> on_call{};  ///< e.g. takes its time

  base::Result<base::Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                               std::string_view subresource) override {
    EVENKEEL_TRY(Look(resource));
    return fake.Get(resource, ns, name, subresource);
  }
  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    EVENKEEL_TRY(Look(resource));
    if (!forbidden.empty() && options.field_selector == forbidden) return base::Fail(base::Code::kForbidden, "forbidden");
    return fake.List(resource, options);
  }
  base::Result<base::Json> Create(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    if (resource.plural != "events") EVENKEEL_TRY(Look(resource));
    return fake.Create(resource, object, options);
  }
  base::Result<base::Json> Update(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    EVENKEEL_TRY(Look(resource));
    return fake.Update(resource, object, options);
  }
  base::Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                        client::WatchHandler handler) override {
    EVENKEEL_TRY(Look(resource));
    return fake.NewWatch(resource, options, std::move(handler));
  }
  std::string Describe() const override { return "hub"; }

  std::string forbidden;  ///< field selector of a list that no role allows

 private:
  base::Status Look(const kube::Resource& resource) {
    // Replicas renew their Leases on strands of their own.
    if (on_call && resource.plural != "leases") on_call();
    if (away.contains(resource.plural)) return base::Fail(base::Code::kUnavailable, "the server is currently unable");
    if (!absent.contains(resource.plural)) return {};
    return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
  }
};

/// Hands out the strands of virtual time and remembers them, so that a test can make one busy.
class RememberingExecutor final : public base::Executor {
 public:
  explicit RememberingExecutor(base::VirtualExecutor& executor) : executor_(executor) {}
  std::shared_ptr<base::Strand> NewStrand(std::string_view name) override {
    auto strand = executor_.NewStrand(name);
    strands[std::string(name)] = strand;
    return strand;
  }
  base::Clock& clock() override { return executor_.clock(); }
  std::map<std::string, std::weak_ptr<base::Strand>> strands;

 private:
  base::VirtualExecutor& executor_;
};

/// One replica: its own connection to the hub, its own metrics.
struct Replica {
  std::unique_ptr<HubDouble> hub;
  std::unique_ptr<base::MetricRegistry> metrics;
  std::unique_ptr<Distributor> distributor;
};

class DistributorTest : public ::testing::Test {
 protected:
  using Owners = std::map<std::string, std::vector<std::string>>;
  using Names = std::vector<std::string>;

  static constexpr base::Time kStart{std::chrono::seconds(1'734'225'184)};
  base::VirtualExecutor virtual_time{kStart};
  RememberingExecutor executor{virtual_time};
  std::shared_ptr<client::FakeApi> hub = std::make_shared<client::FakeApi>();
  std::map<std::string, std::shared_ptr<client::FakeApi>> members;  ///< by server
  std::map<std::string, bool> unreachable;                          ///< by server
  std::vector<client::ConnectionConfig> connections;                ///< in the order made
  Options options;
  std::map<std::string, Replica> replicas;

  DistributorTest() {
    options.mode = Mode::kCompatible;
    options.dynamic = true;
    options.method = Method::kRoundRobin;
  }

  static std::string ServerOf(const std::string& name) { return "https://" + name + ":6443"; }

  /// Ids follow the names, so that round-robin's order is the order of the names.
  void PutCluster(const std::string& name, std::map<std::string, std::string> more = {}) {
    std::map<std::string, std::string> data = {
        {"name", name}, {"server", ServerOf(name)}, {"config", R"({"bearerToken":"secret-of-)" + name + "\"}"}};
    for (auto& [key, value] : more) data[key] = value;
    base::Json secret = {{"metadata",
                          {{"name", name},
                           {"namespace", "evenkeel"},
                           {"uid", "uid-of-" + name},
                           {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}}};
    for (const auto& [key, value] : data) base::Ensure(secret, {"data", key}) = base::Base64Encode(value);
    hub->Put(kube::resources::Secrets(), secret);
  }
  void PutClusters(int count) {
    for (int i = 1; i <= count; ++i) PutCluster("member-" + std::to_string(i));
  }
  void Scale(int64_t count) {
    hub->Put(kube::resources::Deployments(),
             {{"metadata", {{"name", "evenkeel-controller"}, {"namespace", "evenkeel"}}}, {"spec", {{"replicas", count}}}});
  }
  void PutMapping(const base::Json& data) {
    hub->Put(kube::resources::ConfigMaps(),
             {{"metadata", {{"name", kShardConfigMap}, {"namespace", "evenkeel"}}}, {"data", data}});
  }

  Distributor& Start(const std::string& host, std::set<std::string> absent = {}, std::set<std::string> away = {}) {
    Replica replica;
    replica.hub = std::make_unique<HubDouble>(hub);
    replica.hub->absent = std::move(absent);
    replica.hub->away = std::move(away);
    replica.metrics = std::make_unique<base::MetricRegistry>();
    Options own = options;
    own.host_name = host;
    auto connect = [this](const client::ConnectionConfig& config, int64_t) -> base::Result<std::unique_ptr<client::Client>> {
      connections.push_back(config);
      auto& api = members[config.server];
      if (!api) api = std::make_shared<client::FakeApi>();
      auto member = std::make_unique<client::FakeClient>(api);
      if (unreachable[config.server]) member->CutOff(true);
      return member;
    };
    replica.distributor =
        NewDistributor({*replica.hub, executor, base::Random(7).Fork(host), own, connect, *replica.metrics, {}});
    replica.distributor->Start();
    return *(replicas[host] = std::move(replica)).distributor;
  }
  /// Gone without a word, as after kill -9 of its machine.
  void Crash(const std::string& host) { replicas.erase(host); }
  /// As SIGTERM. @return  how long it took.
  base::Duration Stop(const std::string& host) {
    const base::Time begin = virtual_time.clock().Now();
    bool stopped = false;
    replicas.at(host).distributor->Stop([&] { stopped = true; });
    EXPECT_TRUE(virtual_time.RunUntil([&] { return stopped; }, std::chrono::minutes(1))) << host;
    replicas.erase(host);
    return virtual_time.clock().Now() - begin;
  }
  void Run(base::Duration duration) { virtual_time.RunFor(duration); }

  Owners OwnersNow() const {
    Owners owners;
    for (const auto& [host, replica] : replicas) {
      for (const std::string& cluster : replica.distributor->status().owned) owners[cluster].push_back(host);
    }
    return owners;
  }
  /// Of one replica: what it is to look after, whether it can be reached or not.
  Names AssignedTo(const std::string& host) const { return replicas.at(host).distributor->status().assigned; }
  /// Informers open on a member's nodes and pods: two for each replica that looks after it.
  size_t WatchesOf(const std::string& name) const {
    const auto found = members.find(ServerOf(name));
    if (found == members.end()) return 0;
    return static_cast<size_t>(
        std::ranges::count_if(found->second->watchers, [](const auto& entry) { return entry.second->plural != "leases"; }));
  }
  /// Every one of these clusters has one owner, which alone has its informers open.
  void ExpectOneOwnerEach(const Names& clusters) const {
    const Owners owners = OwnersNow();
    EXPECT_EQ(owners.size(), clusters.size());
    for (const std::string& cluster : clusters) {
      EXPECT_EQ(owners.contains(cluster) ? owners.at(cluster).size() : 0u, 1u) << cluster;
      EXPECT_EQ(WatchesOf(cluster), 2u) << cluster;
    }
  }
  int64_t ShardOf(const std::string& host) const { return replicas.at(host).distributor->status().shard; }

  std::vector<ShardClaim> Claims() const {
    const auto& config_maps = hub->objects["configmaps"];
    const auto found = config_maps.find("evenkeel/" + std::string(kShardConfigMap));
    if (found == config_maps.end()) return {};
    return ParseShardMapping(base::FindString(found->second, {"data", kShardMappingKey})).value_or(std::vector<ShardClaim>{});
  }
  std::string HolderOf(int64_t shard) const {
    for (const ShardClaim& claim : Claims()) {
      if (claim.shard == shard) return claim.controller;
    }
    return "";
  }
  FleetView View() {
    HubDouble reader(hub);
    auto view = ReadFleet(reader, options, std::nullopt, std::nullopt, virtual_time.clock().Now());
    EXPECT_TRUE(view) << view.error().message();
    return view ? *std::move(view) : FleetView{};
  }
  struct ToldEvent {
    std::string reason, about, message, source;
  };
  std::vector<ToldEvent> Events(std::string_view reason) const {
    std::vector<ToldEvent> found;
    for (const auto& [key, event] : hub->objects["events"]) {
      if (base::FindString(event, {"reason"}) != reason) continue;
      found.push_back({std::string(reason), std::string(base::FindString(event, {"involvedObject", "name"})),
                       std::string(base::FindString(event, {"message"})),
                       std::string(base::FindString(event, {"source", "host"}))});
    }
    return found;
  }
};

}  // namespace evenkeel::controllers::distribution
