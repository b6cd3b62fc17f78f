#include "balancing/input/state_fields.h"

#include <cmath>

#include "balancing/model/messages.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

ValuePath PathOf(const Where& where) {
  ValuePath path;
  for (const Where* at = &where; at->parent != nullptr; at = at->parent) {
    if (at->key.data() != nullptr) {
      path.emplace_back(std::string(at->key));
    } else {
      path.emplace_back(at->index);
    }
  }
  std::ranges::reverse(path);
  return path;
}

/// The value that the first `count` steps lead to; null when there is none.
const base::Json* Follow(const base::Json& root, const ValuePath& path, size_t count) {
  const base::Json* at = &root;
  for (size_t i = 0; i < count; ++i) {
    if (const std::string* key = std::get_if<std::string>(&path[i])) {
      at = at->is_object() ? at->get_object().if_contains(*key) : nullptr;
    } else {
      at = at->is_array() ? at->get_array().if_contains(std::get<size_t>(path[i])) : nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string PathText(const ValuePath& path, size_t from) {
  std::string text;
  for (size_t i = from; i < path.size(); ++i) {
    if (const std::string* key = std::get_if<std::string>(&path[i])) {
      text += (text.empty() ? "" : ".") + OneLine(*key);
    } else {
      text += "[" + std::to_string(std::get<size_t>(path[i])) + "]";
    }
  }
  return text;
}

/// Of "partitions": "partition"; of "service types", too.
std::string Singular(std::string_view list) {
  if (list == "serviceTypes") return "service type";
  if (list.ends_with("s")) list.remove_suffix(1);
  return OneLine(list);
}

}  // namespace

std::unexpected<base::Error> StateFile::Refused(const Where& where, const std::string& what) const {
  const ValuePath path = PathOf(where);
  // A field that is missing stands where its object does.
  size_t there = path.size();
  while (there > 0 && Follow(root_, path, there) == nullptr) --there;
  const auto locate = [&] {
    return Locate(text_, syntax_, ValuePath(path.begin(), path.begin() + static_cast<ptrdiff_t>(there)));
  };
  auto position = locate();
  // What an alias stands for is where the alias is.
  for (; !position && there > 0; position = locate()) --there;
  std::string message = file_;
  if (position) message += ":" + std::to_string(position->line);
  size_t named = 0;
  if (path.size() >= 2 && path[0].index() == 0 && path[1].index() == 1) {
    const base::Json* object = Follow(root_, path, 2);
    const base::Json* name = object != nullptr ? base::Find(*object, {"name"}) : nullptr;
    if (name != nullptr && !name->is_structured() && !name->is_null()) {
      const std::string text = name->is_string() ? std::string(name->get_string()) : base::ToText(*name);
      message += ": " + Singular(std::get<std::string>(path[0])) + " \"" + OneLine(text) + "\"";
      named = 2;
    }
  }
  const std::string field = PathText(path, named);
  if (!field.empty()) message += ": " + field;
  return base::Fail(base::Code::kBadRequest, message + ": " + what);
}

void StateFile::Warn(const Where& where, const std::string& kind, const std::string& what) {
  // Each is looked for in the text, so there is a bound; who has made a hundred slips has seen enough.
  constexpr size_t kMostWarnings = 100;
  if (warnings_.size() < kMostWarnings && warned_.insert(kind).second)
    warnings_.push_back(Refused(where, what).error().message());
}

void StateFile::CheckKeys(const Fields& fields, std::string_view kind, std::span<const std::string_view> known) {
  for (const auto& member : fields.object) {
    const std::string_view key = member.key();
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string what = "there is no such field; it is left out" + NearestNameHint(key, known);
    Warn(fields.where.Member(key), std::string(kind) + "." + std::string(key), what);
  }
}

base::Result<Fields> StateFile::Object(const base::Json& value, const Where& where) const {
  const base::JsonObject* object = value.if_object();
  if (object == nullptr) return Refused(where, "expected an object");
  return Fields{*object, where};
}

const base::Json* StateFile::Get(const Fields& fields, std::string_view key) const {
  const base::Json* value = fields.object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

base::Result<std::string_view> StateFile::Name(const base::Json& value, const Where& where) {
  if (value.is_string()) {
    if (value.get_string().empty()) return Refused(where, "must not be empty");
    return std::string_view(value.get_string());
  }
  if (value.is_structured() || value.is_null()) return Refused(where, "expected a text");
  return numbers_.emplace_back(base::ToText(value));
}

base::Result<std::string_view> StateFile::Name(const Fields& fields, std::string_view key) {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return Refused(fields, key, "is missing");
  return Name(*value, fields.where.Member(key));
}

base::Result<std::string_view> StateFile::NameOr(const Fields& fields, std::string_view key, std::string_view fallback) {
  const base::Json* value = Get(fields, key);
  if (value == nullptr || (value->is_string() && value->get_string().empty())) return fallback;
  return Name(*value, fields.where.Member(key));
}

base::Result<bool> StateFile::BoolOr(const Fields& fields, std::string_view key, bool fallback) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) return Refused(fields, key, "expected true or false");
  return value->get_bool();
}

base::Result<int64_t> StateFile::Whole(const base::Json& value, const Where& where, int64_t min, int64_t max) const {
  constexpr double kExact = 9007199254740992;  // 2^53
  int64_t number = 0;
  if (value.is_int64()) {
    number = value.get_int64();
  } else if (value.is_double() && std::abs(value.get_double()) <= kExact &&
             std::trunc(value.get_double()) == value.get_double()) {
    number = static_cast<int64_t>(value.get_double());
  } else if (value.is_uint64()) {
    return Refused(where, base::ToText(value) + " is more than 2^63-1");
  } else {
    return Refused(where, OneLine(base::ToText(value)) + " is not a whole number");
  }
  if (number < min) {
    return Refused(where, std::to_string(number) + (min == 0 ? " is negative" : " must be at least " + std::to_string(min)));
  }
  if (number > max) return Refused(where, std::to_string(number) + " must be at most " + std::to_string(max));
  return number;
}

base::Result<int64_t> StateFile::WholeOr(const Fields& fields, std::string_view key, int64_t fallback, int64_t min,
                                         int64_t max) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return fallback;
  return Whole(*value, fields.where.Member(key), min, max);
}

base::Result<double> StateFile::Number(const base::Json& value, const Where& where) const {
  if (!value.is_number()) return Refused(where, OneLine(base::ToText(value)) + " is not a number");
  const auto number = value.to_number<double>();
  if (!std::isfinite(number)) return Refused(where, "is not a finite number");
  return number;
}

base::Result<double> StateFile::NumberOr(const Fields& fields, std::string_view key, double fallback) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return fallback;
  return Number(*value, fields.where.Member(key));
}

base::Result<size_t> StateFile::WordIndex(const base::Json& value, const Where& where,
                                          std::span<const std::string_view> words) const {
  if (const boost::json::string* text = value.if_string()) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (base::EqualIgnoringCase(*text, words[i])) return i;
    }
  }
  return Refused(where, OneLine(base::ToText(value)) + " is none of " + JoinedWithOr(words));
}

}  // namespace evenkeel::balancing
