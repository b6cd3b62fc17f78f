// How much of a quorum system may be taken down at once: the arithmetic, without clusters or pods.
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::controllers::rollout {

constexpr int64_t Majority(int64_t members) { return members / 2 + 1; }

/// Whether any majority of one list of members shares a member with any majority of another; `together`: members of either.
/// Only then may some run with the old list while others run with the new one.
constexpr bool MajoritiesIntersect(int64_t before, int64_t after, int64_t together) {
  return Majority(before) + Majority(after) > together;
}

struct Budget {
  int64_t members = 0;
  int64_t ready = 0;         ///< and in sync
  int64_t takes_down = 1;    ///< how many of the ready ones the step stops at a time
  int64_t down_outside = 0;  ///< members that are not ready, outside of the cluster whose turn it is
  /// Go on although others are down, as long as a majority stays. Where there are fewer than three members, no step keeps a
  /// majority: then it means that the pause is accepted.
  bool allow_degraded = false;
};

/// "": the step may begin. Otherwise why not, with the figures.
std::string CheckBudget(const Budget& budget);

}  // namespace evenkeel::controllers::rollout
