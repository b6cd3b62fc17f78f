// Replacing under-used nodes by fewer or cheaper ones. Upstream's rules remove a node only when its own use is low and there is
// room elsewhere now; here a set of nodes may go when the what-if proves that all of their pods fit on what stays plus some new
// nodes, and that this costs less. First the new nodes come, then the old ones go, through scale-down and its budgets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/input/field.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/utilization.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// A node that a group could be given, with the daemon pods that would run on it. Interned by the caller.
struct ReplacementTemplate {
  std::string group;
  scheduling::TemplateId node = scheduling::kNone;
  std::vector<scheduling::Copies> daemons;
};

struct ConsolidationPlan {
  std::vector<std::string> remove;  ///< names, sorted
  std::string group;                ///< gets the new nodes; "" when none are needed
  int64_t add = 0;
  bool priced = false;           ///< costs are prices per hour; otherwise shares of the cluster's cpu and memory
  double before = 0, after = 0;  ///< cost of the nodes that go, and of those that come
  std::string text;              ///< one line for people
};

/// A plan that has been begun.
struct ActiveConsolidation {
  std::vector<std::string> remove;  ///< sorted
  std::string group;
  int64_t add = 0;
  base::Time since{};

  bool Removes(std::string_view node) const;
  /// The node has come for the plan.
  bool Brought(const NodeFacts& node) const;
  base::Json ToJson() const;
  static base::Result<ActiveConsolidation> Read(const base::Field& fields);
};

struct ConsolidationCandidate {
  scheduling::NodeId node = scheduling::kNone;
  const providers::NodeGroup* group = nullptr;
  double utilization = 0;
};

struct ConsolidationInput {
  std::vector<ConsolidationCandidate> candidates{};  ///< nodes that may go, in any order
  scheduling::NodeSet destinations{};                ///< nodes that pods may go to; includes the candidates
  std::span<const ReplacementTemplate> templates{};
};

/// The plan that saves most, of the least used nodes; nothing when none saves. Cheapest answer first: ties go to fewer new
/// nodes, then to fewer removals, then to the group's id. Never below a group's minimum nor above a maximum, also while old and
/// new nodes are both there; never more disruptions than the budgets allow. O(templates * candidates looked at).
std::optional<ConsolidationPlan> PlanConsolidation(const ClusterView& view, const Options& options, ConsolidationInput input);

enum class ConsolidationStage { kWaitingForNodes, kRemoving, kOver };
/// How far a plan that was begun has come. It is over when the old nodes are gone, or when the new ones have not come in time.
ConsolidationStage StageOf(const ActiveConsolidation& active, const ClusterView& view, const Options& options);

}  // namespace evenkeel::controllers::autoscaler
