// Where things stand in a text, for messages: lines and columns of offsets, and offsets of values in JSON and YAML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace evenkeel::balancing {

struct TextPosition {
  size_t line = 1, column = 1;  ///< from 1, the column in bytes
};

/// Lines of a text that it does not keep.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  TextPosition At(size_t offset) const;

 private:
  std::vector<size_t> starts_;
};

/// The offset of a value in JSON and those of what it contains: of members the values, in their order. A member whose key
/// stands twice is in the first one's place, with the last one's value.
struct JsonSpot {
  size_t offset = 0;
  std::vector<JsonSpot> children{};
  std::vector<size_t> repeated{};  ///< offsets of values whose key stood before in the object
};
/// `json` must parse, nested at most 100 deep.
JsonSpot JsonSpots(std::string_view json);

/// Keys and indexes from the root of a document to a value in it.
using ValuePath = std::vector<std::variant<std::string, size_t>>;

enum class TextSyntax { kJson, kYaml };

/// Where the value at the path stands in a text that parses; nothing when it is not to be found, as what an
/// alias stands for. Reads the text again, so for errors only.
std::optional<TextPosition> Locate(std::string_view text, TextSyntax syntax, const ValuePath& path);

}  // namespace evenkeel::balancing
