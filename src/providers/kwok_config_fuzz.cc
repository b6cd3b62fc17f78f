// Any text as the kwok provider's two ConfigMaps: errors are one line, groups are sound, and what they are made of can be read
// again.
#include <cstddef>
#include <cstdint>

#include "kube/object.h"
#include "providers/kwok_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto is_line = [](const base::Error& error) {
    return !error.message().empty() && error.message().find('\n') == std::string::npos;
  };
  const auto parsed = providers::ParseKwokConfig(text, "fuzz");
  EVENKEEL_CHECK(parsed || is_line(parsed.error()));
  const auto templates = providers::ParseKwokTemplates(text, "fuzz");
  EVENKEEL_CHECK(templates || is_line(templates.error()));
  if (!templates) return 0;
  providers::KwokConfig config;
  if (parsed) config = *parsed;
  if (config.key.empty()) config.key = "g";
  const auto groups = providers::ReadKwokGroups(config, *templates);
  EVENKEEL_CHECK(groups || is_line(groups.error()));
  if (!groups) return 0;
  for (const providers::KwokGroup& group : *groups) {
    EVENKEEL_CHECK(group.min_size >= 0 && group.min_size <= group.max_size);
    EVENKEEL_CHECK(base::FindString(group.node, {"metadata", "annotations", providers::kKwokGroupAnnotation}) == group.id);
    EVENKEEL_CHECK(!base::FindObject(group.node, {"status", "allocatable"}).empty());
  }
  return 0;
}
