#include "kube/cel/value.h"

#include <bit>
#include <cmath>

#include "kube/cel/library_values.h"
#include "kube/cel/type.h"

namespace evenkeel::kube::cel {
namespace {

bool IsNumber(const Value& value) { return value.Is(Kind::kInt) || value.Is(Kind::kUint) || value.Is(Kind::kDouble); }

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareDoubleInt(double a, int64_t b) {
  if (std::isnan(a)) return 2;
  if (a < -9223372036854775808.0) return -1;
  if (a > 9223372036854775808.0) return 1;
  return Sign(a, static_cast<double>(b));
}

int CompareDoubleUint(double a, uint64_t b) {
  if (std::isnan(a)) return 2;
  if (a < 0) return -1;
  if (a > 18446744073709551616.0) return 1;
  return Sign(a, static_cast<double>(b));
}

int CompareIntUint(int64_t a, uint64_t b) { return a < 0 ? -1 : Sign(static_cast<uint64_t>(a), b); }

int CompareNumbers(const Value& a, const Value& b) {
  if (a.Is(Kind::kInt)) {
    if (b.Is(Kind::kInt)) return Sign(a.int_value(), b.int_value());
    if (b.Is(Kind::kUint)) return CompareIntUint(a.int_value(), b.uint_value());
    const int result = CompareDoubleInt(b.double_value(), a.int_value());
    return result == 2 ? 2 : -result;
  }
  if (a.Is(Kind::kUint)) {
    if (b.Is(Kind::kUint)) return Sign(a.uint_value(), b.uint_value());
    if (b.Is(Kind::kInt)) return -CompareIntUint(b.int_value(), a.uint_value());
    const int result = CompareDoubleUint(b.double_value(), a.uint_value());
    return result == 2 ? 2 : -result;
  }
  if (b.Is(Kind::kInt)) return CompareDoubleInt(a.double_value(), b.int_value());
  if (b.Is(Kind::kUint)) return CompareDoubleUint(a.double_value(), b.uint_value());
  if (std::isnan(a.double_value()) || std::isnan(b.double_value())) return 2;
  return Sign(a.double_value(), b.double_value());
}

/// A number as a key: an int where it is whole and fits, then a uint; doubles with a fraction are no keys.
bool AsKey(const Value& value, Value& key) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kString:
      key = value;
      return true;
    case Kind::kUint:
      key = value.uint_value() <= INT64_MAX ? Value::Int(static_cast<int64_t>(value.uint_value())) : value;
      return true;
    case Kind::kDouble: {
      const double number = value.double_value();
      if (std::isnan(number) || number != std::floor(number)) return false;
      if (number >= -9223372036854775808.0 && number < 9223372036854775808.0) {
        key = Value::Int(static_cast<int64_t>(number));
      } else if (number >= 0 && number < 18446744073709551616.0) {
        key = Value::Uint(static_cast<uint64_t>(number));
      } else {
        return false;
      }
      return true;
    }
    default:
      return false;
  }
}

size_t HashOfKey(const Value& key) {
  if (key.Is(Kind::kString)) return std::hash<std::string_view>()(key.text());
  return std::hash<int64_t>()(key.int_value()) * 31 + static_cast<size_t>(key.kind());
}

bool SameNormalKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  return a.Is(Kind::kString) ? a.text() == b.text() : a.int_value() == b.int_value();
}

/// Keys and values in turns, with an index where there are many.
class ArrayMap final : public Map {
 public:
  explicit ArrayMap(std::span<const Value> entries) : entries_(entries) {}

  size_t size() const override { return entries_.size() / 2; }
  bool Find(const Value& key, Arena&, Value& value) const override {
    Value normal;
    if (!AsKey(key, normal)) return false;
    const size_t place = PlaceOf(normal);
    if (place == size()) return false;
    value = entries_[2 * place + 1];
    return true;
  }
  Value KeyAt(size_t index, Arena&) const override { return entries_[2 * index]; }
  Value ValueAt(size_t index, Arena&) const override { return entries_[2 * index + 1]; }

