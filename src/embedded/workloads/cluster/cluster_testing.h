// A whole cluster in virtual time for the tests of this folder: memory store, API, Workloads, and a kubelet that only pretends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "client/forwarding_client.h"
#include "client/informer.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/store/memory_store.h"
#include "embedded/workloads/cluster/workloads.h"
#include "kube/types.h"

namespace evenkeel::embedded::workloads {

using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

inline Json Parse(std::string_view text) {
  auto json = base::ParseJson(text, "test");
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *json : Json();
}

/// Counts the writes that pass through.
class CountingClient final : public client::ForwardingClient {
 public:
  explicit CountingClient(client::Client& inner) : ForwardingClient(inner) {}
  base::Result<Json> Create(const kube::Resource& r, const Json& object, const client::WriteOptions& o) override {
    Note("create", r, kube::NameOf(object));
    return next().Create(r, object, o);
  }
  base::Result<Json> Update(const kube::Resource& r, const Json& object, const client::WriteOptions& o) override {
    Note("update", r, kube::NameOf(object));
    return next().Update(r, object, o);
  }
  base::Result<Json> Patch(const kube::Resource& r, std::string_view ns, std::string_view name, client::PatchType type,
                           const Json& patch, const client::PatchOptions& o) override {
    Note("patch", r, name);
    return next().Patch(r, ns, name, type, patch, o);
  }
  base::Result<Json> Delete(const kube::Resource& r, std::string_view ns, std::string_view name,
                            const client::DeleteOptions& o) override {
    Note("delete", r, name);
    return next().Delete(r, ns, name, o);
  }
  base::Result<Json> Post(const kube::Resource& r, std::string_view ns, std::string_view name, std::string_view sub,
                          const Json& body) override {
    Note("post", r, name);
    return next().Post(r, ns, name, sub, body);
  }

  std::vector<std::string> writes;

 private:
  void Note(const std::string& verb, const kube::Resource& r, std::string_view name) {
    writes.push_back(verb + " " + r.plural + " " + std::string(name));
  }
};

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() {
    EXPECT_TRUE(api.Start().has_value());
    admin = apiserver::NewInProcessClient(api, {.name = "admin", .groups = {"system:masters"}});
    counting = std::make_unique<CountingClient>(*admin);
    workloads = std::make_unique<Workloads>(*counting, executor, base::Random(3));
    kubelet_strand = executor.NewStrand("kubelet");
    pods = std::make_unique<client::Informer<kube::Pod>>(*admin, kube::resources::Pods(), client::InformerOptions{},
                                                         kubelet_strand, executor.clock(), base::Random(5));
    pods->AddHandler([this](const auto&, const auto& after) {
      if (after != nullptr && !after->node_name.empty() && !dead.contains(after->node_name)) Later(after->meta.Key());
    });
    kubelet_strand->Post([this] { pods->Start(); });
    workloads->Start();
  }
  ~ClusterTest() override {
    workloads.reset();
    kubelet_strand->Close();
  }

