#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "base/time.h"
#include "kube/forms/protobuf.h"
#include "kube/quantity.h"
#include "kube/schema/protobuf_wire.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using FieldSchema = Schema::FieldSchema;
using Type = Schema::Type;

constexpr size_t kScratchBytesMax = 4 << 20;
constexpr size_t kVarintBytesMax = 10;

size_t WriteVarint(uint64_t value, char* out) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
  out[size++] = static_cast<char>(value);
  return size;
}

/// Bytes that are written from their end to their beginning, so that a length is known when it has to be written.
class BackwardWriter {
 public:
  size_t size() const { return capacity_ - begin_; }
  void Clear() {
    begin_ = capacity_;
    if (capacity_ > kScratchBytesMax) *this = {};
  }
  std::string Text() const { return std::string(memory_.get() + begin_, size()); }

  void Bytes(std::string_view bytes) {
    Reserve(bytes.size());
    begin_ -= bytes.size();
    if (!bytes.empty()) std::memcpy(memory_.get() + begin_, bytes.data(), bytes.size());
  }
  void Varint(uint64_t value) {
    char buffer[kVarintBytesMax];
    Bytes({buffer, WriteVarint(value, buffer)});
  }
  void Tag(uint32_t number, WireType type) { Varint(uint64_t{number} << 3 | static_cast<uint64_t>(type)); }
  void Integer(uint32_t number, int64_t value) {
    Varint(static_cast<uint64_t>(value));
    Tag(number, WireType::kVarint);
  }
  void Text(uint32_t number, std::string_view text) {
    Bytes(text);
    Head(number, text.size());
  }
  /// Of a message that was written since size() was `before`.
  void EndMessage(uint32_t number, size_t before) { Head(number, size() - before); }

 private:
  void Head(uint32_t number, size_t length) {
    Varint(length);
    Tag(number, WireType::kBytes);
  }
  void Reserve(size_t more) {
    if (more <= begin_) return;
    const size_t used = size();
    const size_t capacity = std::max<size_t>(4096, (used + more) * 2);
    auto memory = std::make_unique_for_overwrite<char[]>(capacity);
    if (used > 0) std::memcpy(memory.get() + capacity - used, memory_.get() + begin_, used);
    memory_ = std::move(memory);
    begin_ = capacity - used;
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> memory_;
  size_t capacity_ = 0, begin_ = 0;
};

const JsonObject kNothing;

/// Writes what a schema describes; everything in reverse.
class Encoder {
 public:
  explicit Encoder(BackwardWriter& out) : out_(out) {}

  void Fields(const Schema& schema, const JsonObject& object) {
    constexpr size_t kUsualFields = 64;
    std::array<const Json*, kUsualFields> usual;
    std::vector<const Json*> many;
    const Json** present = usual.data();
    if (schema.fields.size() > kUsualFields) {
      many.resize(schema.fields.size());
      present = many.data();
    }
    std::fill_n(present, schema.fields.size(), nullptr);
    for (const auto& [key, value] : object) {
      const FieldSchema* field = value.is_null() ? nullptr : schema.FindField(key);
      if (field != nullptr) present[field - schema.fields.data()] = &value;
    }
    for (size_t i = schema.wire_order().size(); i > 0;) i = Last(schema, present, i, {});
  }

 private:
  /// Writes what ends before `end` in the wire's order: a field, or a message that JSON does not show. Where that begins.
  size_t Last(const Schema& schema, const Json* const* present, size_t end, Schema::Hidden within) {
    const auto& order = schema.wire_order();
    const Schema::WireEntry& last = order[end - 1];
    if (last.hidden == within) {
      Field(schema.fields[last.index], last.own, present[last.index]);
      return end - 1;
    }
    const Schema::Hidden message = within.With(within.number == 0 ? last.number : last.inner);
    const size_t before = out_.size();
    size_t i = end;
    while (i > 0 && message.Contains(order[i - 1].hidden)) i = Last(schema, present, i, message);
    out_.EndMessage(message.inner == 0 ? message.number : message.inner, before);
    return i;
  }

  void Field(const FieldSchema& field, uint32_t number, const Json* value) {
    if (value != nullptr && Value(*field.schema, number, *value)) return;
    if (field.written_when_absent) Zero(*field.schema, number);
  }

  /// What an absent value is written as. Schemas do not contain themselves in fields that are always written.
  void Zero(const Schema& schema, uint32_t number) {
    const size_t before = out_.size();
    switch (schema.type) {
      case Type::kString:
        out_.Text(number, "");
        return;
      case Type::kInteger:
      case Type::kBoolean:
        out_.Integer(number, 0);
        return;
      case Type::kNumber:
        Double(number, 0);
        return;
      case Type::kQuantity:
        out_.Text(1, "0");
        break;
      case Type::kIntOrString:
        NumberOrText(0, 0, "");
        break;
      case Type::kObject:
        if (!schema.raw) Fields(schema, kNothing);
        break;
      default:
        break;
    }
    out_.EndMessage(number, before);
  }

