#include "controllers/autoscaler/member/autoscaler_events.h"

#include <map>
#include <set>

#include "base/hash.h"
#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using scheduling::PodId;

constexpr base::Duration kQuiet = std::chrono::minutes(5);
constexpr const char* kComponent = "cluster-autoscaler";

Json About(std::string_view kind, std::string_view ns, std::string_view name, std::string_view uid) {
  JsonObject meta{{"name", name}};
  if (!ns.empty()) meta["namespace"] = ns;
  if (!uid.empty()) meta["uid"] = uid;
  return JsonObject{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", std::move(meta)}};
}

std::string Texts(const scheduling::Fit& fit) {
  std::string text;
  for (const scheduling::Reason& reason : fit.reasons) text += (text.empty() ? "" : ", ") + reason.text;
  return text.empty() ? std::string(Name(fit.filter)) : text;
}

}  // namespace

std::string CountReasons(const ScaleUpPlan& plan, size_t pod_group) {
  std::map<std::string, int> counts;
  for (const ScaleUpPlan::Misfit& misfit : plan.misfits[pod_group]) ++counts[Texts(misfit.fit)];
  for (const ScaleUpPlan::Skipped& skipped : plan.skipped) ++counts[skipped.reason];
  std::string text;
  for (const auto& [reason, count] : counts) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
  return text;
}

AutoscalerEvents::AutoscalerEvents(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                                   base::Random random, std::string host, const Options& options)
    : clock_(clock),
      ns_(options.ns),
      config_map_(options.status_config_map_name),
      duplicates_(options.record_duplicated_events),
      recorder_(client, std::move(strand), clock, std::move(random), kComponent, std::move(host)) {}

bool AutoscalerEvents::Repeats(const Json& about, const ClusterEvent& event) {
  const base::Instant now = clock_.Monotonic();
  if (now - pruned_ > kQuiet) {
    std::erase_if(written_, [&](const auto& entry) { return now - entry.second > kQuiet; });
    pruned_ = now;
  }
  const auto [entry, fresh] = written_.try_emplace(base::Fnv1a64(base::ToText(about) + event.reason + event.message), now);
  if (fresh) return false;
  if (now - entry->second <= kQuiet) return true;
  entry->second = now;
  return false;
}

void AutoscalerEvents::Write(const Json& about, const ClusterEvent& event) {
  if (!duplicates_ && Repeats(about, event)) return;
  event.warning ? recorder_.Warning(about, event.reason, event.message) : recorder_.Normal(about, event.reason, event.message);
}

void AutoscalerEvents::OnCluster(const ClusterEvent& event) { Write(About("ConfigMap", ns_, config_map_, ""), event); }

void AutoscalerEvents::OnNode(std::string_view name, std::string_view uid, const ClusterEvent& event) {
  Write(About("Node", "", name, uid), event);
}

void AutoscalerEvents::OnPod(std::string_view key, std::string_view uid, const ClusterEvent& event) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  Write(About("Pod", ns, name, uid), event);
}

void AutoscalerEvents::OfLoop(const LoopPlan& plan, const ClusterCache& cache) {
  for (const ClusterEvent& event : plan.events) OnCluster(event);
  OfScaleUp(plan, cache);
  OfPodsWithout(plan, cache);
}

void AutoscalerEvents::OfScaleUp(const LoopPlan& plan, const ClusterCache& cache) {
  for (const ScaleUpStep& step : plan.scale_ups) {
    std::string groups;
    for (const GroupDelta& delta : step.changes) {
      const providers::NodeGroup* group = plan.view.groups.Find(delta.group);
      groups += (groups.empty() ? "{" : " {") + delta.group + " " + std::to_string(delta.from) + "->" +
                std::to_string(delta.to) + " (max: " + std::to_string(group == nullptr ? delta.to : group->max_size) + ")}";
    }
    for (const PodId pod : step.triggered_by) {
      const std::string& key = plan.view.snapshot->PodKey(pod);
      OnPod(key, cache.PodUid(key), {false, events::kTriggeredScaleUp.reason, "pod triggered scale-up: [" + groups + "]"});
    }
  }
}

void AutoscalerEvents::OfPodsWithout(const LoopPlan& plan, const ClusterCache& cache) {
  const auto tell = [&](PodId pod, const std::string& why) {
    const std::string& key = plan.view.snapshot->PodKey(pod);
    OnPod(key, cache.PodUid(key), {false, events::kNotTriggerScaleUp.reason, "pod didn't trigger scale-up: " + why});
  };
  const bool full = plan.scale_up.outcome == ScaleUpPlan::Outcome::kMaxNodesReached;
  if (plan.decision == ScaleUpDecision::kLimitedByMaxNodesTotal || full) {
    for (const PodId pod : plan.unschedulable) tell(pod, "max total nodes in cluster reached");
    return;
  }
  if (plan.decision != ScaleUpDecision::kGo || !plan.scale_ups.empty()) return;
  const std::set<PodId> without(plan.scale_up.remain_unschedulable.begin(), plan.scale_up.remain_unschedulable.end());
  for (size_t i = 0; i < plan.scale_up.pod_groups.size(); ++i) {
    std::string why;
    for (const PodId pod : plan.scale_up.pod_groups[i].pods) {
      if (!without.contains(pod)) continue;
      if (why.empty()) why = CountReasons(plan.scale_up, i);
      tell(pod, why);
    }
  }
}

}  // namespace evenkeel::controllers::autoscaler
