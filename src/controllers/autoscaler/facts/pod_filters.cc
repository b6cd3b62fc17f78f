#include "controllers/autoscaler/facts/pod_filters.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

constexpr base::Duration kNew = std::chrono::seconds(2);
constexpr base::Duration kNewWithGpu = std::chrono::seconds(30);

const PodFacts& FactsOf(const ClusterView& view, PodId pod) { return (*view.pods)[pod]; }

/// How old the pod has to be. `warning`: why what its annotation says does not count; "" otherwise.
base::Duration DelayOf(const PodFacts& facts, const Options& options, std::string& warning) {
  const base::Duration delay = options.new_pod_scale_up_delay;
  if (facts.scale_up_delay.empty()) return delay;
  const auto own = base::ParseDuration(facts.scale_up_delay.text());
  if (own && *own >= delay) return *own;
  warning = "pod " + facts.key + ": annotation pod-scale-up-delay \"" + facts.scale_up_delay +
            (own ? "\" is shorter than --new-pod-scale-up-delay, which is used" : "\" is not a duration");
  return delay;
}

/// Pods of one priority, by class in the order of their first pods; like classes are one.
class Bucket {
 public:
  void Add(uint64_t likeness, ClassId pod_class, PodId pod) {
    const auto [found, added] = index_.try_emplace(likeness, classes_.size());
    if (added) classes_.push_back({pod_class, {}});
    classes_[found->second].second.push_back(pod);
  }
  const std::vector<std::pair<ClassId, PodIds>>& classes() const { return classes_; }

 private:
  std::unordered_map<uint64_t, size_t> index_;
  std::vector<std::pair<ClassId, PodIds>> classes_;
};

class Filtering {
 public:
  Filtering(const ClusterView& view, PodHints& hints) : snapshot_(*view.snapshot), hints_(hints) {}

  void Add(PodId pod) {
    const ClassId pod_class = snapshot_.ClassOf(pod);
    const NodeId hint = hints_.Find(snapshot_, pod);
    if (hint == kNone || !snapshot_.Fits(pod_class, hint)) return bucket_.Add(snapshot_.Likeness(pod_class), pod_class, pod);
    snapshot_.Place(pod, hint);
    NotePlaced(pod, hint);
  }

  void EndPriority() {
    for (const auto& [pod_class, pods] : bucket_.classes()) {
      std::vector<scheduling::Placement> placements;
      snapshot_.PlaceUpTo(pod_class, pods, {}, placements);
      size_t next = 0;
      for (const scheduling::Placement& placement : placements) {
        for (int64_t i = 0; i < placement.pods; ++i) NotePlaced(pods[next++], placement.node);
      }
    }
    bucket_ = {};
  }

  PodIds TakePlaced() { return std::move(placed_); }

 private:
  void NotePlaced(PodId pod, NodeId node) {
    hints_.Set(snapshot_, pod, node);
    placed_.push_back(pod);
  }

  scheduling::Snapshot& snapshot_;
  PodHints& hints_;
  Bucket bucket_;
  PodIds placed_;
};

}  // namespace

std::vector<UpcomingNode> AddUpcomingNodes(scheduling::Snapshot& snapshot, const NodeTemplates& templates,
                                           const std::map<std::string, int64_t>& upcoming,
                                           std::span<const NodeId> not_started) {
  for (const NodeId node : not_started) {
    if (snapshot.Present(node)) snapshot.DropNode(node);
  }
  std::vector<UpcomingNode> added;
  for (const auto& [group, nodes] : upcoming) {
    const NodeTemplate* node_template = templates.Find(group);
    if (node_template == nullptr) continue;
    for (int64_t i = 0; i < nodes; ++i) {
      std::string name = node_template->node.meta.name + "-upcoming-" + std::to_string(i);
      added.push_back({AddTemplateNode(snapshot, *node_template, std::move(name)), group});
    }
  }
  return added;
}

