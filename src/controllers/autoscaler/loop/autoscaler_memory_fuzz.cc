// Any JSON as what an autoscaler has written down: what is taken can be written again, and errors are one line.
#include <cstddef>
#include <cstdint>

#include "controllers/autoscaler/loop/autoscaler_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  using namespace evenkeel::controllers::autoscaler;
  const auto json = base::ParseJson(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!json) return 0;
  const Options options;
  scheduling::ClusterMirror mirror;
  ClusterObjects objects(options, mirror);
  for (const char* name : {"n1", "n2"}) {
    base::Json node = base::JsonObject{{"kind", "Node"}};
    base::Ensure(node, {"metadata", "name"}) = name;
    mirror.Upsert(node);
  }
  auto state = AutoscalerState::FromJson(*json, options);
  base::Status read;
  if (state) read = RestoreMemory(*json, *state, objects);
  const base::Error* error = !state ? &state.error() : !read ? &read.error() : nullptr;
  if (error != nullptr) {
    EVENKEEL_CHECK(error->message().find('\n') == std::string::npos);
    return 0;
  }
  base::Json again = state->ToJson();
  for (auto& [part, memory] : MemoryToJson(*state, objects)) again.as_object()[part] = std::move(memory);
  const auto second = AutoscalerState::FromJson(*base::ParseJson(base::ToText(again), "again"), options);
  EVENKEEL_CHECK(second && second->ToJson() == state->ToJson());
  return 0;
}
