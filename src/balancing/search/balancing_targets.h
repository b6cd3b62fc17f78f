// Which nodes a balancing step may look at as targets: all of a few, of many a sample of those that lack load (or, of metrics
// that are packed, have most). Nodes that a service cannot use are never among them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "balancing/search/balancing_state.h"
#include "balancing/search/deviation_slopes.h"
#include "base/random.h"

namespace evenkeel::balancing {

class BalancingTargets {
 public:
  /// All outlive this.
  BalancingTargets(const BalancingState& state, const DeviationSlopes& slopes, base::Random& random);

  /// From now on other samples are answered.
  void NewSample() { ++sample_; }
  /// A step was made: lists of the nodes that lack most become old.
  void NoteStep() { ++steps_; }
  /// For replicas of the service on `from`; it may be among them. Valid until the next call for the same nodes.
  std::span<const NodeId> For(ServiceId service, NodeId from);
  /// Whether they are but a sample.
  bool IsSampled(ServiceId service, NodeId from);

 private:
  struct Pool {
    std::vector<NodeId> nodes;
    std::vector<std::vector<NodeId>> lists;  // per key, best first
    std::vector<NodeId> sample;
    int64_t made_at = -1, sampled_at = -1;
  };
  bool LooksAtAll(const Pool& pool) const;
  Pool& PoolOf(ServiceId service, NodeId from);
  void MakeLists(Pool& pool);
  void MakeList(const Pool& pool, std::vector<NodeId>& list, const std::vector<double>& keys);

  const BalancingState& state_;
  const DeviationSlopes& slopes_;
  base::Random& random_;
  std::vector<Pool> pools_;
  std::map<std::pair<const NodeSet*, NodeTypeId>, size_t> pool_of_set_;  // only looked up, its order decides nothing
  std::vector<uint32_t> pool_of_service_;                                // by service, then node type when it matters
  size_t types_;
  int64_t sample_ = 0, steps_ = 0;
};

}  // namespace evenkeel::balancing
