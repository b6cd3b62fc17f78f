#include <span>

#include "base/hash.h"
#include "kube/forms/protobuf.h"
#include "kube/forms/protobuf_values.h"
#include "kube/schema/protobuf_wire.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using FieldSchema = Schema::FieldSchema;
using Hidden = Schema::Hidden;
using Type = Schema::Type;

/// Values on their way from the bytes onto a stack, where objects and lists are put together as a parser of JSON does it. Every
/// function is false where the bytes are broken: then problem() says what is wrong, and where.
///
/// Programs write fields in the order of their numbers, each once or its items together: such bytes are read as they come
/// (InOrder). Where one message does not keep that order, which the format allows, all is read again by collecting the fields
/// of each message first (Pieces).
class Decoder {
 public:
  /// `api_version` and `kind`: of the outermost object; empty where it says nothing of itself.
  Decoder(std::string_view api_version, std::string_view kind, boost::json::storage_ptr storage)
      : stack_({}, memory_, sizeof memory_), storage_(std::move(storage)), api_version_(api_version), kind_(kind) {}

  std::string problem() const { return path_.empty() ? problem_ : path_ + ": " + problem_; }

  bool Outermost(const Schema& schema, std::string_view bytes) {
    stack_.reset(storage_);
    if (Message(schema, bytes, 1)) return true;
    if (in_order_) return false;
    path_.clear();
    stack_.reset(storage_);
    return Message(schema, bytes, 1);
  }
  /// After Outermost.
  Json Release() { return stack_.release(); }

 private:
  /// A field of the message that is being read.
  struct Member {
    uint16_t place = 0;  // in Schema::wire_order
    WireField value;
  };

  /// Kept from one object to the next. Decoders do not run within each other.
  static std::vector<Member>& Scratch() {
    constexpr size_t kMembersMax = 10'000;
    thread_local std::vector<Member> members;
    if (members.capacity() > kMembersMax) members = {};
    members.clear();
    return members;
  }

  bool Wrong(std::string_view problem) {
    problem_ = problem;
    return false;
  }
  /// Names the field in which something is wrong.
  bool In(std::string_view field) {
    path_ = path_.empty() ? std::string(field) : std::string(field) + "." + path_;
    return false;
  }

  /// Pushes an object. `depth`: 1 for the outermost.
  bool Message(const Schema& schema, std::string_view bytes, size_t depth) {
    if (!in_order_) return Pieces(schema, std::span(&bytes, 1), depth);
    if (depth > base::kJsonDepthMax) return Wrong("is nested too deep");
    OpenObject object{.schema = schema, .depth = depth};
    object.fields = PushWhoItIs(depth);
    if (!InOrder(object, bytes, {})) return false;
    EndList(object);
    stack_.push_object(object.fields);
    return true;
  }

  /// Bytes that keep no order, or an object that is in several places.
  bool NotInOrder() {
    in_order_ = false;
    return false;
  }

  /// An object of which some fields are on the stack.
  struct OpenObject {
    const Schema& schema;
    size_t depth = 0, fields = 0;
    size_t next = 0;                    // after the last field, in Schema::wire_order
    const FieldSchema* list = nullptr;  // the last field, if it is a list or a map, of which `items` are on the stack
    size_t items = 0;
  };

  void EndList(OpenObject& object) {
    if (object.list == nullptr) return;
    object.list->schema->type == Type::kArray ? stack_.push_array(object.items) : stack_.push_object(object.items);
    object.list = nullptr;
  }

