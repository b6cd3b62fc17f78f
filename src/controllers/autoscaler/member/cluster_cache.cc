#include "controllers/autoscaler/member/cluster_cache.h"

#include <algorithm>

#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/scale_down/removal_simulation.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;

/// A condition that is older than this is news only to us.
constexpr base::Duration kFreshCondition = std::chrono::seconds(10);

bool JustFoundUnschedulable(const Json& pod, base::Time now) {
  if (!FindString(pod, {"spec", "nodeName"}).empty()) return false;
  const Json* condition = kube::FindCondition(pod, "PodScheduled");
  if (condition == nullptr || FindString(*condition, {"status"}) != "False") return false;
  if (FindString(*condition, {"reason"}) != "Unschedulable") return false;
  const auto since = base::ParseTime(FindString(*condition, {"lastTransitionTime"}));
  return since && *since + kFreshCondition > now;
}

}  // namespace

std::vector<runtime::ReadKind> ReadKinds(const Options& options) {
  std::vector<runtime::ReadKind> kinds = runtime::SnapshotReadKinds();
  const auto add = [&kinds](std::string_view group, std::string_view plural) {
    kinds.push_back({.resource = *kube::FindBuiltIn(group, "v1", plural)});
  };
  add("policy", "poddisruptionbudgets");
  kinds.back().older = kinds.back().resource;
  kinds.back().older->version = "v1beta1";
  add("apps", "daemonsets");
  add("apps", "replicasets");
  add("apps", "statefulsets");
  add("batch", "jobs");
  add("", "replicationcontrollers");
  if (std::ranges::find(options.expander, "priority") != options.expander.end()) {
    add("", "configmaps");
    kinds.back().ns = options.ns;
    kinds.back().field_selector = "metadata.name=cluster-autoscaler-priority-expander";
  }
  return kinds;
}

ClusterCache::ClusterCache(runtime::MemberFeed& feed, base::Clock& clock, const Options& options, Handlers handlers)
    : feed_(feed),
      clock_(clock),
      handlers_(std::move(handlers)),
      kinds_(ReadKinds(options)),
      pods_(*std::ranges::find(kinds_, "Pod", [](const auto& kind) { return kind.resource.kind; })),
      nodes_(*std::ranges::find(kinds_, "Node", [](const auto& kind) { return kind.resource.kind; })),
      objects_(options, feed.mirror()),
      keeps_pending_(std::ranges::find(options.expander, "grpc") != options.expander.end()) {
  objects_.RequireOwners();
  feed.Read(kinds_);
  feed.ReadPlans();
  feed.mirror().AddListener(*this);
}

std::string ClusterCache::Missing() {
  std::string missing = feed_.Missing(kinds_);
  const std::string plans = feed_.MissingPlans();
  if (!missing.empty() && !plans.empty()) missing += ", ";
  return missing + plans;
}

void ClusterCache::AfterChange(const scheduling::ObjectEvent& event) {
  if (event.kind == "Pod") {
    if (keeps_pending_) KeepPending(event);
    if (event.object != nullptr && JustFoundUnschedulable(*event.object, clock_.Now())) handlers_.pod_unschedulable();
  } else if (event.kind == "Node" && event.object != nullptr) {
    const auto& taints = event.DecodedNode().taints;
    if (std::ranges::find(taints, kToBeDeletedTaint, &kube::Taint::key) != taints.end()) handlers_.node_marked(event.key);
  }
}

void ClusterCache::KeepPending(const scheduling::ObjectEvent& event) {
  if (event.object != nullptr && FindString(*event.object, {"spec", "nodeName"}).empty()) {
    pending_.insert_or_assign(event.key, *event.object);
  } else {
    pending_.erase(event.key);
  }
}

std::optional<Json> ClusterCache::PendingPod(scheduling::PodId pod) const {
  const auto found = pending_.find(objects_.PodKey(pod));
  return found == pending_.end() ? std::nullopt : std::optional<Json>(found->second);
}

}  // namespace evenkeel::controllers::autoscaler
