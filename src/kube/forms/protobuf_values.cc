#include "kube/forms/protobuf_values.h"

#include <bit>
#include <cmath>
#include <optional>

#include "base/time.h"
#include "kube/quantity.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using Type = Schema::Type;

std::string Text(std::string_view bytes, Json& out) {
  if (!base::IsUtf8(bytes)) return "is not UTF-8";
  out.emplace_string() = bytes;
  return {};
}

std::string Number(uint64_t bits, Json& out) {
  const double number = std::bit_cast<double>(bits);
  constexpr double kExactMax = 9'007'199'254'740'992;
  if (!std::isfinite(number)) return "is not a number";
  if (std::trunc(number) == number && std::abs(number) < kExactMax) {
    out = static_cast<int64_t>(number);
  } else {
    out = number;
  }
  return {};
}

std::string Amount(std::string_view message, Json& out) {
  std::string_view text = "0";
  WireReader reader(message);
  while (!reader.done()) {
    WireField field;
    if (!reader.Next(field)) return std::string(reader.problem());
    if (field.number == 1) text = field.bytes;
  }
  const auto quantity = Quantity::Parse(text);
  if (!quantity) return "is no amount";
  out = quantity->ToString();
  return {};
}

std::string Instant(Type type, std::string_view message, Json& out) {
  if (message.empty()) return {};
  int64_t seconds = 0, nanos = 0;
  WireReader reader(message);
  while (!reader.done()) {
    WireField field;
    if (!reader.Next(field)) return std::string(reader.problem());
    if (field.number == 1) seconds = static_cast<int64_t>(field.integer);
    if (field.number == 2) nanos = static_cast<int32_t>(field.integer);
  }
  const base::CalendarTime time{std::chrono::sys_seconds(std::chrono::seconds(seconds)), static_cast<int32_t>(nanos)};
  if (time.seconds < base::CalendarTime::kFirst || time.seconds > base::CalendarTime::kLast || nanos < 0 ||
      nanos >= 1'000'000'000) {
    return "is no time of the years 0 to 9999";
  }
  out = type == Type::kTime ? base::FormatTime(time) : base::FormatMicroTime(time);
  return {};
}

std::string NumberOrText(std::string_view message, Json& out) {
  uint64_t kind = 0;
  int32_t number = 0;
  std::string_view text = "";
  WireReader reader(message);
  while (!reader.done()) {
    WireField field;
    if (!reader.Next(field)) return std::string(reader.problem());
    if (field.number == 1) kind = field.integer;
    if (field.number == 2) number = static_cast<int32_t>(field.integer);
    if (field.number == 3) text = field.bytes;
  }
  if (kind != 0) return Text(text, out);
  out = number;
  return {};
}

std::string Raw(std::string_view message, size_t depth, bool object, Json& out) {
  WireReader reader(message);
  std::optional<std::string_view> text;
  while (!reader.done()) {
    WireField field;
    if (!reader.Next(field)) return std::string(reader.problem());
    if (field.number == 1 && field.type == WireType::kBytes) text = field.bytes;
  }
  if (!text) return {};
  auto value = base::ParseJson(*text, "JSON text");
  if (!value) return "is broken: " + value.error().message();
  if (object && !value->is_object()) return "is no JSON object";
  if (base::DepthOf(*value) + depth > base::kJsonDepthMax) return "is nested too deep";
  out = *std::move(value);
  return {};
}

}  // namespace

std::string DecodeProtobufValue(const Schema& schema, const WireField& field, size_t depth, Json& out) {
  if (field.type != (schema.type == Type::kNumber ? WireType::kFixed64 : WireType::kBytes))
    return "has a value of another type";
  switch (schema.type) {
    case Type::kNumber:
      return Number(field.integer, out);
    case Type::kQuantity:
      return Amount(field.bytes, out);
    case Type::kTime:
    case Type::kMicroTime:
      return Instant(schema.type, field.bytes, out);
    case Type::kIntOrString:
      return NumberOrText(field.bytes, out);
    case Type::kObject:
      return Raw(field.bytes, depth, true, out);
    case Type::kAny:
      return Raw(field.bytes, depth, false, out);
    default:
      return "is of a kind that has no form in protocol buffers";
  }
}

}  // namespace evenkeel::kube
