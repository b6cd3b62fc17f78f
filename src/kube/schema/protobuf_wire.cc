#include "kube/schema/protobuf_wire.h"

namespace evenkeel::kube {

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendTag(std::string& out, uint32_t number, WireType type) {
  AppendVarint(out, uint64_t{number} << 3 | static_cast<uint64_t>(type));
}

bool WireReader::LongVarint(uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (at_ + i == end_) return Broken("ends in the middle of a value");
    const auto byte = static_cast<uint8_t>(at_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      at_ += i + 1;
      return true;
    }
  }
  return Broken("has a number of more than 64 bits");
}

bool WireReader::Fixed(WireField& field) {
  if (field.type != WireType::kFixed64 && field.type != WireType::kFixed32) {
    return Broken("has a value of a kind that protocol buffers do not know");
  }
  const ptrdiff_t size = field.type == WireType::kFixed64 ? 8 : 4;
  if (size > end_ - at_) return Broken("ends in the middle of a value");
  for (ptrdiff_t i = 0; i < size; ++i) field.integer |= static_cast<uint64_t>(static_cast<uint8_t>(at_[i])) << (8 * i);
  at_ += size;
  return true;
}

}  // namespace evenkeel::kube
