// CEL's operators. Follows: cel-go@v0.26.0 common/types, common/stdlib
#include <cmath>

#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

const Value kIntOverflow = Value::Error("integer overflow");
const Value kUintOverflow = Value::Error("unsigned integer overflow");
const Value kDurationOverflow = Value::Error("duration overflow: out of range");
const Value kTimestampOverflow = Value::Error("timestamp overflow: out of range");
constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kFirstSecond = -62135596800;
constexpr int64_t kLastSecond = 253402300799;

bool Both(const Call& call, Kind kind) { return call.args[0].Is(kind) && call.args[1].Is(kind); }

Value AddDuration(const Value& timestamp, int64_t duration) {
  const __int128 nanos = static_cast<__int128>(timestamp.instant().seconds) * kNanos + timestamp.instant().nanos + duration;
  __int128 seconds = nanos / kNanos;
  auto rest = static_cast<int32_t>(nanos % kNanos);
  if (rest < 0) rest += kNanos, --seconds;
  if (seconds < kFirstSecond || seconds > kLastSecond) return kTimestampOverflow;
  return Value::Timestamp(static_cast<int64_t>(seconds), rest);
}

Value CheckedDuration(__int128 nanos) {
  if (nanos < INT64_MIN || nanos > INT64_MAX) return kDurationOverflow;
  return Value::Duration(static_cast<int64_t>(nanos));
}

/// Lists of type set keep the left side and append what it lacks; of type map the right side's items take their places.
Value MergeLists(const List& a, const List& b, const ListRule& rule, Arena& arena) {
  std::vector<Value> items;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < a.size() + b.size(); ++i) {
    const Value item = i < a.size() ? a.At(i, arena) : b.At(i - a.size(), arena);
    std::string identity;
    // What cannot be told apart stays.
    const bool known = IdentityOf(item, rule, arena, identity);
    const auto found = known ? places.find(identity) : places.end();
    if (found != places.end() && i >= a.size()) {
      items[found->second] = item;
      continue;
    }
    if (known) places.emplace(std::move(identity), items.size());
    items.push_back(item);
  }
  const std::span<Value> kept = arena.NewArray<Value>(items.size());
  std::ranges::copy(items, kept.begin());
  return Value::Of(static_cast<const List*>(arena.New<ArrayList>(kept, &rule)));
}

Value Join(const List& a, const List& b, Arena& arena) {
  if (a.rule() != nullptr) return MergeLists(a, b, *a.rule(), arena);
  if (a.size() == 0) return Value::Of(&b);
  if (b.size() == 0) return Value::Of(&a);
  if (arena.TooMuch((a.size() + b.size()) * sizeof(Value))) return Value::Error("the list is too long");
  const std::span<Value> items = arena.NewArray<Value>(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) items[i] = a.At(i, arena);
  for (size_t i = 0; i < b.size(); ++i) items[a.size() + i] = b.At(i, arena);
  return Value::Of(static_cast<const List*>(arena.New<ArrayList>(items)));
}

Value Concatenate(const Call& call) {
  const std::string_view a = call.args[0].text(), b = call.args[1].text();
  if (call.arena.TooMuch(a.size() + b.size())) return Value::Error("the text is too long");
  char* const bytes = static_cast<char*>(call.arena.Allocate(a.size() + b.size()));
  std::ranges::copy(a, bytes);
  std::ranges::copy(b, bytes + a.size());
  const std::string_view all(bytes, a.size() + b.size());
  return call.args[0].Is(Kind::kBytes) ? Value::Bytes(all) : Value::String(all);
}

Value Plus(const Call& call) {
  const Value &a = call.args[0], &b = call.args[1];
  if (a.Is(Kind::kTimestamp) && b.Is(Kind::kDuration)) return AddDuration(a, b.int_value());
  if (a.Is(Kind::kDuration) && b.Is(Kind::kTimestamp)) return AddDuration(b, a.int_value());
  if (a.kind() != b.kind()) return NoSuchOverload();
  int64_t sum = 0;
  uint64_t unsigned_sum = 0;
  switch (a.kind()) {
    case Kind::kInt:
      return __builtin_add_overflow(a.int_value(), b.int_value(), &sum) ? kIntOverflow : Value::Int(sum);
    case Kind::kUint:
      return __builtin_add_overflow(a.uint_value(), b.uint_value(), &unsigned_sum) ? kUintOverflow : Value::Uint(unsigned_sum);
    case Kind::kDouble:
      return Value::Double(a.double_value() + b.double_value());
    case Kind::kString:
    case Kind::kBytes:
      return Concatenate(call);
    case Kind::kList:
      return Join(a.list(), b.list(), call.arena);
    case Kind::kDuration:
      return CheckedDuration(static_cast<__int128>(a.int_value()) + b.int_value());
    default:
      return NoSuchOverload();
  }
}

