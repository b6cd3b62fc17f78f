#include "controllers/autoscaler/member/node_deletions.h"

#include <algorithm>

#include "base/log.h"
#include "controllers/autoscaler/facts/drainability.h"
#include "controllers/autoscaler/facts/facts.h"
#include "controllers/autoscaler/member/loop_metrics.h"
#include "controllers/autoscaler/member/node_marks.h"
#include "controllers/autoscaler/member/scale_down_eviction.h"
#include "controllers/autoscaler/options/event_kinds.h"
#include "controllers/autoscaler/scale_down/scale_down.h"
#include "controllers/runtime/eviction.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using namespace std::chrono_literals;

// Upstream's numbers.
constexpr base::Duration kEvictionRetry = 10s;
constexpr base::Duration kPoll = 5s;
constexpr base::Duration kTerminationHeadroom = 30s;
constexpr base::Duration kRestoreRetry = 10s;
constexpr base::Duration kSettleMemory = 1h;

}  // namespace

std::vector<std::string> NodeDeletions::Deleting(bool drain) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (node.order.drain == drain) names.push_back(name);
  }
  return names;
}

base::Status NodeDeletions::Start(const std::vector<DeletionOrder>& orders, std::vector<DeletionOrder>& begun) {
  for (const bool drain : {false, true}) {
    std::vector<std::string> marked;
    for (const DeletionOrder& order : orders) {
      if (order.drain != drain || Knows(order.node)) continue;
      const auto done = Mark(order);
      if (done) {
        if (nodes_.contains(order.node)) marked.push_back(order.node);
        continue;
      }
      context_.events.OnNode(order.node, context_.cache.NodeUid(order.node),
                             {true, events::kScaleDownFailed.reason,
                              "failed to mark the node as toBeDeleted/unschedulable: " + done.error().message()});
      for (const std::string& name : marked) {
        const bool uncordon = nodes_.at(name).cordoned;
        nodes_.erase(name);
        Restore(name, uncordon);
      }
      // Without an answer the marks may have been set all the same.
      const Json* object = context_.cache.objects().FindNode(order.node);
      const bool open = object != nullptr && !base::FindBool(*object, {"spec", "unschedulable"});
      Restore(order.node, open && context_.options.cordon_node_before_terminating);
      return base::Fail(done.error().Wrap("node " + order.node + " could not be marked as going"));
    }
    const base::Duration settle = SettleTime();
    for (const std::string& name : marked) {
      Node& node = nodes_.at(name);
      context_.events.OnNode(name, node.uid,
                             {false, events::kScaleDown.reason, "marked the node as toBeDeleted/unschedulable"});
      context_.events.OnCluster(
          drain ? ClusterEvent{false, events::kScaleDown.reason,
                               "Scale-down: removing node " + name + ", " + node.order.description}
                : ClusterEvent{false, events::kScaleDownEmpty.reason, "Scale-down: removing empty node \"" + name + "\""});
      base::log::Info("node is being removed",
                      {{"cluster", context_.cluster}, {"node", name}, {"group", node.order.group}, {"drain", drain}});
      begun.push_back(node.order);
      After(node, settle);
    }
  }
  return {};
}

/// A node that is gone already is passed over.
base::Status NodeDeletions::Mark(const DeletionOrder& order) {
  const Json* object = context_.cache.objects().FindNode(order.node);
  if (object == nullptr) return {};
  Node node;
  node.order = order;
  node.uid = context_.cache.NodeUid(order.node);
  node.provider_id = FindString(*object, {"spec", "providerID"});
  const auto cordoned =
      MarkForDeletion(context_.client, order.node, context_.options.cordon_node_before_terminating, context_.clock.Now());
  if (!cordoned && cordoned.error().code() == base::Code::kNotFound) return {};
  if (!cordoned) return base::Fail(cordoned.error());
  node.cordoned = *cordoned;
  nodes_.emplace(order.node, std::move(node));
  marked_at_[order.node] = Now();
  return {};
}

void NodeDeletions::Seen(const std::string& node) {
  const auto marked = marked_at_.find(node);
  if (marked == marked_at_.end()) return;
  seen_after_.emplace_back(Now(), Now() - marked->second);
  marked_at_.erase(marked);
}

base::Duration NodeDeletions::SettleTime() {
  while (!seen_after_.empty() && Now() - seen_after_.front().first > kSettleMemory) seen_after_.pop_front();
  if (!context_.options.dynamic_node_delete_delay_after_taint_enabled || seen_after_.empty()) {
    return context_.options.node_delete_delay_after_taint;
  }
  base::Duration longest{};
  for (const auto& [at, latency] : seen_after_) longest = std::max(longest, latency);
  return 2 * longest;
}

