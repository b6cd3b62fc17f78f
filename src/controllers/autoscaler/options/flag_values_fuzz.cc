// Any text as the value of any flag: what is read is sound, and what is not is an error that names the flag.
#include <cstddef>
#include <cstdint>

#include "controllers/autoscaler/options/flag_values.h"
#include "controllers/autoscaler/options/flags.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::controllers::autoscaler;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Flag& flag = Flags()[data[0] % Flags().size()];
  Options options;
  const auto status = flag.set(options, text);
  EVENKEEL_CHECK(status.has_value() || status.error().message().starts_with("--" + flag.name + ": "));
  if (const auto range = ParseRange(text)) EVENKEEL_CHECK(range->min >= 0 && range->min <= range->max);
  if (const auto gpus = ParseGpuRange(text)) EVENKEEL_CHECK(!gpus->first.empty() && gpus->second.min <= gpus->second.max);
  if (const auto groups = ParseDrainPriorities(text)) {
    for (size_t i = 1; i < groups->size(); ++i) EVENKEEL_CHECK((*groups)[i - 1].first < (*groups)[i].first);
  }
  if (const auto applied = ApplyMemberFlags({}, text)) {
    EVENKEEL_CHECK(applied->options.max_groups_per_loop >= 1);
  } else {
    EVENKEEL_CHECK(applied.error().code() == evenkeel::base::Code::kBadRequest);
  }
  if (const auto names = ParseExpanders(text)) EVENKEEL_CHECK(!names->empty() && names->size() <= 7);
  return 0;
}