  /// False where a key comes twice or is none; `wrong` is the first such one.
  bool BuildIndex(Arena& arena, size_t& wrong) {
    const size_t count = size();
    if (count > kFew) slots_ = arena.NewArray<uint32_t>(std::bit_ceil(2 * count));
    const std::span<const Value> all = entries_;
    for (size_t i = 0; i < count; ++i) {
      wrong = i;
      Value normal;
      if (!AsKey(all[2 * i], normal) || all[2 * i].Is(Kind::kDouble)) return false;
      entries_ = all.subspan(0, 2 * i);
      const bool present = PlaceOf(normal) != i;
      entries_ = all;
      if (present) return false;
      if (!slots_.empty()) Insert(normal, i);
    }
    return true;
  }

 private:
  static constexpr size_t kFew = 8;

  size_t PlaceOf(const Value& normal) const {
    Value own;
    if (slots_.empty()) {
      for (size_t i = 0; i < size(); ++i)
        if (AsKey(entries_[2 * i], own) && SameNormalKey(own, normal)) return i;
      return size();
    }
    for (size_t slot = HashOfKey(normal);; ++slot) {
      const uint32_t place = slots_[slot & (slots_.size() - 1)];
      if (place == 0) return size();
      if (place <= size() && AsKey(entries_[2 * (place - 1)], own) && SameNormalKey(own, normal)) return place - 1;
    }
  }
  void Insert(const Value& normal, size_t place) {
    size_t slot = HashOfKey(normal);
    while (slots_[slot & (slots_.size() - 1)] != 0) ++slot;
    slots_[slot & (slots_.size() - 1)] = static_cast<uint32_t>(place + 1);
  }

  std::span<const Value> entries_;
  std::span<uint32_t> slots_;
};

bool EqualLists(const List& a, const List& b, Arena& arena) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (Equal(a.At(i, arena), b.At(i, arena), arena).IsFalse()) return false;
  return true;
}

/// Whether the items are the same ones in whichever order, as those of a set are, or of a map by its keys.
bool EqualUnordered(const List& a, const List& b, Arena& arena) {
  if (a.size() != b.size()) return false;
  std::multimap<std::string, Value> others;
  for (size_t i = 0; i < b.size(); ++i) {
    std::string identity;
    const Value item = b.At(i, arena);
    if (!IdentityOf(item, *a.rule(), arena, identity)) return EqualLists(a, b, arena);
    others.emplace(std::move(identity), item);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    std::string identity;
    const Value item = a.At(i, arena);
    if (!IdentityOf(item, *a.rule(), arena, identity)) return false;
    const auto found = others.find(identity);
    if (found == others.end() || !IsEqual(item, found->second, arena)) return false;
    others.erase(found);
  }
  return true;
}

bool EqualMaps(const Map& a, const Map& b, Arena& arena) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    Value other;
    if (!b.Find(a.KeyAt(i, arena), arena, other)) return false;
    if (Equal(a.ValueAt(i, arena), other, arena).IsFalse()) return false;
  }
  return true;
}

}  // namespace

bool IdentityOf(const Value& item, const ListRule& rule, Arena& arena, std::string& identity) {
  const auto add = [&identity](const Value& value) {
    if (value.kind() < Kind::kNull || value.kind() > Kind::kDuration) return false;
    identity += static_cast<char>('0' + static_cast<int>(value.kind()));
    switch (value.kind()) {
      case Kind::kTimestamp:
        identity += fmt::format("{}.{}", value.instant().seconds, value.instant().nanos);
        break;
      case Kind::kBytes:
        identity += value.text();
        break;
      case Kind::kDuration:
        identity += std::to_string(value.int_value());
        break;
      default:
        identity += KeyText(value);
    }
    identity += '\0';
    return true;
  };
  if (!rule.is_map) return add(item);
  if (!item.Is(Kind::kObject) && !item.Is(Kind::kMap)) return false;
  for (const std::string& key : rule.keys) {
    Value value;
    if (item.map().Find(Value::String(key), arena, value) && !add(value)) return false;
  }
  return true;
}

Value MakeList(std::span<const Value> items, Arena& arena) {
  const std::span<Value> kept = arena.NewArray<Value>(items.size());
  std::ranges::copy(items, kept.begin());
  return Value::Of(static_cast<const List*>(arena.New<ArrayList>(kept)));
}

