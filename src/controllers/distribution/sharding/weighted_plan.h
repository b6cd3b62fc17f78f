// Evenkeel's own distribution: who looks after which cluster when load is measured. Pure. Sticky: what is well placed stays;
// what must move (its owner is gone, leaves, or it is pinned elsewhere) moves at once, the rest only while it gains enough, and
// never more than the change that caused it accounts for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evenkeel::controllers::distribution {

/// A live replica. Shard numbers are stable names: they need not be dense, and survivors keep theirs. Below 0 is nobody.
struct WeightedShard {
  int64_t shard = 0;
  bool leaving = false;  ///< hands its clusters over and gets none
};

struct WeightedCluster {
  std::string server;  ///< identity, one cluster each; breaks ties
  /// Measured (see MeasuredWeight). Below 1 it counts as 1, so that clusters without load are spread by their number; beyond
  /// 10^12 as that, so that no sum overflows.
  int64_t weight = 1;
  std::optional<int64_t> pinned{};  ///< honoured while that shard is live and not leaving
  int64_t shard = -1;               ///< now; -1 or no live shard: placed anew
  int64_t standby = -1;             ///< now: preferred when the shard is gone, since it watches the member already
};

struct WeightedOptions {
  /// The load of a shard may be this many times the mean load. Below 1 it counts as 1.
  double bound = 1.25;
  /// A cluster moves for balance only where it is better off: the load of the new shard with it must be less than the load of
  /// the old one was, by at least this share of the mean. So it moves back only after the loads have changed by as much. A
  /// swap, which moves two, must also lower the greater load by this share or bring it within the bound.
  double gain_min = 0.05;
  /// Moves for balance in this plan; what exceeds it waits (WeightedPlan::waiting). A swap is two. Necessary ones do not count.
  int64_t moves_max = INT64_MAX;
};

struct WeightedMove {
  enum class Reason {
    kNew,        ///< had no owner before: not a move of anything
    kOwnerGone,  ///< its shard is not live any more
    kLeaving,    ///< its shard leaves
    kPinned,     ///< pinned to the new shard
    kBalance,
  };
  size_t cluster = 0;  ///< index into the input
  int64_t from = -1, to = -1;
  Reason reason = Reason::kNew;
  int64_t load_from = 0, load_to = 0;  ///< kBalance: loads of both shards before the move
};

struct WeightedPlan {
  std::vector<int64_t> shard;    ///< per cluster; -1 only when there is no shard that does not leave
  std::vector<int64_t> standby;  ///< per cluster: who takes over when the owner is silent; -1 with fewer than two such shards
  /// One for each cluster whose shard changes, kNew too; none for a cluster that has no shard to go to. First the necessary
  /// ones, heaviest first, then those for balance in the order decided (a swap: two in a row).
  std::vector<WeightedMove> moves;
  std::vector<size_t> hot;     ///< clusters that alone exceed the bound, heaviest first
  std::vector<int64_t> loads;  ///< per input shard
  int64_t waiting = 0;   ///< moves for balance that would gain enough but exceed a limit: more than 0 asks for another plan
  double mean = 0;       ///< over the shards that do not leave
  double imbalance = 1;  ///< greatest load / mean; 1 without load
};

/// The plan. Input order does not matter beyond the indices: clusters are looked at heaviest first, ties by server; shards by
/// load, ties by number. Same input, same plan.
///
/// Necessary moves: a cluster goes to its pin; else to its standby if the load there stays within the bound; else to the least
/// loaded shard. A cluster that has to move anyway may be given to yet another shard for balance: that costs nothing.
///
/// Moves for balance are made while
///  - a load exceeds the bound and a move to the least loaded shard, or else a swap, gains enough; or
///  - a shard that had no cluster is below its fair level: the mean without what hot and pinned clusters force upon others; or
///  - nothing was necessary, no load was to be lowered, and a shard is below (2 - bound) x that level. It is filled up to
///    there: it is new and an earlier plan had to stop, or it has lost much.
/// No cluster moves twice for balance in one plan, and a swap needs two of moves_max.
///
/// Limits. One plan moves for balance no more weight than the change accounts for (weights of new clusters, the level for each
/// shard that had no cluster, in the third case what is missing) plus that of the heaviest cluster; a swap counts by its
/// heavier cluster. Clusters that lost their owner account for nothing beyond themselves. What is left is for the next plan, so
/// repeated plans reach the bound, unless single clusters are too heavy for it (`hot`, or no single move or swap gains enough)
/// or are pinned.
///
/// Standbys are spread so that the loads stay even when an owner is lost; the present one is kept while the loads would then be
/// within the bound (or no other is better).
/// @cost  O(C log C + R^2 + moves x R log C) at worst; weighted_plan_bench.cc: 10,000 clusters over 100 shards.
WeightedPlan PlanWeighted(std::span<const WeightedShard> shards, std::span<const WeightedCluster> clusters,
                          const WeightedOptions& options);

/// What the owner of a cluster has measured.
struct MeasuredLoad {
  int64_t nodes = 0;
  int64_t pods = 0;
  int64_t busy_permille = 0;  ///< of one core, spent on this member's strand
  bool reachable = true;
};

/// One number from it: a pod counts 1, a node 10, a permille of a core 2, the cluster itself 20. An unreachable cluster costs
/// little whatever it held before: 20. Rounded to two significant digits, so that small changes change nothing. Numbers below 0
/// count as 0.
int64_t MeasuredWeight(const MeasuredLoad& load);
/// Whether a measurement is more than half as much again, or less by as much: anything else is noise.
bool WeightDiffers(int64_t before, int64_t measured);

}  // namespace evenkeel::controllers::distribution
