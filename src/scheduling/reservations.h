// What a BalancingPlan (evenkeel.dev/v1alpha1) that is being carried out asks of all others: room on a node for the pod that
// will take the place of an evicted one. The scheduler keeps it free, and the autoscaler begins no removal meanwhile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/resource.h"

namespace evenkeel::scheduling {

const kube::Resource& BalancingPlans();
/// The name of the CustomResourceDefinition that an API with BalancingPlans has.
inline constexpr char kPlanDefinition[] = "balancingplans.evenkeel.dev";

struct Reservation {
  size_t action = 0;      ///< index in spec.actions
  std::string from, to;   ///< nodes
  std::string pod;        ///< that is evicted: namespace/name
  std::string pod_uid;    ///< "" when the plan does not say
  std::string owner_uid;  ///< of the controller that will make another pod
  base::Time until{};     ///< the room is given up then
  std::string successor;  ///< the pod that takes its place: namespace/name; "" until it is known
  bool operator==(const Reservation&) const = default;
};

struct PlanReservations {
  std::vector<Reservation> reservations;  ///< in the order of the actions
  /// Actions that ask for a reservation in a way that cannot be read: which field is wrong. They have none.
  std::vector<std::string> problems;
};

/// The actions in state Evicting or Evicted of a plan in phase Executing; none of any other plan. O(actions).
PlanReservations ReadReservations(const base::Json& plan);

/// When the last of its reservations ends; nullopt: it has none.
std::optional<base::Time> RoomKeptUntil(const base::Json& plan);

}  // namespace evenkeel::scheduling
