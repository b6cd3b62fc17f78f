#include "providers/kubernetes_wire.h"

#include <charconv>

#include "base/time.h"
#include "kube/quantity.h"
#include "kube/schema.h"
#include "providers/complaints.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::Schema;
using Type = Schema::Type;

constexpr std::string_view kCore = "io.k8s.api.core.v1.";
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct NumberedField {
  int number = 0;
  int inner = 0;  // within the message of that number; 0: it is the field itself
  const Schema::FieldSchema* schema = nullptr;
};

struct WireMessage {
  std::vector<NumberedField> fields;  // by number, then inner
};

/// The messages that nodes and pods are made of. Built once, then only read.
class Messages {
 public:
  static const Messages& Get() {
    static const Messages messages;
    return messages;
  }

  /// Null: no message of that schema is known.
  const WireMessage* Find(const Schema* schema) const {
    const auto found = by_schema_.find(schema);
    return found == by_schema_.end() ? nullptr : &found->second;
  }
  const Schema* node() const { return node_; }
  const Schema* pod() const { return pod_; }

 private:
  using Numbers = std::map<std::string, NumberedField, std::less<>>;

  Messages()
      : node_(kube::FindBuiltInSchema(std::string(kCore) + "Node")), pod_(kube::FindBuiltInSchema(std::string(kCore) + "Pod")) {
    EVENKEEL_CHECK(node_ != nullptr && pod_ != nullptr);
    const auto numbers = ReadTable();
    Add(node_, numbers);
    Add(pod_, numbers);
  }

  static int ToNumber(std::string_view digits) {
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  static std::map<std::string, Numbers, std::less<>> ReadTable() {
    std::map<std::string, Numbers, std::less<>> table;
    Numbers* message = nullptr;
    std::string_view rest = kKubernetesFieldNumbers;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (word.empty()) continue;
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos) {
        message = &table[std::string(word)];
        continue;
      }
      NumberedField field;
      const std::string_view numbers = word.substr(0, equals);
      const size_t dot = std::min(numbers.find('.'), numbers.size());
      field.number = ToNumber(numbers.substr(0, dot));
      if (dot < numbers.size()) field.inner = ToNumber(numbers.substr(dot + 1));
      EVENKEEL_CHECK(field.number > 0 && message != nullptr);
      message->emplace(word.substr(equals + 1), field);
    }
    return table;
  }

  void Add(const Schema* schema, const std::map<std::string, Numbers, std::less<>>& table) {
    while (schema != nullptr && (schema->type == Type::kArray || schema->type == Type::kMap)) schema = schema->item;
    if (schema == nullptr || schema->type != Type::kObject || by_schema_.contains(schema)) return;
    const auto numbers = table.find(schema->name);
    if (numbers == table.end()) return;
    WireMessage& message = by_schema_[schema];
    for (const auto& [name, numbered] : numbers->second) {
      NumberedField field = numbered;
      field.schema = schema->FindField(name);
      if (field.schema != nullptr) message.fields.push_back(field);
    }
    std::ranges::sort(message.fields, {}, [](const NumberedField& field) { return std::pair(field.number, field.inner); });
    for (const NumberedField& field : message.fields) Add(field.schema->schema, table);
  }

  const Schema* node_;
  const Schema* pod_;
  std::map<const Schema*, WireMessage> by_schema_;
};

