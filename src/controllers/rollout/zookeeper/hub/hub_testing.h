// A hub for tests of the controller: an API in memory with statuses, generations and preconditions as a real one has them, and
// a Karmada that schedules and overrides, with members that do at once what they are told.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/fake_client_testing.h"
#include "controllers/rollout/zookeeper/hub/hub_controller.h"
#include "controllers/rollout/zookeeper/hub/hub_reading.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/karmada.h"

namespace evenkeel::controllers::rollout::zookeeper::testing {

namespace karmada = kube::karmada;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

class HubDouble final : public client::ChangedFakeClient {
 public:
  explicit HubDouble(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(api), api_(std::move(api)) {}

  std::vector<std::string> writes;  ///< "VERB KIND NAME", those of ensembles and what they own
  bool dies_after_status = false;   ///< the connection breaks once a status has been written
  std::set<std::string> missing;    ///< plurals that are not served
  std::set<std::string> away;       ///< plurals whose API does not answer
  std::string refuses;              ///< a kind that every write of is invalid

  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (missing.contains(resource.plural)) return base::Fail(base::Code::kNotFound, "no such resource");
    if (away.contains(resource.plural))
      return base::Fail(base::Code::kUnavailable, "the server is unable to handle the request");
    return fake.List(resource, options);
  }
  base::Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    if (resource.kind == refuses) return base::Fail(base::Code::kInvalid, "spec.image: Invalid value");
    if (options.dry_run) return object;
    Note("create", resource, object);
    Json made(object, {});
    base::Ensure(made, {"metadata", "generation"}) = 1;
    return fake.Create(resource, made, options);
  }
  base::Result<Json> Update(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    if (resource.kind == refuses) return base::Fail(base::Code::kInvalid, "spec.image: Invalid value");
    if (options.dry_run) return object;
    Note(options.subresource.empty() ? "update" : options.subresource, resource, object);
    const Json& stored = api_->objects[resource.plural][kube::KeyOf(object)];
    Json next(options.subresource.empty() ? object : stored, {});
    const Json* status = base::Find(options.subresource.empty() ? stored : object, {"status"});
    if (status != nullptr) base::Ensure(next, {"status"}) = *status;
    base::Ensure(next, {"metadata", "resourceVersion"}) = kube::ResourceVersionOf(object);
    const Json *before = base::Find(stored, {"spec"}), *after = base::Find(next, {"spec"});
    if (before != nullptr && after != nullptr && !base::Equal(*before, *after)) {
      base::Ensure(next, {"metadata", "generation"}) = base::FindInt(stored, {"metadata", "generation"}) + 1;
    }
    auto written = fake.Update(resource, next, options);
    if (written && options.subresource == "status" && dies_after_status) fake.CutOff(true);
    return written;
  }
  base::Result<Json> Delete(const kube::Resource& resource, std::string_view ns, std::string_view name,
                            const client::DeleteOptions& options) override {
    const auto& objects = api_->objects[resource.plural];
    const auto found = objects.find(std::string(ns) + "/" + std::string(name));
    if (found != objects.end()) {
      Note("delete", resource, found->second);
      if (options.uid != kube::UidOf(found->second) || options.resource_version != kube::ResourceVersionOf(found->second)) {
        return base::Fail(base::Code::kConflict, "precondition failed");
      }
    }
    return fake.Delete(resource, ns, name, options);
  }
  std::string Describe() const override { return "hub double"; }

 private:
  void Note(std::string_view verb, const kube::Resource& resource, const Json& object) {
    if (resource.kind == "Lease" || resource.kind == "Event") return;
    writes.push_back(std::string(verb) + " " + resource.kind + " " + std::string(kube::NameOf(object)));
  }

  const std::shared_ptr<client::FakeApi> api_;
};

/// Of the one ensemble data/zk.
class KarmadaDouble {
 public:
  explicit KarmadaDouble(std::shared_ptr<client::FakeApi> api) : api_(std::move(api)) {}

  std::vector<std::string> changes;  ///< "CLUSTER REVISION", in the order in which members took them
  bool holds = false;                ///< members do nothing for now
  std::string forgets{};             ///< a cluster that is left out of the schedule until somebody asks by another placement

