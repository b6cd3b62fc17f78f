#include "controllers/rollout/zookeeper/plan/safety.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/budget.h"
#include "controllers/rollout/reasons.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

int64_t Size(const Ids& ids) { return static_cast<int64_t>(ids.size()); }

}  // namespace

Ids Passage::All(const Revision& list) const {
  Ids all;
  for (const auto& [cluster, share] : list.shares) all.merge(IdsOf(spec.naming, state.identities, cluster, share));
  return all;
}

Ids Passage::Ready(const Revision& list) const {
  Ids ready;
  for (const auto& [cluster, share] : list.shares) {
    ready.merge(ReadyIds(fleet.Of(cluster), IdsOf(spec.naming, state.identities, cluster, share)));
  }
  return ready;
}

bool Passage::Bootstrapping() const {
  if (base != nullptr || revision == nullptr) return false;
  int64_t started = 0;
  for (const auto* set : {&record.completed, &record.deploying}) {
    for (const std::string& cluster : *set) started += ShareOf(revision->shares, cluster);
  }
  return started < Needed(*revision);
}

int64_t Passage::Needed(const Revision& list) const {
  const int64_t total = Total(list.shares);
  return base == nullptr && IsRecovery(list) && record.status != RecordStatus::kReady ? total : Majority(total);
}

std::string Passage::WhyUnhealthy() const {
  if (revision == nullptr) return "";
  const int64_t needed = Needed(*revision);
  const Ids ready = Ready(*revision);
  if (Size(ready) < needed) {
    return fmt::format("{} of {} servers are ready, but {} is {}", ready.size(), Total(revision->shares),
                       needed == Majority(Total(revision->shares)) ? "a majority" : "what it takes", needed);
  }
  // Members that only report a number of pods are taken at their word.
  const bool modes_known = std::ranges::any_of(
      fleet.members, [](const auto& item) { return item.second.reachable && !item.second.servers.empty(); });
  if (modes_known && !FindLeader(fleet)) return "not exactly one server leads";
  return "";
}

bool Passage::FollowsOutOfReach() const {
  if (revision == nullptr || Size(Ready(*revision)) < Needed(*revision)) return false;
  bool led = false, out_of_reach = false;
  for (const auto& [cluster, share] : revision->shares) {
    const MemberReading& member = fleet.Of(cluster);
    out_of_reach = out_of_reach || !member.reachable;
    if (member.reachable && member.applied) {
      led = led || std::ranges::any_of(member.servers, [](const MemberReading::Server& one) { return one.mode == "leader"; });
    }
  }
  return out_of_reach && !led;
}

std::string Passage::WhyBehind() const {
  if (revision == nullptr) return "";
  for (const auto& [cluster, share] : revision->shares) {
    const MemberReading& member = fleet.Of(cluster);
    const auto given = state.rollout.clusters.find(cluster);
    if (given == state.rollout.clusters.end()) continue;
    if (!member.applied) {
      return fmt::format("{} does not have its copy{}{}", cluster, member.message.empty() ? "" : ": ", member.message);
    }
    const std::string mark = MarkOf(given->second);
    if (member.observed_revision.value_or(mark) != mark) return fmt::format("{} is not at revision {} yet", cluster, mark);
  }
  return "";
}

std::string Passage::Causes() const {
  std::string causes;
  if (revision == nullptr) return causes;
  for (const auto& [cluster, share] : revision->shares) {
    const MemberReading& member = fleet.Of(cluster);
    const Ids ids = IdsOf(spec.naming, state.identities, cluster, share);
    if (ReadyIds(member, ids) == ids) continue;
    const std::string_view problem = !member.reachable ? "it cannot be reached"
                                     : !member.applied ? "it does not have its copy"
                                                       : std::string_view(member.problem);
    causes += fmt::format("; {}: {} of {} servers are ready", cluster, member.reachable ? member.ready : 0, share);
    if (!problem.empty()) causes += fmt::format(", {}", problem);
  }
  return causes;
}

std::optional<int64_t> Passage::FindLetGo(const std::string& cluster) const {
  const MemberReading& member = fleet.Of(cluster);
  const auto given = state.rollout.clusters.find(cluster);
  if (given == state.rollout.clusters.end() || given->second.held || !member.reachable || !FindLeader(fleet)) {
    return std::nullopt;
  }
  // As long as it is on its way to what it was given last, its own operator sees to that.
  const Revision* has = state.Find(given->second.revision);
  if (has == nullptr || member.observed_revision != MarkOf(given->second)) return std::nullopt;
  // Also one that is on its way out: until its cluster's turn comes, the budget counts on it.
  const Ids wanted = IdsOf(spec.naming, state.identities, cluster, ShareOf(has->shares, cluster));
  const auto found = std::ranges::find_if(member.servers, [&](const MemberReading::Server& server) {
    return wanted.contains(server.id) && !server.mode.empty() && !server.synced;
  });
  return found == member.servers.end() ? std::nullopt : std::optional(found->id);
}

