// Looking into text without parsing it finds in valid JSON what parsing finds, and in anything else it stays within the text.
#include <cstddef>
#include <cstdint>

#include "base/json.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace {

using namespace evenkeel;
using namespace evenkeel::embedded::apiserver;

/// Every value below `text` that a path of keys leads to.
void Compare(std::string_view text, const base::JsonObject& object, int depth) {
  size_t fields = 0;
  RawFields(text, [&](std::string_view, std::string_view) { return ++fields != 0; });
  EVENKEEL_CHECK(fields == object.size());
  for (const auto& [key, value] : object) {
    if (base::ToText(base::Json(key)) != std::string("\"").append(key).append("\""))
      continue;  // keys with escapes are never matched
    const std::string_view found = RawFind(text, {std::string_view(key)});
    EVENKEEL_CHECK(found == base::ToText(value));
    if (value.is_string()) EVENKEEL_CHECK(RawText(found) == std::string_view(value.get_string()));
    if (value.is_object() && depth < 20) Compare(found, value.get_object(), depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RawFields(input, [](std::string_view, std::string_view value) { return RawText(value).size() <= 1 << 20; });
  for (const auto& path : {std::vector<std::string_view>{"metadata", "name"}, std::vector<std::string_view>{"a", "b", "c"}}) {
    static_cast<void>(RawText(RawFind(input, path)));
  }
  const auto parsed = base::ParseJson(input, "input");
  if (parsed && parsed->is_object()) Compare(base::ToText(*parsed), parsed->get_object(), 0);
  return 0;
}
