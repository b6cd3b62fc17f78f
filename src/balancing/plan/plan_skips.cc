#include "balancing/plan/plan_skips.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>

#include "balancing/model/amount_text.h"
#include "balancing/search/balancing_search.h"

namespace evenkeel::balancing {
namespace {

/// What keeps the replicas of a group in place.
class Obstacles {
 public:
  Obstacles(const Arrangement& arrangement, const GroupPlan& plan)
      : arrangement_(arrangement),
        cluster_(arrangement.cluster()),
        plan_(plan),
        constraints_(arrangement, {.max_priority = kBalancingMaxPriority}) {}

  void Look(const ServiceGroup& group) {
    for (const ServiceId service : group.services) {
      for (const PartitionId partition : cluster_.services[service].partitions) {
        const auto [first, last] = arrangement_.ExistingOf(partition);
        for (ReplicaId replica = first; replica < last; ++replica) Look(replica);
      }
    }
  }

  std::string Sentence() const {
    if (candidates_ == 0) return "none of its replicas is on a node where it may move";
    std::string text = fmt::format("{} replicas report what is imbalanced", candidates_);
    std::string separator = ": ";
    for (const auto& [why, count] : fixed_) {
      text += fmt::format("{}{} stay because {}", separator, count, why);
      separator = ", ";
    }
    if (movable_ == 0) return text;
    const std::string_view first = looked_at_ < movable_ ? "the first " : "";
    text += fmt::format("{}of {}{} that could move", separator, first, looked_at_);
    if (stuck_ > 0) text += fmt::format(" {} have no node to go to", stuck_);
    separator = fmt::format("{} of {} targets ", stuck_ > 0 ? ";" : "", targets_);
    for (size_t i = 0; i < kConstraints; ++i) {
      if (eliminated_[i] == 0) continue;
      text += fmt::format("{}{} rules out {}", separator, Name(static_cast<Constraint>(i)), eliminated_[i]);
      separator = ", ";
    }
    if (stuck_ < looked_at_) text += "; what is left evens out less than it costs";
    return text;
  }

 private:
  void Look(ReplicaId replica) {
    constexpr int64_t kPairsMax = 30'000;
    const NodeId node = arrangement_.NodeOf(replica);
    if (node == kNoId || !plan_.balance.MayMove(cluster_, arrangement_.ServiceOf(replica), cluster_.nodes[node].type)) return;
    const std::vector<std::string>& types = plan_.decision.node_types;
    if (!types.empty() && std::ranges::count(types, cluster_.node_types[cluster_.nodes[node].type]) == 0) return;
    ++candidates_;
    if (const std::string_view why = constraints_.WhyNotMovable(replica); !why.empty()) {
      ++fixed_[why];
      return;
    }
    ++movable_;
    if (targets_ > kPairsMax) return;
    ++looked_at_;
    // Per node type it stays among nodes of its type.
    const bool own_type = PerNodeType(arrangement_.settings());
    const NodeTypeId type = cluster_.nodes[node].type;
    bool stuck = true;
    for (const NodeId target : own_type ? arrangement_.sets().OfType(type) : arrangement_.sets().all()) {
      if (target == node) continue;
      ++targets_;
      const std::optional<Constraint> obstacle = constraints_.Obstacle(replica, target);
      if (obstacle) ++eliminated_[static_cast<size_t>(*obstacle)];
      stuck = stuck && obstacle.has_value();
    }
    if (stuck) ++stuck_;
  }

  const Arrangement& arrangement_;
  const Cluster& cluster_;
  const GroupPlan& plan_;
  const Constraints constraints_;
  int64_t candidates_ = 0, movable_ = 0, looked_at_ = 0, stuck_ = 0;
  int64_t targets_ = 0;  // of those that were looked at
  std::map<std::string_view, int64_t> fixed_;
  std::array<int64_t, kConstraints> eliminated_{};
};

}  // namespace

std::string WhyNothingMoves(const Arrangement& arrangement, const ServiceGroup& group, const GroupPlan& plan) {
  Obstacles obstacles(arrangement, plan);
  obstacles.Look(group);
  return "loads are imbalanced, but no movement that is allowed pays for itself: " + obstacles.Sentence();
}

SkippedItem SkippedFamily(const Cluster& cluster, const WaitingFamily& family) {
  std::string why =
      fmt::format("it goes to another node together with {} other partitions or not at all", family.partitions - 1);
  if (family.busy == kNoId) {
    why += ", and no node can take all of them";
  } else {
    why += fmt::format(", and replicas of {} change already", cluster.partitions[family.busy].name);
  }
  return {std::move(why), "the replacement of partition " + cluster.partitions[family.replaced].name};
}

std::vector<SkippedItem> SkippedPhases(const Settings& settings, const GroupPlan& plan) {
  std::vector<SkippedItem> items;
  for (const PhaseSkip& skip : plan.decision.skipped) items.push_back({skip.text, std::string(Name(skip.stage))});
  for (const std::string& type : plan.decision.paused_node_types) {
    items.push_back({fmt::format("imbalanced, but balanced less than {} ago (MinLoadBalancingIntervalPerNodeType)",
                                 SecondsText(MinLoadBalancingInterval(settings, type))),
                     "node type " + type});
  }
  return items;
}

}  // namespace evenkeel::balancing