void NodeDeletions::After(Node& node, base::Duration delay) {
  node.timer = context_.strand->PostAfter(delay, [this, name = node.order.node] { Step(name); });
}

void NodeDeletions::Step(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  switch (found->second.phase) {
    case Phase::kSettle:
      return Settle(found->second);
    case Phase::kEvict:
      return Evict(found->second);
    case Phase::kTerminate:
      return Terminate(found->second);
    case Phase::kDelay:
      return Delay(found->second);
    case Phase::kDelete:
      return;
  }
}

base::Result<std::vector<Json>> NodeDeletions::ListPods(const std::string& node) {
  EVENKEEL_ASSIGN(client::ListPage page,
                  client::ListAll(context_.client, kube::resources::Pods(), {.field_selector = "spec.nodeName=" + node}));
  std::erase_if(page.items, [&](const Json& pod) { return FindString(pod, {"spec", "nodeName"}) != node; });
  return std::move(page.items);
}

NodeDeletions::Victim NodeDeletions::MakeVictim(const Json& pod) const {
  const PodFacts facts = DecodePodFacts(pod);
  Victim victim{
      .ns = std::string(kube::NamespaceOf(pod)), .name = std::string(kube::NameOf(pod)), .uid = std::string(kube::UidOf(pod))};
  int64_t most = context_.options.max_graceful_termination_sec;
  const auto& ranges = context_.options.drain_priority_config;
  if (!ranges.empty()) {
    victim.group = DrainRangeOf(ranges, facts.priority.value_or(0));
    most = ranges[victim.group].second;
  }
  victim.grace = EvictionGrace(facts, most);
  victim.evicted = facts.deleted.has_value();
  return victim;
}

base::Result<NodeDeletions::PodsNow> NodeDeletions::LookAt(const Node& node) {
  EVENKEEL_ASSIGN(std::vector<Json> pods, ListPods(node.order.node));
  const ClusterView view = context_.cache.objects().ViewOfPods(context_.clock.Now());
  BudgetTracker budgets(view);
  const Drainability drainability(view, context_.options, budgets);
  PodsNow now;
  for (const Json& pod : pods) {
    const PodFacts facts = DecodePodFacts(pod);
    if (kube::HasEnded(pod) || facts.mirror || LongTerminating(facts, view.now)) continue;
    const scheduling::PodId id = view.snapshot->FindPod(facts.key);
    const bool known = id != scheduling::kNone && context_.cache.PodUid(facts.key) == kube::UidOf(pod);
    DrainVerdict verdict{DrainOutcome::kBlocked, BlockingReason::kUnexpectedError};
    if (facts.daemon) {
      verdict = {DrainOutcome::kDaemon};
    } else if (facts.deleted) {
      verdict = {DrainOutcome::kMove};
    } else if (known) {
      verdict = drainability.Judge(id);
    }
    if (verdict.outcome == DrainOutcome::kMove) {
      now.move.push_back(MakeVictim(pod));
    } else if (verdict.outcome == DrainOutcome::kDaemon && EvictsDaemon(facts, context_.options, !node.order.drain)) {
      now.daemons.push_back(MakeVictim(pod));
    } else if (verdict.outcome == DrainOutcome::kWaitForCompletion) {
      now.blocking = "pod " + facts.key + " has to end by itself first";
    } else if (verdict.outcome == DrainOutcome::kBlocked && now.blocking.empty()) {
      now.blocking = known ? drainability.Explain(id, verdict.reason) : "pod " + facts.key + " has just come to it";
    }
  }
  return now;
}

/// The balancer begins nothing while it sees the mark; what it has begun before that must be known by now, and caches may be
/// behind.
base::Status NodeDeletions::RequireNoPlanUnderWay() {
  const auto plans = client::ListAll(context_.client, scheduling::BalancingPlans());
  if (!plans) return plans.error().code() == base::Code::kNotFound ? base::Status() : base::Fail(plans.error());
  for (const Json& plan : plans->items) {
    const auto until = scheduling::RoomKeptUntil(plan);
    if (until && *until > context_.clock.Now()) {
      return base::Fail(base::Code::kConflict, WhyNotDuring(std::string(kube::NameOf(plan))));
    }
  }
  return {};
}

