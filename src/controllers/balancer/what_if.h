// Whether pods may go where a plan says: kube-scheduler's filters, asked in a fork of the snapshot in which the pod has left
// its node.
#pragma once

#include <string>
#include <vector>

#include "controllers/balancer/member_objects.h"
#include "controllers/balancer/plan_object.h"

namespace evenkeel::controllers::balancer {

/// Why the successor of the pod would not be let on the node now, as kube-scheduler would say it; "" when it would be.
std::string WhyNotOn(MemberObjects& objects, const std::string& pod, const std::string& node);

struct DroppedMove {
  PlannedMove move;
  std::string why;
};
/// Looks at the moves one after the other, each as if those before it had been made, and takes out those that a filter refuses.
std::vector<DroppedMove> DropImpossible(MemberObjects& objects, std::vector<PlannedMove>& moves);

}  // namespace evenkeel::controllers::balancer
