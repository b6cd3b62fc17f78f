// A hub with Karmada and members with an operator, as far as an ensemble's rollout sees them: what the plans apply is
// scheduled, overridden and carried out server by server. Every step of it checks that the servers keep their majority.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/budget.h"
#include "controllers/rollout/zookeeper/plan/plan.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {

class FakeFleet {
 public:
  explicit FakeFleet(const std::string& spec) {
    ensemble_ = *base::ParseJson(
        R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": "zk", "namespace": "data",
            "generation": 1}, "spec": )" +
            spec + "}",
        "ensemble");
  }

  void SetSpec(const std::string& spec) {
    ensemble_.as_object()["spec"] = *base::ParseJson(spec, "spec");
    base::Ensure(ensemble_, {"metadata", "generation"}) = base::FindInt(ensemble_, {"metadata", "generation"}) + 1;
  }
  void Delete() { base::Ensure(ensemble_, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z"; }

  /// One reconcile, and what follows from it in Karmada.
  Plan Tick() {
    now_ += std::chrono::seconds(1);
    PlanInput input = Input();
    auto planned = PlanRollout(input);
    EXPECT_TRUE(planned) << (planned ? "" : planned.error().message());
    if (!planned) return {};
    Plan plan = *std::move(planned);
    ensemble_.as_object()["status"] = plan.status;
    for (const base::Json& object : plan.apply) {
      Put(object);
      Schedule();  // Karmada does not wait for the rest
    }
    for (const ObjectRef& item : plan.remove) Remove(item);
    Schedule();
    return plan;
  }

  /// Every member takes one step: a server comes, restarts or goes.
  void Work() {
    for (auto& [cluster, member] : members_) WorkIn(cluster, member);
  }

  /// Until nothing is left to do; the number of reconciles. Fails after `most`.
  int Settle(int most = 300) {
    int idle = 0;
    for (int ticks = 1; ticks <= most; ++ticks) {
      const Plan plan = Tick();
      Work();
      idle = plan.reason == "UpToDate" && plan.apply.empty() && plan.remove.empty() ? idle + 1 : 0;
      if (idle == 2) return ticks;
      last_reason_ = plan.reason + ": " + plan.message;
    }
    ADD_FAILURE() << "it does not come to rest: " << last_reason_;
    return most;
  }

  PlanInput Input() const {
    PlanInput input;
    input.object = {base::Json(ensemble_, {}), "test"};
    input.now = now_;
    if (!zookeeper_.is_null()) input.fleet.zookeeper = &zookeeper_;
    if (!binding_.is_null()) input.fleet.binding = &binding_;
    for (const auto& [name, object] : children_) input.fleet.children.push_back(&object);
    for (const base::Json& cluster : clusters_) input.fleet.clusters.push_back(&cluster);
    for (const base::Json& work : works_) input.fleet.works.push_back(&work);
    return input;
  }

  /// Karmada's Clusters are given from now on.
  void SetReachable(const std::string& cluster, bool reachable) {
    for (const auto& [name, member] : members_) SetCluster(name, unreachable_.contains(name) ? "False" : "True");
    reachable ? static_cast<void>(unreachable_.erase(cluster)) : static_cast<void>(unreachable_.insert(cluster));
    SetCluster(cluster, reachable ? "True" : "False");
  }
  /// The cluster is gone with all that ran there.
  void Destroy(const std::string& cluster) {
    SetReachable(cluster, false);
    members_[cluster].servers.clear();
    destroyed_ = true;
  }
  /// The other clusters let go a server that runs.
  void LetGo(const std::string& cluster, int64_t id) {
    Member& member = members_[cluster];
    member.servers.at(id).out_since = base::FindString(member.spec, {"rolloutRevision"});
  }
  /// The servers of this member at a revision never become ready.
  void Break(const std::string& cluster, bool broken) {
    if (broken) broken_.insert(cluster);
    if (!broken) broken_.erase(cluster);
  }
  /// It comes back only when it is started with something else.
  void Crash(const std::string& cluster, int64_t id) {
    Server& server = members_[cluster].servers.at(id);
    server.up = false;
    server.dead = true;
  }
  /// The member works on, but what the hub has been told of it stays as it is.
  void Silence(const std::string& cluster, bool silent) { members_[cluster].silent = silent; }

  const base::Json& status() const { return ensemble_.at("status"); }
  base::Json& ensemble() { return ensemble_; }
  std::map<std::string, base::Json>& children() { return children_; }
  const base::JsonArray& records() const { return base::FindArray(ensemble_, {"status", "records"}); }
  /// Ids of all servers that run.
  std::set<int64_t> Servers() const {
    std::set<int64_t> ids;
    for (const auto& [cluster, member] : members_) {
      for (const auto& [id, server] : member.servers) ids.insert(id);
    }
    return ids;
  }
  bool Gone() const { return zookeeper_.is_null() && children_.empty() && members_.empty(); }
  /// Somebody deletes the template, and Karmada what belongs to it.
  void DeleteTemplate() {
    zookeeper_ = nullptr;
    Schedule();
  }
  base::Time now() const { return now_; }
  void Later(base::Duration time) { now_ += time; }
  int least_voters() const { return least_voters_; }

 private:
  struct Server {
    std::string content;  ///< of the spec that it was started with
    bool up = true;
    std::string out_since{};  ///< the revision at which the others let it go; "": it is a member
    bool dead = false;        ///< it ends again whenever it is started with this content
  };
  struct Member {
    base::Json spec;  ///< of its ZooKeeper
    std::map<int64_t, Server> servers;
    bool silent = false;
    bool managed = true;  ///< by Karmada, as the copy says
    base::Json told;      ///< what the hub knows of it
  };

  void SetCluster(const std::string& name, const char* ready) {
    std::erase_if(clusters_, [&](const base::Json& cluster) { return kube::NameOf(cluster) == name; });
    clusters_.push_back(base::JsonObject{
        {"kind", "Cluster"},
        {"metadata", base::JsonObject{{"name", name}}},
        {"status",
         base::JsonObject{
             {"conditions", base::JsonArray{base::JsonObject{
                                {"type", "Ready"}, {"status", ready}, {"lastTransitionTime", base::FormatTime(now_)}}}}}}});
  }

  static std::string KeyOfChild(std::string_view kind, std::string_view name) {
    return std::string(kind) + "/" + std::string(name);
  }

  void Put(const base::Json& object) {
    const std::string_view kind = base::FindString(object, {"kind"});
    if (kind != "ZooKeeper") {
      children_[KeyOfChild(kind, kube::NameOf(object))] = object;
      return;
    }
    const int64_t generation = base::FindInt(zookeeper_, {"metadata", "generation"});
    zookeeper_ = object;
    base::Ensure(zookeeper_, {"metadata", "generation"}) = generation + 1;
    base::Ensure(zookeeper_, {"metadata", "uid"}) = "uid-of-zk";
  }

  void Remove(const ObjectRef& item) {
    if (item.kind == "ZooKeeper") {
      zookeeper_ = nullptr;
      return;
    }
    if (item.kind == "OverridePolicy") {
      for (const auto& [cluster, member] : members_) {
        EXPECT_TRUE(item.name != "zk-" + cluster || member.servers.empty()) << item.name << " goes before its servers";
      }
    }
    children_.erase(KeyOfChild(item.kind, item.name));
  }

  /// By static weights; what is left over goes to the last ones, and who gets nothing loses its copy.
  void Schedule() {
    const auto policy = children_.find(KeyOfChild("PropagationPolicy", "zk-zk"));
    if (zookeeper_.is_null() || policy == children_.end()) {
      binding_ = nullptr;
      std::erase_if(members_, [&](const auto& item) { return item.second.managed && !KeepsCopy(item.first); });
      for (auto& [name, member] : members_) member.managed = false;
      works_.clear();
      return;
    }
    // Karmada's Works say a moment later what its binding says.
    const bool keeps = base::FindBool(binding_, {"spec", "preserveResourcesOnDeletion"});
    const base::Json& placement = policy->second.at("spec").at("placement");
    const base::JsonArray& weights = base::FindArray(placement, {"replicaScheduling", "weightPreference", "staticWeightList"});
    const int64_t total = base::FindInt(zookeeper_, {"spec", "replicas"});
    int64_t sum = 0, left = total;
    for (const base::Json& weight : weights) sum += weight.at("weight").as_int64();
    for (const base::Json& weight : weights) left -= total * weight.at("weight").as_int64() / sum;
    base::JsonArray clusters;
    std::set<std::string> named;
    for (size_t i = 0; i < weights.size(); ++i) {
      const int64_t more = weights.size() - i <= static_cast<size_t>(left) ? 1 : 0;
      const int64_t replicas = total * weights[i].at("weight").as_int64() / sum + more;
      if (replicas == 0) continue;
      const base::Json& name = weights[i].at("targetCluster").at("clusterNames").as_array()[0];
      named.emplace(name.as_string());
      clusters.push_back(base::JsonObject{{"name", name}, {"replicas", replicas}});
    }
    std::erase_if(members_, [&](const auto& item) {
      if (named.contains(item.first)) return false;
      EXPECT_FALSE(KeepsCopy(item.first)) << "the copy in " << item.first << " is left behind";
      EXPECT_TRUE(item.second.servers.empty()) << item.first << " loses its copy with servers in it";
      return true;
    });
    works_.clear();
    for (const std::string& cluster : named) {
      Override(cluster);
      works_.push_back(base::JsonObject{{"kind", "Work"},
                                        {"metadata", base::JsonObject{{"name", "zk"}, {"namespace", "karmada-es-" + cluster}}},
                                        {"spec", base::JsonObject{{"preserveResourcesOnDeletion", keeps}}}});
    }
    base::JsonArray statuses;
    for (auto& [cluster, member] : members_) {
      if (!member.silent) member.told = StatusOf(cluster, member);
      statuses.push_back(member.told);
    }
    binding_ = base::JsonObject{
        {"kind", "ResourceBinding"},
        {"metadata", base::JsonObject{{"name", "zk-zookeeper"}, {"namespace", "data"}, {"generation", 1}}},
        {"spec", base::JsonObject{{"resource", base::JsonObject{{"kind", "ZooKeeper"}, {"name", "zk"}, {"uid", "uid-of-zk"}}},
                                  {"replicas", base::FindInt(zookeeper_, {"spec", "replicas"})},
                                  {"placement", placement},
                                  {"preserveResourcesOnDeletion",
                                   base::FindBool(policy->second, {"spec", "preserveResourcesOnDeletion"})},
                                  {"clusters", std::move(clusters)}}},
        {"status",
         base::JsonObject{{"schedulerObservedGeneration", 1},
                          {"conditions", base::JsonArray{base::JsonObject{{"type", "Scheduled"}, {"status", "True"}}}},
                          {"aggregatedStatus", std::move(statuses)}}}};
  }

  bool KeepsCopy(const std::string& cluster) const {
    return std::ranges::any_of(works_, [&](const base::Json& work) {
      return kube::NamespaceOf(work) == "karmada-es-" + cluster &&
             base::FindBool(work, {"spec", "preserveResourcesOnDeletion"});
    });
  }

  void Override(const std::string& cluster) {
    Member& member = members_[cluster];
    const auto conflict = base::FindString(zookeeper_, {"metadata", "annotations", "work.karmada.io/conflict-resolution"});
    member.managed = member.managed || conflict == "overwrite";
    if (!member.managed) return;
    base::Json object(zookeeper_, {});
    base::Ensure(object, {"spec", "replicas"}) = 0;
    const auto policy = children_.find(KeyOfChild("OverridePolicy", "zk-" + cluster));
    ASSERT_NE(policy, children_.end()) << cluster << " has a copy without an override";
    const base::Json& rule = policy->second.at("spec").at("overrideRules").as_array()[0];
    base::JsonArray patch;
    for (const base::Json& item : rule.at("overriders").at("plaintext").as_array()) {
      patch.push_back(base::JsonObject{{"op", item.at("operator")}, {"path", item.at("path")}, {"value", item.at("value")}});
    }
    const base::Status patched = base::ApplyJsonPatch(object, base::Json(patch));
    ASSERT_TRUE(patched) << patched.error().message();
    if (!unreachable_.contains(cluster)) member.spec = object.at("spec");
  }

  /// Of what servers are started with: a mark or a list of servers that changes by itself restarts nobody.
  static std::string ContentOf(const Member& member) {
    base::Json spec(member.spec, {});
    for (const char* field : {"rolloutRevision", "leaving", "hold", "servers", "replicas"}) base::Erase(spec, {field});
    return HashOf(spec);
  }

  base::Json StatusOf(const std::string& cluster, const Member& member) const {
    if (!member.managed) return base::JsonObject{{"clusterName", cluster}, {"applied", false}, {"health", "Unknown"}};
    base::JsonArray servers;
    const std::string revision(base::FindString(member.spec, {"rolloutRevision"})), content = ContentOf(member);
    int64_t ready = 0, updated = 0;
    bool done = static_cast<int64_t>(member.servers.size()) == base::FindInt(member.spec, {"replicas"});
    for (const auto& [id, server] : member.servers) {
      ready += server.up;
      updated += server.content == content;
      const bool taken_in = server.out_since.empty() || server.out_since == revision;
      done = done && server.up && server.content == content && taken_in;
      const bool serves = server.up && leader_ != 0;
      servers.push_back(base::JsonObject{{"id", id},
                                         {"mode", !serves         ? ""
                                                  : id == leader_ ? "leader"
                                                                  : "follower"},
                                         {"synced", server.out_since.empty()}});
    }
    return base::JsonObject{
        {"clusterName", cluster},
        {"applied", true},
        {"health", done ? "Healthy" : "Unhealthy"},
        {"status",
         base::JsonObject{{"observedRevision", done || base::FindBool(member.spec, {"hold"}) ? revision : "under way"},
                          {"replicas", static_cast<int64_t>(member.servers.size())},
                          {"readyReplicas", ready},
                          {"updatedReplicas", updated},
                          {"members", std::move(servers)}}}};
  }

  void WorkIn(const std::string& cluster, Member& member) {
    if (unreachable_.contains(cluster)) return;
    const int64_t offset = base::FindInt(member.spec, {"myidOffset"});
    const int64_t replicas = base::FindInt(member.spec, {"replicas"});
    Step(member, broken_.contains(cluster), ContentOf(member), offset, replicas);
    Elect();
    CheckMajority();
    Schedule();
  }

  /// As the operator does it: what is missing comes first, then restarts one by one, the leader's last, and at the end what is
  /// too much goes.
  void Step(Member& member, bool broken, const std::string& content, int64_t offset, int64_t replicas) {
    for (auto& [id, server] : member.servers) {
      if (!server.out_since.empty() && server.out_since != base::FindString(member.spec, {"rolloutRevision"})) {
        server.out_since.clear();
        return;
      }
      if (server.dead) {
        if (server.content != content) server = {content, true};
        return;
      }
      if (!server.up && !broken) {
        server.up = true;
        return;
      }
      if (!server.up) return;
    }
    for (int64_t id = offset + 1; id <= offset + replicas; ++id) {
      if (member.servers.contains(id)) continue;
      member.servers[id] = {content, !broken};
      return;
    }
    if (base::FindBool(member.spec, {"hold"})) return;
    for (int64_t id = offset + replicas; id > offset; --id) {
      if (member.servers[id].content == content || (id == leader_ && OutdatedBeside(member, id, content, offset + replicas)))
        continue;
      member.servers[id] = {content, false};
      return;
    }
    if (!member.servers.empty() && member.servers.rbegin()->first > offset + replicas) {
      member.servers.erase(std::prev(member.servers.end()));
    }
  }

  static bool OutdatedBeside(const Member& member, int64_t leader, const std::string& content, int64_t highest) {
    for (const auto& [id, server] : member.servers) {
      if (id != leader && id <= highest && server.content != content) return true;
    }
    return false;
  }

  std::set<int64_t> Up() const {
    std::set<int64_t> up;
    for (const auto& [cluster, member] : members_) {
      for (const auto& [id, server] : member.servers) {
        if (server.up && !unreachable_.contains(cluster)) up.insert(id);
      }
    }
    return up;
  }

  void Elect() {
    const std::set<int64_t> up = Up();
    size_t wanted = 0;
    for (const base::Json& cluster : base::FindArray(ensemble_, {"status", "clusters"})) {
      wanted += static_cast<size_t>(base::FindInt(cluster, {"replicas"}));
    }
    const bool enough = static_cast<int64_t>(up.size()) >= Majority(static_cast<int64_t>(std::max(wanted, size_t{1})));
    if (!up.contains(leader_) || (destroyed_ && !enough)) leader_ = 0;
    if (leader_ == 0 && enough) leader_ = *up.begin();
  }

  static std::set<int64_t> IdsIn(const base::Json& revision) {
    std::set<int64_t> ids;
    for (const base::Json& line : base::FindArray(revision, {"servers"}))
      ids.insert(std::stoll(std::string(line.as_string()).substr(7)));
    return ids;
  }

  /// The list that was there before and the list that comes: as long as servers run by either, each has to have its majority.
  void CheckMajority() {
    if (records().empty() || destroyed_) return;
    const base::Json& record = records().back();
    if (base::FindString(record, {"baseRevision"}).empty()) return;
    const bool almost_done = base::FindArray(record, {"currentState", "pending"}).empty();
    const std::set<int64_t> up = Up();
    for (const base::Json& revision : base::FindArray(ensemble_, {"status", "revisions"})) {
      const bool is_new = base::FindString(revision, {"name"}) == base::FindString(record, {"revision"});
      const bool is_base = base::FindString(revision, {"name"}) == base::FindString(record, {"baseRevision"});
      if (!is_new && (!is_base || almost_done)) continue;
      const std::set<int64_t> ids = IdsIn(revision);
      int64_t alive = 0;
      for (const int64_t id : ids) alive += up.contains(id);
      least_voters_ = std::min(least_voters_, static_cast<int>(ids.size()));
      // A list that grows by a server counts from when that server is there.
      const bool growing = is_new && alive < Majority(static_cast<int64_t>(ids.size())) &&
                           base::FindArray(record, {"currentState", "completed"}).empty();
      EXPECT_TRUE(growing || alive >= Majority(static_cast<int64_t>(ids.size())))
          << alive << " of " << ids.size() << " servers of " << (is_new ? "the new" : "the old") << " list are up";
    }
  }

  base::Json ensemble_, zookeeper_, binding_;
  std::map<std::string, base::Json> children_;
  std::map<std::string, Member> members_;
  std::vector<base::Json> clusters_, works_;
  std::set<std::string> broken_, unreachable_;
  int64_t leader_ = 0;
  bool destroyed_ = false;  ///< a cluster was: its servers cannot be kept
  int least_voters_ = 1000;
  std::string last_reason_;
  base::Time now_{std::chrono::seconds(1'767'225'600)};
};

}  // namespace evenkeel::controllers::rollout::zookeeper
