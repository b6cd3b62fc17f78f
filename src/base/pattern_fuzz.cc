// A pattern and a text, both from outside: two lines. Nothing crashes, and a pattern that quotes the text finds it.
#include <cstddef>
#include <cstdint>

#include "base/json.h"
#include "base/pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using evenkeel::base::Pattern;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  const std::string_view text = end == input.npos ? std::string_view() : input.substr(end + 1);
  if (const auto pattern = Pattern::Parse(input.substr(0, end))) (*pattern)->Matches(text);
  if (!evenkeel::base::IsUtf8(text) || text.find("\\E") != text.npos || text.ends_with('\\')) return 0;
  const auto quoted = Pattern::Parse("^\\Q" + std::string(text) + "\\E$");
  EVENKEEL_CHECK(quoted.has_value() && (*quoted)->Matches(text));
  return 0;
}
