// A member cluster with a ZooKeeper, in virtual time: servers that come up as the operator's objects say.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/fake_client_testing.h"
#include "client/fence.h"
#include "controllers/rollout/budget.h"
#include "controllers/rollout/zookeeper/member/member_zookeeper.h"
#include "controllers/rollout/zookeeper/member/picture_testing.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"

namespace evenkeel::controllers::rollout::zookeeper::member::testing {

using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonObject;
using namespace std::chrono_literals;

inline constexpr base::Time kBegin = base::Time{} + std::chrono::hours(24 * 365 * 50);

/// Servers that start, look for a leader, follow, and agree on who belongs to them.
class World {
 public:
  World(std::shared_ptr<client::FakeApi> the_api, base::Executor& executor)
      : api(std::move(the_api)), clock_(executor.clock()), strand_(executor.NewStrand("world")) {
    Tick();
  }

  /// Of each server whose process runs, since when.
  std::map<int64_t, base::Instant> running;
  std::set<int64_t> cut_off;  ///< answer nobody
  std::vector<ServerLine> members;
  int64_t leader = 0;
  int64_t lowest_margin = 100;              ///< voters that have started less a majority, since all had
  std::vector<std::string> replaced;        ///< pods, in order
  std::vector<std::string> changes;         ///< of the members
  std::function<bool(int64_t)> broken;      ///< servers that do not start
  std::function<bool(int64_t)> seen_ready;  ///< servers that serve, to the kubelet
  std::optional<base::Error> refuse;        ///< the next changes of the members
  std::function<void()> on_ask;             ///< before servers answer
  std::shared_ptr<client::FakeApi> api;

  bool HasStarted(int64_t id) const {
    const auto found = running.find(id);
    return found != running.end() && clock_.Monotonic() - found->second >= 2s;
  }
  bool Serves(int64_t id) const { return leader != 0 && HasStarted(id); }
  int64_t ServingVoters() const {
    return std::ranges::count_if(VotersOf(members), [this](int64_t id) { return Serves(id); });
  }
  base::Result<Answer> Ask(int64_t id) const {
    if (!running.contains(id) || cut_off.contains(id)) return base::Fail(base::Code::kUnavailable, "connection refused");
    Answer answer;
    if (!Serves(id)) return answer;
    answer.mode = id == leader ? Mode::kLeader : Mode::kFollower;
    answer.zxid = std::to_string(clock_.Monotonic().time_since_epoch().count());
    answer.servers = members;
    answer.config_version = std::to_string(version_);
    if (id == leader) answer.synced_voters = ServingVoters() - 1;
    return answer;
  }
  base::Status Reconfigure(const Reconfiguration& change) {
    if (refuse) return base::Fail(*refuse);
    if (change.from_version != std::to_string(version_)) return base::Fail(base::Code::kConflict, "bad version");
    EXPECT_FALSE(change.password.empty());
    for (const std::string& line : change.joining) {
      members.push_back(*ParseServerLine(line));
      changes.push_back("+" + std::to_string(members.back().id));
    }
    for (const int64_t id : change.leaving) {
      std::erase_if(members, [&](const ServerLine& line) { return line.id == id; });
      changes.push_back("-" + std::to_string(id));
    }
    ++version_;
    return {};
  }

 private:
  void Tick() {
    Pods();
    Elect();
    const auto voters = static_cast<int64_t>(members.size());
    const int64_t up = std::ranges::count_if(members, [this](const ServerLine& line) { return HasStarted(line.id); });
    formed_ = formed_ || (up == voters && voters > 0);
    if (formed_) lowest_margin = std::min(lowest_margin, up - Majority(voters));
    timer_ = strand_->PostAfter(200ms, [this] { Tick(); });
  }

  /// As the StatefulSet's controller and the kubelets would.
  void Pods() {
    const auto set = api->objects["statefulsets"].find("data/zk");
    if (set == api->objects["statefulsets"].end()) return;
    const int64_t replicas = FindInt(set->second, {"spec", "replicas"});
    for (int64_t i = 0; i < 10; ++i) {
      const std::string name = "zk-" + std::to_string(i), key = "data/" + name;
      const bool present = api->objects["pods"].contains(key);
      if (!present && uids_.contains(name)) {
        running.erase(i + 1);
        uids_.erase(name);
        gone_[name] = clock_.Monotonic();
        if (i < replicas) replaced.push_back(name);
      }
      if (present && i >= replicas) api->Remove(kube::resources::Pods(), key);
      if (!present && i < replicas && clock_.Monotonic() - gone_[name] >= 1s) MakePod(set->second, name, i + 1);
      if (present && i < replicas) SetReady(key, Serves(i + 1) && (!seen_ready || seen_ready(i + 1)));
    }
  }

  void MakePod(const Json& set, const std::string& name, int64_t id) {
    Json pod = *base::Find(set, {"spec", "template"});
    base::Ensure(pod, {"metadata", "name"}) = name;
    base::Ensure(pod, {"metadata", "namespace"}) = "data";
    const bool starts = !broken || !broken(id);
    base::Ensure(pod, {"status"}) = JsonObject{
        {"phase", "Running"},
        {"podIP", "10.0.0." + std::to_string(id)},
        {"containerStatuses",
         base::JsonArray{JsonObject{{"name", kServerContainer},
                                    {"state", starts ? JsonObject{{"running", JsonObject{}}}
                                                     : JsonObject{{"waiting", JsonObject{{"reason", "CrashLoopBackOff"}}}}}}}}};
    uids_[name] = kube::UidOf(api->Put(kube::resources::Pods(), pod));
    if (starts) running[id] = clock_.Monotonic();
  }

