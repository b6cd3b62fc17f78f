// Any text: what parses is written in a form that reads back as the same selector.
#include <cstddef>
#include <cstdint>

#include "kube/selector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto labels = kube::LabelSelector::Parse(text)) {
    const auto again = kube::LabelSelector::Parse(labels->ToString());
    EVENKEEL_CHECK(again.has_value() && again->ToString() == labels->ToString());
    labels->Matches(base::JsonObject{{"a", "b"}});
  }
  if (const auto fields = kube::FieldSelector::Parse(text)) {
    const auto again = kube::FieldSelector::Parse(fields->ToString());
    EVENKEEL_CHECK(again.has_value() && *again == *fields);
  }
  return 0;
}
