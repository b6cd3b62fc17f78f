// Whether a pod may be taken off its node: cluster-autoscaler's rules, in their order; the first that has something to say
// decides. Pure; looks at facts, owners and budgets only.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/simulator/drain.go, simulator/drainability
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/autoscaler/facts/budget_tracker.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr base::Duration kLongTerminating = std::chrono::seconds(30);

/// Upstream's BlockingPodReason.
enum class BlockingReason : uint8_t {
  kNoReason,
  kControllerNotFound,
  kMinReplicasReached,
  kNotReplicated,
  kLocalStorageRequested,
  kNotSafeToEvictAnnotation,
  kUnmovableKubeSystemPod,
  kNotEnoughPdb,
  kUnexpectedError,
};
/// Upstream's name: "NotEnoughPdb".
std::string_view Name(BlockingReason reason);

enum class DrainOutcome : uint8_t {
  kMove,               ///< the pod has to find a place elsewhere
  kDaemon,             ///< it belongs to the node and goes with it
  kSkip,               ///< as if it were not there
  kWaitForCompletion,  ///< the node is not needed, but goes only after the pod has ended
  kBlocked,
};

struct DrainVerdict {
  DrainOutcome outcome = DrainOutcome::kMove;
  BlockingReason reason = BlockingReason::kNoReason;
  bool operator==(const DrainVerdict&) const = default;
};

struct BlockingPod {
  scheduling::PodId pod = scheduling::kNone;
  BlockingReason reason = BlockingReason::kNoReason;
};

/// The pods of a node by what becomes of them when it goes.
struct PodsOfNode {
  std::vector<scheduling::PodId> move;  ///< by key
  std::vector<scheduling::PodId> daemons;
  std::vector<scheduling::PodId> on_completion;
  std::optional<BlockingPod> blocking;  ///< of several the first by key
};

/// The pod was told to end so long ago that it is not waited for: grace time and 30 s are over.
bool LongTerminating(const PodFacts& pod, const LoopTime& now);

class Drainability {
 public:
  Drainability(const ClusterView& view, const Options& options, BudgetTracker& budgets)
      : view_(view), options_(options), budgets_(budgets) {}

  DrainVerdict Judge(scheduling::PodId pod) const;
  /// O(pods of the node).
  PodsOfNode Look(scheduling::NodeId node) const;
  /// Nothing to move and nothing in the way. Stops at the first pod that says otherwise; budgets and owners are not asked.
  /// `waits`: a pod has to end first.
  bool Empty(scheduling::NodeId node, bool& waits) const;
  /// For people: which rule, why, and when it stops to hold if time will do that.
  std::string Explain(scheduling::PodId pod, BlockingReason reason) const;

 private:
  const PodFacts* Facts(scheduling::PodId pod) const;
  std::optional<DrainVerdict> JudgeOwner(const PodFacts& pod) const;
  /// The rules that do not look at owners and budgets, up to OnCompletion.
  std::optional<DrainVerdict> JudgeEarly(const PodFacts& pod, bool with_owner) const;
  bool Replicated(const PodFacts& pod) const;
  std::string ExplainOwner(const PodFacts& pod, BlockingReason reason) const;

  const ClusterView& view_;
  const Options& options_;
  BudgetTracker& budgets_;
};

}  // namespace evenkeel::controllers::autoscaler
