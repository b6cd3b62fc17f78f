// One call of PlanScale or of an explanation: the objects, the state, the loop's plan. Only plan_scale*.cc include this.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/plan_scale.h"
#include "controllers/autoscaler/loop/run_once.h"

namespace evenkeel::controllers::autoscaler {

/// What earlier calls have planned and the objects do not show yet.
struct Assumed {
  struct Target {
    int64_t seen = 0;    ///< in the objects, when it was planned
    int64_t target = 0;  ///< what it was to become
  };
  struct Deletion {
    std::string group;
    bool drain = false;
    base::Time at{};
  };
  std::map<std::string, Target, std::less<>> targets;      // by group
  std::map<std::string, Deletion, std::less<>> deletions;  // by node
  std::set<std::string, std::less<>> instances;            // deleted before they became nodes; by id

  base::Json ToJson() const;
  static base::Result<Assumed> FromJson(const base::Json& json);
};

class ScaleSession {
 public:
  static base::Result<std::unique_ptr<ScaleSession>> Run(ScaleInput input);

  base::Json Result() const;
  /// Where pods were too young: {"at", "scaleUp", "pending"} of the loop that decides about them, if nothing else happens; null
  /// otherwise. Then that loop's plan is the session's.
  base::Result<base::Json> NextLoop();
  base::Json State() const;
  /// Controllers of the pods that have no node, by namespace/name: "ReplicaSet default/web"; of those that have one.
  std::map<std::string, std::string, std::less<>> PodOwners() const;
  std::vector<PendingPods> PendingByReason() const;
  base::Result<PodExplanation> ExplainPod(const std::string& key);
  base::Result<base::Json> ExplainNode(const std::string& name) const;

 private:
  explicit ScaleSession(ScaleInput input)
      : input_(std::move(input)), objects_(input_.options, mirror_), state_(input_.options) {}

  base::Status Load();
  base::Status ReadState();
  void AssumeDeletions(std::vector<base::Json>& nodes);
  void AssumeGroups(const std::set<std::string, std::less<>>& without_target);
  base::Status Loop();
  base::Result<ExpanderChain> Expanders();
  /// The plan is taken for done: targets, deletions.
  void CarryOut();

  base::Json Health() const;
  base::JsonArray ScaleUps() const;
  base::JsonArray Pending() const;
  base::JsonArray Unneeded() const;
  base::JsonArray Unremovables() const;
  base::JsonObject ScaleDowns() const;
  base::JsonArray Groups() const;
  std::vector<std::string> DeletedNodes(bool drain) const;
  /// `held`: why the group does not grow for the pod, "" if it does.
  base::Json GroupWord(const providers::NodeGroup& group, scheduling::ClassId pod_class, std::string_view held);
  std::map<scheduling::NodeId, scheduling::Fit> FitsBesideNominated(scheduling::PodId pod);
  void ExplainNodes(scheduling::PodId pod, PodExplanation& explanation);
  std::string NewNodesFor(scheduling::PodId pod) const;
  std::string RoomFor(scheduling::PodId pod) const;
  std::string WhyUnhelped(const std::string& key) const;
  std::pair<bool, std::string> WhyNoNode(scheduling::PodId pod) const;
  /// When the first loop comes that does not find all pods too young that this one did; none: it found none.
  std::optional<base::Time> NextDecision() const;
  bool IsTooYoung(scheduling::PodId pod) const;

  ScaleInput input_;
  scheduling::ClusterMirror mirror_;
  ClusterObjects objects_;
  AutoscalerState state_;
  Assumed assumed_;
  providers::NodeGroups groups_;
  std::map<std::string, int64_t, std::less<>> given_;  // targets in the objects
  std::map<std::string, base::Json> pending_;          // for --expander=grpc
  LoopPlan plan_;
  double milliseconds_ = 0;
};

/// What is refused by the reason, in the order of the first ones; of each reason the nearest miss first.
std::vector<OneRefusal> ByReason(std::vector<std::pair<std::string, Miss>> misses);

/// "NodeResourcesFit: Insufficient cpu (500m requested, 200m free of 4: 300m missing)"
std::string DescribeFit(const scheduling::Fit& fit);

}  // namespace evenkeel::controllers::autoscaler
