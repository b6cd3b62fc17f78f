// A member in a few words, for tests: nodes, workloads and their pods as objects of the API.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "controllers/balancer/execution.h"
#include "controllers/balancer/member_cluster.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::balancer::testing {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;

inline const base::Time kBegin{std::chrono::hours(500'000)};

inline Policy PolicyOf(std::string_view spec) {
  const Json object =
      JsonObject{{"metadata", JsonObject{{"name", "default"}, {"uid", "policy"}}}, {"spec", *base::ParseJson(spec, "test")}};
  auto policy = ParsePolicy(object);
  EXPECT_TRUE(policy.has_value()) << policy.error().message();
  return policy ? *policy : Policy();
}

inline Json NodeObject(const std::string& name, const std::string& cpu = "4", const std::string& labels = "") {
  Json node = scheduling::testing::NodeMaker(name, cpu, "16Gi").json;
  for (const auto& [key, value] : scheduling::testing::Map(labels)) base::Ensure(node, {"metadata", "labels", key}) = value;
  base::Ensure(node, {"kind"}) = "Node";
  base::Ensure(node, {"metadata", "uid"}) = "uid-" + name;
  base::Ensure(node, {"metadata", "creationTimestamp"}) = base::FormatTime(kBegin - 24h);
  base::Ensure(node, {"status", "conditions"}) =
      JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", base::FormatTime(kBegin - 24h)}}};
  return node;
}

/// A ReplicaSet of a Deployment "NAME" called "NAME-1".
inline Json ReplicaSetObject(const std::string& name, int64_t replicas) {
  return JsonObject{
      {"kind", "ReplicaSet"},
      {"metadata",
       JsonObject{
           {"name", name + "-1"},
           {"namespace", "default"},
           {"uid", name + "-1"},
           {"ownerReferences",
            JsonArray{JsonObject{
                {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", name}, {"uid", name}, {"controller", true}}}}}},
      {"spec", JsonObject{{"replicas", replicas}}}};
}

inline Json StatefulSetObject(const std::string& name, int64_t replicas) {
  return JsonObject{{"kind", "StatefulSet"},
                    {"metadata", JsonObject{{"name", name}, {"namespace", "default"}, {"uid", name}}},
                    {"spec", JsonObject{{"replicas", replicas}}}};
}

struct PodSpec {
  std::string cpu = "500m";
  std::string kind = "ReplicaSet";
  std::string owner{};  ///< name and uid; "": the pod has none
  std::string uid{};    ///< "": "uid-NAME"
  base::Time created = kBegin - 1h;
  std::string labels{};
};
inline Json PodObject(const std::string& name, const std::string& node, const PodSpec& spec) {
  Json pod = scheduling::testing::PodMaker(name, spec.cpu, "512Mi").json;
  base::Ensure(pod, {"kind"}) = "Pod";
  base::Ensure(pod, {"metadata", "uid"}) = spec.uid.empty() ? "uid-" + name : spec.uid;
  base::Ensure(pod, {"metadata", "creationTimestamp"}) = base::FormatTime(spec.created);
  base::Ensure(pod, {"metadata", "labels"}) = scheduling::testing::Map(spec.labels);
  if (!spec.owner.empty()) {
    base::Ensure(pod, {"metadata", "ownerReferences"}) = JsonArray{JsonObject{
        {"apiVersion", "apps/v1"}, {"kind", spec.kind}, {"name", spec.owner}, {"uid", spec.owner}, {"controller", true}}};
  }
  if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
  base::Ensure(pod, {"status", "phase"}) = node.empty() ? "Pending" : "Running";
  return pod;
}

/// Objects, a policy and a clock.
class World {
 public:
  scheduling::ClusterMirror mirror;
  MemberObjects objects{mirror};
  Policy policy = PolicyOf("{}");
  PodUsage usage;
  PastMoves past;
  base::Time now = kBegin;

  void Node(const std::string& name, const std::string& cpu = "4", const std::string& labels = "") {
    mirror.Upsert(NodeObject(name, cpu, labels));
  }
  void Deployment(const std::string& name, int64_t replicas) { mirror.Upsert(ReplicaSetObject(name, replicas)); }
  /// A pod of a Deployment.
  void Pod(const std::string& name, const std::string& node, const std::string& deployment, const std::string& cpu = "500m") {
    mirror.Upsert(PodObject(name, node, {.cpu = cpu, .owner = deployment + "-1"}));
  }
  MemberCluster Build() { return BuildCluster({objects, policy, usage, past, now}); }

  PlannedMove Move(const std::string& pod, const std::string& to) {
    PlannedMove move;
    const SeenPod* seen = objects.FindPod("default/" + pod);
    EXPECT_NE(seen, nullptr) << pod;
    move.pod = move.partition = "default/" + pod;
    move.pod_uid = seen->uid;
    move.owner_uid = seen->owner_uid;
    move.service = ServiceNameOf(*seen, objects);
    move.action = "MoveInstance";
    move.from = seen->node;
    move.to = to;
    move.loads = LoadsOf(*seen, policy, usage);
    return move;
  }
  PlanObject Plan(std::vector<PlannedMove> moves, bool approved = true) {
    PlanObject plan;
    plan.name = "default-1";
    plan.policy = policy.name;
    plan.phase = "QuickBalancing";
    plan.approved = approved;
    plan.input_version = InputVersion(moves, objects);
    plan.moves = std::move(moves);
    plan.status.resize(plan.moves.size());
    return plan;
  }
};

}  // namespace evenkeel::controllers::balancer::testing
