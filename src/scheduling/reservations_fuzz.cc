// Any JSON as a plan: nothing that an API holds may upset the scheduler, and what comes out can be relied on.
#include "base/result.h"
#include "scheduling/reservations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const auto plan = base::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!plan) return 0;
  const auto read = scheduling::ReadReservations(*plan);
  const size_t actions = base::FindArray(*plan, {"spec", "actions"}).size();
  for (size_t i = 0; i < read.reservations.size(); ++i) {
    const auto& reservation = read.reservations[i];
    EVENKEEL_CHECK(reservation.action < actions);
    EVENKEEL_CHECK(i == 0 || read.reservations[i - 1].action < reservation.action);
    EVENKEEL_CHECK(!reservation.to.empty() && !reservation.owner_uid.empty() && reservation.pod.contains('/'));
  }
  return 0;
}
