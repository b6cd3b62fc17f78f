// What others write and the hub only reads: answers of interpreters, and overriders of policies.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "embedded/federation/policies/interpreter_protocol.h"
#include "embedded/federation/policies/overrides.h"
#include "embedded/federation/policies/validation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = base::ParseJson(text, "fuzz");
  if (!parsed) return 0;
  base::Json object = *base::ParseJson(
      R"({"kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"r.io/i:t"}]},"data":{"y":"a: 1"}})",
      "object");
  for (const char* operation : {"InterpretReplica", "Retain", "InterpretDependency"}) {
    const auto answer = embedded::federation::CheckAnswer(*parsed, operation, "u");
    if (answer) static_cast<void>(embedded::federation::ApplyAnswer(object, *answer));
  }
  static_cast<void>(embedded::federation::ValidateOverride(*parsed));
  static_cast<void>(embedded::federation::ValidatePropagation(*parsed));
  static_cast<void>(embedded::federation::ValidateInterpreter(*parsed));
  static_cast<void>(embedded::federation::ApplyOverriders(object, *parsed));
  return 0;
}
