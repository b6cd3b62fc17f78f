// Records are in a status that anybody with rights on it can edit: what is read is sound, and stays the same when it is written
// and read again; what is refused is refused in one line that names the field.
#include <cstddef>
#include <cstdint>

#include "controllers/rollout/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  namespace rollout = controllers::rollout;
  const auto json = base::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!json) return 0;
  const auto records = rollout::ReadRecords(base::Field(&*json, "", "status.records"));
  if (!records) {
    EVENKEEL_CHECK(records.error().message().starts_with("status.records"));
    EVENKEEL_CHECK(records.error().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const rollout::Record& record : *records) EVENKEEL_CHECK(rollout::CheckRecord(record).empty());
  const base::Json written = rollout::WriteRecords(*records);
  const auto again = rollout::ReadRecords(base::Field(&written, "", "status.records"));
  EVENKEEL_CHECK(again && again->size() == records->size());
  EVENKEEL_CHECK(base::Equal(base::Json(rollout::WriteRecords(*again)), written));
  return 0;
}