  void SetReady(const std::string& key, bool ready) {
    Json pod = api->objects["pods"].at(key);
    if (kube::SetCondition(pod, "Ready", ready ? "True" : "False", "", "", clock_.Now()))
      api->Put(kube::resources::Pods(), pod);
  }

  void Elect() {
    if (members.empty()) {
      const auto config = api->objects["configmaps"].find("data/zk-config");
      if (config == api->objects["configmaps"].end()) return;
      std::vector<ServerLine> listed;
      std::string_view text = FindString(config->second, {"data", "zoo.cfg.dynamic"});
      for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        listed.push_back(*ParseServerLine(text.substr(0, end)));
        text.remove_prefix(end + 1);
      }
      if (Up(listed) >= Majority(static_cast<int64_t>(listed.size()))) members = listed;
      if (members.empty()) return;
    }
    const bool quorum = Up(members) >= Majority(static_cast<int64_t>(members.size()));
    if (!quorum || !running.contains(leader)) leader = 0;
    if (!quorum || leader != 0) return;
    for (const auto& [id, since] : running) {
      if (FindServer(members, id) != nullptr) leader = id;
    }
  }
  int64_t Up(const std::vector<ServerLine>& list) const {
    return std::ranges::count_if(list, [this](const ServerLine& line) { return running.contains(line.id); });
  }

  base::Clock& clock_;
  std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
  std::map<std::string, std::string> uids_;
  std::map<std::string, base::Instant> gone_;
  int64_t version_ = 100;
  bool formed_ = false;
};

class WorldProbe final : public Probe {
 public:
  explicit WorldProbe(World& world) : world_(world) {}
  std::vector<base::Result<Answer>> Ask(const std::vector<Endpoint>& servers) override {
    if (world_.on_ask) world_.on_ask();
    std::vector<base::Result<Answer>> answers;
    for (const Endpoint& server : servers) answers.push_back(world_.Ask(server.id));
    return answers;
  }
  base::Status Reconfigure(const Endpoint& via, const Reconfiguration& change) override {
    EXPECT_TRUE(world_.Serves(via.id));
    return world_.Reconfigure(change);
  }

 private:
  World& world_;
};

/// Goes on by itself, too.
class SteppingClock final : public base::Clock {
 public:
  explicit SteppingClock(base::Clock& clock) : clock_(clock) {}
  base::Time Now() const override { return clock_.Now() + ahead; }
  base::Instant Monotonic() const override { return clock_.Monotonic() + ahead; }
  base::Duration ahead{};

 private:
  base::Clock& clock_;
};

class MemberZooKeeperTest : public ::testing::Test {
 protected:
  MemberZooKeeperTest() : world(api, executor) { Own(); }

  void Own(std::set<std::string> unserved = {}) {
    member.reset();
    auto owned = std::make_unique<client::FakeClient>(api);
    client = owned.get();
    client->unserved = std::move(unserved);
    fence = std::make_shared<client::Fence>(executor.clock(), 1);
    fence->Extend(executor.clock().Monotonic() + 1000h);
    MemberZooKeeperContext context{.clock = clock,
                                   .random = base::Random(1),
                                   .probe = [this](runtime::Member&) { return std::make_unique<WorldProbe>(world); },
                                   .new_password = [] { return std::string("secret"); },
                                   .metrics = {metrics, &metrics->second},
                                   .host = "replica",
                                   .forms = forms};
    member = std::make_unique<runtime::Member>(
        "m", std::move(owned), fence, executor, base::Random(1), [] {}, std::vector{NewMemberZooKeeper(std::move(context))});
  }
  void Want(int64_t replicas, const std::vector<int64_t>& ids, const std::string& more = "{}") {
    Json object = ObjectOf(replicas, ids, 0, more);
    base::Ensure(object, {"metadata", "generation"}) = ++generation;
    const auto present = api->objects["zookeepers"].find("data/zk");
    if (present != api->objects["zookeepers"].end() && base::Find(present->second, {"status"}) != nullptr) {
      base::Ensure(object, {"status"}) = *base::Find(present->second, {"status"});
    }
    api->Put(ZooKeepers(), object);
  }
  Json Status() { return base::JsonObject(base::FindObject(api->objects["zookeepers"].at("data/zk"), {"status"})); }
  std::string Condition(std::string_view type, std::string_view field) {
    const Json* condition = kube::FindCondition(api->objects["zookeepers"].at("data/zk"), type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
  }
  bool Settled(const std::string& revision) {
    return FindString(Status(), {"observedRevision"}) == revision && Condition("Ready", "status") == "True";
  }

  double Metric(const std::string& name) {
    metrics->second.Publish();
    const std::string text = metrics->first.Render();
    const std::string begin = "\n" + name + "{";
    size_t at = text.find(begin);
    if (at == std::string::npos) return -1;
    double sum = 0;
    for (; at != std::string::npos; at = text.find(begin, at + 1)) sum += std::stod(text.substr(text.find(' ', at)));
    return sum;
  }

  struct Metrics {
    base::MetricRegistry first;
    MemberMetrics second{first};
  };
  Forms forms;  ///< of whoever owns the member next
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  base::VirtualExecutor executor{kBegin};
  SteppingClock clock{executor.clock()};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  World world;
  std::shared_ptr<client::Fence> fence;
  client::FakeClient* client = nullptr;
  std::unique_ptr<runtime::Member> member;
  int64_t generation = 0;
};

}  // namespace evenkeel::controllers::rollout::zookeeper::member::testing
