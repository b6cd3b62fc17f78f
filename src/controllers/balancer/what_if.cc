#include "controllers/balancer/what_if.h"

namespace evenkeel::controllers::balancer {
namespace {

/// Moves the pod in the fork that is open; what is in the way when it cannot be, and then it stays.
std::string MoveInFork(scheduling::Snapshot& snapshot, const std::string& pod_key, const std::string& node_name) {
  const scheduling::PodId pod = snapshot.FindPod(pod_key);
  if (pod == scheduling::kNone) return "the pod is gone";
  const scheduling::NodeId node = snapshot.FindNodeByName(node_name), from = snapshot.NodeOf(pod);
  if (node == scheduling::kNone || !snapshot.Present(node)) return "node " + node_name + " is gone";
  if (from == scheduling::kNone) return "the pod is on no node";
  snapshot.Unplace(pod);
  const scheduling::Fit fit = snapshot.Check(snapshot.ClassOf(pod), node);
  snapshot.Place(pod, fit.fits() ? node : from);
  if (fit.fits()) return "";
  std::string text;
  for (const scheduling::Reason& reason : fit.reasons) text += (text.empty() ? "" : ", ") + reason.text;
  return std::string(Name(fit.filter)) + " on " + node_name + ": " + text;
}

}  // namespace

std::string WhyNotOn(MemberObjects& objects, const std::string& pod, const std::string& node) {
  scheduling::Snapshot& snapshot = objects.snapshot();
  const scheduling::WhatIf fork(snapshot, scheduling::Layers::kTold);
  return MoveInFork(snapshot, pod, node);
}

std::vector<DroppedMove> DropImpossible(MemberObjects& objects, std::vector<PlannedMove>& moves) {
  std::vector<DroppedMove> dropped;
  std::vector<PlannedMove> kept;
  scheduling::Snapshot& snapshot = objects.snapshot();
  {
    const scheduling::WhatIf fork(snapshot, scheduling::Layers::kTold);
    for (PlannedMove& move : moves) {
      std::string why = MoveInFork(snapshot, move.pod, move.to);
      if (why.empty()) {
        kept.push_back(std::move(move));
      } else {
        dropped.push_back({std::move(move), std::move(why)});
      }
    }
  }
  moves = std::move(kept);
  return dropped;
}

}  // namespace evenkeel::controllers::balancer