std::string Passage::WhyNotReady(const std::string& cluster) const {
  const MemberReading& member = fleet.Of(cluster);
  const auto given = state.rollout.clusters.find(cluster);
  if (given == state.rollout.clusters.end()) return "it has no revision yet";
  const Revision* wanted = state.Find(given->second.revision);
  const int64_t share = wanted == nullptr ? 0 : ShareOf(wanted->shares, cluster);
  if (!member.applied) return "not applied" + (member.message.empty() ? "" : ": " + member.message);
  // A status may be from before the change. The mark in it tells; without one, only a cluster that had no pods before cannot
  // deceive.
  const bool first = given->second.turn == 1 && given->second.previous.empty();
  const std::string mark = MarkOf(given->second);
  if (member.observed_revision ? *member.observed_revision != mark : !first || share == 0) {
    return fmt::format("revision {} not observed yet{}", mark, member.problem.empty() ? "" : ", " + member.problem);
  }
  const std::string because = member.problem.empty() ? "" : ", " + member.problem;
  if (Bootstrapping()) {
    return member.Running() >= share ? "" : fmt::format("{} of {} servers run{}", member.Running(), share, because);
  }
  if (member.ready != share) return fmt::format("{} of {} servers are ready{}", member.ready, share, because);
  if (member.health != "Healthy") return "its health is " + (member.health.empty() ? "unknown" : member.health) + because;
  if (member.says_replicas && member.replicas != share) {
    return fmt::format("it has {} servers, but is to have {}", member.replicas, share);
  }
  const Ids ids = IdsOf(spec.naming, state.identities, cluster, share);
  if (ReadyIds(member, ids) != ids) return "not all of its servers are in sync";
  return WhyUnhealthy();
}

/// Whether the servers of one list keep their majority while the cluster changes.
std::string Passage::GateOf(const std::string& cluster, const Revision& list) const {
  const Ids own = IdsOf(spec.naming, state.identities, cluster, ShareOf(list.shares, cluster));
  const Ids own_ready = ReadyIds(fleet.Of(cluster), own);
  const Ids all = All(list), ready = Ready(list);
  const auto change = base == nullptr ? std::nullopt : ChangeOf(base->shares, revision->shares);
  const bool comes_here = change && change->by > 0 && change->cluster == cluster && &list == revision;
  Budget budget{.members = Size(all), .ready = Size(ready), .allow_degraded = spec.allow_degraded};
  // A member replaces its servers one by one, those that are down first, each time after the others are in sync. So a server
  // that comes is there before the first one stops, and where one is down already, none is stopped that would be missed.
  const int64_t down_here = Size(own) - Size(own_ready);
  const bool goes_here = change && change->by < 0 && change->cluster == cluster && &list == base;
  if (comes_here && down_here > 0) {
    budget.ready += 1;
    budget.takes_down = own_ready.empty() ? 0 : 1;
  } else if (goes_here) {
    budget.takes_down = std::min<int64_t>(Size(own_ready), down_here > 0 ? 1 : 2);
  } else {
    budget.takes_down = down_here == 0 && !own.empty() && !OnlyLearns(cluster) ? 1 : 0;
  }
  budget.down_outside = Size(all) - Size(ready) - down_here;
  return CheckBudget(budget);
}

/// The cluster gets another list and nothing else, so no server there is started anew: all of them are as its present spec
/// makes them, by its operator's own word.
bool Passage::OnlyLearns(const std::string& cluster) const {
  const auto given = state.rollout.clusters.find(cluster);
  const MemberReading& member = fleet.Of(cluster);
  if (base == nullptr || given == state.rollout.clusters.end() || given->second.revision != base->name) return false;
  const int64_t share = ShareOf(base->shares, cluster);
  if (share != ShareOf(revision->shares, cluster) || !evenkeel::base::Equal(base->body, revision->body)) return false;
  return member.observed_revision == MarkOf(given->second) && member.updated == share && member.ready == share;
}

/// Whether servers of other clusters count by this list. One whose revision is not known has what was there before.
bool Passage::InForceElsewhere(const std::string& cluster, const Revision& list) const {
  return std::ranges::any_of(list.shares, [&](const auto& item) {
    if (item.first == cluster) return false;
    const auto given = state.rollout.clusters.find(item.first);
    const Revision* has = given == state.rollout.clusters.end() ? base : state.Find(given->second.revision);
    return has != nullptr && has->shares == list.shares;
  });
}

/// The server that is to go may be down: that may be why it goes.
bool Passage::OnlyTheLeaverIsMissed(const VoterChange& change) const {
  if (change.by > 0) return false;
  const Ids own = IdsOf(spec.naming, state.identities, change.cluster, ShareOf(base->shares, change.cluster));
  const int64_t down_there = Size(own) - Size(ReadyIds(fleet.Of(change.cluster), own));
  const int64_t ready = Size(Ready(*base));
  return down_there == 1 && Size(All(*base)) - ready == 1 && ready - 1 >= Majority(Total(base->shares));
}

