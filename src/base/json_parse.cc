#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/json.h"
#include "base/utf8.h"

namespace evenkeel::base {
namespace {

// "LINE:COLUMN" of a byte offset, both from 1; columns count bytes.
std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t last_newline = before.rfind('\n');
  const size_t column = last_newline == std::string_view::npos ? before.size() + 1 : before.size() - last_newline;
  return std::to_string(line) + ":" + std::to_string(column);
}

// What boost::json::basic_parser wants of every handler.
class Handler {
 public:
  static constexpr size_t max_object_size = boost::json::object::max_size();
  static constexpr size_t max_array_size = boost::json::array::max_size();
  static constexpr size_t max_key_size = boost::json::string::max_size();
  static constexpr size_t max_string_size = boost::json::string::max_size();

  using Error = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }
};

// Builds values as boost::json::parser does, but for numbers with a fraction or an exponent, and integers of more than 64 bits:
// those Boost 1.81 rounds a digit off one time in ten.
class ValueHandler : public Handler {
 public:
  ValueHandler(boost::json::storage_ptr storage, unsigned char* memory, size_t size)
      : stack_(boost::json::storage_ptr(), memory, size) {
    stack_.reset(std::move(storage));
  }

  Json Release() { return stack_.release(); }
  /// Of all objects together, those that were given again included.
  size_t members() const { return members_; }

  bool on_object_begin(Error&) { return true; }
  bool on_object_end(size_t members, Error&) {
    members_ += members;
    return stack_.push_object(members), true;
  }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(size_t elements, Error&) { return stack_.push_array(elements), true; }
  bool on_key_part(Text part, size_t, Error&) { return stack_.push_chars(part), true; }
  bool on_key(Text rest, size_t, Error&) { return stack_.push_key(rest), true; }
  bool on_string_part(Text part, size_t, Error&) { return stack_.push_chars(part), true; }
  bool on_string(Text rest, size_t, Error&) { return stack_.push_string(rest), true; }
  bool on_number_part(Text part, Error&) { return number_.append(part), true; }
  bool on_int64(int64_t value, Text, Error&) { return number_.clear(), stack_.push_int64(value), true; }
  bool on_uint64(uint64_t value, Text, Error&) { return number_.clear(), stack_.push_uint64(value), true; }
  bool on_double(double, Text rest, Error& error) {
    number_.append(rest);
    double value = 0;
    if (std::from_chars(number_.data(), number_.data() + number_.size(), value).ec != std::errc()) {
      // Too small is as near to 0 as can be; too large is nothing that JSON could be written with again.
      value = std::strtod(number_.c_str(), nullptr);
      if (std::isinf(value)) error = boost::json::error::exponent_overflow;
    }
    number_.clear();
    stack_.push_double(value);
    return !error;
  }
  bool on_bool(bool value, Error&) { return stack_.push_bool(value), true; }
  bool on_null(Error&) { return stack_.push_null(), true; }

 private:
  boost::json::value_stack stack_;
  std::string number_;
  size_t members_ = 0;
};

constexpr size_t kRepeatedKeysMax = 100;
constexpr size_t kPathMax = 1024;

// Sees only keys, and tells of those that come again.
class KeyHandler : public Handler {
 public:
  std::vector<std::string> Take() { return std::move(found_); }

  bool on_object_begin(Error&) { return Open(false); }
  bool on_object_end(size_t, Error&) { return Close(); }
  bool on_array_begin(Error&) { return Open(true); }
  bool on_array_end(size_t, Error&) { return Close(); }
  bool on_key_part(Text part, size_t, Error&) { return key_.append(part), true; }
  bool on_key(Text rest, size_t, Error&) {
    key_.append(rest);
    Frame& frame = frames_.back();
    frame.key = std::move(key_);
    key_.clear();
    if (!frame.keys.insert(frame.key).second && found_.size() < kRepeatedKeysMax) {
      std::string path = Path();
      if (std::ranges::find(found_, path) == found_.end()) found_.push_back(std::move(path));
    }
    return true;
  }
  bool on_string_part(Text, size_t, Error&) { return true; }
  bool on_string(Text, size_t, Error&) { return Next(); }
  bool on_number_part(Text, Error&) { return true; }
  bool on_int64(int64_t, Text, Error&) { return Next(); }
  bool on_uint64(uint64_t, Text, Error&) { return Next(); }
  bool on_double(double, Text, Error&) { return Next(); }
  bool on_bool(bool, Error&) { return Next(); }
  bool on_null(Error&) { return Next(); }

 private:
  struct Frame {
    bool array = false;
    size_t index = 0;
    std::string key{};
    std::set<std::string> keys{};
  };

  bool Open(bool array) { return frames_.push_back({.array = array}), true; }
  bool Close() {
    frames_.pop_back();
    return Next();
  }
  // A value is complete.
  bool Next() {
    if (!frames_.empty()) ++frames_.back().index;
    return true;
  }

  std::string Path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.array) {
        path += "[" + std::to_string(frame.index) + "]";
      } else {
        path += (path.empty() ? "" : ".") + frame.key;
      }
      if (path.size() > kPathMax) return OneLine(path.substr(0, kPathMax)) + "...";
    }
    return path;
  }

  std::vector<Frame> frames_;
  std::string key_;
  std::vector<std::string> found_;
};

size_t MembersOf(const Json& value) {
  size_t members = 0;
  if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) members += MembersOf(item);
  } else if (const JsonObject* object = value.if_object()) {
    members = object->size();
    for (const auto& member : *object) members += MembersOf(member.value());
  }
  return members;
}

std::string Describe(const boost::json::error_code& error) {
  if (error == boost::json::error::too_deep) return "nested deeper than " + std::to_string(kJsonDepthMax) + " levels";
  if (error == boost::json::error::exponent_overflow) return "a number is too large";
  return error.message();
}

Result<Json> Parse(std::string_view text, std::string_view source, boost::json::storage_ptr storage, size_t& members) {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  unsigned char working_memory[4096];
  boost::json::basic_parser<ValueHandler> parser(options, std::move(storage), working_memory, sizeof working_memory);
  boost::json::error_code error;
  const size_t used = parser.write_some(false, text.data(), text.size(), error);
  std::string what;
  if (error) {
    what = Describe(error);
  } else {
    const size_t rest = text.find_first_not_of(" \t\r\n", used);
    members = parser.handler().members();
    if (rest == std::string_view::npos) return parser.handler().Release();
    return Fail(Code::kBadRequest,
                std::string(source) + ":" + LineAndColumn(text, rest) + ": invalid JSON: something follows the value");
  }
  return Fail(Code::kBadRequest, std::string(source) + ":" + LineAndColumn(text, used) + ": invalid JSON: " + what);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view source, boost::json::storage_ptr storage) {
  size_t members = 0;
  return Parse(text, source, std::move(storage), members);
}

Result<Json> ParseJson(std::string_view text, std::string_view source, boost::json::storage_ptr storage,
                       std::vector<std::string>& repeated_keys) {
  size_t members = 0;
  auto value = Parse(text, source, std::move(storage), members);
  // Nearly always none comes again, so that nothing has to be remembered of them.
  if (!value || members == MembersOf(*value)) return value;
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::basic_parser<KeyHandler> parser(options);
  boost::json::error_code error;
  parser.write_some(false, text.data(), text.size(), error);
  repeated_keys = parser.handler().Take();
  return value;
}

}  // namespace evenkeel::base
