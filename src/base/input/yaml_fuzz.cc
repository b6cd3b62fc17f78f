// Any text: parsing ends in a value or an error, and what is written for a value reads back equal.
#include <cstddef>
#include <cstdint>

#include "base/input/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::base;
  const auto documents = ParseYaml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!documents) return 0;
  for (const YamlDocument& document : *documents) {
    const std::string text = ToText(document.value);
    // yaml-cpp lets a few byte sequences through that are not UTF-8; JSON, and so the API, refuses them.
    if (!ParseJson(text, "fuzz")) continue;
    const auto again = ParseYamlDocument(ToYaml(document.value), "written");
    EVENKEEL_CHECK(again.has_value() && Equal(*again, document.value));
  }
  return 0;
}