/// In a first deployment there is nothing to lose before the servers can have elected a leader. A cluster that has not been
/// started brings what may be missed, and looks only at those that have this revision.
std::string Passage::FirstGate(const std::string& cluster) const {
  const bool starts = !state.rollout.clusters.contains(cluster);
  Revision started{"", {}, {}, {}};
  int64_t completed = 0;
  for (const auto& [other, given] : state.rollout.clusters) {
    if (!revision->shares.contains(other)) continue;
    const bool has_it = Contains(record.completed, other);
    if (has_it || !starts) started.shares[other] = revision->shares.at(other);
    if (has_it) completed += started.shares[other];
  }
  const int64_t majority = Majority(Total(revision->shares));
  if (Total(started.shares) < majority || (completed < majority && !FindLeader(fleet))) return "";
  const Ids own = IdsOf(spec.naming, state.identities, cluster, ShareOf(started.shares, cluster));
  const Ids own_ready = ReadyIds(fleet.Of(cluster), own);
  const int64_t ready = Size(Ready(started));
  return CheckBudget({.members = Total(revision->shares),
                      .ready = ready,
                      .takes_down = !own.empty() && own_ready == own ? 1 : 0,
                      .down_outside = Total(started.shares) - ready - (Size(own) - Size(own_ready)),
                      .allow_degraded = spec.allow_degraded});
}

std::string Passage::Gate(const std::string& cluster) const {
  const auto given = state.rollout.clusters.find(cluster);
  if (given != state.rollout.clusters.end() && given->second.revision == record.revision && !given->second.held) return "";
  // Survivors do not serve until the last of them has the new list.
  if (base == nullptr && IsRecovery(*revision)) return "";
  if (base == nullptr) return FirstGate(cluster);
  const bool base_counts = InForceElsewhere(cluster, *base);
  if (base_counts) {
    const auto change = ChangeOf(base->shares, revision->shares);
    std::string wrong = GateOf(cluster, *base);
    if (!wrong.empty() && !(change && OnlyTheLeaverIsMissed(*change))) return wrong;
  }
  if (!base_counts || InForceElsewhere(cluster, *revision)) return GateOf(cluster, *revision);
  return "";
}

/// Its servers are down, which may be what a change of the template is to mend. An order that people gave, canaries first, is
/// theirs to change.
bool Passage::CanMend(const std::string& cluster) const {
  const Ids own = IdsOf(spec.naming, state.identities, cluster, ShareOf(revision->shares, cluster));
  return spec.order.empty() && ReadyIds(fleet.Of(cluster), own) != own;
}

/// Servers that are replaced stop before they run again, so what counts before what runs is how many have been. A status from
/// before the change may say that all have: it is of an older generation.
std::vector<int64_t> Passage::AdvanceOf(const std::string& cluster, const MemberReading& member) const {
  const auto given = state.rollout.clusters.find(cluster);
  const bool observed = given != state.rollout.clusters.end() && member.observed_revision == MarkOf(given->second);
  return {observed ? 1 : 0, member.generation, member.updated, member.ready, member.Running()};
}

ClusterFacts Passage::FactsOf(const std::string& cluster) const {
  const MemberReading& member = fleet.Of(cluster);
  ClusterFacts facts;
  facts.reachable = member.reachable;
  facts.waits_for = WhyNotReady(cluster);
  facts.ready = member.reachable && facts.waits_for.empty();
  facts.progress = fmt::format("{} running, {} ready, revision {}", member.Running(), member.ready,
                               member.observed_revision.value_or("not observed"));
  facts.advance = AdvanceOf(cluster, member);
  if (revision != nullptr) facts.gate = Gate(cluster);
  if (!facts.gate.empty()) facts.gate_reason = reasons::kQuorumBudgetExhausted;
  // A list of servers is never gone back to by itself: somebody may have counted by it.
  const auto given = state.rollout.clusters.find(cluster);
  const Revision* previous = given == state.rollout.clusters.end() ? nullptr : state.Find(given->second.previous);
  // Where voters come and go, and among survivors, the order is part of what keeps the majority.
  facts.can_wait = revision != nullptr && (base == nullptr ? !IsRecovery(*revision) : base->shares == revision->shares);
  facts.can_mend = facts.can_wait && CanMend(cluster);
  if (given != state.rollout.clusters.end() && revision != nullptr) {
    const bool formed = base != nullptr || state.Started(revision->shares) >= Majority(Total(revision->shares));
    const bool stopped = given->second.held && member.observed_revision == MarkOf(given->second);
    facts.in_flight = formed && !given->second.confirmed && !stopped;
  }
  facts.can_roll_back = revision != nullptr && previous != nullptr && previous->servers == revision->servers;
  return facts;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