  /// Whether the value is of the right type.
  bool Value(const Schema& schema, uint32_t number, const Json& value) {
    const size_t before = out_.size();
    switch (schema.type) {
      case Type::kString:
        if (!value.is_string()) return false;
        out_.Text(number, value.get_string());
        return true;
      case Type::kBytes:
        return value.is_string() && Base64(number, value.get_string());
      case Type::kInteger:
        return Integer(number, value);
      case Type::kBoolean:
        if (!value.is_bool()) return false;
        out_.Integer(number, value.get_bool() ? 1 : 0);
        return true;
      case Type::kNumber:
        if (!value.is_number()) return false;
        Double(number, value.to_number<double>());
        return true;
      case Type::kMap:
        return value.is_object() && Entries(*schema.item, number, value.get_object());
      case Type::kArray:
        if (!value.is_array()) return false;
        Items(*schema.item, number, value.get_array());
        return true;
      case Type::kObject:
        if (!value.is_object()) return false;
        if (schema.raw) {
          out_.Text(1, base::ToText(value));
        } else {
          Fields(schema, value.get_object());
        }
        break;
      case Type::kQuantity:
        if (!Amount(value)) return false;
        break;
      case Type::kTime:
      case Type::kMicroTime:
        if (!Instant(schema.type, value)) return false;
        break;
      case Type::kIntOrString:
        if (value.is_string()) {
          NumberOrText(1, 0, value.get_string());
        } else if (value.is_int64()) {
          NumberOrText(0, value.get_int64(), "");
        } else {
          return false;
        }
        break;
      case Type::kAny:
        if (schema.alternative_to == nullptr) {
          out_.Text(1, base::ToText(value));
        } else if (!Alternative(schema, value)) {
          return false;
        }
        break;
    }
    out_.EndMessage(number, before);
    return true;
  }

  void Items(const Schema& item, uint32_t number, const JsonArray& items) {
    for (size_t i = items.size(); i > 0; --i) {
      // The place of an item counts, also of one that cannot be written.
      if (!Value(item, number, items[i - 1])) Zero(item, number);
    }
  }

  bool Entries(const Schema& item, uint32_t number, const JsonObject& map) {
    constexpr size_t kUsualEntries = 16;
    using Entry = const boost::json::key_value_pair*;
    std::array<Entry, kUsualEntries> usual;
    std::vector<Entry> many;
    Entry* sorted = usual.data();
    if (map.size() > kUsualEntries) {
      many.resize(map.size());
      sorted = many.data();
    }
    size_t count = 0;
    for (const auto& entry : map) sorted[count++] = &entry;
    std::sort(sorted, sorted + count, [](Entry a, Entry b) { return a->key() > b->key(); });
    for (size_t i = 0; i < count; ++i) {
      const size_t before = out_.size();
      const Json& value = sorted[i]->value();
      if (item.type == Type::kArray) {
        if (!value.is_array()) continue;
        Items(*item.item, 1, value.get_array());
        out_.EndMessage(2, before);
      } else if (!Value(item, 2, value)) {
        Zero(item, 2);
      }
      out_.Text(1, sorted[i]->key());
      out_.EndMessage(number, before);
    }
    return true;
  }

  bool Integer(uint32_t number, const Json& value) {
    if (value.is_double()) {
      const double exact = value.get_double();
      constexpr double kExactMax = 9'007'199'254'740'992;
      if (exact < -kExactMax || exact > kExactMax) return false;
      out_.Integer(number, static_cast<int64_t>(exact));
      return true;
    }
    if (!value.is_int64()) return false;
    out_.Integer(number, value.get_int64());
    return true;
  }

  void Double(uint32_t number, double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    char bytes[8];
    for (char& byte : bytes) {
      byte = static_cast<char>(bits);
      bits >>= 8;
    }
    out_.Bytes({bytes, sizeof bytes});
    out_.Tag(number, WireType::kFixed64);
  }

  bool Base64(uint32_t number, std::string_view text) {
    std::string bytes;
    if (!base::Base64Decode(text, bytes)) return false;
    out_.Text(number, bytes);
    return true;
  }

  void NumberOrText(int64_t kind, int64_t number, std::string_view text) {
    out_.Text(3, text);
    out_.Integer(2, number);
    out_.Integer(1, kind);
  }

  bool Amount(const Json& value) {
    const auto quantity = Quantity::FromJson(value);
    if (!quantity) return false;
    out_.Text(1, quantity->ToString());
    return true;
  }

  bool Instant(Type type, const Json& value) {
    if (!value.is_string()) return false;
    const auto time = base::ParseCalendarTime(std::string_view(value.get_string()));
    if (!time) return false;
    out_.Integer(2, type == Type::kMicroTime ? time->nanos / 1000 * 1000 : 0);
    out_.Integer(1, time->seconds.time_since_epoch().count());
    return true;
  }

  bool Alternative(const Schema& schema, const Json& value) {
    const Schema& object = *schema.alternative_to;
    const bool boolean = schema.alternative == Schema::Alternative::kBoolean;
    if (value.is_object()) {
      Value(object, boolean ? 2 : 1, value);
      if (boolean) out_.Integer(1, 1);
      return true;
    }
    if (boolean) {
      if (!value.is_bool()) return false;
      out_.Integer(1, value.get_bool() ? 1 : 0);
      return true;
    }
    if (!value.is_array()) return false;
    for (size_t i = value.get_array().size(); i > 0; --i) {
      const Json& item = value.get_array()[i - 1];
      if (schema.alternative == Schema::Alternative::kList) {
        Value(object, 2, item);
      } else if (item.is_string()) {
        out_.Text(2, item.get_string());
      }
    }
    return true;
  }

  BackwardWriter& out_;
};

}  // namespace

std::string EncodeProtobuf(const Schema& schema, const Json& object) {
  thread_local BackwardWriter scratch;
  scratch.Clear();
  if (object.is_object()) Encoder(scratch).Fields(schema, object.get_object());
  return scratch.Text();
}

void AppendProtobufHead(std::string& out, uint32_t number, size_t size) {
  AppendTag(out, number, WireType::kBytes);
  AppendVarint(out, size);
}

void AppendProtobufField(std::string& out, uint32_t number, std::string_view bytes) {
  AppendProtobufHead(out, number, bytes.size());
  out.append(bytes);
}

}  // namespace evenkeel::kube
