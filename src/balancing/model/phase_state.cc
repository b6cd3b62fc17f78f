#include "balancing/model/phase_state.h"

#include <algorithm>
#include <limits>

namespace evenkeel::balancing {
namespace {

using base::Json;

constexpr std::pair<std::string_view, double PhaseState::*> kStateNumbers[] = {
    {"lastRefresh", &PhaseState::last_refresh},
    {"lastPlacement", &PhaseState::last_placement},
    {"lastConstraintCheck", &PhaseState::last_constraint_check},
    {"lastBalancing", &PhaseState::last_balancing},
    {"lastStateChange", &PhaseState::last_state_change},
    {"lastLoadChange", &PhaseState::last_load_change},
    {"lastNodeUp", &PhaseState::last_node_up},
    {"lastNodeDown", &PhaseState::last_node_down},
    {"lastScore", &PhaseState::last_score}};

constexpr std::pair<std::string_view, int64_t PhaseState::*> kStateCounts[] = {{"placementRuns", &PhaseState::placement_runs},
                                                                               {"balancingRuns", &PhaseState::balancing_runs}};

constexpr std::pair<std::string_view, bool PhaseState::*> kStateFlags[] = {
    {"placementWithMove", &PhaseState::placement_with_move}, {"slowBalancing", &PhaseState::slow_balancing}};

// The later of each type, where a type that only one of them names counts with the other's last balancing.
Group<double> LaterOfNodeTypes(const PhaseState& a, const PhaseState& b) {
  Group<double> merged;
  for (const PhaseState* state : {&a, &b}) {
    for (const auto& [type, instant] : state->last_balancing_of_node_type) {
      merged[type] = std::max(LastBalancing(a, type), LastBalancing(b, type));
    }
  }
  return merged;
}

}  // namespace

Json PhaseState::ToJson() const {
  base::JsonObject object;
  for (const auto& [name, field] : kStateNumbers) object[name] = this->*field;
  for (const auto& [name, field] : kStateCounts) object[name] = this->*field;
  for (const auto& [name, field] : kStateFlags) object[name] = this->*field;
  if (last_balancing_of_node_type.empty()) return object;
  base::JsonObject types;
  for (const auto& [type, instant] : last_balancing_of_node_type) types[type] = instant;
  object["lastBalancingOfNodeType"] = std::move(types);
  return object;
}

base::Result<PhaseState> PhaseState::Read(const base::Field& of) {
  EVENKEEL_TRY(of.IsObject());
  constexpr double kLowest = std::numeric_limits<double>::lowest();
  PhaseState state;
  for (const auto& [name, field] : kStateNumbers) EVENKEEL_TRY(of[name].Number(state.*field, kLowest));
  for (const auto& [name, field] : kStateCounts) EVENKEEL_TRY(of[name].Whole(state.*field, 0, kRunsMax));
  for (const auto& [name, field] : kStateFlags) EVENKEEL_TRY(of[name].Flag(state.*field));
  EVENKEEL_TRY(of["lastBalancingOfNodeType"].ForEachMember([&](std::string_view type, const base::Field& instant) {
    return instant.Number(state.last_balancing_of_node_type[std::string(type)], kLowest);
  }));
  return state;
}

PhaseState PhaseStateOf(const History& history) {
  return {.last_refresh = history.last_refresh,
          .last_placement = history.last_placement,
          .last_constraint_check = history.last_constraint_check,
          .last_balancing = history.last_balancing,
          .last_state_change = history.last_state_change,
          .last_load_change = history.last_load_change,
          .last_node_up = history.last_node_up,
          .last_node_down = history.last_node_down,
          .last_balancing_of_node_type = history.last_balancing_of_node_type,
          .placement_runs = history.placement_runs,
          .placement_with_move = history.placement_with_move,
          .balancing_runs = history.balancing_runs,
          .slow_balancing = history.slow_balancing,
          .last_score = history.last_score};
}

double LastBalancing(const PhaseState& state, std::string_view node_type) {
  const auto own = state.last_balancing_of_node_type.find(node_type);
  return own == state.last_balancing_of_node_type.end() ? state.last_balancing : own->second;
}

void NoteStateChange(PhaseState& state, double now) {
  state.last_state_change = std::max(state.last_state_change, now);
  state.placement_runs = 0;
  state.placement_with_move = false;
}

void NoteNodeUp(PhaseState& state, double now) {
  state.last_node_up = std::max(state.last_node_up, now);
  NoteStateChange(state, now);
}

void NoteNodeDown(PhaseState& state, double now) {
  state.last_node_down = std::max(state.last_node_down, now);
  NoteStateChange(state, now);
}

void NoteLoadChange(PhaseState& state, double now) { state.last_load_change = std::max(state.last_load_change, now); }

void NoteScore(PhaseState& state, double score) { state.last_score = score; }

PhaseState MergePhases(const PhaseState& a, const PhaseState& b, double now) {
  PhaseState merged;
  for (const auto& [name, field] : kStateNumbers) merged.*field = std::max(a.*field, b.*field);
  merged.last_balancing_of_node_type = LaterOfNodeTypes(a, b);
  // The deviation of either part says nothing about the whole.
  merged.last_score = -1;
  NoteStateChange(merged, now);
  return merged;
}

}  // namespace evenkeel::balancing
