#include "controllers/balancer/mending.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/deviation.h"
#include "balancing/plan/plan_apply.h"
#include "balancing/rules/constraints.h"
#include "controllers/balancer/execution.h"

namespace evenkeel::controllers::balancer {
namespace {

using balancing::Action;
using balancing::ActionKind;
using balancing::Arrangement;
using balancing::Cluster;
using balancing::Constraint;
using balancing::Constraints;
using balancing::GroupScore;
using balancing::kNoId;
using balancing::kPartitionInTransition;
using balancing::LoadChange;
using balancing::NodeId;
using balancing::NodeSets;
using balancing::Partition;
using balancing::PartitionId;
using balancing::Purpose;
using balancing::ReplicaId;
using balancing::Role;
using balancing::ServiceGroups;
using balancing::ServiceId;
using balancing::ServiceMetric;
using scheduling::ClassId;
using scheduling::Filter;
using scheduling::Fit;

/// Of one plan; what is left is looked at again when it is done.
constexpr int64_t kMovesMax = 1000;

/// Whose rule it is that is broken.
enum class Whose : uint8_t { kOwn, kOthers };

struct Candidate {
  ReplicaId replica = kNoId;
  scheduling::PodId pod = scheduling::kNone;
  ClassId pod_class = scheduling::kNone;
  const SeenPod* seen = nullptr;
  bool moved = false;
};

/// The arrangement and scores, which are only made when a rule is broken.
struct Measures {
  Measures(const MemberCluster& member, const ServiceGroups& all)
      : sets(member.cluster),
        arrangement(member.cluster, member.settings, sets),
        // Filters know better where a pod may be by its own wishes.
        constraints(arrangement, {.purpose = Purpose::kConstraintCheck,
                                  .ignored = uint16_t{1} << static_cast<unsigned>(Constraint::kPlacementConstraint)}),
        groups(all) {}

  GroupScore& ScoreOf(uint32_t group) {
    std::unique_ptr<GroupScore>& score = scores[group];
    if (score == nullptr) {
      score = std::make_unique<GroupScore>(arrangement.cluster(), arrangement.settings(), sets, arrangement.loads(),
                                           groups.groups[group]);
    }
    return *score;
  }

  const NodeSets sets;
  Arrangement arrangement;
  const Constraints constraints;
  const ServiceGroups& groups;
  std::map<uint32_t, std::unique_ptr<GroupScore>> scores;
};

class Mender {
 public:
  Mender(const MemberInput& input, const MemberCluster& member, const MendOptions& options)
      : input_(input),
        member_(member),
        cluster_(member.cluster),
        options_(options),
        snapshot_(input.objects.snapshot()),
        groups_(GroupServices(member.cluster)) {}

  Mending Run() {
    const scheduling::WhatIf told(snapshot_, scheduling::Layers::kTold);
    moves_left_ = std::min(kMovesMax, MovementsLeft(input_.policy, input_.past, input_.now));
    for (const balancing::Node& node : cluster_.nodes) nodes_.push_back(snapshot_.FindNodeByName(node.name));
    Collect();
    for (const Whose whose : {Whose::kOwn, Whose::kOthers}) {
      for (Candidate& candidate : candidates_) {
        if (!candidate.moved) Mend(candidate, whose);
      }
    }
    for (const Candidate& candidate : candidates_) {
      if (!candidate.moved) NoteLeft(candidate);
    }
    Measure();
    return std::move(mending_);
  }

 private:
  PartitionId PartitionOf(const Candidate& candidate) const { return cluster_.replicas[candidate.replica].partition; }
  ServiceId ServiceOf(const Candidate& candidate) const { return cluster_.partitions[PartitionOf(candidate)].service; }
  uint32_t GroupOf(const Candidate& candidate) const { return groups_.group_of_service[ServiceOf(candidate)]; }
  GroupMending& MendingOf(const Candidate& candidate) { return mending_[GroupOf(candidate)]; }
  Measures& measures() {
    if (!measures_) measures_.emplace(member_, groups_);
    return *measures_;
  }