  void AddNode(const std::string& name, const std::string& cpu = "4", const std::string& labels = "{}") {
    Create(
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"(","labels":)" + labels +
        R"(},"status":{"allocatable":{"cpu":")" + cpu + R"(","memory":"8Gi","pods":"110"},"capacity":{"cpu":")" + cpu +
        R"(","memory":"8Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"2023-11-14T22:13:20Z","lastTransitionTime":"2023-11-14T22:13:20Z"}]}})");
    Create(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":")" + name +
           R"(","namespace":"kube-node-lease"},"spec":{"holderIdentity":")" + name + R"("}})");
    nodes.insert(name);
    if (nodes.size() == 1) Heartbeat();
  }
  void Heartbeat() {
    for (const std::string& node : nodes) {
      if (dead.contains(node)) continue;
      (void)admin->Patch(kube::resources::Leases(), "kube-node-lease", node, client::PatchType::kMerge,
                         Parse(R"({"spec":{"renewTime":")" + base::FormatMicroTime(executor.clock().Now()) + R"("}})"));
    }
    heartbeat = kubelet_strand->PostAfter(10s, [this] { Heartbeat(); });
  }

  Json Create(std::string_view text) {
    const Json object = Parse(text);
    const kube::Resource* kind = kube::FindBuiltInKind(FindString(object, {"apiVersion"}), FindString(object, {"kind"}));
    EXPECT_NE(kind, nullptr) << text;
    auto created = admin->Create(*kind, object);
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().message());
    return created ? *created : Json();
  }
  /// kind in lower case plural of a built-in group.
  static const kube::Resource& Kind(const std::string& plural) {
    for (const kube::Resource& resource : kube::BuiltInResources()) {
      if (resource.plural == plural) return resource;
    }
    ADD_FAILURE() << plural;
    return kube::resources::Pods();
  }
  Json Get(const std::string& plural, const std::string& name, const std::string& ns = "default") {
    auto found = admin->Get(Kind(plural), Kind(plural).namespaced ? ns : "", name);
    return found ? *found : Json();
  }
  void Merge(const std::string& plural, const std::string& name, const std::string& patch, const std::string& ns = "default") {
    auto patched = admin->Patch(Kind(plural), Kind(plural).namespaced ? ns : "", name, client::PatchType::kMerge, Parse(patch));
    EXPECT_TRUE(patched.has_value()) << (patched ? "" : patched.error().message());
  }
  void Delete(const std::string& plural, const std::string& name, const std::string& policy = "Background") {
    client::DeleteOptions options;
    options.propagation_policy = policy;
    auto deleted = admin->Delete(Kind(plural), Kind(plural).namespaced ? "default" : "", name, options);
    EXPECT_TRUE(deleted.has_value()) << (deleted ? "" : deleted.error().message());
  }
  std::vector<Json> List(const std::string& plural, const std::string& selector = "", const std::string& ns = "default") {
    client::ListOptions options;
    options.ns = Kind(plural).namespaced ? ns : "";
    options.label_selector = selector;
    auto page = admin->List(Kind(plural), options);
    EXPECT_TRUE(page.has_value());
    return page ? page->items : std::vector<Json>{};
  }
  std::vector<std::string> Names(const std::string& plural, const std::string& selector = "") {
    std::vector<std::string> names;
    for (const Json& item : List(plural, selector)) names.emplace_back(kube::NameOf(item));
    return names;
  }
  int64_t Status(const std::string& plural, const std::string& name, const char* field) {
    return FindInt(Get(plural, name), {"status", field});
  }
  std::string Condition(const std::string& plural, const std::string& name, const char* type, const char* field = "status") {
    const Json object = Get(plural, name);
    const Json* condition = kube::FindCondition(object, type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
  }
  static std::string Deployment(const std::string& name, int replicas, const std::string& image,
                                const std::string& strategy = "{}") {
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"replicas":)" + std::to_string(replicas) + R"(,"strategy":)" + strategy +
           R"(,"selector":{"matchLabels":{"app":")" + name + R"("}},"template":{"metadata":{"labels":{"app":")" + name +
           R"("}},"spec":{"containers":[{"name":"c","image":")" + image + R"(","resources":{"requests":{"cpu":"100m"}}}]}}}})";
  }
  void RunFor(base::Duration duration) { executor.RunFor(duration); }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  apiserver::Api api{
      {.name = "test", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7), .logs = nullptr}};
  std::unique_ptr<client::Client> admin;
  std::unique_ptr<CountingClient> counting;
  std::unique_ptr<Workloads> workloads;
  std::shared_ptr<base::Strand> kubelet_strand;
  std::unique_ptr<client::Informer<kube::Pod>> pods;
  std::set<std::string> dead, nodes;
  base::Timer heartbeat;
  int addresses = 0;

 private:
  void Later(const std::string& key) {
    timers_[key] = kubelet_strand->PostAfter(1s, [this, key] { Act(key); });
  }
  void Act(const std::string& key) {
    const auto pod = pods->Get(key);
    if (pod == nullptr || dead.contains(pod->node_name)) return;
    if (pod->meta.deletion_time) {
      client::DeleteOptions options;
      options.grace_period_seconds = 0;
      options.uid = pod->meta.uid;
      (void)admin->Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options);
      return;
    }
    auto end = pod->meta.annotations.find("test/ends");
    const std::string now = base::FormatTime(executor.clock().Now());
    if (pod->phase == "Running" && end != pod->meta.annotations.end()) {
      Write(
          *pod,
          R"({"status":{"phase":")" + end->second +
              R"(","containerStatuses":[{"name":"c","ready":false,"restartCount":0,"image":"x","imageID":"x","state":{"terminated":{"exitCode":1,"finishedAt":")" +
              now + R"("}}}],"conditions":[{"type":"Ready","status":"False","lastTransitionTime":")" + now + R"("}]}})");
    } else if (pod->phase == "Pending" && !pod->meta.annotations.contains("test/stuck")) {
      const std::string ip = "10.0.0." + std::to_string(++addresses);
      Write(*pod, R"({"status":{"phase":"Running","podIP":")" + ip + R"(","podIPs":[{"ip":")" + ip +
                      R"("}],"conditions":[{"type":"Ready","status":"True","lastTransitionTime":")" + now + R"("}]}})");
    }
  }
  void Write(const kube::Pod& pod, const std::string& patch) {
    client::PatchOptions options;
    options.subresource = "status";
    auto written =
        admin->Patch(kube::resources::Pods(), pod.meta.ns, pod.meta.name, client::PatchType::kStrategic, Parse(patch), options);
    EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message());
  }
  std::map<std::string, base::Timer> timers_;
};

}  // namespace evenkeel::embedded::workloads
