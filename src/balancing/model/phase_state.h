// What the phase machine remembers of one group of services between two decisions: when each phase was last looked at, when
// something last changed, and how far it has escalated. A plain value; seconds of the caller's clock.
#pragma once

#include <cstdint>

#include "balancing/model/cluster.h"
#include "base/input/field.h"
#include "base/json.h"
#include "base/result.h"

namespace evenkeel::balancing {

/// Of the counts of runs: what is read with more is refused.
inline constexpr int64_t kRunsMax = 1'000'000'000;

struct PhaseState {
  double last_refresh = kLongAgo;  ///< when a decision last looked at the state; only with PLBRefreshGap
  double last_placement = kLongAgo;
  double last_constraint_check = kLongAgo;
  double last_balancing = kLongAgo;
  double last_state_change = kLongAgo;
  double last_load_change = kLongAgo;
  double last_node_up = kLongAgo;
  double last_node_down = kLongAgo;
  Group<double> last_balancing_of_node_type;  ///< a node type that is not there: last_balancing counts
  int64_t placement_runs = 0;                 ///< in a row, without moves of existing replicas
  bool placement_with_move = false;           ///< what the next placement is
  int64_t balancing_runs = 0;                 ///< in a row, of the present variant
  bool slow_balancing = false;                ///< what the next balancing is
  double last_score = -1;                     ///< average deviation after the last balancing; below 0: unknown

  /// The keys are those of `history` in the state of a cluster (cluster_reader.h). Read: what is absent is as above;
  /// kBadRequest in one line.
  base::Json ToJson() const;
  static base::Result<PhaseState> Read(const base::Field& of);
  bool operator==(const PhaseState&) const = default;
};

PhaseState PhaseStateOf(const History& history);
double LastBalancing(const PhaseState& state, std::string_view node_type);

/// A node, service, partition or replica came, went or changed, or a search was interrupted by such a change. The next
/// placement is one without moves again.
void NoteStateChange(PhaseState& state, double now);
void NoteNodeUp(PhaseState& state, double now);
void NoteNodeDown(PhaseState& state, double now);
void NoteLoadChange(PhaseState& state, double now);
/// A balancing run has ended with this average deviation.
void NoteScore(PhaseState& state, double score);

/// When groups become one: the later of all instants, a state change `now`, and nothing escalated.
PhaseState MergePhases(const PhaseState& a, const PhaseState& b, double now);

}  // namespace evenkeel::balancing