  /// Pushes the fields that the bytes hold. `within` as for Collect.
  bool InOrder(OpenObject& object, std::string_view bytes, Hidden within) {
    const Schema& schema = object.schema;
    WireReader reader(bytes);
    WireField value;
    while (!reader.done()) {
      if (SkipAbsent(object, within, reader)) continue;
      if (!reader.Next(value)) return Wrong(reader.problem());
      const size_t at = Find(schema, within, value.number);
      if (at == kUnknown) continue;
      const Schema::WireEntry& entry = schema.wire_order()[at];
      if (entry.hidden != within) {
        if (value.type != WireType::kBytes) return Wrong("has a value of another type");
        if (!InOrder(object, value.bytes, within.With(value.number))) return false;
        continue;
      }
      const FieldSchema& field = schema.fields[entry.index];
      if (object.list == &field) {
        if (!ListItem(*field.schema, value, object.depth, object.items)) return In(field.name);
        continue;
      }
      if (at < object.next) return NotInOrder();
      EndList(object);
      object.next = at + 1;
      if (IsAbsent(entry, value)) continue;
      if (!Begin(object, field, value)) return In(field.name);
    }
    return true;
  }

  /// Passes over the next field if it is absent: most of the fields that Go's programs write are.
  bool SkipAbsent(OpenObject& object, Hidden within, WireReader& reader) {
    const auto& order = object.schema.wire_order();
    if (object.next == order.size()) return false;
    const Schema::WireEntry& entry = order[object.next];
    if (entry.absent.empty() || entry.hidden != within || !reader.Skip(entry.absent)) return false;
    EndList(object);
    ++object.next;
    return true;
  }

  /// Pushes a field, or its name and its first item.
  bool Begin(OpenObject& object, const FieldSchema& field, const WireField& value) {
    const Schema& schema = *field.schema;
    if (schema.type != Type::kArray && schema.type != Type::kMap) return Single(field, value, object.depth, object.fields);
    ++object.fields;
    stack_.push_key(field.name);
    object.list = &field;
    object.items = 0;
    return ListItem(schema, value, object.depth, object.items);
  }

  /// A message in several pieces is that of its bytes one after the other.
  bool Pieces(const Schema& schema, std::span<const std::string_view> pieces, size_t depth) {
    if (depth > base::kJsonDepthMax) return Wrong("is nested too deep");
    const size_t begin = members_.size();
    bool good = true;
    for (const std::string_view piece : pieces) good = good && Collect(schema, piece, {}, members_.size() > begin);
    good = good && Build(schema, begin, depth);
    members_.resize(begin);
    return good;
  }

  static constexpr size_t kUnknown = SIZE_MAX;
  /// The place in Schema::wire_order of field `number` within these messages, or of the first field in it where it is a message
  /// that JSON does not show.
  static size_t Find(const Schema& schema, Hidden within, uint32_t number) {
    const auto& order = schema.wire_order();
    size_t at = schema.WirePlace(within.number == 0 ? number : within.number);
    if (within.number == 0) return at < order.size() && order[at].number == number ? at : kUnknown;
    const Hidden place = within.inner == 0 ? Hidden{within.number, number} : within;
    const uint32_t innermost = within.inner == 0 ? 0 : number;
    const auto before = [&](const Schema::WireEntry& entry) {
      return entry.number == place.number &&
             (entry.inner < place.inner || (entry.inner == place.inner && entry.innermost < innermost));
    };
    while (at < order.size() && before(order[at])) ++at;
    if (at == order.size() || order[at].number != place.number || order[at].inner != place.inner) return kUnknown;
    return innermost == 0 || order[at].innermost == innermost ? at : kUnknown;
  }

  /// Appends the fields that the schema knows to members_. `within`: the message that JSON does not show and that the bytes
  /// are; none: they are the object itself. `again`: there may be members of the same message before, which a zero replaces.
  bool Collect(const Schema& schema, std::string_view bytes, Hidden within, bool again) {
    WireReader reader(bytes);
    size_t next = 0;  // after the last field
    bool inner_before = false;
    while (!reader.done()) {
      WireField value;
      if (!reader.Next(value)) return Wrong(reader.problem());
      const size_t at = Find(schema, within, value.number);
      if (at == kUnknown) continue;
      const Schema::WireEntry& entry = schema.wire_order()[at];
      if (entry.hidden != within) {
        if (value.type != WireType::kBytes) return Wrong("has a value of another type");
        if (!Collect(schema, value.bytes, within.With(value.number), again || inner_before)) return false;
        inner_before = true;
      } else if (again || at < next || !IsAbsent(entry, value)) {
        members_.push_back({static_cast<uint16_t>(at), value});
        next = at + 1;
      }
    }
    return true;
  }

