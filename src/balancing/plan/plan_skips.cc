#include "balancing/plan/plan_skips.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <map>

#include "balancing/model/amount_text.h"

namespace evenkeel::balancing {
namespace {

std::string NodeNames(const Cluster& cluster, const std::vector<NodeId>& nodes) {
  constexpr size_t kNamed = 3;
  std::string names;
  for (size_t i = 0; i < nodes.size() && i < kNamed; ++i) names += (i == 0 ? "" : ", ") + cluster.nodes[nodes[i]].name;
  return nodes.size() > kNamed ? names + ", ..." : names;
}

/// What keeps the replicas of a group in place.
class Obstacles {
 public:
  Obstacles(const Arrangement& arrangement, const GroupPlan& plan)
      : arrangement_(arrangement), cluster_(arrangement.cluster()), plan_(plan), constraints_(arrangement, {}) {}

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
    if (looked_at_ == 0) return text;
    text += fmt::format("{}of {} that could move", separator, looked_at_);
    if (stuck_ > 0) text += fmt::format(" {} have no node to go to", stuck_);
    separator = stuck_ > 0 ? "; of all targets " : " of all targets ";
    for (size_t i = 0; i < kConstraints; ++i) {
      if (eliminated_[i] == 0 || static_cast<Constraint>(i) == Constraint::kReplicaExclusion) continue;
      text += fmt::format("{}{} rules out {}", separator, Name(static_cast<Constraint>(i)), eliminated_[i]);
      separator = ", ";
    }
    if (stuck_ < looked_at_) text += "; what is left evens out less than it costs";
    return text;
  }

 private:
  void Look(ReplicaId replica) {
    constexpr size_t kPairsMax = 30'000;
    const NodeId node = arrangement_.NodeOf(replica);
    if (node == kNoId || !plan_.balance.MayMove(cluster_, arrangement_.ServiceOf(replica), cluster_.nodes[node].type)) return;
    const std::vector<std::string>& types = plan_.decision.node_types;
    if (!types.empty() && std::ranges::count(types, cluster_.node_types[cluster_.nodes[node].type]) == 0) return;
    ++candidates_;
    if (const std::string_view why = constraints_.WhyNotMovable(replica); !why.empty()) {
      ++fixed_[why];
      return;
    }
    if (static_cast<size_t>(looked_at_) * cluster_.nodes.size() > kPairsMax) return;
    ++looked_at_;
    const Elimination elimination = constraints_.Eliminate(replica, arrangement_.RoleOf(replica));
    const bool own_counts = !constraints_.Obstacle(replica, node);
    if (elimination.remaining == (own_counts ? 1 : 0)) ++stuck_;
    for (const Elimination::Step& step : elimination.steps) {
      eliminated_[static_cast<size_t>(step.constraint)] += step.eliminated;
    }
  }

  const Arrangement& arrangement_;
  const Cluster& cluster_;
  const GroupPlan& plan_;
  const Constraints constraints_;
  int64_t candidates_ = 0, looked_at_ = 0, stuck_ = 0;
  std::map<std::string_view, int64_t> fixed_;
  std::array<int64_t, kConstraints> eliminated_{};
};

}  // namespace

std::string Text(const Cluster& cluster, const Elimination& elimination) {
  std::string text = fmt::format("of {} nodes", elimination.nodes);
  std::string_view separator = " ";
  for (const Elimination::Step& step : elimination.steps) {
    text += fmt::format("{}{} rules out {} ({}{}{})", separator, Name(step.constraint), step.eliminated,
                        NodeNames(cluster, step.nodes), step.detail.empty() ? "" : ": ", step.detail);
    separator = ", ";
  }
  return text + fmt::format("; {} remain", elimination.remaining);
}

std::string WhyNothingMoves(const Arrangement& arrangement, const ServiceGroup& group, const GroupPlan& plan) {
  Obstacles obstacles(arrangement, plan);
  obstacles.Look(group);
  return "loads are imbalanced, but no movement that is allowed pays for itself: " + obstacles.Sentence();
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