void NodeDeletions::Settle(Node& node) {
  const std::string name = node.order.node;
  if (const auto free = RequireNoPlanUnderWay(); !free) return Fail(name, free.error().message());
  auto pods = LookAt(node);
  if (!pods) return Fail(name, pods.error().message());
  if (!pods->blocking.empty()) return Fail(name, pods->blocking);
  if (!node.order.drain && !pods->move.empty()) {
    return Fail(name, "the node is not empty any more: pod " + pods->move.front().ns + "/" + pods->move.front().name);
  }
  Assign(node, *std::move(pods));
  node.phase = Phase::kEvict;
  node.deadline = Now() + context_.options.max_pod_eviction_time;
  Evict(node);
}

void NodeDeletions::Assign(Node& node, PodsNow pods) {
  // With priorities daemon pods are waited for like all others.
  const bool by_priority = !context_.options.drain_priority_config.empty();
  node.groups = by_priority ? context_.options.drain_priority_config.size() : 1;
  node.victims = std::move(pods.move);
  for (Victim& daemon : pods.daemons) {
    daemon.best_effort = !by_priority || !node.order.drain;
    node.victims.push_back(std::move(daemon));
  }
}

void NodeDeletions::Evict(Node& node) {
  const std::string name = node.order.node;
  bool refused = false;
  base::Duration grace{};
  for (Victim& victim : node.victims) {
    if (victim.group != node.group) continue;
    if (!victim.evicted) victim.evicted = EvictOne(node, victim);
    refused |= !victim.evicted && !victim.best_effort;
    grace = std::max<base::Duration>(grace, std::chrono::seconds(victim.grace));
  }
  if (refused && Now() >= node.deadline) return Fail(name, "pods could not be evicted in time: " + node.last_error);
  if (refused) return After(node, kEvictionRetry);
  node.phase = Phase::kTerminate;
  node.deadline = Now() + grace + kTerminationHeadroom;
  Terminate(node);
}

/// Whether the pod is on its way out now.
bool NodeDeletions::EvictOne(Node& node, Victim& victim) {
  const std::string key = victim.ns + "/" + victim.name;
  const kube::Resource& pods = kube::resources::Pods();
  const auto answer = context_.client.Post(pods, victim.ns, victim.name, "eviction",
                                           runtime::EvictionOf(victim.ns, victim.name, victim.uid, victim.grace));
  if (answer) {
    context_.events.OnPod(key, victim.uid, {false, events::kScaleDown.reason, "deleting pod for node scale down"});
    context_.metrics.Count(context_.cluster, "evicted_pods_total", {{"eviction_result", "succeeded"}});
    return true;
  }
  if (answer.error().code() == base::Code::kNotFound) return true;
  if (answer.error().code() == base::Code::kConflict) {
    const auto there = context_.client.Get(pods, victim.ns, victim.name);
    if (there ? kube::UidOf(*there) != victim.uid : there.error().code() == base::Code::kNotFound) return true;
  }
  node.last_error = "pod " + key + ": " + answer.error().message();
  return false;
}

void NodeDeletions::Terminate(Node& node) {
  const std::string name = node.order.node;
  const auto awaited = [&](const Victim& victim) { return victim.group == node.group && !victim.best_effort; };
  if (std::ranges::any_of(node.victims, awaited)) {
    const auto pods = ListPods(name);
    std::string left = pods ? "" : pods.error().message();
    for (const Victim& victim : node.victims) {
      if (!pods || !awaited(victim)) continue;
      const auto same = [&](const Json& pod) { return kube::UidOf(pod) == victim.uid && !kube::HasEnded(pod); };
      if (std::ranges::any_of(*pods, same)) left = "pod " + victim.ns + "/" + victim.name + " has not ended";
    }
    if (!left.empty() && Now() >= node.deadline) return Fail(name, "pods remaining after timeout: " + left);
    if (!left.empty()) return After(node, kPoll);
  }
  if (++node.group < node.groups) {
    node.phase = Phase::kEvict;
    node.deadline = Now() + context_.options.max_pod_eviction_time;
    return Evict(node);
  }
  node.phase = Phase::kDelay;
  node.deadline = Now() + context_.options.node_deletion_delay_timeout;
  Delay(node);
}

void NodeDeletions::Delay(Node& node) {
  const Json* object = context_.cache.objects().FindNode(node.order.node);
  if (object != nullptr && WantsDelay(*object) && Now() < node.deadline) return After(node, kPoll);
  Ready(node);
}

