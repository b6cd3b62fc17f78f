// Any text: what parses is written in a form that reads back as the same amount. That form settles once it has been read: as in
// Kubernetes "62.5Ki" is written as 64000, whose suffixes are decimal ones from then on.
#include <cstddef>
#include <cstdint>

#include "kube/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using evenkeel::kube::Quantity;
  const auto quantity = Quantity::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!quantity) return 0;
  const auto again = Quantity::Parse(quantity->ToString());
  EVENKEEL_CHECK(again.has_value() && *again == *quantity);
  const auto settled = Quantity::Parse(again->ToString());
  EVENKEEL_CHECK(settled.has_value() && *settled == *quantity && settled->ToString() == again->ToString());
  EVENKEEL_CHECK(*quantity - *quantity == Quantity());
  return 0;
}
