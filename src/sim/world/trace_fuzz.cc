// Both files of a trace, an empty line in between: reading says what is wrong, or gives what can be replayed.
#include <cstddef>
#include <cstdint>

#include "sim/world/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(input.find("\n\n"), size);
  const auto trace = sim::ParseOpenbTrace(input.substr(0, middle), input.substr(std::min(middle + 2, size)), "folder");
  if (!trace) {
    if (trace.error().message().find("folder/openb_") == std::string::npos) __builtin_trap();
    return 0;
  }
  if (trace->nodes() <= 0) __builtin_trap();
  for (const sim::TraceTask& task : trace->tasks) {
    if (task.leaves < task.arrives || task.milli_gpus < 0 || task.milli_cores < 0 || task.mebibytes < 0) __builtin_trap();
  }
  return 0;
}