void NodeDeletions::Ready(Node& node) {
  node.phase = Phase::kDelete;
  const std::string group = node.order.group;
  const auto on_its_way = [&](const auto& entry) {
    return entry.second.order.group == group && entry.second.phase != Phase::kDelete;
  };
  if (batches_.contains(group) || (node.order.atomic && std::ranges::any_of(nodes_, on_its_way))) return;
  const base::Duration wait = node.order.atomic ? base::Duration{} : context_.options.node_deletion_batcher_interval;
  batches_[group] = context_.strand->PostAfter(wait, [this, group] { Delete(group); });
}

void NodeDeletions::Delete(const std::string& group) {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (node.order.group == group && node.phase == Phase::kDelete) names.push_back(name);
  }
  for (const std::string& name : names) {
    if (!nodes_.contains(name)) continue;
    const auto pods = LookAt(nodes_.at(name));
    if (!pods) {
      Fail(name, pods.error().message());
    } else if (!pods->blocking.empty()) {
      Fail(name, pods->blocking);
    } else if (!pods->move.empty()) {
      Fail(name, "pod " + pods->move.front().ns + "/" + pods->move.front().name + " has come to the node meanwhile");
    }
  }
  std::erase_if(names, [&](const std::string& name) { return !nodes_.contains(name); });
  std::vector<providers::NodeReference> references;
  for (const std::string& name : names) {
    const Json* object = context_.cache.objects().FindNode(name);
    references.push_back({name, nodes_.at(name).provider_id, object == nullptr ? Json() : Json(*object, {})});
  }
  base::Status done;
  if (!references.empty()) done = context_.delete_nodes(group, references);
  for (const std::string& name : names) done ? Deleted(name) : Fail(name, done.error().message());
  batches_.erase(group);
}

void NodeDeletions::Deleted(const std::string& name) {
  const DeletionOrder order = nodes_.at(name).order;
  context_.events.OnNode(name, nodes_.at(name).uid, {false, events::kScaleDown.reason, "nodes removed by cluster autoscaler"});
  context_.events.OnCluster(
      order.drain ? ClusterEvent{false, events::kScaleDown.reason, "Scale-down: node " + name + " removed with drain"}
                  : ClusterEvent{false, events::kScaleDownEmpty.reason, "Scale-down: empty node " + name + " removed"});
  CountByKind(context_.metrics, context_.cluster, order.kind, "scaled_down_nodes_total", "scaled_down_gpu_nodes_total",
              {{"reason", order.reason}}, 1);
  nodes_.erase(name);
  marked_at_.erase(name);
  context_.deleted(order);
}

void NodeDeletions::Fail(const std::string& name, const std::string& why) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  const Node failed = std::move(found->second);
  nodes_.erase(found);
  const char* what = failed.order.drain ? "failed to drain and delete node: " : "failed to delete empty node: ";
  context_.events.OnNode(failed.order.node, failed.uid, {true, events::kScaleDownFailed.reason, what + why});
  base::log::Warn("node stays: its removal has failed",
                  {{"cluster", context_.cluster}, {"node", failed.order.node}, {"error", why}});
  for (const Victim& victim : failed.victims) {
    if (victim.evicted || victim.best_effort) continue;
    context_.events.OnPod(victim.ns + "/" + victim.name, victim.uid,
                          {true, events::kScaleDownFailed.reason, "failed to delete pod for ScaleDown"});
    context_.metrics.Count(context_.cluster, "evicted_pods_total", {{"eviction_result", "failed"}});
  }
  Restore(failed.order.node, failed.cordoned);
  if (!failed.order.atomic) return;
  std::vector<std::string> siblings;
  for (const auto& [sibling, node] : nodes_) {
    if (node.order.group == failed.order.group) siblings.push_back(sibling);
  }
  for (const std::string& sibling : siblings) Fail(sibling, "its group goes whole or not at all, and another node stays");
}

void NodeDeletions::Restore(const std::string& name, bool uncordon) {
  marked_at_.erase(name);
  if (const auto done = Unmark(context_.client, name, uncordon); !done) {
    base::log::Warn("a node's marks could not be taken off: tried again in 10 s",
                    {{"cluster", context_.cluster}, {"node", name}, {"error", done.error()}});
    Restoring& restoring = restoring_[name];
    restoring.uncordon = uncordon;
    restoring.timer = context_.strand->PostAfter(kRestoreRetry, [this, name, uncordon] { Restore(name, uncordon); });
    return;
  }
  restoring_.erase(name);
}

}  // namespace evenkeel::controllers::autoscaler
