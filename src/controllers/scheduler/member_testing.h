// A member cluster in memory with a scheduler on it, in virtual time: an API that binds pods and can fail to.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "client/fake_client_testing.h"
#include "controllers/scheduler/member_scheduler.h"
#include "scheduling/objects_testing.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::scheduler::testing {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::testing::NodeMaker;
using scheduling::testing::PodMaker;

inline const base::Time kBegin{std::chrono::hours(500'000)};

/// Hands everything on to a FakeClient but for bindings, names that the server makes, and kinds that are not served.
class BindingClient final : public client::ChangedFakeClient {
 public:
  explicit BindingClient(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(std::move(api)) {}

  std::vector<std::string> not_served;     ///< plurals
  std::deque<base::Error> binding_errors;  ///< of the next bindings

  base::Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource, const Json& body) override {
    EVENKEEL_TRY(fake.Post(resource, ns, name, subresource, body));
    if (!binding_errors.empty()) {
      const base::Error error = binding_errors.front();
      binding_errors.pop_front();
      return base::Fail(error);
    }
    const auto& pods = fake.api().objects["pods"];
    const auto found = pods.find(std::string(ns) + "/" + std::string(name));
    if (found == pods.end()) return base::Fail(base::Code::kNotFound, "there is no such pod");
    Json pod = found->second;
    if (kube::UidOf(pod) != kube::UidOf(body) || !base::FindString(pod, {"spec", "nodeName"}).empty()) {
      return base::Fail(base::Code::kConflict, "it is another pod, or bound");
    }
    base::Ensure(pod, {"spec", "nodeName"}) = base::FindString(body, {"target", "name"});
    fake.api().Put(kube::resources::Pods(), pod);
    return body;
  }

  base::Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    const std::string prefix(base::FindString(object, {"metadata", "generateName"}));
    if (prefix.empty() || !kube::NameOf(object).empty()) return fake.Create(resource, object, options);
    Json named = object;
    base::Ensure(named, {"metadata", "name"}) = prefix + std::to_string(++names_made_);
    return fake.Create(resource, named, options);
  }

  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (std::ranges::find(not_served, resource.plural) != not_served.end()) {
      return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
    }
    return fake.List(resource, options);
  }
  std::string Describe() const override { return "fake member"; }

 private:
  int names_made_ = 0;
};

/// One action of a plan.
struct Move {
  std::string pod, from, to;
  std::string state = "Evicting";
  std::string replacement{};
  base::Duration room_for = 5min;  ///< from now
};

class MemberWorld : public ::testing::Test {
 protected:
  /// Another replica takes the member over.
  void Own() {
    member.reset();
    auto own = std::make_unique<BindingClient>(api);
    own->not_served = not_served;
    own->fake.FailNext("list", base::Error(base::Code::kUnavailable, "not now"), lists_that_fail);
    connection = own.get();
    fence = std::make_shared<client::Fence>(executor.clock(), 1);
    fence->Extend(executor.clock().Monotonic() + 1000h);
    member = std::make_unique<runtime::Member>(
        "m", std::move(own), fence, executor, base::Random(1), [] {},
        std::vector{
            NewMemberScheduler({.options = {}, .clock = executor.clock(), .random = base::Random(2), .host = "replica"})});
  }
  void Lose() { member.reset(); }
  void Run(base::Duration time = 2s) { executor.RunFor(time); }

  void Node(const std::string& name, const std::string& cpu) { Put(NodeMaker(name, cpu).json, kube::resources::Nodes()); }
  void Put(Json object, const kube::Resource& resource = kube::resources::Pods()) { api->Put(resource, std::move(object)); }
  /// A pod of the ReplicaSet (or StatefulSet) `owner`; its uid is its name and a number.
  Json PodOf(const std::string& owner, const std::string& name, const std::string& cpu, const std::string& node = "") {
    Json pod = PodMaker(name, cpu).Spec("schedulerName", R"("evenkeel")").json;
    base::Ensure(pod, {"metadata", "uid"}) = name + "-" + std::to_string(++uids);
    base::Ensure(pod, {"metadata", "ownerReferences"}) =
        JsonArray{JsonObject{{"apiVersion", "apps/v1"},
                             {"kind", owner.starts_with("sts") ? "StatefulSet" : "ReplicaSet"},
                             {"name", owner},
                             {"uid", owner},
                             {"controller", true}}};
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    return pod;
  }
  void Pod(const std::string& owner, const std::string& name, const std::string& cpu, const std::string& node = "") {
    Put(PodOf(owner, name, cpu, node));
  }
  void Remove(const std::string& pod) { api->Remove(kube::resources::Pods(), "default/" + pod); }

  void Define() {
    Put({{"metadata", {{"name", scheduling::kPlanDefinition}}},
         {"status", {{"conditions", JsonArray{JsonObject{{"type", "Established"}, {"status", "True"}}}}}}},
        kube::resources::CustomResourceDefinitions());
  }
  /// Writes the plan "p"; the owners are those that the pods have, or had.
  void Plan(const std::vector<Move>& moves, const std::string& phase = "Executing", const std::string& owner = "rs") {
    JsonArray actions, states;
    for (const Move& move : moves) {
      actions.push_back(JsonObject{{"from", move.from},
                                   {"to", move.to},
                                   {"pod", "default/" + move.pod},
                                   {"podUid", UidOf(move.pod)},
                                   {"ownerUid", owner}});
      states.push_back(JsonObject{{"state", move.state},
                                  {"reserveUntil", base::FormatTime(executor.clock().Now() + move.room_for)},
                                  {"replacement", move.replacement.empty() ? "" : "default/" + move.replacement}});
    }
    Put({{"metadata", {{"name", "p"}}}, {"spec", {{"actions", actions}}}, {"status", {{"phase", phase}, {"actions", states}}}},
        scheduling::BalancingPlans());
  }
  /// As the plan was told it first.
  std::string UidOf(const std::string& pod) {
    const auto found = api->objects["pods"].find("default/" + pod);
    std::string& uid = planned_uids[pod];
    if (uid.empty() && found != api->objects["pods"].end()) uid = kube::UidOf(found->second);
    return uid;
  }

  std::string NodeOf(const std::string& pod) {
    const auto found = api->objects["pods"].find("default/" + pod);
    return found == api->objects["pods"].end() ? "gone" : std::string(base::FindString(found->second, {"spec", "nodeName"}));
  }
  std::string Why(const std::string& pod) {
    const Json* condition = kube::FindCondition(api->objects["pods"].at("default/" + pod), "PodScheduled");
    return condition == nullptr ? "" : std::string(base::FindString(*condition, {"message"}));
  }
  std::vector<std::string> Events(std::string_view reason) {
    std::vector<std::string> messages;
    for (const auto& [key, event] : api->objects["events"]) {
      if (base::FindString(event, {"reason"}) == reason) messages.emplace_back(base::FindString(event, {"message"}));
    }
    return messages;
  }

  base::VirtualExecutor executor{kBegin};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  std::vector<std::string> not_served;
  int lists_that_fail = 0;  ///< of the next owner, at first
  BindingClient* connection = nullptr;
  std::shared_ptr<client::Fence> fence;
  std::map<std::string, std::string> planned_uids;
  int uids = 0;
  std::unique_ptr<runtime::Member> member;
};

}  // namespace evenkeel::controllers::scheduler::testing
