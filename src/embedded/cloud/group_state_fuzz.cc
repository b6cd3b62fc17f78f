// Any JSON as a NodeGroup: what is read is sound, advances without end, and comes back the same through the status.
#include <cstddef>
#include <cstdint>

#include "embedded/cloud/group_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  using namespace evenkeel::embedded::cloud;
  auto group = base::ParseJson(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!group || !group->is_object()) return 0;
  GroupState state = DecodeState(*group);
  auto spec = DecodeSpec(*group);
  if (!spec) {
    EVENKEEL_CHECK(spec.error().message().starts_with("NodeGroup "));
    return 0;
  }
  spec->max = std::min<int64_t>(spec->max, 100);
  base::Random random(1);
  base::Time now{std::chrono::seconds(1'700'000'000)};
  for (int i = 0; i < 5; ++i) {
    const Progress progress = Advance(*spec, state, now, random);
    for (const InstanceRecord& record : state.instances)
      EVENKEEL_CHECK(!spec->removed || record.state != InstanceRecord::State::kCreating);
    if (progress.due) EVENKEEL_CHECK(*progress.due > now);
    now += std::chrono::hours(30);
  }
  base::Json object = base::JsonObject();
  EncodeState(state, object);
  base::Json again = base::JsonObject();
  EncodeState(DecodeState(object), again);
  EVENKEEL_CHECK(base::Equal(object, again));
  return 0;
}