  /// Whether it is certainly how a value that is not there is written; nothing need be made of it.
  static bool IsAbsent(const Schema::WireEntry& entry, const WireField& value) {
    return !entry.absent.empty() && value.integer == 0 && value.bytes.empty() && value.type == entry.type;
  }

  /// Pushes the object of members_ from `begin` on.
  bool Build(const Schema& schema, size_t begin, size_t depth) {
    const auto ours = std::span(members_).subspan(begin);
    if (!std::ranges::is_sorted(ours, {}, &Member::place)) std::ranges::stable_sort(ours, {}, &Member::place);
    const size_t end = members_.size();
    size_t fields = PushWhoItIs(depth);
    for (size_t i = begin; i < end;) {
      size_t next = i + 1;
      while (next < end && members_[next].place == members_[i].place) ++next;
      const Schema::WireEntry& entry = schema.wire_order()[members_[i].place];
      const FieldSchema& field = schema.fields[entry.index];
      if (!IsAbsent(entry, members_[next - 1].value) && !Field(field, i, next, depth, fields)) return In(field.name);
      i = next;
    }
    stack_.push_object(fields);
    return true;
  }

  /// Pushes the fields that the outermost object has although its bytes do not say them, and counts them.
  size_t PushWhoItIs(size_t depth) {
    if (depth != 1 || kind_.empty()) return 0;
    Push("apiVersion", api_version_);
    Push("kind", kind_);
    return 2;
  }

  void Push(std::string_view key, std::string_view text) {
    stack_.push_key(key);
    stack_.push_string(text);
  }