  void Collect() {
    for (ReplicaId replica = 0; replica < cluster_.replicas.size(); ++replica) {
      const Partition& partition = cluster_.partitions[cluster_.replicas[replica].partition];
      if (partition.Has(kPartitionInTransition)) continue;
      Candidate candidate{.replica = replica, .pod = snapshot_.FindPod(partition.name)};
      candidate.seen = input_.objects.FindPod(partition.name);
      if (candidate.pod == scheduling::kNone || candidate.seen == nullptr) continue;
      candidate.pod_class = snapshot_.ClassOf(candidate.pod);
      if (snapshot_.NodeOf(candidate.pod) != nodes_[cluster_.replicas[replica].node]) continue;
      if (!snapshot_.Present(snapshot_.NodeOf(candidate.pod)) || !MayBreak(candidate)) continue;
      candidates_.push_back(candidate);
    }
    std::ranges::stable_sort(candidates_, {}, [&](const Candidate& c) { return cluster_.replicas[c.replica].move_cost; });
  }

  /// What depends on other pods has to be asked without the pod; the rest is the same for a class on a node.
  bool MayBreak(const Candidate& candidate) {
    const bool others = input_.policy.rules.pod_affinity || input_.policy.rules.topology_spread;
    if (others && !snapshot_.Unconcerned(candidate.pod_class)) return true;
    const scheduling::NodeId node = snapshot_.NodeOf(candidate.pod);
    const auto [known, is_new] = lasting_.try_emplace({candidate.pod_class, node}, false);
    if (is_new) {
      for (const Filter filter : {Filter::kNodeAffinity, Filter::kTaintToleration}) {
        known->second |= Looks(filter) && !snapshot_.CheckRule(candidate.pod_class, node, filter).fits();
      }
    }
    return known->second;
  }

  bool Looks(Filter filter) const {
    const KeptRules& rules = input_.policy.rules;
    switch (filter) {
      case Filter::kNodeAffinity:
        return rules.node_affinity;
      case Filter::kTaintToleration:
        return rules.node_taints;
      case Filter::kInterPodAffinity:
        return rules.pod_affinity;
      case Filter::kPodTopologySpread:
        return rules.topology_spread && !options_.nodes_change;
      default:
        return false;
    }
  }

  /// Of a pod that is off its node; "": nothing is.
  std::string WhatIsBroken(const Candidate& candidate, scheduling::NodeId node, std::optional<Whose> whose) {
    for (const Filter filter :
         {Filter::kNodeAffinity, Filter::kTaintToleration, Filter::kInterPodAffinity, Filter::kPodTopologySpread}) {
      if (!Looks(filter)) continue;
      const Fit fit = snapshot_.CheckRule(candidate.pod_class, node, filter);
      if (fit.fits() || (whose && (*whose == Whose::kOwn) == fit.field.empty())) continue;
      const std::string& name = snapshot_.NodeName(node);
      if (fit.field.empty()) return fmt::format("it should not be on {}: {}", name, fit.reasons.front().detail);
      return fmt::format("{} is not kept on {}: {}", fit.field, name, fit.reasons.front().detail);
    }
    return "";
  }

  void Mend(Candidate& candidate, Whose whose) {
    const scheduling::NodeId from = snapshot_.NodeOf(candidate.pod);
    if (moves_left_ <= 0 || options_.failed.contains(candidate.seen->uid)) return;
    snapshot_.Unplace(candidate.pod);
    const std::string broken = WhatIsBroken(candidate, from, whose);
    const NodeId to = broken.empty() ? kNoId : BestTarget(candidate);
    snapshot_.Place(candidate.pod, to == kNoId ? from : nodes_[to]);
    if (to == kNoId) return;
    candidate.moved = true;
    --moves_left_;
    nowhere_.clear();
    AddAction(candidate, to, broken);
  }

