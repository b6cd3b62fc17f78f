// What earlier plans did, read off their objects, so that it does not matter who owned the member then: how often a pod and its
// predecessors have been moved, and which moves would be a way back.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "balancing/model/cluster.h"
#include "base/time.h"
#include "controllers/balancer/plan_object.h"

namespace evenkeel::controllers::balancer {

/// For so long no pod is moved back without a change in load.
inline constexpr base::Duration kNoWayBack = std::chrono::minutes(10);

/// Whether loads are the same for our purposes: none differs by more than a tenth.
bool SameLoads(const std::map<std::string, int64_t>& a, const std::map<std::string, int64_t>& b);

struct PastMove {
  base::Time at{};  ///< of the eviction
  std::string service, from, to;
  std::map<std::string, int64_t> loads;
  std::string successor_uid;  ///< of the pod that is the last of its line; "" while there is none
  bool balancing = false;     ///< else a constraint was mended
};

class PastMoves {
 public:
  PastMoves() = default;
  /// All moves whose pods were evicted. O(moves).
  explicit PastMoves(std::span<const PlanObject> plans);

  const std::vector<PastMove>& moves() const { return moves_; }
  /// Why a pod of the service with these loads may not go to that node now; "" when it may. Either the very pod came from
  /// elsewhere a short time ago, or another of its service has just been moved off that node.
  std::string WhyNot(const std::string& pod_uid, const std::string& service, const std::string& to,
                     const std::map<std::string, int64_t>& loads, base::Time now) const;
  /// The pod is the successor of one that was moved a short time ago, and its loads are the same.
  bool JustMoved(const std::string& pod_uid, const std::map<std::string, int64_t>& loads, base::Time now) const;

 private:
  std::vector<PastMove> moves_;  // by time
};

}  // namespace evenkeel::controllers::balancer
