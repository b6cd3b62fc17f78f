// What expressions compute with. A value is three words that are copied freely; what it points to lives in an Arena, or in
// what the caller keeps as long. Errors are values: && and || let them pass where the other side decides.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/cel/arena.h"

namespace evenkeel::kube::cel {

struct Type;
class List;
class Map;
struct QuantityValue;
struct IpValue;
struct UrlValue;
struct SemverValue;
struct FormatValue;
struct AuthorizerValue;

enum class Kind : uint8_t {
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kObject,  ///< of a schema: fields, neither keys nor items
  kType,
  kOptional,
  kQuantity,
  kIp,
  kCidr,
  kUrl,
  kSemver,
  kFormat,
  kAuthorizer,  ///< with the checks that are built of one, and their decision
};

class Value {
 public:
  struct Instant {
    int64_t seconds;  ///< since 1970
    int32_t nanos;    ///< 0 to 999,999,999
  };

  constexpr Value() : kind_(Kind::kNull), int_(0) {}
  static Value Null() { return {}; }
  static Value Bool(bool value) { return Value(Kind::kBool, static_cast<int64_t>(value)); }
  static Value Int(int64_t value) { return Value(Kind::kInt, value); }
  static Value Uint(uint64_t value) { return Value(Kind::kUint, static_cast<int64_t>(value)); }
  static Value Double(double value) {
    Value result(Kind::kDouble, 0);
    result.double_ = value;
    return result;
  }
  /// These three keep the view.
  static Value String(std::string_view text) { return Value(Kind::kString, text); }
  static Value Bytes(std::string_view bytes) { return Value(Kind::kBytes, bytes); }
  static Value Error(std::string_view message) { return Value(Kind::kError, message); }
  static Value Timestamp(int64_t seconds, int32_t nanos) {
    Value result(Kind::kTimestamp, 0);
    result.instant_ = {seconds, nanos};
    return result;
  }
  static Value Duration(int64_t nanos) { return Value(Kind::kDuration, nanos); }
  static Value Of(const List* list) { return Pointer(Kind::kList, list); }
  static Value Of(const Map* map, Kind kind = Kind::kMap) { return Pointer(kind, map); }
  static Value Of(const Type* type) { return Pointer(Kind::kType, type); }
  static Value None() { return Pointer(Kind::kOptional, nullptr); }
  static Value Some(Value value, Arena& arena) { return Pointer(Kind::kOptional, arena.New<Value>(value)); }
  /// Of one of the kinds from kQuantity on.
  static Value Pointer(Kind kind, const void* pointer) {
    Value result(kind, 0);
    result.pointer_ = pointer;
    return result;
  }

  Kind kind() const { return kind_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool IsError() const { return kind_ == Kind::kError; }
  bool IsTrue() const { return kind_ == Kind::kBool && int_ != 0; }
  bool IsFalse() const { return kind_ == Kind::kBool && int_ == 0; }

  // Of the kind that it has, without a look.
  bool bool_value() const { return int_ != 0; }
  int64_t int_value() const { return int_; }
  uint64_t uint_value() const { return static_cast<uint64_t>(int_); }
  double double_value() const { return double_; }
  /// Of a string, bytes or an error.
  std::string_view text() const { return {text_.data, text_.size}; }
  Instant instant() const { return instant_; }
  const List& list() const { return *static_cast<const List*>(pointer_); }
  const Map& map() const { return *static_cast<const Map*>(pointer_); }
  const Type* type() const { return static_cast<const Type*>(pointer_); }
  /// Of an optional; null where it is none.
  const Value* optional() const { return static_cast<const Value*>(pointer_); }
  template <typename T>
  const T& as() const {
    return *static_cast<const T*>(pointer_);
  }

 private:
  struct Text {
    const char* data;
    size_t size;
  };
  Value(Kind kind, int64_t value) : kind_(kind), int_(value) {}
  Value(Kind kind, std::string_view text) : kind_(kind), text_{text.data(), text.size()} {}

  Kind kind_;
  union {
    int64_t int_;
    double double_;
    Text text_;
    Instant instant_;
    const void* pointer_;
  };
};

/// How `==` and `+` treat the lists of a schema.
struct ListRule {
  bool is_map = false;  ///< else a set
  std::vector<std::string> keys{};
};

class List {
 public:
  virtual size_t size() const = 0;
  virtual Value At(size_t index, Arena& arena) const = 0;
  /// Null for ordinary lists.
  virtual const ListRule* rule() const { return nullptr; }

 protected:
  ~List() = default;
};

class Map {
 public:
  virtual size_t size() const = 0;
  /// False where there is no such key.
  virtual bool Find(const Value& key, Arena& arena, Value& value) const = 0;
  /// What `in` and has() ask; may be less than what Find answers.
  virtual bool Has(const Value& key, Arena& arena) const {
    Value unused;
    return Find(key, arena, unused);
  }
  virtual Value KeyAt(size_t index, Arena& arena) const = 0;
  virtual Value ValueAt(size_t index, Arena& arena) const = 0;

 protected:
  ~Map() = default;
};

class ArrayList final : public List {
 public:
  explicit ArrayList(std::span<const Value> items, const ListRule* rule = nullptr) : items_(items), rule_(rule) {}
  size_t size() const override { return items_.size(); }
  Value At(size_t index, Arena&) const override { return items_[index]; }
  const ListRule* rule() const override { return rule_; }

 private:
  std::span<const Value> items_;
  const ListRule* rule_;
};

/// What an item of such a list is told from others by; false where that cannot be written down.
bool IdentityOf(const Value& item, const ListRule& rule, Arena& arena, std::string& identity);

/// The items are copied into the arena.
Value MakeList(std::span<const Value> items, Arena& arena);
/// A map of keys and values in turns. An error where a key comes twice or is of no kind that keys have.
Value MakeMap(std::span<const Value> keys_and_values, Arena& arena);
/// The message is made in the arena.
Value MakeError(Arena& arena, std::string_view message);
Value MakeString(Arena& arena, std::string_view text);
Value NoSuchOverload();
Value NoSuchKey(const Value& key, Arena& arena);

/// A bool, or an error where the left side is of one of Kubernetes' own types and the right one is not. Different types differ.
Value Equal(const Value& a, const Value& b, Arena& arena);
inline bool IsEqual(const Value& a, const Value& b, Arena& arena) { return Equal(a, b, arena).IsTrue(); }
/// Whether these can be compared, and how: -1, 0 or 1; 2 where one is no number.
bool Compare(const Value& a, const Value& b, int& result);

/// Code points of a text, which need not be UTF-8: what is none counts by bytes.
size_t CodePoints(std::string_view text);
/// As `size()`; 1 for what has no size.
uint64_t SizeOf(const Value& value);
/// As in messages and as map keys are printed.
std::string KeyText(const Value& key);

}  // namespace evenkeel::kube::cel