  /// Why the pod, which is off its node, cannot be moved to that one; "": it can.
  std::string WhyNotTo(const Candidate& candidate, NodeId node, const std::map<std::string, int64_t>& loads) {
    if (nodes_[node] == scheduling::kNone || !snapshot_.Present(nodes_[node])) return "it is gone";
    if (const auto obstacle = measures().constraints.Obstacle(candidate.replica, node)) {
      return std::string(balancing::Name(*obstacle));
    }
    if (!snapshot_.Fits(candidate.pod_class, nodes_[node])) {
      return std::string(scheduling::Name(snapshot_.Check(candidate.pod_class, nodes_[node]).filter));
    }
    const std::string& service = cluster_.services[ServiceOf(candidate)].name;
    const bool back = !input_.past.WhyNot(candidate.seen->uid, service, cluster_.nodes[node].name, loads, input_.now).empty();
    return back || left_.contains({service, node}) ? "a way back" : "";
  }

  /// kNoId: none may take it.
  NodeId BestTarget(const Candidate& candidate) {
    const NodeId from = cluster_.replicas[candidate.replica].node;
    if (nowhere_.contains({candidate.pod_class, from})) return kNoId;
    const std::map<std::string, int64_t> loads = LoadsOf(*candidate.seen, input_.policy, input_.usage);
    GroupScore& score = measures().ScoreOf(GroupOf(candidate));
    NodeId best = kNoId;
    double least = 0;
    for (NodeId node = 0; node < cluster_.nodes.size(); ++node) {
      if (node == from || !WhyNotTo(candidate, node, loads).empty()) continue;
      const auto changes = measures().arrangement.ChangesOfMove(candidate.replica, node);
      const double deviation = score.AverageDeviationAfter(ServiceOf(candidate), changes);
      if (best != kNoId && deviation >= least) continue;
      best = node;
      least = deviation;
    }
    if (best == kNoId) nowhere_.insert({candidate.pod_class, from});
    return best;
  }

  void AddAction(const Candidate& candidate, NodeId to, const std::string& why) {
    Arrangement& arrangement = measures().arrangement;
    const uint32_t group = GroupOf(candidate);
    GroupScore& score = measures().ScoreOf(group);
    const auto [entry, is_new] = mending_.try_emplace(group);
    if (is_new) entry->second.deviation_before = score.average_deviation();
    Action action;
    action.partition = PartitionOf(candidate);
    action.replica = candidate.replica;
    action.from = cluster_.replicas[candidate.replica].node;
    action.to = to;
    const Role role = cluster_.replicas[candidate.replica].role;
    action.kind = role == Role::kPrimary     ? ActionKind::kMovePrimary
                  : role == Role::kSecondary ? ActionKind::kMoveSecondary
                                             : ActionKind::kMoveInstance;
    action.reason = why;
    for (const ServiceMetric& metric : cluster_.services[ServiceOf(candidate)].metrics) {
      action.loads.push_back({.metric = metric.metric,
                              .source_before = arrangement.loads().Of(metric.metric, action.from),
                              .target_before = arrangement.loads().Of(metric.metric, to)});
    }
    arrangement.Move(candidate.replica, to);
    score.Update(ServiceOf(candidate));
    for (LoadChange& change : action.loads) {
      change.source_after = arrangement.loads().Of(change.metric, action.from);
      change.target_after = arrangement.loads().Of(change.metric, to);
    }
    left_.insert({cluster_.services[ServiceOf(candidate)].name, action.from});
    entry->second.actions.push_back(std::move(action));
  }

