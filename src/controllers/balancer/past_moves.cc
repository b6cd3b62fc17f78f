#include "controllers/balancer/past_moves.h"

#include <algorithm>

namespace evenkeel::controllers::balancer {
namespace {

constexpr int64_t kShareThatMatters = 10;  // one part in so many

bool Recent(const PastMove& move, base::Time now) { return now - move.at < kNoWayBack; }

}  // namespace

bool SameLoads(const std::map<std::string, int64_t>& a, const std::map<std::string, int64_t>& b) {
  const auto covers = [](const auto& all, const auto& others) {
    return std::ranges::all_of(all, [&](const auto& entry) {
      const auto found = others.find(entry.first);
      const int64_t other = found == others.end() ? 0 : found->second;
      const auto [less, more] = std::minmax(entry.second, other);
      return more - less <= more / kShareThatMatters;
    });
  };
  return covers(a, b) && covers(b, a);
}

PastMoves::PastMoves(std::span<const PlanObject> plans) {
  std::map<std::string, std::string> successor_of;
  for (const PlanObject& plan : plans) {
    for (size_t i = 0; i < plan.moves.size(); ++i) {
      const PlannedMove& move = plan.moves[i];
      const MoveStatus& status = plan.status[i];
      if (!status.evicted_at) continue;
      if (!status.replacement_uid.empty()) successor_of[move.pod_uid] = status.replacement_uid;
      moves_.push_back({.at = *status.evicted_at,
                        .service = move.service,
                        .from = move.from,
                        .to = move.to,
                        .loads = move.loads,
                        .successor_uid = status.replacement_uid,
                        .balancing = plan.phase != "ConstraintCheck"});
    }
  }
  for (PastMove& move : moves_) {
    // A line is as long as there are moves, so it ends also where objects were made up in a circle.
    for (size_t steps = 0; steps < moves_.size(); ++steps) {
      const auto next = successor_of.find(move.successor_uid);
      if (next == successor_of.end()) break;
      move.successor_uid = next->second;
    }
  }
  std::ranges::stable_sort(moves_, {}, &PastMove::at);
}

std::string PastMoves::WhyNot(const std::string& pod_uid, const std::string& service, const std::string& to,
                              const std::map<std::string, int64_t>& loads, base::Time now) const {
  for (const PastMove& move : moves_) {
    if (!Recent(move, now) || !SameLoads(move.loads, loads)) continue;
    if (move.successor_uid == pod_uid) return "it was moved from " + move.from + " a short time ago, and its load is the same";
    if (move.service == service && move.from == to) {
      return "a pod like it was moved off " + to + " a short time ago";
    }
  }
  return "";
}

bool PastMoves::JustMoved(const std::string& pod_uid, const std::map<std::string, int64_t>& loads, base::Time now) const {
  return std::ranges::any_of(moves_, [&](const PastMove& move) {
    return Recent(move, now) && move.successor_uid == pod_uid && SameLoads(move.loads, loads);
  });
}

}  // namespace evenkeel::controllers::balancer
