#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/utf8.h"

namespace evenkeel::base {
namespace {

// Our own writer instead of boost::json::serialize, which prints 1.5 as 1.5E0.
class JsonWriter {
 public:
  JsonWriter(std::string& out, bool pretty, bool sorted) : pretty_(pretty), sorted_(sorted), out_(out) {}

  void Write(const Json& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        out_ += "null";
        break;
      case boost::json::kind::bool_:
        out_ += value.get_bool() ? "true" : "false";
        break;
      case boost::json::kind::int64:
        WriteNumber(value.get_int64());
        break;
      case boost::json::kind::uint64:
        WriteNumber(value.get_uint64());
        break;
      case boost::json::kind::double_:
        WriteDouble(value.get_double());
        break;
      case boost::json::kind::string:
        WriteString(value.get_string());
        break;
      case boost::json::kind::array:
        WriteArray(value.get_array());
        break;
      case boost::json::kind::object:
        WriteObject(value.get_object());
        break;
    }
  }

  void WriteString(std::string_view text) {
    out_ += '"';
    size_t copied = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out_.append(text, copied, i - copied);
      copied = i + 1;
      WriteEscape(c);
    }
    out_.append(text, copied);
    out_ += '"';
  }

 private:
  void WriteNumber(auto number) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    out_.append(buffer, end);
  }

  // As Go's encoding/json: plain digits between 1e-6 and 1e21, so that clients which expect an integer can read 3.0. But Go
  // writes a negative zero as "-0", which is read as the integer 0.
  void WriteDouble(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    if (number == 0 && std::signbit(number)) {
      out_ += "-0.0";
      return;
    }
    const double magnitude = std::fabs(number);
    const bool plain = magnitude == 0 || (magnitude >= 1e-6 && magnitude < 1e21);
    char buffer[64];
    const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr;
    out_.append(buffer, end);
  }

  void WriteEscape(unsigned char c) {
    static constexpr char kHex[] = "0123456789abcdef";
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        out_ += "\\u00";
        out_ += kHex[c >> 4];
        out_ += kHex[c & 15];
    }
  }

  void WriteArray(const JsonArray& array) {
    out_ += '[';
    ++depth_;
    bool first = true;
    for (const Json& item : array) {
      Separate(first);
      Write(item);
    }
    --depth_;
    if (!first) NewLine();
    out_ += ']';
  }

  void WriteObject(const JsonObject& object) {
    out_ += '{';
    ++depth_;
    bool first = true;
    if (sorted_) {
      std::vector<const JsonObject::value_type*> members;
      members.reserve(object.size());
      for (const auto& member : object) members.push_back(&member);
      std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
      for (const auto* member : members) WriteMember(*member, first);
    } else {
      for (const auto& member : object) WriteMember(member, first);
    }
    --depth_;
    if (!first) NewLine();
    out_ += '}';
  }

  void WriteMember(const JsonObject::value_type& member, bool& first) {
    Separate(first);
    WriteString(member.key());
    out_ += pretty_ ? ": " : ":";
    Write(member.value());
  }

  void Separate(bool& first) {
    if (!first) out_ += ',';
    first = false;
    NewLine();
  }

  void NewLine() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  const bool pretty_;
  const bool sorted_;
  size_t depth_ = 0;
  std::string& out_;
};

std::string WrittenText(const Json& value, bool pretty, bool sorted) {
  std::string text;
  JsonWriter(text, pretty, sorted).Write(value);
  return text;
}

bool EqualNumbers(const Json& a, const Json& b) {
  if (a.is_double() || b.is_double()) {
    const double x = a.to_number<double>();
    const double y = b.to_number<double>();
    if (x != y) return false;
    // Beyond 2^53 two different integers convert to the same double; compare them as integers where that is possible.
    if (a.is_double() && b.is_double()) return true;
    const Json& integer = a.is_double() ? b : a;
    if (x >= 0x1p64 || x < -0x1p63) return false;
    if (integer.is_uint64()) return x >= 0 && static_cast<uint64_t>(x) == integer.get_uint64();
    return x < 0x1p63 && static_cast<int64_t>(x) == integer.get_int64();
  }
  if (a.is_int64() && b.is_int64()) return a.get_int64() == b.get_int64();
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
  const int64_t with_sign = a.is_int64() ? a.get_int64() : b.get_int64();
  const uint64_t without_sign = a.is_int64() ? b.get_uint64() : a.get_uint64();
  return with_sign >= 0 && static_cast<uint64_t>(with_sign) == without_sign;
}

}  // namespace

size_t DepthOf(const Json& value) {
  size_t depth = 0;
  if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) depth = std::max(depth, DepthOf(item));
    return depth + 1;
  }
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) depth = std::max(depth, DepthOf(member.value()));
    return depth + 1;
  }
  return 0;
}

