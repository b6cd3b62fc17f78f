// {"target":..., "patch":..., "to":...}: patches end in a value or leave the target as it was; a computed merge patch works.
#include <cstddef>
#include <cstdint>

#include "base/json.h"

namespace {

bool HasNullMember(const evenkeel::base::Json& value) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      if (member.value().is_null() || HasNullMember(member.value())) return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::base;
  const auto input = ParseJson(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!input) return 0;
  const Json* target = Find(*input, {"target"});
  const Json* patch = Find(*input, {"patch"});
  const Json* to = Find(*input, {"to"});
  if (target && patch) {
    Json patched = *target;
    if (!ApplyJsonPatch(patched, *patch)) EVENKEEL_CHECK(Equal(patched, *target));
    Json merged = *target;
    ApplyMergePatch(merged, *patch);
  }
  // A merge patch cannot set a member to null.
  if (target && to && !HasNullMember(*to) && !HasNullMember(*target)) {
    Json merged = *target;
    ApplyMergePatch(merged, DiffMergePatch(*target, *to));
    EVENKEEL_CHECK(Equal(merged, *to));
  }
  return 0;
}
