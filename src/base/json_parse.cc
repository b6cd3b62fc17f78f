#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/json.h"

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

// Builds values as boost::json::parser does, but for numbers with a fraction or an exponent, and integers of more than 64 bits:
// those Boost 1.81 rounds a digit off one time in ten.
class ValueHandler {
 public:
  static constexpr size_t max_object_size = boost::json::object::max_size();
  static constexpr size_t max_array_size = boost::json::array::max_size();
  static constexpr size_t max_key_size = boost::json::string::max_size();
  static constexpr size_t max_string_size = boost::json::string::max_size();

  using Error = boost::json::error_code;
  using Text = boost::json::string_view;

  ValueHandler(boost::json::storage_ptr storage, unsigned char* memory, size_t size)
      : stack_(boost::json::storage_ptr(), memory, size) {
    stack_.reset(std::move(storage));
  }

  Json Release() { return stack_.release(); }

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error&) { return true; }
  bool on_object_end(size_t members, Error&) { return stack_.push_object(members), true; }
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
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

 private:
  boost::json::value_stack stack_;
  std::string number_;
};

std::string Describe(const boost::json::error_code& error) {
  if (error == boost::json::error::too_deep) return "nested deeper than " + std::to_string(kJsonDepthMax) + " levels";
  if (error == boost::json::error::exponent_overflow) return "a number is too large";
  return error.message();
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view source, boost::json::storage_ptr storage) {
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
    if (rest == std::string_view::npos) return parser.handler().Release();
    return Fail(Code::kBadRequest,
                std::string(source) + ":" + LineAndColumn(text, rest) + ": invalid JSON: something follows the value");
  }
  return Fail(Code::kBadRequest, std::string(source) + ":" + LineAndColumn(text, used) + ": invalid JSON: " + what);
}

}  // namespace evenkeel::base