class WireWriter {
 public:
  void Object(const Schema* schema, const JsonObject& object) {
    const WireMessage* message = Messages::Get().Find(schema);
    if (message == nullptr) return;
    for (size_t i = 0; i < message->fields.size();) {
      const NumberedField& field = message->fields[i];
      if (field.inner == 0) {
        Member(object, field, field.number);
        ++i;
        continue;
      }
      WireWriter inside;
      for (; i < message->fields.size() && message->fields[i].number == field.number; ++i) {
        inside.Member(object, message->fields[i], message->fields[i].inner);
      }
      if (!inside.bytes_.empty()) Text(field.number, inside.bytes_);
    }
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Member(const JsonObject& object, const NumberedField& field, int number) {
    const Json* value = base::Find(object, field.schema->name);
    if (value != nullptr && !value->is_null()) Value(field.schema->schema, number, *value);
  }

  void Value(const Schema* schema, int number, const Json& value) {
    switch (schema->type) {
      case Type::kObject:
        if (value.is_object() && Messages::Get().Find(schema) != nullptr) {
          WireWriter inside;
          inside.Object(schema, value.get_object());
          Text(number, inside.bytes_);
        }
        return;
      case Type::kMap:
        if (value.is_object()) Entries(schema, number, value.get_object());
        return;
      case Type::kArray:
        if (!value.is_array()) return;
        for (const Json& item : value.get_array()) Value(schema->item, number, item);
        return;
      case Type::kString:
        if (value.is_string()) Text(number, value.get_string());
        return;
      case Type::kInteger:
        if (value.is_int64() || value.is_uint64()) Integer(number, value.to_number<int64_t>());
        return;
      case Type::kBoolean:
        if (value.is_bool()) Integer(number, value.get_bool() ? 1 : 0);
        return;
      case Type::kIntOrString:
        NumberOrText(number, value);
        return;
      case Type::kQuantity:
        Amount(number, value);
        return;
      case Type::kTime:
      case Type::kMicroTime:
        Instant(number, value);
        return;
      case Type::kNumber:
      case Type::kBytes:
      case Type::kAny:
        return;  // none of these has a number
    }
  }

  void Entries(const Schema* schema, int number, const JsonObject& object) {
    std::map<std::string_view, const Json*> sorted;
    for (const auto& [key, value] : object) sorted.emplace(key, &value);
    for (const auto& [key, value] : sorted) {
      WireWriter inside;
      inside.Text(1, key);
      inside.Value(schema->item, 2, *value);
      Text(number, inside.bytes_);
    }
  }

  void NumberOrText(int number, const Json& value) {
    WireWriter inside;
    if (value.is_string()) {
      inside.Integer(1, 1);
      inside.Text(3, value.get_string());
    } else if (value.is_int64()) {
      inside.Integer(2, value.get_int64());
    } else {
      return;
    }
    Text(number, inside.bytes_);
  }

  void Amount(int number, const Json& value) {
    const auto quantity = kube::Quantity::FromJson(value);
    if (!quantity) return;
    WireWriter inside;
    inside.Text(1, quantity->ToString());
    Text(number, inside.bytes_);
  }

  void Instant(int number, const Json& value) {
    if (!value.is_string()) return;
    const auto time = base::ParseTime(std::string_view(value.get_string()));
    if (!time) return;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
    WireWriter inside;
    inside.Integer(1, seconds.time_since_epoch().count());
    if (*time != seconds) inside.Integer(2, (*time - seconds).count());
    Text(number, inside.bytes_);
  }

  void Text(int number, std::string_view text) {
    Varint(static_cast<uint64_t>(number) << 3 | kBytes);
    Varint(text.size());
    bytes_.append(text);
  }
  void Integer(int number, int64_t value) {
    Varint(static_cast<uint64_t>(number) << 3 | kVarint);
    Varint(static_cast<uint64_t>(value));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

/// Whether the text may stand in JSON: no broken, overlong or surrogate sequences.
bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : (lead & 0xF0) == 0xE0       ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t j = 1; j < length; ++j) {
      const auto next = static_cast<uint8_t>(text[i + j]);
      if ((next & 0xC0) != 0x80) return false;
      point = point << 6 | (next & 0x3F);
    }
    if (length == 3 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) return false;
    if (length == 4 && (point < 0x10000 || point > 0x10FFFF)) return false;
    i += length;
  }
  return true;
}

/// One field as it stands in the bytes.
struct RawField {
  uint64_t number = 0;
  uint64_t wire_type = 0;
  uint64_t integer = 0;    // kVarint and the fixed ones
  std::string_view bytes;  // kBytes
};

