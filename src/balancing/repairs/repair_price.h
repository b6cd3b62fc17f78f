// What tells apart repairs that mend as much: the one with the lowest price is made.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

/// Compared in this order.
struct RepairPrice {
  int64_t last_resorts = 0;  ///< movements of replicas that move only to mend what nothing else mends
  double first = 0, second = 0;
  auto operator<=>(const RepairPrice&) const = default;
};

/// Of all that the journal has made. The energy as in balancing, where a movement may earn its cost by a lower deviation; with
/// UseScoreInConstraintCheck off fewer movements first.
inline RepairPrice PriceOf(const StepJournal& journal) {
  RepairPrice price{
      .last_resorts = journal.last_resorts(), .first = journal.energy(), .second = static_cast<double>(journal.movements())};
  if (!journal.arrangement().settings().use_score_in_constraint_check) std::swap(price.first, price.second);
  return price;
}

/// Of repairs that take many movements, and of steps that mend nothing by themselves: there no deviation pays for a movement
/// that is not needed.
inline RepairPrice CostFirst(const StepJournal& journal) {
  return {.last_resorts = journal.last_resorts(), .first = journal.cost(), .second = journal.score().average_deviation()};
}

}  // namespace evenkeel::balancing
