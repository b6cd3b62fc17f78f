// A scenario file from outside: it is read, or refused in one line that names the file.
#include <cstddef>
#include <cstdint>

#include "sim/run/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const auto scenario = sim::ParseScenario({reinterpret_cast<const char*>(data), size}, "file.yaml");
  if (!scenario) {
    const std::string& message = scenario.error().message();
    if (!message.starts_with("file.yaml") || message.find('\n') != std::string::npos) __builtin_trap();
    return 0;
  }
  // What the simulator relies on.
  const bool sound = scenario->members >= 0 && scenario->nodes_min >= 0 && scenario->nodes_min <= scenario->nodes_max &&
                     scenario->replicas_min >= 0 && scenario->replicas_min <= scenario->replicas_start &&
                     scenario->replicas_start <= scenario->replicas_max && scenario->duration >= base::Duration{} &&
                     scenario->heal >= base::Duration{} && scenario->quiet >= base::Duration{};
  if (!sound) __builtin_trap();
  return 0;
}