class WireReader {
 public:
  WireReader(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  bool done() const { return rest_.empty(); }
  WireReader Inside(std::string_view bytes, std::string_view field) const {
    return {bytes, where_ + (where_.ends_with(' ') ? "" : ".") + std::string(field)};
  }
  std::unexpected<base::Error> Wrong(std::string_view what) const {
    return Fail(OnOneLine({Code::kBadRequest, where_ + (where_.ends_with(' ') ? "" : ": ") + std::string(what)}));
  }

  base::Result<RawField> Next() {
    RawField field;
    EVENKEEL_ASSIGN(const uint64_t tag, Varint());
    field.number = tag >> 3;
    field.wire_type = tag & 7;
    if (field.number == 0) return Wrong("has a field without a number");
    if (field.wire_type == kVarint) {
      EVENKEEL_ASSIGN(field.integer, Varint());
      return field;
    }
    size_t size = 0;
    if (field.wire_type == kBytes) {
      EVENKEEL_ASSIGN(const uint64_t length, Varint());
      size = length > rest_.size() ? rest_.size() + 1 : static_cast<size_t>(length);
    } else if (field.wire_type == kFixed64 || field.wire_type == kFixed32) {
      size = field.wire_type == kFixed64 ? 8 : 4;
    } else {
      return Wrong("has a value of a kind that protocol buffers do not know");
    }
    if (size > rest_.size()) return Wrong("ends in the middle of a value");
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  base::Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Wrong("ends in the middle of a value");
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Wrong("has a number of more than 64 bits");
  }

 private:
  std::string_view rest_;
  std::string where_;
};

base::Status ReadMembers(WireReader reader, const WireMessage& message, int outer, JsonObject& object);

base::Result<Json> ReadObject(const WireReader& reader, const Schema* schema) {
  JsonObject object;
  if (const WireMessage* message = Messages::Get().Find(schema)) EVENKEEL_TRY(ReadMembers(reader, *message, 0, object));
  return Json(std::move(object));
}

base::Result<Json> ReadTime(WireReader reader) {
  int64_t seconds = 0, nanos = 0;
  while (!reader.done()) {
    EVENKEEL_ASSIGN(const RawField field, reader.Next());
    if (field.number == 1) seconds = static_cast<int64_t>(field.integer);
    if (field.number == 2) nanos = static_cast<int64_t>(field.integer);
  }
  // Go writes an absent time as an empty message.
  if (seconds == 0 && nanos == 0) return Json();
  constexpr int64_t kSecondsMax = 9'000'000'000;  // what fits into nanoseconds
  if (seconds < -kSecondsMax || seconds > kSecondsMax || nanos < 0 || nanos >= 1'000'000'000) {
    return reader.Wrong("is no time between 1684 and 2255");
  }
  const base::Time time{std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)};
  return Json(base::FormatTime(time));
}

base::Result<Json> ReadNumberOrText(WireReader reader) {
  int64_t kind = 0, number = 0;
  std::string_view text;
  while (!reader.done()) {
    EVENKEEL_ASSIGN(const RawField field, reader.Next());
    if (field.number == 1) kind = static_cast<int64_t>(field.integer);
    if (field.number == 2) number = static_cast<int64_t>(field.integer);
    if (field.number == 3) text = field.bytes;
  }
  if (kind == 0) return Json(number);
  if (!IsUtf8(text)) return reader.Wrong("is not UTF-8");
  return Json(text);
}

base::Result<Json> ReadAmount(WireReader reader) {
  std::string_view text = "0";
  while (!reader.done()) {
    EVENKEEL_ASSIGN(const RawField field, reader.Next());
    if (field.number == 1) text = field.bytes;
  }
  const auto quantity = kube::Quantity::Parse(text);
  if (!quantity) return reader.Wrong("is no amount");
  return Json(quantity->ToString());
}

/// Null: absent after all.
base::Result<Json> ReadValue(const WireReader& inside, const RawField& raw, const Schema* schema) {
  const bool integer = schema->type == Type::kInteger || schema->type == Type::kBoolean;
  if (raw.wire_type != (integer ? kVarint : kBytes)) return inside.Wrong("has a value of another type");
  switch (schema->type) {
    case Type::kObject:
      return ReadObject(inside, schema);
    case Type::kString:
      if (!IsUtf8(raw.bytes)) return inside.Wrong("is not UTF-8");
      return Json(raw.bytes);
    case Type::kInteger:
      return Json(static_cast<int64_t>(raw.integer));
    case Type::kBoolean:
      return Json(raw.integer != 0);
    case Type::kIntOrString:
      return ReadNumberOrText(inside);
    case Type::kQuantity:
      return ReadAmount(inside);
    case Type::kTime:
    case Type::kMicroTime:
      return ReadTime(inside);
    default:
      return Json();
  }
}