std::optional<PassedOver> WhyNotWaiting(const PodFacts& facts, const Options& options, bool count_unprocessed) {
  if (facts.deleted) return PassedOver::kDeleted;
  if (!facts.nominated_node.empty()) return PassedOver::kNominated;
  const auto& allowed = options.allowed_scheduler_names;
  if (!allowed.empty() && std::ranges::find(allowed, facts.scheduler_name.text()) == allowed.end())
    return PassedOver::kOtherScheduler;
  // Also where no scheduler has written down yet that it waits for the gate.
  if (!facts.gate.empty()) return PassedOver::kGated;
  if (facts.unschedulable) return std::nullopt;
  if (!facts.unprocessed) return PassedOver::kSchedulerError;
  const auto& bypassed = options.bypassed_scheduler_names;
  if (count_unprocessed || std::ranges::find(bypassed, facts.scheduler_name.text()) != bypassed.end()) return std::nullopt;
  return PassedOver::kUnprocessed;
}

bool IsExpendable(const PodFacts& facts, const Options& options) {
  return facts.priority && *facts.priority < options.expendable_pods_priority_cutoff;
}

void DropExpendable(const ClusterView& view, const Options& options, PodIds& pods) {
  std::erase_if(pods, [&](PodId pod) { return IsExpendable(FactsOf(view, pod), options); });
}

void AddRecreatable(const ClusterView& view, std::span<const NodeId> drained, PodIds& pods) {
  for (const NodeId node : drained) {
    PodIds here;
    for (const PodId pod : view.snapshot->PodsOn(node)) {
      const PodFacts& facts = FactsOf(view, pod);
      if (!facts.mirror && !facts.daemon && !facts.deleted) here.push_back(pod);
    }
    for (const PodId pod : here) view.snapshot->Unplace(pod);
    pods.insert(pods.end(), here.begin(), here.end());
  }
}

std::string_view PodHints::NameFor(const scheduling::Snapshot& snapshot, PodId pod) const {
  if (nodes_.empty() && next_.empty()) return "";
  const std::string& key = snapshot.PodKey(pod);
  if (const auto newer = next_.find(key); newer != next_.end()) return newer->second;
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? std::string_view() : found->second;
}

NodeId PodHints::Find(const scheduling::Snapshot& snapshot, PodId pod) const {
  const std::string_view name = NameFor(snapshot, pod);
  if (name.empty()) return kNone;
  const NodeId node = snapshot.FindNodeByName(name);
  return node != kNone && snapshot.Present(node) ? node : kNone;
}

void PodHints::Set(const scheduling::Snapshot& snapshot, PodId pod, NodeId node) {
  next_[snapshot.PodKey(pod)] = snapshot.NodeName(node);
}

void PodHints::EndPass() {
  if (nodes_ != next_) ++changes_;
  nodes_ = std::move(next_);
  next_.clear();
}

base::Json PodHints::ToJson() const {
  base::JsonObject object;
  // By name: the same hints are the same text.
  for (const auto& [pod, node] : std::map<std::string_view, std::string_view>(nodes_.begin(), nodes_.end())) {
    object[pod] = node;
  }
  return object;
}

base::Status PodHints::Restore(const base::Field& hints) {
  return hints.ForEachMember(
      [&](std::string_view pod, const base::Field& node) { return node.Text(nodes_[std::string(pod)]); });
}

PodIds FilterOutSchedulable(const ClusterView& view, PodHints& hints, PodIds& pods) {
  const auto before = [&](PodId a, PodId b) {
    const int32_t left = FactsOf(view, a).priority.value_or(0), right = FactsOf(view, b).priority.value_or(0);
    return left != right ? left > right : FactsOf(view, a).key < FactsOf(view, b).key;
  };
  if (!std::ranges::is_sorted(pods, before)) std::ranges::sort(pods, before);
  Filtering filtering(view, hints);
  std::optional<int32_t> priority;
  for (const PodId pod : pods) {
    const int32_t own = FactsOf(view, pod).priority.value_or(0);
    if (priority && *priority != own) filtering.EndPriority();
    priority = own;
    filtering.Add(pod);
  }
  filtering.EndPriority();
  hints.EndPass();
  std::erase_if(pods, [&](PodId pod) { return view.snapshot->NodeOf(pod) != kNone; });
  return filtering.TakePlaced();
}

