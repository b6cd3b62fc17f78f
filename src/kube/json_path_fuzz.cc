// Any path and any template, on an object that has all kinds of values: no more than an error.
#include <cstddef>
#include <cstdint>

#include "kube/json_path.h"
#include "kube/json_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  static const base::Json object =
      base::ParseJson(R"({"a":{"b":[{"t":"x","v":1},{"t":"y","v":2.5},[1,[2,[3]]]],"c.d":"dot"},"s":"text","n":null,"f":true})",
                      "object")
          .value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = kube::JsonTemplate::Parse(text)) {
    const auto printed = parsed->Print(object);
    EVENKEEL_CHECK(printed || printed.error().code() == base::Code::kInvalid);
  }
  const auto path = kube::JsonPath::Parse(text);
  if (!path) return 0;
  const auto found = path->Find(object);
  for (size_t i = 0; found && i < found->size(); ++i) EVENKEEL_CHECK((*found)[i] != nullptr);
  return 0;
}