  void Push(const Json& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return stack_.push_null();
      case boost::json::kind::bool_:
        return stack_.push_bool(value.get_bool());
      case boost::json::kind::int64:
        return stack_.push_int64(value.get_int64());
      case boost::json::kind::uint64:
        return stack_.push_uint64(value.get_uint64());
      case boost::json::kind::double_:
        return stack_.push_double(value.get_double());
      case boost::json::kind::string:
        return stack_.push_string(value.get_string());
      case boost::json::kind::array:
        for (const Json& item : value.get_array()) Push(item);
        return stack_.push_array(value.get_array().size());
      case boost::json::kind::object:
        for (const auto& [key, field] : value.get_object()) {
          stack_.push_key(key);
          Push(field);
        }
        return stack_.push_object(value.get_object().size());
    }
  }

  /// Whether it is how a value that is not there is written.
  static bool IsAbsent(const FieldSchema& field, const Json& value) {
    if (value.is_null()) return true;
    if (!field.written_when_absent || field.required || field.documented_required) return false;
    if (value.is_string())
      return value.get_string().empty() || (field.schema->type == Type::kQuantity && value.get_string() == "0");
    return (value.is_int64() && value.get_int64() == 0) || (value.is_double() && value.get_double() == 0);
  }

  /// Whether a value of that type is pushed without looking at it first: it is never null, and a zero shows in the bytes.
  static bool IsDirect(const Schema& schema) {
    switch (schema.type) {
      case Type::kString:
      case Type::kInteger:
      case Type::kBoolean:
      case Type::kBytes:
        return true;
      case Type::kObject:
        return !schema.raw;
      case Type::kAny:
        return schema.alternative_to != nullptr;
      default:
        return false;
    }
  }

  /// Pushes name and value of one field, which stands at members_[begin, end), and counts it, where it is not absent.
  bool Field(const FieldSchema& field, size_t begin, size_t end, size_t depth, size_t& fields) {
    const Schema& schema = *field.schema;
    if (schema.type == Type::kArray || schema.type == Type::kMap) {
      ++fields;
      stack_.push_key(field.name);
      size_t count = 0;
      for (size_t i = begin; i < end; ++i) {
        const WireField value = members_[i].value;
        if (!ListItem(schema, value, depth, count)) return false;
      }
      schema.type == Type::kArray ? stack_.push_array(count) : stack_.push_object(count);
      return true;
    }
    const WireField last = members_[end - 1].value;
    if (schema.type != Type::kObject || !IsDirect(schema) || end - begin == 1) return Single(field, last, depth, fields);
    ++fields;
    stack_.push_key(field.name);
    std::vector<std::string_view> pieces;
    for (size_t i = begin; i < end; ++i) {
      if (members_[i].value.type != WireType::kBytes) return Wrong("has a value of another type");
      pieces.push_back(members_[i].value.bytes);
    }
    return Pieces(schema, pieces, depth + 1);
  }

  /// Pushes an item of a field that is a list or a map. `depth`: of what contains the field.
  bool ListItem(const Schema& list, const WireField& value, size_t depth, size_t& count) {
    return list.type == Type::kArray ? Item(*list.item, value, depth + 1, count) : Entry(*list.item, value, depth + 1, count);
  }

  /// The same as Field for a field that is in one place, and neither a list nor a map.
  bool Single(const FieldSchema& field, const WireField& wire, size_t depth, size_t& fields) {
    const Schema& schema = *field.schema;
    if (IsDirect(schema)) {
      ++fields;
      stack_.push_key(field.name);
      return Direct(schema, wire, depth);
    }
    Json value;
    if (!Value(schema, wire, depth, value)) return false;
    if (IsAbsent(field, value)) return true;
    ++fields;
    stack_.push_key(field.name);
    Push(value);
    return true;
  }

  /// Pushes a value for which IsDirect holds.
  bool Direct(const Schema& schema, const WireField& value, size_t depth) {
    const bool varint = schema.type == Type::kInteger || schema.type == Type::kBoolean;
    if (value.type != (varint ? WireType::kVarint : WireType::kBytes)) return Wrong("has a value of another type");
    switch (schema.type) {
      case Type::kString:
        if (!base::IsUtf8(value.bytes)) return Wrong("is not UTF-8");
        stack_.push_string(value.bytes);
        return true;
      case Type::kInteger:
        stack_.push_int64(Integer(schema, value.integer));
        return true;
      case Type::kBoolean:
        stack_.push_bool(value.integer != 0);
        return true;
      case Type::kBytes:
        stack_.push_string(base::Base64Encode(value.bytes));
        return true;
      case Type::kAny:
        return Alternative(schema, value.bytes, depth);
      default:
        return Message(schema, value.bytes, depth + 1);
    }
  }

  /// Pushes an item of a list, or several that stand together.
  bool Item(const Schema& schema, const WireField& value, size_t depth, size_t& count) {
    if (schema.type == Type::kInteger && value.type == WireType::kBytes) {
      WireReader packed(value.bytes);
      for (; !packed.done(); ++count) {
        uint64_t number = 0;
        if (!packed.Varint(number)) return Wrong(packed.problem());
        stack_.push_int64(Integer(schema, number));
      }
      return true;
    }
    ++count;
    if (IsDirect(schema)) return Direct(schema, value, depth);
    Json item;
    if (!Value(schema, value, depth, item)) return false;
    Push(item);
    return true;
  }

  bool Entry(const Schema& schema, const WireField& entry, size_t depth, size_t& count) {
    if (entry.type != WireType::kBytes) return Wrong("has a value of another type");
    std::string_view key = "";
    WireField value;
    value.type = schema.type == Type::kInteger || schema.type == Type::kBoolean ? WireType::kVarint : WireType::kBytes;
    value.bytes = "";
    WireReader reader(entry.bytes);
    while (!reader.done()) {
      WireField field;
      if (!reader.Next(field)) return Wrong(reader.problem());
      if (field.number == 1) {
        if (field.type != WireType::kBytes || !base::IsUtf8(field.bytes)) return Wrong("has a key that is not UTF-8");
        key = field.bytes;
      } else if (field.number == 2) {
        value = field;
      }
    }
    if (schema.type == Type::kArray || IsDirect(schema)) {
      ++count;
      stack_.push_key(key);
      const bool good = schema.type == Type::kArray ? WrappedItems(*schema.item, value, depth) : Direct(schema, value, depth);
      return good || In(key);
    }
    Json decoded;
    if (!Value(schema, value, depth, decoded)) return In(key);
    if (decoded.is_null()) return true;
    ++count;
    stack_.push_key(key);
    Push(decoded);
    return true;
  }

  /// A list as the value of a map: a message of which it is field 1.
  bool WrappedItems(const Schema& item, const WireField& message, size_t depth) {
    if (message.type != WireType::kBytes) return Wrong("has a value of another type");
    size_t count = 0;
    WireReader reader(message.bytes);
    while (!reader.done()) {
      WireField field;
      if (!reader.Next(field)) return Wrong(reader.problem());
      if (field.number == 1 && !Item(item, field, depth + 1, count)) return false;
    }
    stack_.push_array(count);
    return true;
  }

  static int64_t Integer(const Schema& schema, uint64_t value) {
    return schema.format == "int32" ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
  }

  /// A value for which IsDirect does not hold. Null: absent after all. `depth`: of what contains the value.
  bool Value(const Schema& schema, const WireField& value, size_t depth, Json& out) {
    std::string problem = DecodeProtobufValue(schema, value, depth, out);
    return problem.empty() || Wrong(problem);
  }

  /// Pushes an object, or what may be there instead of one.
  bool Alternative(const Schema& schema, std::string_view message, size_t depth) {
    const bool boolean = schema.alternative == Schema::Alternative::kBoolean;
    const uint32_t object_number = boolean ? 2 : 1, other_number = boolean ? 1 : 2;
    std::vector<std::string_view> object, items;
    bool truth = false;
    WireReader reader(message);
    while (!reader.done()) {
      WireField field;
      if (!reader.Next(field)) return Wrong(reader.problem());
      if (field.number != object_number && field.number != other_number) continue;
      if (field.type != (boolean && field.number == other_number ? WireType::kVarint : WireType::kBytes)) {
        return Wrong("has a value of another type");
      }
      if (field.type == WireType::kVarint) {
        truth = field.integer != 0;
      } else {
        (field.number == object_number ? object : items).push_back(field.bytes);
      }
    }
    if (object.size() == 1) return Message(*schema.alternative_to, object.front(), depth + 1);
    if (!object.empty()) return in_order_ ? NotInOrder() : Pieces(*schema.alternative_to, object, depth + 1);
    if (boolean) {
      stack_.push_bool(truth);
      return true;
    }
    for (const std::string_view item : items) {
      if (schema.alternative == Schema::Alternative::kList) {
        if (!Message(*schema.alternative_to, item, depth + 2)) return false;
      } else {
        if (!base::IsUtf8(item)) return Wrong("is not UTF-8");
        stack_.push_string(item);
      }
    }
    stack_.push_array(items.size());
    return true;
  }

  unsigned char memory_[4096];
  boost::json::value_stack stack_;
  const boost::json::storage_ptr storage_;
  bool in_order_ = true;
  const std::string_view api_version_, kind_;
  std::vector<Member>& members_ = Scratch();  // of the messages that are being read, the outermost first
  std::string problem_, path_;
};

}  // namespace

base::Result<Json> DecodeProtobuf(const Schema& schema, std::string_view bytes, boost::json::storage_ptr storage) {
  return DecodeProtobufKind(schema, "", "", bytes, std::move(storage));
}

base::Result<Json> DecodeProtobufKind(const Schema& schema, std::string_view api_version, std::string_view kind,
                                      std::string_view bytes, boost::json::storage_ptr storage) {
  Decoder decoder(api_version, kind, std::move(storage));
  if (!decoder.Outermost(schema, bytes)) return base::Fail(base::Code::kBadRequest, decoder.problem());
  return decoder.Release();
}

}  // namespace evenkeel::kube
