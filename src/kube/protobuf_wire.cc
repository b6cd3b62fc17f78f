#include "kube/protobuf_wire.h"

#include <limits>

namespace evenkeel::kube {

std::optional<uint64_t> WireReader::Varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (i == rest_.size()) return Broken("ends in the middle of a value");
    const auto byte = static_cast<uint8_t>(rest_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return Broken("has a number of more than 64 bits");
}

std::optional<WireField> WireReader::Next() {
  const auto tag = Varint();
  if (!tag) return std::nullopt;
  WireField field;
  if (*tag >> 3 == 0 || *tag >> 3 > std::numeric_limits<uint32_t>::max()) return Broken("has a field without a number");
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  uint64_t size = 0;
  switch (field.type) {
    case WireType::kVarint: {
      const auto value = Varint();
      if (!value) return std::nullopt;
      field.integer = *value;
      return field;
    }
    case WireType::kBytes: {
      const auto length = Varint();
      if (!length) return std::nullopt;
      size = *length;
      break;
    }
    case WireType::kFixed64:
      size = 8;
      break;
    case WireType::kFixed32:
      size = 4;
      break;
    default:
      return Broken("has a value of a kind that protocol buffers do not know");
  }
  if (size > rest_.size()) return Broken("ends in the middle of a value");
  field.bytes = rest_.substr(0, static_cast<size_t>(size));
  rest_.remove_prefix(static_cast<size_t>(size));
  if (field.type == WireType::kBytes) return field;
  for (size_t i = 0; i < field.bytes.size(); ++i) {
    field.integer |= static_cast<uint64_t>(static_cast<uint8_t>(field.bytes[i])) << (8 * i);
  }
  field.bytes = {};
  return field;
}

}  // namespace evenkeel::kube
