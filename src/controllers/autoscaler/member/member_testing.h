// A member cluster in memory with an autoscaler on it, in virtual time: an API whose evictions can be refused and take time,
// and a cloud whose nodes come when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/fake_client_testing.h"
#include "client/fenced_client.h"
#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/member/member_autoscaler.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::testing {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;

inline const base::Time kBegin{std::chrono::hours(500'000)};

/// Hands everything on to a FakeClient but for evictions.
class EvictingClient final : public client::ChangedFakeClient {
 public:
  explicit EvictingClient(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(std::move(api)) {}

  std::map<std::string, int> refusals;  ///< per pod: how many evictions are refused; below 0: all
  std::vector<std::string> evicted;
  std::function<void(const std::string& pod)> on_eviction;  ///< absent: the pod is gone at once
  std::string not_served;                                   ///< a version of an API, as "policy/v1"; "": all are served

  base::Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource, const Json& body) override {
    const std::string key = std::string(ns) + "/" + std::string(name);
    EVENKEEL_TRY(fake.Post(resource, ns, name, subresource, body));
    if (int& left = refusals[key]; left != 0) {
      --left;
      return base::Fail(base::Code::kTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.");
    }
    evicted.push_back(key);
    on_eviction ? on_eviction(key) : static_cast<void>(fake.api().Remove(kube::resources::Pods(), key));
    return body;
  }

  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (resource.ApiVersion() == not_served) {
      return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
    }
    return fake.List(resource, options);
  }
  std::string Describe() const override { return "fake member"; }
};

inline Json WithCapacity(Json node) {
  const Json amounts = base::FindObject(node, {"status", "allocatable"});
  base::Ensure(node, {"status", "capacity"}) = amounts;
  return node;
}

/// Outlives the providers that speak for it, as a cloud does.
struct FakeCloud {
  std::map<std::string, providers::NodeGroup> groups;
  std::map<std::string, std::string> refuses;  ///< groups that do not grow: why
  std::string down;                            ///< why nothing can be read; "": it can
  std::string keeps;                           ///< why nothing is deleted
  std::vector<std::string> deleted;            ///< nodes
  std::function<void(const std::string& node)> on_delete;
  int refreshes = 0;

  void Group(const std::string& id, int64_t min, int64_t max, int64_t target) {
    providers::NodeGroup group;
    group.id = id;
    group.min_size = min;
    group.max_size = max;
    group.target_size = target;
    group.template_node = WithCapacity(scheduling::testing::NodeMaker("template", "4", "16Gi").Label(kNodeGroupLabel, id).json);
    groups[id] = std::move(group);
  }
};

class FakeCloudProvider final : public providers::Provider {
 public:
  explicit FakeCloudProvider(FakeCloud& cloud) : cloud_(cloud) {}
  std::string_view name() const override { return "fake"; }

  base::Result<providers::NodeGroups> Refresh(std::span<const Json> nodes) override {
    ++cloud_.refreshes;
    if (!cloud_.down.empty()) return base::Fail(base::Code::kUnavailable, cloud_.down);
    providers::NodeGroups all;
    for (const auto& [id, group] : cloud_.groups) {
      all.groups.push_back(group);
      for (const Json& node : nodes) {
        if (base::FindString(node, {"metadata", "labels", kNodeGroupLabel}) != id) continue;
        all.group_of_node[std::string(kube::NameOf(node))] = id;
        all.groups.back().instances.push_back(
            {std::string(base::FindString(node, {"spec", "providerID"})), providers::Instance::State::kRunning, std::nullopt});
      }
    }
    return all;
  }
  base::Status IncreaseSize(std::string_view group, int64_t delta, bool) override {
    if (const auto refused = cloud_.refuses.find(std::string(group)); refused != cloud_.refuses.end()) {
      return base::Fail(base::Code::kForbidden, refused->second);
    }
    cloud_.groups.at(std::string(group)).target_size += delta;
    return {};
  }
  base::Status DeleteNodes(std::string_view group, std::span<const providers::NodeReference> nodes, bool) override {
    if (!cloud_.keeps.empty()) return base::Fail(base::Code::kUnavailable, cloud_.keeps);
    for (const providers::NodeReference& node : nodes) {
      cloud_.deleted.push_back(node.name);
      --cloud_.groups.at(std::string(group)).target_size;
      if (cloud_.on_delete) cloud_.on_delete(node.name);
    }
    return {};
  }
  base::Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    cloud_.groups.at(std::string(group)).target_size += delta;
    return {};
  }

 private:
  FakeCloud& cloud_;
};

class MemberWorld : public ::testing::Test {
 protected:
  MemberWorld() {
    cloud.on_delete = [this](const std::string& node) { api->Remove(kube::resources::Nodes(), node); };
    api->Put(kube::resources::ReplicaSets(),
             {{"metadata", {{"name", "rs"}, {"namespace", "default"}, {"uid", "rs"}}}, {"spec", {{"replicas", 10}}}});
  }

  /// Another replica takes the member over.
  void Own() {
    member.reset();
    auto own = std::make_unique<EvictingClient>(api);
    connection = own.get();
    fence = std::make_shared<client::Fence>(executor.clock(), 1);
    fence->Extend(executor.clock().Monotonic() + 1000h);
    MemberAutoscalerContext context{
        .options = options,
        .options_of = options_of,
        .expanders = [](const Options& own, PodSource) { return ExpanderChain::Make(own.expander); },
        .provider = [this](runtime::Member&, const Options&) -> base::Result<std::unique_ptr<providers::Provider>> {
          return std::make_unique<FakeCloudProvider>(cloud);
        },
        .nodes_elsewhere = nodes_elsewhere,
        .clock = executor.clock(),
        .random = base::Random(1),
        .metrics = metrics,
        .host = "replica"};
    member = std::make_unique<runtime::Member>(
        "m", std::move(own), fence, executor, base::Random(1), [] {}, std::vector{NewMemberAutoscaler(std::move(context))});
  }

  void Node(const std::string& name, const std::string& group) {
    Json node = WithCapacity(scheduling::testing::NodeMaker(name, "4", "16Gi").Label(kNodeGroupLabel, group).json);
    base::Ensure(node, {"spec", "providerID"}) = "fake://" + name;
    base::Ensure(node, {"metadata", "creationTimestamp"}) = base::FormatTime(kBegin - 24h);
    base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
    api->Put(kube::resources::Nodes(), std::move(node));
  }
  Json Pod(const std::string& name, const std::string& cpu, const std::string& node = "", bool owned = true) {
    Json pod = scheduling::testing::PodMaker(name, cpu, "1Gi").json;
    base::Ensure(pod, {"metadata", "creationTimestamp"}) = base::FormatTime(executor.clock().Now() - 1min);
    if (owned) {
      base::Ensure(pod, {"metadata", "ownerReferences"}) = JsonArray{
          JsonObject{{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "rs"}, {"uid", "rs"}, {"controller", true}}};
    }
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    base::Ensure(pod, {"status", "phase"}) = node.empty() ? "Pending" : "Running";
    if (node.empty()) {
      base::Ensure(pod, {"status", "conditions"}) =
          JsonArray{JsonObject{{"type", "PodScheduled"},
                               {"status", "False"},
                               {"reason", "Unschedulable"},
                               {"lastTransitionTime", base::FormatTime(executor.clock().Now())}}};
    }
    return api->Put(kube::resources::Pods(), std::move(pod));
  }

  const Json& NodeNow(const std::string& name) { return api->objects["nodes"].at(name); }
  bool Tainted(const std::string& name, std::string_view key = "ToBeDeletedByClusterAutoscaler") {
    return std::ranges::any_of(base::FindArray(NodeNow(name), {"spec", "taints"}),
                               [&](const Json& taint) { return base::FindString(taint, {"key"}) == key; });
  }
  bool Cordoned(const std::string& name) { return base::FindBool(NodeNow(name), {"spec", "unschedulable"}); }
  std::string Data(const std::string& config_map, std::string_view key) {
    const auto found = api->objects["configmaps"].find("kube-system/" + config_map);
    return found == api->objects["configmaps"].end() ? "" : std::string(base::FindString(found->second, {"data", key}));
  }
  /// Messages of the events of that reason about that object.
  std::vector<std::string> Events(std::string_view reason, std::string_view name) {
    std::vector<std::string> messages;
    for (const auto& [key, event] : api->objects["events"]) {
      if (base::FindString(event, {"reason"}) == reason && base::FindString(event, {"involvedObject", "name"}) == name) {
        messages.emplace_back(base::FindString(event, {"message"}));
      }
    }
    return messages;
  }
  int64_t Target(const std::string& group) { return cloud.groups.at(group).target_size; }

  base::VirtualExecutor executor{kBegin};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  base::MetricRegistry registry;
  std::shared_ptr<AutoscalerMetrics> metrics = std::make_shared<AutoscalerMetrics>(registry);
  Options options;
  std::function<base::Result<Options>(const std::string& member)> options_of;
  std::function<base::Result<std::map<std::string, std::string>>(const std::string& member)> nodes_elsewhere;
  FakeCloud cloud;
  EvictingClient* connection = nullptr;
  std::shared_ptr<client::Fence> fence;
  std::vector<base::Timer> timers;
  std::unique_ptr<runtime::Member> member;
};

}  // namespace evenkeel::controllers::autoscaler::testing
