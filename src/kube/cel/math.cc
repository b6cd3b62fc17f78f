// The math and encoders extensions, which Kubernetes does not have. Follows: cel-go@v0.26.0 ext/math.go, ext/encoders.go
#include <cmath>

#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

bool IsNumeric(const Value& value) { return value.Is(Kind::kInt) || value.Is(Kind::kUint) || value.Is(Kind::kDouble); }

template <int kSign>
Value Most(const Call& call) {
  std::vector<Value> items(call.args.begin(), call.args.end());
  if (items.size() == 1 && items[0].Is(Kind::kList)) {
    const List& list = call.args[0].list();
    items.clear();
    for (size_t i = 0; i < list.size(); ++i) items.push_back(list.At(i, call.arena));
    if (items.empty()) return Value::Error("math.@max(list) argument must not be empty");
  }
  Value best = items[0];
  for (const Value& item : items) {
    int order = 0;
    if (!IsNumeric(item) || !Compare(item, best, order)) return NoSuchOverload();
    if (order == kSign) best = item;
  }
  return best;
}

template <typename Operation>
Value OnDouble(const Call& call, Operation operation) {
  return call.args[0].Is(Kind::kDouble) ? operation(call.args[0].double_value()) : NoSuchOverload();
}

Value Abs(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kDouble)) return Value::Double(std::abs(value.double_value()));
  if (value.Is(Kind::kUint)) return value;
  if (!value.Is(Kind::kInt)) return NoSuchOverload();
  return value.int_value() == INT64_MIN ? Value::Error("integer overflow") : Value::Int(std::abs(value.int_value()));
}

Value SignOf(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kInt)) return Value::Int((value.int_value() > 0) - (value.int_value() < 0));
  if (value.Is(Kind::kUint)) return Value::Uint(value.uint_value() > 0 ? 1 : 0);
  if (!value.Is(Kind::kDouble)) return NoSuchOverload();
  const double number = value.double_value();
  if (std::isnan(number)) return value;
  return Value::Double(number > 0 ? 1 : number < 0 ? -1 : 0);
}

Value SquareRoot(const Call& call) {
  const Value& value = call.args[0];
  if (value.Is(Kind::kInt)) return Value::Double(std::sqrt(static_cast<double>(value.int_value())));
  if (value.Is(Kind::kUint)) return Value::Double(std::sqrt(static_cast<double>(value.uint_value())));
  return value.Is(Kind::kDouble) ? Value::Double(std::sqrt(value.double_value())) : NoSuchOverload();
}

template <typename Operation>
Value OnBits(const Call& call, Operation operation) {
  const Value &a = call.args[0], &b = call.args.back();
  if (a.kind() != b.kind()) return NoSuchOverload();
  if (a.Is(Kind::kInt)) return Value::Int(static_cast<int64_t>(operation(a.uint_value(), b.uint_value())));
  return a.Is(Kind::kUint) ? Value::Uint(operation(a.uint_value(), b.uint_value())) : NoSuchOverload();
}

template <bool kLeft>
Value Shift(const Call& call) {
  const Value& value = call.args[0];
  if ((!value.Is(Kind::kInt) && !value.Is(Kind::kUint)) || !call.args[1].Is(Kind::kInt)) return NoSuchOverload();
  const int64_t by = call.args[1].int_value();
  if (by < 0) return MakeError(call.arena, fmt::format("math.bitShift() negative offset: {}", by));
  const uint64_t bits = by > 63 ? 0 : kLeft ? value.uint_value() << by : value.uint_value() >> by;
  return value.Is(Kind::kInt) ? Value::Int(static_cast<int64_t>(bits)) : Value::Uint(bits);
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Value Encode(const Call& call) {
  std::string out;
  const std::string_view bytes = call.args[0].text();
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kBase64[(word >> (18 - 6 * k)) & 63];
  }
  return MakeString(call.arena, out);
}

Value Decode(const Call& call) {
  std::string out;
  if (!DecodeBase64(call.args[0].text(), out)) return Value::Error("illegal base64 data");
  return Value::Bytes(call.arena.Copy(out));
}

void AddBits(Library& library) {
  for (const std::string_view type : {"int", "uint"}) {
    const std::string two = fmt::format("({0}, {0}) {0}", type);
    library.AddAny("math.bitAnd", {two}, [](const Call& call) { return OnBits(call, std::bit_and<uint64_t>()); });
    library.AddAny("math.bitOr", {two}, [](const Call& call) { return OnBits(call, std::bit_or<uint64_t>()); });
    library.AddAny("math.bitXor", {two}, [](const Call& call) { return OnBits(call, std::bit_xor<uint64_t>()); });
    library.AddAny("math.bitNot", {fmt::format("({0}) {0}", type)},
                   [](const Call& call) { return OnBits(call, [](uint64_t a, uint64_t) { return ~a; }); });
    library.AddAny("math.bitShiftLeft", {fmt::format("({0}, int) {0}", type)}, Shift<true>);
    library.AddAny("math.bitShiftRight", {fmt::format("({0}, int) {0}", type)}, Shift<false>);
  }
}

}  // namespace

void AddMath(Library& library) {
  // Up to ten arguments of any numbers: more are written as a list.
  std::string arguments = "dyn";
  for (int count = 1; count <= 10; ++count, arguments += ", dyn") {
    library.AddAny("math.greatest", {fmt::format("({}) dyn", arguments)}, Most<1>);
    library.AddAny("math.least", {fmt::format("({}) dyn", arguments)}, Most<-1>);
  }
  const auto add = [&library](std::string_view name, Implementation run) { library.AddAny(name, {"(double) double"}, run); };
  add("math.ceil", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Double(std::ceil(x)); }); });
  add("math.floor", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Double(std::floor(x)); }); });
  add("math.round", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Double(std::round(x)); }); });
  add("math.trunc", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Double(std::trunc(x)); }); });
  const auto ask = [&library](std::string_view name, Implementation run) { library.AddAny(name, {"(double) bool"}, run); };
  ask("math.isNaN", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Bool(std::isnan(x)); }); });
  ask("math.isInf", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Bool(std::isinf(x)); }); });
  ask("math.isFinite", [](const Call& call) { return OnDouble(call, [](double x) { return Value::Bool(std::isfinite(x)); }); });
  for (const std::string_view type : {"int", "uint", "double"}) {
    library.AddAny("math.abs", {fmt::format("({0}) {0}", type)}, Abs);
    library.AddAny("math.sign", {fmt::format("({0}) {0}", type)}, SignOf);
    library.AddAny("math.sqrt", {fmt::format("({}) double", type)}, SquareRoot);
  }
  AddBits(library);
  library.Add("base64.encode", "(bytes) string", Encode, Cost::kTraverse);
  library.Add("base64.decode", "(string) bytes", Decode, Cost::kTraverse);
}

bool DecodeBase64(std::string_view text, std::string& out) {
  while (text.ends_with('=')) text.remove_suffix(1);
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) return false;
    word = word << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(word >> bits & 0xFF);
  }
  return text.size() % 4 != 1;
}

}  // namespace evenkeel::kube::cel