  /// What is still broken after all moves.
  void NoteLeft(const Candidate& candidate) {
    const scheduling::NodeId at = snapshot_.NodeOf(candidate.pod);
    snapshot_.Unplace(candidate.pod);
    std::string why = WhatIsBroken(candidate, at, std::nullopt);
    if (!why.empty()) why += "; " + WhyItStays(candidate);
    snapshot_.Place(candidate.pod, at);
    if (why.empty()) return;
    const auto [entry, is_new] = mending_.try_emplace(GroupOf(candidate));
    if (is_new) entry->second.deviation_before = measures().ScoreOf(GroupOf(candidate)).average_deviation();
    entry->second.left.push_back({candidate.seen->key, std::move(why)});
  }

  std::string WhyItStays(const Candidate& candidate) {
    if (const auto failed = options_.failed.find(candidate.seen->uid); failed != options_.failed.end()) {
      return "it stays a while, since its last move failed: " + failed->second;
    }
    if (moves_left_ <= 0) return "as many pods were moved lately as the policy allows";
    const std::map<std::string, int64_t> loads = LoadsOf(*candidate.seen, input_.policy, input_.usage);
    std::map<std::string, int64_t> refusals;
    for (NodeId node = 0; node < cluster_.nodes.size(); ++node) {
      if (node != cluster_.replicas[candidate.replica].node) ++refusals[WhyNotTo(candidate, node, loads)];
    }
    for (const auto& [node, why] : member_.left_out) ++refusals[why];
    std::vector<std::string> texts;
    for (const auto& [why, count] : refusals) {
      // Room that a move has left after this pod's turn is for the next plan.
      texts.push_back(why.empty() ? fmt::format("{} may take it later", count) : fmt::format("{} ({})", count, why));
    }
    if (texts.empty()) return "it stays, since there is no other node";
    const bool later = refusals.contains("");
    return fmt::format("it stays, since {}: {}", later ? "other pods go first" : "every other node is ruled out",
                       fmt::join(texts, ", "));
  }

  void Measure() {
    for (auto& [group, mended] : mending_) {
      const GroupScore& score = measures().ScoreOf(group);
      int64_t existing = 0;
      for (const ServiceId service : groups_.groups[group].services) {
        existing += static_cast<int64_t>(cluster_.services[service].partitions.size());
      }
      const auto energy = [&](double deviation, double cost) { return Energy(member_.settings, deviation, cost, existing); };
      const double cost = CostOf(cluster_, member_.settings, mended.actions);
      mended.deviation_after = score.average_deviation();
      mended.energy_before = energy(mended.deviation_before, 0);
      mended.energy_after = energy(mended.deviation_after, cost);
      for (Action& action : mended.actions) {
        const auto back = measures().arrangement.ChangesOfMove(action.replica, action.from);
        const double without = score.AverageDeviationAfter(cluster_.partitions[action.partition].service, back);
        const double own = CostOfMove(member_.settings, cluster_.replicas[action.replica].move_cost);
        action.energy_gain = energy(without, cost - own) - mended.energy_after;
      }
    }
  }

  const MemberInput& input_;
  const MemberCluster& member_;
  const Cluster& cluster_;
  const MendOptions& options_;
  scheduling::Snapshot& snapshot_;
  const ServiceGroups groups_;
  std::optional<Measures> measures_;
  std::vector<scheduling::NodeId> nodes_;  // the snapshot's, by ours
  std::vector<Candidate> candidates_;
  std::map<std::pair<ClassId, scheduling::NodeId>, bool> lasting_;
  std::set<std::pair<ClassId, NodeId>> nowhere_;   // classes on nodes for which no target was found since the last move
  std::set<std::pair<std::string, NodeId>> left_;  // services and nodes that a pod of theirs leaves in this plan
  int64_t moves_left_ = 0;
  Mending mending_;
};

}  // namespace

Mending MendRules(const MemberInput& input, const MemberCluster& member, const MendOptions& options) {
  const KeptRules& rules = input.policy.rules;
  if (!rules.node_affinity && !rules.pod_affinity && !rules.topology_spread && !rules.node_taints) return {};
  return Mender(input, member, options).Run();
}

}  // namespace evenkeel::controllers::balancer
