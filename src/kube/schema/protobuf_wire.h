// Protocol buffers below the level of schemas: tags, lengths, integers. Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace evenkeel::kube {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// A number at the end of `out`.
void AppendVarint(std::string& out, uint64_t value);
/// What stands before the value of a field.
void AppendTag(std::string& out, uint32_t number, WireType type);

/// One field as it stands in the bytes.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t integer = 0;    ///< kVarint, kFixed64 and kFixed32
  std::string_view bytes;  ///< kBytes
};

/// Reads a message field by field.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  /// Passes over these bytes if they are what comes next.
  bool Skip(std::string_view bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes.size() || std::memcmp(at_, bytes.data(), bytes.size()) != 0) return false;
    at_ += bytes.size();
    return true;
  }
  /// False when the bytes are broken: problem() says how.
  bool Next(WireField& field) {
    uint64_t tag = 0;
    if (!Varint(tag)) return false;
    if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return Broken("has a field without a number");
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    field.bytes = {};
    if (field.type == WireType::kVarint) return Varint(field.integer);
    field.integer = 0;
    if (field.type != WireType::kBytes) return Fixed(field);
    uint64_t size = 0;
    if (!Varint(size)) return false;
    if (size > static_cast<uint64_t>(end_ - at_)) return Broken("ends in the middle of a value");
    field.bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  bool Varint(uint64_t& value) {
    // Most take a byte or two.
    if (end_ - at_ >= 2) {
      const auto first = static_cast<uint8_t>(at_[0]), second = static_cast<uint8_t>(at_[1]);
      if (first < 0x80) {
        value = first;
        ++at_;
        return true;
      }
      if (second < 0x80) {
        value = (first & 0x7FU) | uint64_t{second} << 7;
        at_ += 2;
        return true;
      }
    }
    return LongVarint(value);
  }
  std::string_view problem() const { return problem_; }

 private:
  bool LongVarint(uint64_t& value);
  bool Fixed(WireField& field);
  bool Broken(std::string_view problem) {
    problem_ = problem;
    return false;
  }

  const char* at_;
  const char* end_;
  std::string_view problem_;
};

}  // namespace evenkeel::kube
