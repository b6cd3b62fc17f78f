// A CRD's schema and an object, both from outside: the input is two JSON texts with a newline between them.
#include <cstddef>
#include <cstdint>

#include "kube/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  const auto open_api = base::ParseJson(text.substr(0, end), "schema");
  if (!open_api) return 0;
  kube::SchemaSet set;
  const auto schema = kube::SchemaFromOpenApi(*open_api, set);
  if (!schema) return 0;
  auto object = base::ParseJson(end == text.npos ? "{}" : text.substr(end + 1), "object");
  if (!object) return 0;
  kube::ApplyDefaults(*object, **schema);
  std::vector<std::string> unknown;
  kube::Prune(*object, **schema, &unknown);
  kube::Normalize(*object, **schema);
  kube::Validate(*object, **schema);
  unknown.clear();
  kube::Prune(*object, **schema, &unknown);
  if (!unknown.empty()) __builtin_trap();  // pruning twice must find nothing
  return 0;
}
