#include "scheduling/reservations.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/result.h"
#include "kube/own_kinds.h"

namespace evenkeel::scheduling {
namespace {

using base::FindString;
using base::Json;

base::Result<Reservation> ReadOne(size_t index, const Json& action, const Json& status) {
  Reservation made;
  made.action = index;
  made.from = FindString(action, {"from"});
  made.to = FindString(action, {"to"});
  made.pod = FindString(action, {"pod"});
  made.pod_uid = FindString(action, {"podUid"});
  made.owner_uid = FindString(action, {"ownerUid"});
  made.successor = FindString(status, {"replacement"});
  const size_t slash = made.pod.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == made.pod.size()) {
    return base::Fail(base::Code::kBadRequest, "pod is not namespace/name: \"" + made.pod + "\"");
  }
  if (made.from.empty()) return base::Fail(base::Code::kBadRequest, "from is missing");
  if (made.to.empty()) return base::Fail(base::Code::kBadRequest, "to is missing");
  if (made.owner_uid.empty()) return base::Fail(base::Code::kBadRequest, "ownerUid is missing");
  const auto until = base::ParseTime(FindString(status, {"reserveUntil"}));
  if (!until) return base::Fail(base::Code::kBadRequest, "reserveUntil: " + until.error().message());
  made.until = *until;
  return made;
}

}  // namespace

const kube::Resource& BalancingPlans() { return kube::OwnKind("balancingplans"); }

PlanReservations ReadReservations(const Json& plan) {
  PlanReservations read;
  if (FindString(plan, {"status", "phase"}) != "Executing") return read;
  const base::JsonArray& actions = base::FindArray(plan, {"spec", "actions"});
  const base::JsonArray& states = base::FindArray(plan, {"status", "actions"});
  for (size_t i = 0; i < states.size(); ++i) {
    const std::string_view state = FindString(states[i], {"state"});
    if (state != "Evicting" && state != "Evicted") continue;
    if (i >= actions.size()) {
      read.problems.push_back(fmt::format("status.actions[{}] has no spec.actions[{}]", i, i));
      continue;
    }
    if (auto one = ReadOne(i, actions[i], states[i])) {
      read.reservations.push_back(*std::move(one));
    } else {
      read.problems.push_back(fmt::format("actions[{}]: {}", i, one.error().message()));
    }
  }
  return read;
}

std::optional<base::Time> RoomKeptUntil(const Json& plan) {
  std::optional<base::Time> last;
  for (const Reservation& reservation : ReadReservations(plan).reservations) {
    last = std::max(last.value_or(reservation.until), reservation.until);
  }
  return last;
}

}  // namespace evenkeel::scheduling
