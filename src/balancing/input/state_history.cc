#include "balancing/input/state_reader.h"
#include "balancing/model/messages.h"
#include "balancing/model/phase_state.h"

namespace evenkeel::balancing {
namespace {

constexpr std::pair<std::string_view, Movement::Phase> kPhases[] = {{"Placement", Movement::Phase::kPlacement},
                                                                    {"Balancing", Movement::Phase::kBalancing},
                                                                    {"ConstraintCheck", Movement::Phase::kConstraintCheck}};

constexpr std::pair<std::string_view, double History::*> kInstants[] = {
    {"lastRefresh", &History::last_refresh},
    {"lastPlacement", &History::last_placement},
    {"lastConstraintCheck", &History::last_constraint_check},
    {"lastBalancing", &History::last_balancing},
    {"lastStateChange", &History::last_state_change},
    {"lastLoadChange", &History::last_load_change},
    {"lastNodeUp", &History::last_node_up},
    {"lastNodeDown", &History::last_node_down},
    {"lastScore", &History::last_score}};

}  // namespace

base::Status StateReader::ReadRuntime(const Fields& root) {
  constexpr std::string_view kKnown[] = {"balancingEnabled", "constraintCheckEnabled"};
  const base::Json* value = file_->Get(root, "runtime");
  if (value == nullptr) return {};
  const Where where = root.where.Member("runtime");
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(*value, where));
  file_->CheckKeys(fields, "runtime", kKnown);
  EVENKEEL_ASSIGN(cluster_.runtime.balancing_enabled, file_->BoolOr(fields, "balancingEnabled", true));
  EVENKEEL_ASSIGN(cluster_.runtime.constraint_check_enabled, file_->BoolOr(fields, "constraintCheckEnabled", true));
  return {};
}

base::Status StateReader::ReadHistory(const Fields& root) {
  const base::Json* value = file_->Get(root, "history");
  if (value == nullptr) return {};
  const Where where = root.where.Member("history");
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(*value, where));
  std::vector<std::string_view> known = {"lastBalancingOfNodeType", "placementRuns", "placementWithMove",
                                         "balancingRuns",           "slowBalancing", "movements"};
  History& history = cluster_.history;
  for (const auto& [key, field] : kInstants) {
    known.push_back(key);
    EVENKEEL_ASSIGN(history.*field, file_->NumberOr(fields, key, history.*field));
  }
  file_->CheckKeys(fields, "history", known);
  EVENKEEL_TRY(file_->ForEachMember(fields, "lastBalancingOfNodeType",
                                    [&](std::string_view type, const base::Json& instant, const Where& at) -> base::Status {
                                      EVENKEEL_ASSIGN(history.last_balancing_of_node_type[std::string(type)],
                                                      file_->Number(instant, at));
                                      if (!node_types_.contains(std::string(type)))
                                        file_->Warn(at, "node type in history", "no node has this type");
                                      return {};
                                    }));
  EVENKEEL_ASSIGN(history.placement_runs, file_->WholeOr(fields, "placementRuns", 0, 0, kRunsMax));
  EVENKEEL_ASSIGN(history.placement_with_move, file_->BoolOr(fields, "placementWithMove", false));
  EVENKEEL_ASSIGN(history.balancing_runs, file_->WholeOr(fields, "balancingRuns", 0, 0, kRunsMax));
  EVENKEEL_ASSIGN(history.slow_balancing, file_->BoolOr(fields, "slowBalancing", false));
  return file_->ForEachItem(fields, "movements",
                            [&](const base::Json& item, const Where& at) { return ReadMovement(item, at); });
}

base::Status StateReader::ReadMovement(const base::Json& value, const Where& where) {
  constexpr std::string_view kKnown[] = {"at", "partition", "phase"};
  EVENKEEL_ASSIGN(const Fields fields, file_->Object(value, where));
  file_->CheckKeys(fields, "movement", kKnown);
  Movement movement;
  if (file_->Get(fields, "at") == nullptr) return file_->Refused(fields, "at", "is missing");
  EVENKEEL_ASSIGN(movement.at, file_->NumberOr(fields, "at", 0));
  EVENKEEL_ASSIGN(const std::string_view partition, file_->NameOr(fields, "partition", ""));
  const auto found = partitions_.find(partition);
  if (found != partitions_.end()) movement.partition = found->second;
  EVENKEEL_ASSIGN(movement.phase, file_->WordOr(fields, "phase", Movement::Phase::kBalancing, kPhases));
  cluster_.history.movements.push_back(movement);
  return {};
}

}  // namespace evenkeel::balancing
