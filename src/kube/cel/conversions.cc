// CEL's conversions between types. Follows: cel-go@v0.26.0 common/types
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "kube/cel/library.h"
#include "kube/cel/library_values.h"

namespace evenkeel::kube::cel {
namespace {

const Value kIntRange = Value::Error("integer overflow: out of range");
const Value kUintRange = Value::Error("unsigned integer overflow: out of range");

template <typename T>
bool ReadNumber(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+') || (text.starts_with('-') && text.substr(1).starts_with('+'))) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Value WrongText(const Call& call, std::string_view type) {
  return MakeError(call.arena, fmt::format("type conversion error from '{}' to '{}'", call.args[0].text(), type));
}

Value ToInt(const Call& call) {
  const Value& value = call.args[0];
  switch (value.kind()) {
    case Kind::kInt:
      return value;
    case Kind::kUint:
      return value.uint_value() > INT64_MAX ? kIntRange : Value::Int(static_cast<int64_t>(value.uint_value()));
    case Kind::kDouble: {
      const double number = value.double_value();
      if (!(number > -9223372036854775808.0 && number < 9223372036854775808.0)) return kIntRange;
      return Value::Int(static_cast<int64_t>(number));
    }
    case Kind::kString: {
      int64_t number = 0;
      return ReadNumber(value.text(), number) ? Value::Int(number) : WrongText(call, "int");
    }
    case Kind::kTimestamp:
      return Value::Int(value.instant().seconds);
    case Kind::kDuration:
      return Value::Int(value.int_value());
    default:
      return NoSuchOverload();
  }
}

Value ToUint(const Call& call) {
  const Value& value = call.args[0];
  switch (value.kind()) {
    case Kind::kUint:
      return value;
    case Kind::kInt:
      return value.int_value() < 0 ? kUintRange : Value::Uint(static_cast<uint64_t>(value.int_value()));
    case Kind::kDouble: {
      const double number = value.double_value();
      if (!(number >= 0 && number < 18446744073709551616.0)) return kUintRange;
      return Value::Uint(static_cast<uint64_t>(number));
    }
    case Kind::kString: {
      uint64_t number = 0;
      return ReadNumber(value.text(), number) ? Value::Uint(number) : WrongText(call, "uint");
    }
    default:
      return NoSuchOverload();
  }
}

Value ReadDouble(const Call& call) {
  const std::string_view text = call.args[0].text();
  double number = 0;
  if (text.find_first_of(" xX_") == std::string_view::npos && ReadNumber(text, number)) return Value::Double(number);
  std::string_view word = text;
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  const std::string lower = base::Lower(word);
  if (lower == "infinity" || lower == "inf") return Value::Double(negative ? -INFINITY : INFINITY);
  if (lower == "nan") return Value::Double(std::nan(""));
  return WrongText(call, "double");
}

Value ToDouble(const Call& call) {
  const Value& value = call.args[0];
  switch (value.kind()) {
    case Kind::kDouble:
      return value;
    case Kind::kInt:
      return Value::Double(static_cast<double>(value.int_value()));
    case Kind::kUint:
      return Value::Double(static_cast<double>(value.uint_value()));
    case Kind::kString:
      return ReadDouble(call);
    default:
      return NoSuchOverload();
  }
}

Value ToBool(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kBool)) return value;
  if (!value.Is(Kind::kString)) return NoSuchOverload();
  static constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, value.text()) != kTrue.end()) return Value::Bool(true);
  if (std::ranges::find(kFalse, value.text()) != kFalse.end()) return Value::Bool(false);
  return WrongText(call, "bool");
}

Value ToStringValue(const Call& call) {
  const Value& value = call.args[0];
  switch (value.kind()) {
    case Kind::kString:
      return value;
    case Kind::kBytes:
      return base::IsUtf8(value.text()) ? Value::String(value.text())
                                        : Value::Error("invalid UTF-8 in bytes, cannot convert to string");
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
      return MakeString(call.arena, KeyText(value));
    case Kind::kDouble:
      return MakeString(call.arena, DoubleText(value.double_value()));
    case Kind::kTimestamp:
      return MakeString(call.arena, TimestampText(value));
    case Kind::kDuration:
      return MakeString(call.arena, DurationText(value.int_value()));
    case Kind::kIp:
    case Kind::kCidr:
      return MakeString(call.arena, ToText(value.as<IpValue>()));
    default:
      return NoSuchOverload();
  }
}

Value ToBytes(const Call& call) {
  const Value& value = call.args[0];
  return value.Is(Kind::kString) || value.Is(Kind::kBytes) ? Value::Bytes(value.text()) : NoSuchOverload();
}

Value ToTimestamp(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kTimestamp)) return value;
  if (value.Is(Kind::kString)) return ParseTimestamp(value.text(), call.arena);
  if (!value.Is(Kind::kInt)) return NoSuchOverload();
  if (value.int_value() < -62135596800 || value.int_value() > 253402300799)
    return Value::Error("timestamp overflow: out of range");
  return Value::Timestamp(value.int_value(), 0);
}

Value ToDuration(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kDuration)) return value;
  if (value.Is(Kind::kString)) return ParseDurationText(value.text(), call.arena);
  return value.Is(Kind::kInt) ? Value::Duration(value.int_value()) : NoSuchOverload();
}

}  // namespace

std::string DoubleText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  // Go's shortest form: an exponent below -4 and from 21 on, with two digits at least.
  const double magnitude = std::abs(value);
  const bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e21);
  std::array<char, 64> buffer{};
  const auto format = exponent ? std::chars_format::scientific : std::chars_format::fixed;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr};
}

void AddConversions(Library& library) {
  library.AddAny("int", {"(int) int", "(uint) int", "(double) int", "(string) int", "(timestamp) int", "(duration) int"},
                 ToInt);
  library.AddAny("uint", {"(uint) uint", "(int) uint", "(double) uint", "(string) uint"}, ToUint);
  library.AddAny("double", {"(double) double", "(int) double", "(uint) double", "(string) double"}, ToDouble);
  library.AddAny("bool", {"(bool) bool", "(string) bool"}, ToBool);
  library.AddAny("string",
                 {"(string) string", "(bool) string", "(int) string", "(uint) string", "(double) string", "(bytes) string",
                  "(timestamp) string", "(duration) string"},
                 ToStringValue, Cost::kTraverse);
  if (library.Has(Extension::kNetwork) || library.Has(Extension::kNetworkLatest))
    library.AddAny("string", {"(net.IP) string", "(net.CIDR) string"}, ToStringValue, Cost::kTraverse);
  library.AddAny("bytes", {"(bytes) bytes", "(string) bytes"}, ToBytes, Cost::kTraverse);
  library.AddAny("timestamp", {"(timestamp) timestamp", "(string) timestamp", "(int) timestamp"}, ToTimestamp);
  library.AddAny("duration", {"(duration) duration", "(string) duration", "(int) duration"}, ToDuration);
  library.AddAny("dyn", {"(A) dyn"}, [](const Call& call) { return call.args[0]; });
  library.AddAny("type", {"(A) type(A)"}, [](const Call& call) { return Value::Of(types::Of(call.args[0])); });
}

}  // namespace evenkeel::kube::cel
