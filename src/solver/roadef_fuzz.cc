// Any text as a model with an assignment: what is read can be verified and searched, and what is not is an error that names its
// file.
#include <cstddef>
#include <cstdint>

#include "solver/roadef.h"
#include "solver/search.h"
#include "solver/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('|');
  const std::string_view initial = cut == std::string_view::npos ? "" : text.substr(cut + 1);
  const auto instance = solver::ReadRoadef(text.substr(0, cut), "model", initial, "initial");
  if (!instance) {
    const std::string& message = instance.error().message();
    EVENKEEL_CHECK(message.starts_with("model") || message.starts_with("initial"));
    return 0;
  }
  const solver::Problem& problem = instance->problem;
  const auto result = solver::Search(problem, {.evaluations = 1}, base::SystemClock());
  const solver::Verdict verdict = solver::Verify(problem, result.assignment);
  EVENKEEL_CHECK(verdict.valid() && verdict.cost == result.cost);
  EVENKEEL_CHECK(*solver::ReadRoadefAssignment(*instance, solver::WriteRoadefAssignment(*instance, result.assignment),
                                               "again") == result.assignment);
  return 0;
}
