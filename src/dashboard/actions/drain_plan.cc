#include "dashboard/actions/drain_plan.h"

#include <algorithm>
#include <map>

#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/autoscaler/facts/drainability.h"
#include "kube/object.h"

namespace evenkeel::dashboard {
namespace {

namespace autoscaler = controllers::autoscaler;
using scheduling::NodeId;
using scheduling::PodId;

/// Nothing is placed on the node itself while others are looked for.
constexpr const char* kLeaving = "node.kubernetes.io/unschedulable";

}  // namespace

base::Result<DrainPlan> PlanDrain(const std::vector<base::Json>& objects, const std::string& node, base::Time now) {
  scheduling::ClusterMirror mirror;
  autoscaler::ClusterObjects facts({}, mirror);
  facts.RequireOwners();
  std::map<std::string, std::string> uids;  // of pods, by key
  for (const bool nodes : {true, false}) {
    for (const base::Json& object : objects) {
      const std::string_view kind = base::FindString(object, {"kind"});
      if ((kind == "Node") != nodes) continue;
      mirror.Upsert(object);
      if (kind == "Pod") uids[kube::KeyOf(object)] = kube::UidOf(object);
    }
  }
  scheduling::Snapshot& snapshot = facts.snapshot();
  const NodeId leaving = snapshot.FindNodeByName(node);
  if (leaving == scheduling::kNone || !snapshot.Present(leaving)) {
    return base::Fail(base::Code::kNotFound, "there is no node " + node);
  }
  const autoscaler::ClusterView view = facts.View({}, now);
  autoscaler::BudgetTracker budgets(view);
  const autoscaler::Options options;
  const autoscaler::Drainability drainability(view, options, budgets);
  std::vector<PodId> pods(snapshot.PodsOn(leaving).begin(), snapshot.PodsOn(leaving).end());
  std::ranges::sort(pods, {}, [&](PodId pod) { return snapshot.PodKey(pod); });
  DrainPlan plan;
  const scheduling::WhatIf fork(snapshot);
  snapshot.AddTaint(leaving, {.key = kLeaving, .value = "", .effect = "NoSchedule"});
  for (const PodId pod : pods) {
    const autoscaler::DrainVerdict verdict = drainability.Judge(pod);
    const std::string key = snapshot.PodKey(pod);
    if (verdict.outcome == autoscaler::DrainOutcome::kDaemon) {
      ++plan.daemons;
      continue;
    }
    if (verdict.outcome == autoscaler::DrainOutcome::kSkip) continue;
    DrainPlan::Pod& row = plan.pods.emplace_back(DrainPlan::Pod{.key = key, .uid = uids[key], .words = ""});
    if (verdict.outcome == autoscaler::DrainOutcome::kBlocked) {
      row.words = "stays: " + drainability.Explain(pod, verdict.reason);
      continue;
    }
    if (verdict.outcome == autoscaler::DrainOutcome::kWaitForCompletion) {
      row.words = "stays until it has ended, as its annotation says";
      continue;
    }
    row.leaves = true;
    const scheduling::ClassId pod_class = snapshot.ClassOf(pod);
    snapshot.Unplace(pod);
    const NodeId to = snapshot.FindNode(pod_class);
    row.waits = to == scheduling::kNone;
    row.words = row.waits ? "no other node has room for it now: it will wait for one" : "to " + snapshot.NodeName(to);
    if (!row.waits) snapshot.Place(pod, to);
  }
  return plan;
}

}  // namespace evenkeel::dashboard
