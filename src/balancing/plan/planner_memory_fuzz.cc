// Any JSON as what a planner remembers: a file that somebody has changed may be refused, but what is read can be written, and
// means the same when it is read again.
#include "balancing/plan/plan.h"
#include "base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const auto json = base::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!json) return 0;
  const auto memory = balancing::PlannerMemory::FromJson(*json);
  if (!memory) {
    EVENKEEL_CHECK(!memory.error().message().empty());
    return 0;
  }
  const base::Json written = memory->ToJson();
  const auto again = balancing::PlannerMemory::FromJson(written);
  EVENKEEL_CHECK(again.has_value());
  EVENKEEL_CHECK(base::ToText(again->ToJson()) == base::ToText(written));
  return 0;
}