  /// Schedules, overrides, works and reports.
  void Step() {
    const Json* zookeeper = Stored("zookeepers", "data/zk");
    const Json* policy = Stored("propagationpolicies", "data/zk-zk");
    if (zookeeper == nullptr || policy == nullptr) {
      members_.clear();
      api_->Remove(karmada::ResourceBindings(), "data/zk-zookeeper");
      return;
    }
    JsonArray clusters, statuses;
    int64_t total = 0;
    for (const Json& weight :
         base::FindArray(*policy, {"spec", "placement", "replicaScheduling", "weightPreference", "staticWeightList"})) {
      const std::string name(weight.at("targetCluster").at("clusterNames").at(0).as_string());
      total += weight.at("weight").as_int64();
      const size_t tolerations = base::FindArray(*policy, {"spec", "placement", "clusterTolerations"}).size();
      if (name == forgets && tolerations <= 3) {
        base::Ensure(clusters[0], {"replicas"}) = base::FindInt(clusters[0], {"replicas"}) + weight.at("weight").as_int64();
        continue;
      }
      clusters.push_back(JsonObject{{"name", name}, {"replicas", weight.at("weight")}});
      if (!holds) Take(name);
    }
    for (const auto& [name, member] : members_) statuses.push_back(StatusOf(name, member));
    Json binding = JsonObject{
        {"metadata", JsonObject{{"name", "zk-zookeeper"}, {"namespace", "data"}, {"generation", 1}}},
        {"spec", JsonObject{{"resource", JsonObject{{"kind", "ZooKeeper"}, {"name", "zk"}, {"uid", kube::UidOf(*zookeeper)}}},
                            {"replicas", total},
                            {"clusters", std::move(clusters)}}},
        {"status", JsonObject{{"schedulerObservedGeneration", 1},
                              {"conditions", JsonArray{JsonObject{{"type", "Scheduled"}, {"status", "True"}}}},
                              {"aggregatedStatus", std::move(statuses)}}}};
    const Json* before = Stored("resourcebindings", "data/zk-zookeeper");
    if (before != nullptr && base::Equal(before->at("spec"), binding.at("spec")) &&
        base::Equal(before->at("status"), binding.at("status"))) {
      return;
    }
    api_->Put(karmada::ResourceBindings(), std::move(binding));
  }

 private:
  struct Member {
    std::string revision;
    int64_t replicas = 0, offset = 0;
  };

  const Json* Stored(const std::string& plural, const std::string& key) const {
    const auto& objects = api_->objects[plural];
    const auto found = objects.find(key);
    return found == objects.end() ? nullptr : &found->second;
  }

  void Take(const std::string& name) {
    const Json* policy = Stored("overridepolicies", "data/zk-" + name);
    ASSERT_NE(policy, nullptr) << name << " has a copy without an override";
    Member member;
    for (const Json& item : policy->at("spec").at("overrideRules").at(0).at("overriders").at("plaintext").as_array()) {
      const std::string_view path = base::FindString(item, {"path"});
      if (path == "/spec/replicas") member.replicas = item.at("value").as_int64();
      if (path == "/spec/myidOffset") member.offset = item.at("value").as_int64();
      if (path == "/spec/rolloutRevision") member.revision = item.at("value").as_string();
    }
    if (members_[name].revision != member.revision) changes.push_back(name + " " + member.revision);
    members_[name] = member;
  }

  Json StatusOf(const std::string& name, const Member& member) const {
    JsonArray servers;
    for (int64_t ordinal = 0; ordinal < member.replicas; ++ordinal) {
      const bool leads = member.offset == 0 && ordinal == 0;
      servers.push_back(JsonObject{{"id", member.offset + ordinal + 1}, {"mode", leads ? "leader" : "follower"}});
    }
    return JsonObject{{"clusterName", name},
                      {"applied", true},
                      {"health", "Healthy"},
                      {"status", JsonObject{{"observedRevision", member.revision},
                                            {"replicas", member.replicas},
                                            {"readyReplicas", member.replicas},
                                            {"members", std::move(servers)}}}};
  }

  const std::shared_ptr<client::FakeApi> api_;
  std::map<std::string, Member> members_;
};