Value Minus(const Call& call) {
  const Value &a = call.args[0], &b = call.args[1];
  if (a.Is(Kind::kTimestamp) && b.Is(Kind::kDuration)) {
    const __int128 negative = -static_cast<__int128>(b.int_value());
    return negative > INT64_MAX ? kDurationOverflow : AddDuration(a, static_cast<int64_t>(negative));
  }
  if (a.kind() != b.kind()) return NoSuchOverload();
  int64_t difference = 0;
  uint64_t unsigned_difference = 0;
  switch (a.kind()) {
    case Kind::kInt:
      return __builtin_sub_overflow(a.int_value(), b.int_value(), &difference) ? kIntOverflow : Value::Int(difference);
    case Kind::kUint:
      return __builtin_sub_overflow(a.uint_value(), b.uint_value(), &unsigned_difference) ? kUintOverflow
                                                                                          : Value::Uint(unsigned_difference);
    case Kind::kDouble:
      return Value::Double(a.double_value() - b.double_value());
    case Kind::kDuration:
      return CheckedDuration(static_cast<__int128>(a.int_value()) - b.int_value());
    case Kind::kTimestamp:
      return CheckedDuration(static_cast<__int128>(a.instant().seconds - b.instant().seconds) * kNanos + a.instant().nanos -
                             b.instant().nanos);
    default:
      return NoSuchOverload();
  }
}

Value Times(const Call& call) {
  const Value &a = call.args[0], &b = call.args[1];
  int64_t product = 0;
  uint64_t unsigned_product = 0;
  if (Both(call, Kind::kInt))
    return __builtin_mul_overflow(a.int_value(), b.int_value(), &product) ? kIntOverflow : Value::Int(product);
  if (Both(call, Kind::kUint))
    return __builtin_mul_overflow(a.uint_value(), b.uint_value(), &unsigned_product) ? kUintOverflow
                                                                                     : Value::Uint(unsigned_product);
  if (Both(call, Kind::kDouble)) return Value::Double(a.double_value() * b.double_value());
  return NoSuchOverload();
}

Value Divide(const Call& call) {
  const Value &a = call.args[0], &b = call.args[1];
  if (Both(call, Kind::kInt)) {
    if (b.int_value() == 0) return Value::Error("division by zero");
    if (a.int_value() == INT64_MIN && b.int_value() == -1) return kIntOverflow;
    return Value::Int(a.int_value() / b.int_value());
  }
  if (Both(call, Kind::kUint))
    return b.uint_value() == 0 ? Value::Error("division by zero") : Value::Uint(a.uint_value() / b.uint_value());
  if (!Both(call, Kind::kDouble)) return NoSuchOverload();
  const double x = a.double_value(), y = b.double_value();
  if (y != 0) return Value::Double(x / y);
  // Said in full, since dividing by zero is what UBSan stops at.
  if (x == 0 || std::isnan(x)) return Value::Double(std::nan(""));
  return Value::Double(std::signbit(x) == std::signbit(y) ? INFINITY : -INFINITY);
}

Value Modulo(const Call& call) {
  const Value &a = call.args[0], &b = call.args[1];
  if (Both(call, Kind::kInt)) {
    if (b.int_value() == 0) return Value::Error("modulus by zero");
    if (a.int_value() == INT64_MIN && b.int_value() == -1) return kIntOverflow;
    return Value::Int(a.int_value() % b.int_value());
  }
  if (!Both(call, Kind::kUint)) return NoSuchOverload();
  return b.uint_value() == 0 ? Value::Error("modulus by zero") : Value::Uint(a.uint_value() % b.uint_value());
}

Value Negate(const Call& call) {
  const Value& a = call.args[0];
  if (a.Is(Kind::kDouble)) return Value::Double(-a.double_value());
  if (!a.Is(Kind::kInt)) return NoSuchOverload();
  return a.int_value() == INT64_MIN ? kIntOverflow : Value::Int(-a.int_value());
}

Value Not(const Call& call) {
  return call.args[0].Is(Kind::kBool) ? Value::Bool(!call.args[0].bool_value()) : NoSuchOverload();
}

template <typename Test>
Value Ordered(const Call& call, Test test) {
  int result = 0;
  if (!Compare(call.args[0], call.args[1], result)) return NoSuchOverload();
  return Value::Bool(result != 2 && test(result));
}

bool AsIndex(const Value& key, uint64_t& index) {
  if (key.Is(Kind::kInt) && key.int_value() >= 0) {
    index = static_cast<uint64_t>(key.int_value());
  } else if (key.Is(Kind::kUint)) {
    index = key.uint_value();
  } else if (key.Is(Kind::kDouble) && key.double_value() >= 0 && key.double_value() < 9e15 &&
             key.double_value() == std::floor(key.double_value())) {
    index = static_cast<uint64_t>(key.double_value());
  } else {
    return false;
  }
  return true;
}

Value In(const Call& call) {
  const Value &item = call.args[0], &in = call.args[1];
  if (in.Is(Kind::kMap)) return Value::Bool(in.map().Has(item, call.arena));
  if (!in.Is(Kind::kList)) return NoSuchOverload();
  const List& list = in.list();
  for (size_t i = 0; i < list.size(); ++i)
    if (IsEqual(list.At(i, call.arena), item, call.arena)) return Value::Bool(true);
  return Value::Bool(false);
}

