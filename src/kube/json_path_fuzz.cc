// Any path, found in an object that has all kinds of values: no more than an error.
#include <cstddef>
#include <cstdint>

#include "kube/json_path.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  static const base::Json object =
      base::ParseJson(R"({"a":{"b":[{"t":"x","v":1},{"t":"y","v":2.5},[1,[2,[3]]]],"c.d":"dot"},"s":"text","n":null,"f":true})",
                      "object")
          .value();
  const auto path = kube::JsonPath::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!path) return 0;
  const auto found = path->Find(object);
  for (size_t i = 0; found && i < found->size(); ++i) EVENKEEL_CHECK((*found)[i] != nullptr);
  return 0;
}