/// A replica of the controller, with a connection of its own.
struct Replica {
  Replica(const std::string& name, base::VirtualExecutor& executor, const std::shared_ptr<client::FakeApi>& api,
          base::MetricRegistry& metrics, Forms forms = {})
      : hub(api),
        controller(NewHubController({.hub = hub,
                                     .executor = executor,
                                     .random = base::Random(7).Fork(name),
                                     .metrics = metrics,
                                     .host = name,
                                     .prepare = [this](auto proceed) { Prepare(std::move(proceed)); },
                                     .forms = forms})) {
    controller->Start();
  }
  void Prepare(std::function<void()> proceed) {
    ++terms;
    if (prepares) return proceed();
    waiting = std::move(proceed);
  }
  HubDouble hub;
  int terms = 0;
  bool prepares = true;  ///< else whoever waits does so until the test lets it
  std::function<void()> waiting;
  std::unique_ptr<HubController> controller;
};

class HubControllerTest : public ::testing::Test {
 protected:
  HubControllerTest() {
    for (const char* name : {"m1", "m2", "m3"}) SetCluster(name, "True");
    Turn();
  }
  void Turn() {
    timer = world->PostAfter(1s, [this] {
      karmada.Step();
      Turn();
    });
  }
  void SetCluster(const char* name, const char* ready) {
    api->Put(karmada::Clusters(),
             JsonObject{{"metadata", JsonObject{{"name", name}}},
                        {"status", JsonObject{{"conditions", JsonArray{JsonObject{{"type", "Ready"}, {"status", ready}}}}}}});
  }
  void SetSpec(const std::string& tag, const std::string& more = "") {
    Want(
        R"({"placement": {"clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 1}]},
            "template": {"image": {"tag": ")" +
        tag + "\"}}" + more + "}");
  }
  void Want(const std::string& spec) {
    Json object = JsonObject{{"metadata", JsonObject{{"name", "zk"}, {"namespace", "data"}, {"generation", 1}}}};
    if (const auto found = api->objects["multiclusterzookeepers"].find("data/zk");
        found != api->objects["multiclusterzookeepers"].end()) {
      object = found->second;
      base::Ensure(object, {"metadata", "generation"}) = base::FindInt(object, {"metadata", "generation"}) + 1;
    }
    object.as_object()["spec"] = *base::ParseJson(spec, "spec");
    api->Put(MultiClusterZooKeepers(), std::move(object));
  }
  Json& Ensemble() { return api->objects["multiclusterzookeepers"].at("data/zk"); }
  std::string Phase() { return std::string(FindString(Ensemble(), {"status", "phase"})); }
  std::string Condition(const std::string& type, std::string_view field) {
    const Json* condition = kube::FindCondition(Ensemble(), type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
  }
  bool Is(const std::string& phase, size_t records) {
    return Phase() == phase && base::FindArray(Ensemble(), {"status", "records"}).size() == records;
  }
  bool Settle(size_t records = 1) {
    return executor.RunUntil([&] { return Is("Ready", records) && Condition("Ready", "status") == "True"; }, 5min);
  }
  std::vector<std::string> Deploying() {
    std::vector<std::string> names;
    for (const Json& name :
         base::FindArray(base::FindArray(Ensemble(), {"status", "records"}).back(), {"currentState", "deploying"})) {
      names.emplace_back(name.as_string());
    }
    return names;
  }
  std::string TagOf(const std::string& cluster) {
    const Json& policy = api->objects["overridepolicies"].at("data/zk-" + cluster);
    return std::string(FindString(policy.at("spec").at("overrideRules").at(0).at("overriders").at("plaintext").at(0),
                                  {"value", "image", "tag"}));
  }
  std::set<std::string> Reasons() {
    executor.RunFor(5s);
    std::set<std::string> reasons;
    for (const auto& [key, event] : api->objects["events"]) reasons.emplace(FindString(event, {"reason"}));
    return reasons;
  }

  base::VirtualExecutor executor{base::Time{} + std::chrono::years(56)};
  std::shared_ptr<base::Strand> world = executor.NewStrand("world");
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  KarmadaDouble karmada{api};
  base::MetricRegistry metrics;
  base::Timer timer;
};

}  // namespace evenkeel::controllers::rollout::zookeeper::testing
