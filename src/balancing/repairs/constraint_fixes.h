// Mends violated constraints of one group of services with as few movements as it finds: the search of the constraint check.
// Replicas that should not be where they are move, a primary and a secondary exchange their roles (rather than move, with
// EnablePreferredSwapSolutionInConstraintCheck), and of a node that is too full goes the smallest number of replicas that
// mends its excess, of several such sets the one that leaves the least energy. Where there is no room for what has to go,
// others make some, up to two in a chain. What follows by affinity moves along. With UseMoveCostReports the cost of movements
// decides where repairs mend as much (repair_price.h): many cheap movements may go before one that is dear, but no violation
// stays that would be mended if every movement cost the same.
//
// Each violation is first mended without making anything worse; if that cannot be, constraints of lower priority give way, the
// optional ones first, but never one of the violation's own priority or above. More violations mended beats a lower deviation.
// In the end the moved replicas change their targets where that lowers the deviation.
//
// Deterministic: the same arrangement, options and seed give the same answer, however fast the machine is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

struct FixOptions {
  bool light = false;  ///< fault and upgrade domains are left alone
  /// At most so many movements.
  int64_t movement_slots = INT64_MAX;
  uint64_t seed = 1;
  /// How many steps it may look at. 0: by the number of violations.
  int64_t evaluations = 0;
};

struct UnmendedViolation {
  Violation violation;               ///< as it is now
  std::string why;                   ///< one clause for people
  ReplicaId replica = kNoId;         ///< that would have to go; kNoId: none of them can
  std::optional<Elimination> nodes;  ///< why it cannot: none remains but its own; of the first hundred
};

struct FixResult {
  std::vector<Violation> before;        ///< of the group
  std::vector<Violation> mended;        ///< of these, that are no more
  std::vector<UnmendedViolation> left;  ///< what is violated now
  int64_t moves = 0;                    ///< an exchange of roles is one
  int64_t evaluations = 0;
};

/// Changes `arrangement`, in which nothing of the group has moved yet; leaves it as it is unless violations become fewer or
/// smaller. O(replicas * constraints) for the violations, and O(nodes * metrics) for each movement.
FixResult FixViolations(Arrangement& arrangement, const ServiceGroup& group, const FixOptions& options);

/// Those of the services and metrics of one group, in their order.
std::vector<Violation> ViolationsOf(const Arrangement& arrangement, const ServiceGroup& group, std::vector<Violation> all);

}  // namespace evenkeel::balancing
