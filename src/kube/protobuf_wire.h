// Protocol buffers below the level of schemas: tags, lengths, integers. Source: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel::kube {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

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
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  /// Nothing when the bytes are broken: problem() says how.
  std::optional<WireField> Next();
  std::optional<uint64_t> Varint();
  std::string_view problem() const { return problem_; }

 private:
  std::nullopt_t Broken(std::string_view problem) {
    problem_ = problem;
    return std::nullopt;
  }

  std::string_view rest_;
  std::string_view problem_;
};

}  // namespace evenkeel::kube
