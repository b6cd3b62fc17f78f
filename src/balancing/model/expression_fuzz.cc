// Any text as a placement constraint: what parses prints to a text that parses to the same, and can be asked of any node.
#include <cstddef>
#include <cstdint>

#include "balancing/model/expression.h"

namespace {

// Has every property, with its own name as its value.
class Echo final : public evenkeel::balancing::PropertySource {
 public:
  const std::string* Find(std::string_view name) const override {
    value_ = name;
    return &value_;
  }

 private:
  mutable std::string value_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::balancing;
  const auto expression = Expression::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!expression) {
    EVENKEEL_CHECK(expression.error().message().starts_with("column "));
    EVENKEEL_CHECK(expression.error().message().find('\n') == std::string::npos);
    return 0;
  }
  const auto again = Expression::Parse(expression->ToText());
  EVENKEEL_CHECK(again.has_value() && *again == *expression);
  const Echo node;
  for (const auto part : {ConstraintPart::kEveryReplica, ConstraintPart::kPrimaryOnly}) {
    EVENKEEL_CHECK(expression->Suits(node, part) == expression->WhyNot(node, part).empty());
  }
  return 0;
}