PodIds FilterOutSchedulableInTurn(const ClusterView& view, PodHints& hints, Turn turn, PodIds& pods) {
  /// So many different pods of a controller are remembered as fitting nowhere.
  constexpr size_t kSimilarMax = 10;
  scheduling::Snapshot& snapshot = *view.snapshot;
  if (turn.order == ListOrder::kByName) std::ranges::sort(pods, {}, [&](PodId pod) { return FactsOf(view, pod).key; });
  std::ranges::stable_sort(pods, std::greater<>(), [&](PodId pod) { return FactsOf(view, pod).priority.value_or(0); });
  RoundRobin search(view, turn);
  std::unordered_map<std::string, std::set<uint64_t>> nowhere;  // specs by controller
  PodIds placed;
  for (const PodId pod : pods) {
    const PodFacts& facts = FactsOf(view, pod);
    const ClassId pod_class = snapshot.ClassOf(pod);
    NodeId node = hints.Find(snapshot, pod);
    if (node == kNone || !snapshot.Fits(pod_class, node)) {
      std::set<uint64_t>* similar = facts.owner_uid.empty() ? nullptr : &nowhere[facts.owner_uid];
      // A claim that is allocated can hold one of them back.
      const uint64_t kind = snapshot.WantsDevices(pod_class) ? snapshot.Likeness(pod_class) : facts.spec_hash;
      if (similar != nullptr && similar->contains(kind)) continue;
      node = search.Find(pod_class);
      if (node == kNone && similar != nullptr && similar->size() < kSimilarMax) similar->insert(kind);
      if (node == kNone) continue;
    }
    snapshot.Place(pod, node);
    hints.Set(snapshot, pod, node);
    placed.push_back(pod);
  }
  hints.EndPass();
  std::erase_if(pods, [&](PodId pod) { return snapshot.NodeOf(pod) != kNone; });
  return placed;
}

void DropDaemonPods(const ClusterView& view, PodIds& pods) {
  std::erase_if(pods, [&](PodId pod) { return FactsOf(view, pod).daemon; });
}

base::Time YoungUntil(const ClusterView& view, const Options& options, PodId pod) {
  std::string warning;
  return FactsOf(view, pod).created + DelayOf(FactsOf(view, pod), options, warning);
}

std::vector<std::string> DropYoung(const ClusterView& view, const Options& options, PodIds& pods) {
  std::vector<std::string> warnings;
  std::erase_if(pods, [&](PodId pod) {
    std::string warning;
    const base::Duration delay = DelayOf(FactsOf(view, pod), options, warning);
    if (!warning.empty()) warnings.push_back(std::move(warning));
    return view.now.WithinOrAt(FactsOf(view, pod).created, delay);
  });
  return warnings;
}

base::Time AllNewUntil(const ClusterView& view, const PodIds& pods) {
  base::Time oldest = base::Time::max(), oldest_gpu = base::Time::max();
  for (const PodId pod : pods) {
    const PodFacts& facts = FactsOf(view, pod);
    oldest = std::min(oldest, facts.created);
    if (facts.requests_gpu) oldest_gpu = std::min(oldest_gpu, facts.created);
  }
  if (pods.empty()) return base::Time::min();
  return oldest_gpu == base::Time::max() ? oldest + kNew : std::max(oldest + kNew, oldest_gpu + kNewWithGpu);
}

bool AllNew(const ClusterView& view, const PodIds& pods) { return AllNewUntil(view, pods) > view.now; }

ScaleUpDecision DecideScaleUp(const ClusterView& view, const Options& options, const PodIds& pods, int64_t ready_nodes) {
  if (pods.empty()) return ScaleUpDecision::kNotNeeded;
  if (options.max_nodes_total > 0 && ready_nodes >= options.max_nodes_total) return ScaleUpDecision::kLimitedByMaxNodesTotal;
  if (options.bypassed_scheduler_names.empty() && AllNew(view, pods)) return ScaleUpDecision::kInCooldown;
  return ScaleUpDecision::kGo;
}

}  // namespace evenkeel::controllers::autoscaler