bool IsUtf8(std::string_view text) { return FindNotUtf8(text) == std::string_view::npos; }

std::string ToText(const Json& value) { return WrittenText(value, false, false); }

void AppendText(std::string& out, const Json& value) { JsonWriter(out, false, false).Write(value); }

void AppendQuoted(std::string& out, std::string_view text) { JsonWriter(out, false, false).WriteString(text); }

std::string ToPrettyText(const Json& value) { return WrittenText(value, true, false); }

std::string CanonicalText(const Json& value) { return WrittenText(value, false, true); }

const Json* Find(const JsonObject& object, std::string_view key) { return object.if_contains(key); }

const Json* Find(const Json& value, std::initializer_list<std::string_view> path) {
  const Json* at = &value;
  for (const std::string_view key : path) {
    const JsonObject* object = at->if_object();
    at = object ? object->if_contains(key) : nullptr;
    if (!at) return nullptr;
  }
  return at;
}

Json* Find(Json& value, std::initializer_list<std::string_view> path) {
  return const_cast<Json*>(Find(static_cast<const Json&>(value), path));
}

std::string_view FindString(const Json& value, std::initializer_list<std::string_view> path, std::string_view fallback) {
  const Json* at = Find(value, path);
  return at && at->is_string() ? std::string_view(at->get_string()) : fallback;
}

int64_t FindInt(const Json& value, std::initializer_list<std::string_view> path, int64_t fallback) {
  const Json* at = Find(value, path);
  if (!at) return fallback;
  if (at->is_int64()) return at->get_int64();
  // 3.0 is an integer to Kubernetes' decoder.
  if (at->is_double() && std::fabs(at->get_double()) < 0x1p53 && std::trunc(at->get_double()) == at->get_double()) {
    return static_cast<int64_t>(at->get_double());
  }
  return fallback;
}

bool FindBool(const Json& value, std::initializer_list<std::string_view> path, bool fallback) {
  const Json* at = Find(value, path);
  return at && at->is_bool() ? at->get_bool() : fallback;
}

const JsonObject& FindObject(const Json& value, std::initializer_list<std::string_view> path) {
  static const JsonObject* const kEmpty = new JsonObject;
  const Json* at = Find(value, path);
  return at && at->is_object() ? at->get_object() : *kEmpty;
}

const JsonArray& FindArray(const Json& value, std::initializer_list<std::string_view> path) {
  static const JsonArray* const kEmpty = new JsonArray;
  const Json* at = Find(value, path);
  return at && at->is_array() ? at->get_array() : *kEmpty;
}

std::vector<std::string> TextsIn(const JsonArray& array) {
  std::vector<std::string> texts;
  for (const Json& item : array) {
    if (item.is_string()) texts.emplace_back(item.get_string());
  }
  return texts;
}

std::vector<std::string> FindTexts(const Json& value, std::initializer_list<std::string_view> path) {
  return TextsIn(FindArray(value, path));
}

std::map<std::string, std::string> FindTextMap(const Json& value, std::initializer_list<std::string_view> path) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, member] : FindObject(value, path)) {
    if (member.is_string()) texts.emplace(key, member.get_string());
  }
  return texts;
}

Json& Ensure(Json& value, std::initializer_list<std::string_view> path) {
  Json* at = &value;
  for (const std::string_view key : path) {
    if (!at->is_object()) at->emplace_object();
    at = &at->get_object()[key];
  }
  return *at;
}

void Erase(Json& value, std::initializer_list<std::string_view> path) {
  Json* at = &value;
  for (auto key = path.begin(); key != path.end(); ++key) {
    JsonObject* object = at->if_object();
    if (!object) return;
    if (key + 1 == path.end()) {
      object->erase(*key);
      return;
    }
    at = object->if_contains(*key);
    if (!at) return;
  }
}

bool Equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return EqualNumbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case boost::json::kind::bool_:
      return a.get_bool() == b.get_bool();
    case boost::json::kind::string:
      return a.get_string() == b.get_string();
    case boost::json::kind::array: {
      const JsonArray& left = a.get_array();
      const JsonArray& right = b.get_array();
      return std::equal(left.begin(), left.end(), right.begin(), right.end(), Equal);
    }
    case boost::json::kind::object: {
      const JsonObject& left = a.get_object();
      const JsonObject& right = b.get_object();
      if (left.size() != right.size()) return false;
      return std::all_of(left.begin(), left.end(), [&](const auto& member) {
        const Json* other = right.if_contains(member.key());
        return other && Equal(member.value(), *other);
      });
    }
    default:
      return true;
  }
}

}  // namespace evenkeel::base