base::Status ReadEntry(WireReader reader, const Schema* schema, JsonObject& map) {
  std::string key;
  Json value = schema->type == Type::kString ? Json("") : Json();
  while (!reader.done()) {
    EVENKEEL_ASSIGN(const RawField field, reader.Next());
    if (field.number == 1) {
      if (field.wire_type != kBytes || !IsUtf8(field.bytes)) return reader.Wrong("has a key that is not UTF-8");
      key = field.bytes;
    } else if (field.number == 2) {
      EVENKEEL_ASSIGN(value, ReadValue(reader.Inside(field.bytes, key), field, schema));
    }
  }
  if (!value.is_null()) map[key] = std::move(value);
  return {};
}

base::Status ReadMember(const WireReader& reader, const RawField& raw, const Schema::FieldSchema& field, JsonObject& object) {
  const Schema* schema = field.schema;
  const WireReader inside = reader.Inside(raw.bytes, field.name);
  if (schema->type == Type::kMap) {
    if (raw.wire_type != kBytes) return inside.Wrong("has a value of another type");
    Json& map = object[field.name];
    if (!map.is_object()) map = JsonObject{};
    return ReadEntry(inside, schema->item, map.get_object());
  }
  if (schema->type != Type::kArray) {
    EVENKEEL_ASSIGN(Json value, ReadValue(inside, raw, schema));
    // Go writes texts that are not set as empty ones.
    const bool absent = value.is_null() || (value.is_string() && value.get_string().empty());
    if (!absent) object[field.name] = std::move(value);
    return {};
  }
  Json& list = object[field.name];
  if (!list.is_array()) list = JsonArray{};
  if (schema->item->type == Type::kInteger && raw.wire_type == kBytes) {
    for (WireReader packed = inside; !packed.done();) {
      EVENKEEL_ASSIGN(const uint64_t number, packed.Varint());
      list.get_array().emplace_back(static_cast<int64_t>(number));
    }
    return {};
  }
  EVENKEEL_ASSIGN(Json value, ReadValue(inside, raw, schema->item));
  if (!value.is_null()) list.get_array().push_back(std::move(value));
  return {};
}

/// `outer`: the number of the message that JSON does not show and that the reader is in; 0: in none.
base::Status ReadMembers(WireReader reader, const WireMessage& message, int outer, JsonObject& object) {
  while (!reader.done()) {
    EVENKEEL_ASSIGN(const RawField raw, reader.Next());
    for (const NumberedField& field : message.fields) {
      if (outer == 0 ? raw.number != static_cast<uint64_t>(field.number)
                     : outer != field.number || raw.number != static_cast<uint64_t>(field.inner)) {
        continue;
      }
      if (outer == 0 && field.inner != 0) {
        if (raw.wire_type != kBytes) return reader.Wrong("has a value of another type");
        EVENKEEL_TRY(ReadMembers(WireReader(raw.bytes, reader.where()), message, field.number, object));
      } else {
        EVENKEEL_TRY(ReadMember(reader, raw, *field.schema, object));
      }
      break;
    }
  }
  return {};
}

std::string Encode(const Schema* schema, const Json& object) {
  WireWriter writer;
  if (object.is_object()) writer.Object(schema, object.get_object());
  return writer.Take();
}

base::Result<Json> Decode(const Schema* schema, std::string_view kind, std::string_view bytes) {
  EVENKEEL_ASSIGN(Json decoded, ReadObject(WireReader(bytes, "v1." + std::string(kind) + ": "), schema));
  JsonObject object{{"apiVersion", "v1"}, {"kind", kind}};
  for (auto& [key, value] : decoded.get_object()) object.emplace(key, std::move(value));
  return Json(std::move(object));
}

}  // namespace

std::string EncodeNode(const Json& node) { return Encode(Messages::Get().node(), node); }
std::string EncodePod(const Json& pod) { return Encode(Messages::Get().pod(), pod); }
base::Result<Json> DecodeNode(std::string_view bytes) { return Decode(Messages::Get().node(), "Node", bytes); }
base::Result<Json> DecodePod(std::string_view bytes) { return Decode(Messages::Get().pod(), "Pod", bytes); }

}  // namespace evenkeel::providers
