// Any text: what parses is written in a form that reads back as the same amount and is written the same again.
#include <cstddef>
#include <cstdint>

#include "kube/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using evenkeel::kube::Quantity;
  const auto quantity = Quantity::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!quantity) return 0;
  const auto again = Quantity::Parse(quantity->ToString());
  EVENKEEL_CHECK(again.has_value() && *again == *quantity && again->ToString() == quantity->ToString());
  EVENKEEL_CHECK(*quantity - *quantity == Quantity());
  return 0;
}