Value MakeMap(std::span<const Value> keys_and_values, Arena& arena) {
  const std::span<Value> kept = arena.NewArray<Value>(keys_and_values.size());
  std::ranges::copy(keys_and_values, kept.begin());
  ArrayMap* const map = arena.New<ArrayMap>(kept);
  size_t wrong = 0;
  if (map->BuildIndex(arena, wrong)) return Value::Of(static_cast<const Map*>(map));
  const Value& key = keys_and_values[2 * wrong];
  Value normal;
  if (key.Is(Kind::kDouble) || !AsKey(key, normal)) return MakeError(arena, "unsupported key type: " + types::Of(key)->name);
  return MakeError(arena, "Failed with repeated key: " + KeyText(key));
}

Value MakeError(Arena& arena, std::string_view message) { return Value::Error(arena.Copy(message)); }
Value MakeString(Arena& arena, std::string_view text) { return Value::String(arena.Copy(text)); }
Value NoSuchOverload() { return Value::Error("no such overload"); }
Value NoSuchKey(const Value& key, Arena& arena) { return MakeError(arena, "no such key: " + KeyText(key)); }

Value Equal(const Value& a, const Value& b, Arena& arena) {
  if (a.IsError()) return a;
  if (b.IsError()) return b;
  if (IsNumber(a) && IsNumber(b)) return Value::Bool(CompareNumbers(a, b) == 0);
  if (a.kind() != b.kind()) return a.kind() >= Kind::kQuantity ? NoSuchOverload() : Value::Bool(false);
  switch (a.kind()) {
    case Kind::kNull:
      return Value::Bool(true);
    case Kind::kBool:
    case Kind::kDuration:
      return Value::Bool(a.int_value() == b.int_value());
    case Kind::kString:
    case Kind::kBytes:
      return Value::Bool(a.text() == b.text());
    case Kind::kTimestamp:
      return Value::Bool(a.instant().seconds == b.instant().seconds && a.instant().nanos == b.instant().nanos);
    case Kind::kList:
      return Value::Bool(a.list().rule() != nullptr ? EqualUnordered(a.list(), b.list(), arena)
                                                    : EqualLists(a.list(), b.list(), arena));
    case Kind::kMap:
    case Kind::kObject:
      return Value::Bool(EqualMaps(a.map(), b.map(), arena));
    case Kind::kType:
      return Value::Bool(a.type()->name == b.type()->name);
    case Kind::kOptional:
      if (a.optional() == nullptr || b.optional() == nullptr) return Value::Bool(a.optional() == b.optional());
      return Equal(*a.optional(), *b.optional(), arena);
    default:
      return Value::Bool(SameLibraryValue(a, b));
  }
}

bool Compare(const Value& a, const Value& b, int& result) {
  if (IsNumber(a) && IsNumber(b)) {
    result = CompareNumbers(a, b);
    return true;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kBool:
    case Kind::kDuration:
      result = Sign(a.int_value(), b.int_value());
      return true;
    case Kind::kString:
    case Kind::kBytes:
      result = std::clamp(a.text().compare(b.text()), -1, 1);
      return true;
    case Kind::kTimestamp:
      result = Sign(std::pair(a.instant().seconds, a.instant().nanos), std::pair(b.instant().seconds, b.instant().nanos));
      return true;
    default:
      return false;
  }
}

size_t CodePoints(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

uint64_t SizeOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return CodePoints(value.text());
    case Kind::kBytes:
      return value.text().size();
    case Kind::kList:
      return value.list().size();
    case Kind::kMap:
      return value.map().size();
    default:
      return 1;
  }
}

std::string KeyText(const Value& key) {
  switch (key.kind()) {
    case Kind::kBool:
      return key.bool_value() ? "true" : "false";
    case Kind::kInt:
      return std::to_string(key.int_value());
    case Kind::kUint:
      return std::to_string(key.uint_value());
    case Kind::kDouble:
      return fmt::format("{}", key.double_value());
    case Kind::kString:
      return std::string(key.text());
    default:
      return types::Of(key)->name;
  }
}

}  // namespace evenkeel::kube::cel
