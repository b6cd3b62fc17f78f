// A message of any built-in type, from outside: the first two bytes pick the type, the rest is the message.
#include <cstddef>
#include <cstdint>

#include "kube/forms/protobuf.h"
#include "kube/schema/schema_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  if (size < 2) return 0;
  static const auto* types = [] {
    auto* all = new std::vector<const kube::Schema*>;
    for (const auto& [name, schema] : kube::BuiltInSchemas().definitions) all->push_back(schema);
    return all;
  }();
  const kube::Schema& schema = *(*types)[(data[0] | data[1] << 8) % types->size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto object = kube::DecodeProtobuf(schema, bytes);
  if (!object) return 0;
  // What it is must be what is written, and what is written must be read.
  const std::string written = kube::EncodeProtobuf(schema, *object);
  const auto again = kube::DecodeProtobuf(schema, written);
  if (!again || kube::EncodeProtobuf(schema, *again) != written) __builtin_trap();
  // As an API server keeps it.
  const auto kept = base::ParseJson(base::ToText(*again), "object");
  if (!kept || kube::EncodeProtobuf(schema, *kept) != written) __builtin_trap();
  return 0;
}