Value Size(const Call& call) {
  switch (call.args[0].kind()) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
      return Value::Int(static_cast<int64_t>(SizeOf(call.args[0])));
    default:
      return NoSuchOverload();
  }
}

void AddOrder(Library& library, std::string_view name, Implementation run) {
  library.AddAny(
      name,
      {"(bool, bool) bool", "(int, int) bool", "(int, double) bool", "(int, uint) bool", "(uint, uint) bool",
       "(uint, double) bool", "(uint, int) bool", "(double, double) bool", "(double, int) bool", "(double, uint) bool",
       "(string, string) bool", "(bytes, bytes) bool", "(google.protobuf.Timestamp, google.protobuf.Timestamp) bool",
       "(google.protobuf.Duration, google.protobuf.Duration) bool"},
      run, Cost::kEquality);
}

}  // namespace

Value SelectField(const Value& target, std::string_view name, Arena& arena) {
  if (target.IsError()) return target;
  if (target.Is(Kind::kOptional)) {
    if (target.optional() == nullptr) return target;
    return OptionalSelect(*target.optional(), Value::String(name), arena);
  }
  if (!target.Is(Kind::kMap) && !target.Is(Kind::kObject))
    return target.Is(Kind::kNull) ? NoSuchKey(Value::String(name), arena) : NoSuchOverload();
  Value value;
  const Value key = Value::String(name);
  return target.map().Find(key, arena, value) ? value : NoSuchKey(key, arena);
}

Value Index(const Value& target, const Value& key, Arena& arena) {
  if (target.Is(Kind::kOptional)) {
    if (target.optional() == nullptr) return target;
    return OptionalSelect(*target.optional(), key, arena);
  }
  Value value;
  if (target.Is(Kind::kMap)) return target.map().Find(key, arena, value) ? value : NoSuchKey(key, arena);
  if (!target.Is(Kind::kList)) return NoSuchOverload();
  uint64_t index = 0;
  if (AsIndex(key, index) && index < target.list().size()) return target.list().At(index, arena);
  const bool number = key.Is(Kind::kInt) || key.Is(Kind::kUint) || key.Is(Kind::kDouble);
  return MakeError(arena, (number ? "index out of bounds: " : "unsupported index type in list: ") + KeyText(key));
}

void AddOperators(Library& library) {
  library.AddAny(
      "_==_", {"(T, T) bool"}, [](const Call& call) { return Equal(call.args[0], call.args[1], call.arena); }, Cost::kEquality);
  library.AddAny(
      "_!=_", {"(T, T) bool"},
      [](const Call& call) {
        const Value equal = Equal(call.args[0], call.args[1], call.arena);
        return equal.IsError() ? equal : Value::Bool(!equal.bool_value());
      },
      Cost::kEquality);
  AddOrder(library, "_<_", [](const Call& call) { return Ordered(call, [](int order) { return order < 0; }); });
  AddOrder(library, "_<=_", [](const Call& call) { return Ordered(call, [](int order) { return order <= 0; }); });
  AddOrder(library, "_>_", [](const Call& call) { return Ordered(call, [](int order) { return order > 0; }); });
  AddOrder(library, "_>=_", [](const Call& call) { return Ordered(call, [](int order) { return order >= 0; }); });
  library.AddAny("_+_",
                 {"(int, int) int", "(uint, uint) uint", "(double, double) double", "(string, string) string",
                  "(bytes, bytes) bytes", "(list(T), list(T)) list(T)", "(timestamp, duration) timestamp",
                  "(duration, timestamp) timestamp", "(duration, duration) duration"},
                 Plus, Cost::kConcatenation);
  library.AddAny("_-_",
                 {"(int, int) int", "(uint, uint) uint", "(double, double) double", "(timestamp, timestamp) duration",
                  "(timestamp, duration) timestamp", "(duration, duration) duration"},
                 Minus);
  library.AddAny("_*_", {"(int, int) int", "(uint, uint) uint", "(double, double) double"}, Times);
  library.AddAny("_/_", {"(int, int) int", "(uint, uint) uint", "(double, double) double"}, Divide);
  library.AddAny("_%_", {"(int, int) int", "(uint, uint) uint"}, Modulo);
  library.AddAny("-_", {"(int) int", "(double) double"}, Negate);
  library.AddAny("!_", {"(bool) bool"}, Not);
  const auto index = [](const Call& call) { return Index(call.args[0], call.args[1], call.arena); };
  if (library.Has(Extension::kOptional)) {
    library.AddAny("_[_]",
                   {"(list(T), int) T", "(map(K, V), K) V", "(optional_type(list(V)), int) optional_type(V)",
                    "(optional_type(map(K, V)), K) optional_type(V)"},
                   index);
  } else {
    library.AddAny("_[_]", {"(list(T), int) T", "(map(K, V), K) V"}, index);
  }
  library.AddAny("@in", {"(T, list(T)) bool", "(K, map(K, V)) bool"}, In, Cost::kMembership);
  library.AddAny("size",
                 {"(string) int", "string.() int", "(bytes) int", "bytes.() int", "(list(T)) int", "list(T).() int",
                  "(map(K, V)) int", "map(K, V).() int"},
                 Size);
}

}  // namespace evenkeel::kube::cel
