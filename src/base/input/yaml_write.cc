#include <algorithm>
#include <vector>

#include "base/input/yaml.h"
#include "base/input/yaml_scalar.h"

namespace evenkeel::base {
namespace {

// Readers give up on "key: value" when the key is longer than 1024 characters; quoting may double them.
constexpr size_t kSimpleKeyBytesMax = 400;

// Characters that YAML does not allow unescaped, or that editors do not show: controls, U+0080..U+009F, line separators, BOM.
bool HasUnprintable(std::string_view text, bool allow_newline) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n' && allow_newline) continue;
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
    const std::string_view three = text.substr(i, 3);
    if (three == "\u2028" || three == "\u2029" || three == "\ufeff") return true;
  }
  return false;
}

std::string DoubleQuoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::string_view three = text.substr(i, 3);
    if (byte == '"' || byte == '\\') {
      quoted += {'\\', text[i]};
    } else if (byte == '\n') {
      quoted += "\\n";
    } else if (byte == '\t') {
      quoted += "\\t";
    } else if (byte == '\r') {
      quoted += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      const auto next = static_cast<unsigned char>(text[++i]);
      quoted += {'\\', 'x', kHex[next >> 4], kHex[next & 15]};
    } else if (three == "\u2028" || three == "\u2029" || three == "\ufeff") {
      quoted += three == "\u2028" ? "\\u2028" : three == "\u2029" ? "\\u2029" : "\\ufeff";
      i += 2;
    } else {
      quoted += text[i];
    }
  }
  return quoted + '"';
}

std::string SingleQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + '\'';
}

bool CanBePlain(std::string_view text) {
  static constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=";
  const char first = text.front();
  if (first == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (kIndicators.find(first) != std::string_view::npos) {
    // "-x", "?x" and ":x" are fine before anything but a space; "---" begins a document.
    if ((first != '-' && first != '?') || text.size() == 1 || text[1] == ' ' || text.starts_with("---")) return false;
  }
  if (text.starts_with("...") || text == "<<") return false;
  return text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos;
}

// On one line, as a key or a value.
std::string YamlString(std::string_view text) {
  if (text.empty()) return "\"\"";
  if (HasUnprintable(text, false)) return DoubleQuoted(text);
  const std::optional<Json> read_back = ResolveYamlScalar(text);
  const bool other_letter = text == "y" || text == "Y" || text == "n" || text == "N";
  if (!read_back || !read_back->is_string() || other_letter || LooksLikeYamlTimestampOrSexagesimal(text)) {
    return DoubleQuoted(text);
  }
  return CanBePlain(text) ? std::string(text) : SingleQuoted(text);
}

// Multi-line text reads best as a block, where a block can hold it unchanged.
bool CanBeBlock(std::string_view text) {
  return text.find('\n') != std::string_view::npos && text.front() != '\n' && text.front() != ' ' &&
         !HasUnprintable(text, true);
}

class YamlWriter {
 public:
  std::string Take() { return std::move(out_); }

  void Document(const Json& value) {
    if (IsBlock(value)) {
      Block(value, 0, false);
    } else {
      Inline(value, 0);
    }
  }

 private:
  static bool IsBlock(const Json& value) {
    return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
  }

  // What stands behind "key: " or "- ": a scalar or an empty collection, with its newline.
  void Inline(const Json& value, size_t indent) {
    if (value.is_string() && CanBeBlock(value.get_string())) return Literal(value.get_string(), indent);
    out_ += value.is_string() ? YamlString(value.get_string()) : ToText(value);
    out_ += '\n';
  }

  void Literal(std::string_view text, size_t indent) {
    const bool ends = text.ends_with('\n');
    out_ += !ends ? "|-" : text.ends_with("\n\n") ? "|+" : "|";
    out_ += '\n';
    if (ends) text.remove_suffix(1);
    while (true) {
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      if (!line.empty()) out_.append(std::max<size_t>(indent, 2), ' ');
      out_ += line;
      out_ += '\n';
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  // `started`: the cursor stands behind "- " at this indent already.
  void Block(const Json& value, size_t indent, bool started) {
    if (const JsonArray* array = value.if_array()) {
      for (const Json& item : *array) {
        Indent(indent, started);
        out_ += "- ";
        Compact(item, indent + 2);
      }
      return;
    }
    std::vector<const JsonObject::value_type*> members;
    for (const auto& member : value.get_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
    for (const auto* member : members) {
      Indent(indent, started);
      Member(member->key(), member->value(), indent);
    }
  }

  void Member(std::string_view key, const Json& value, size_t indent) {
    if (key.size() > kSimpleKeyBytesMax) {
      out_ += "? " + YamlString(key) + "\n";
      out_.append(indent, ' ');
      out_ += ": ";
      return Compact(value, indent + 2);
    }
    out_ += YamlString(key) + ":";
    if (IsBlock(value)) {
      out_ += '\n';
      // As kubectl prints it: lists are not indented under their key.
      return Block(value, value.is_array() ? indent : indent + 2, false);
    }
    out_ += ' ';
    Inline(value, indent + 2);
  }

  void Compact(const Json& value, size_t indent) {
    if (IsBlock(value)) return Block(value, indent, true);
    Inline(value, indent);
  }

  void Indent(size_t indent, bool& started) {
    if (!std::exchange(started, false)) out_.append(indent, ' ');
  }

  std::string out_;
};

}  // namespace

std::string ToYaml(const Json& value) {
  YamlWriter writer;
  writer.Document(value);
  return writer.Take();
}

}  // namespace evenkeel::base
