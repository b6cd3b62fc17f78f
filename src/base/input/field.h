// Fields of a document that somebody wrote, read with their types: where one is wrong, one line says where it stands, which
// field it is and what is expected. Readers leave a value as it is where the field is absent or null. base/json.h has those
// that forgive.
#pragma once

#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::base {

/// A value and the way to it. Refers to the document.
class Field {
 public:
  /// Of a whole document, or the part that `path` leads to. `subject` stands before the way in messages, e.g. "a.yaml:3:
  /// NodeGroup a"; it may be empty. Null: there is no value.
  Field(const Json* value, std::string subject, std::string path = "", Code code = Code::kBadRequest);

  /// A member of an object; absent where this is no object.
  Field operator[](std::string_view key) const;
  /// An item of a list, or a member whose key is a name of something: `clusters["a b"]`.
  Field Item(size_t index) const;
  Field Named(std::string_view key) const;

  /// Absent, or an empty text.
  bool IsEmpty() const { return value_ == nullptr || (value_->is_string() && value_->get_string().empty()); }
  explicit operator bool() const { return value_ != nullptr; }
  /// There must be one.
  const Json& value() const { return *value_; }
  const std::string& path() const { return path_; }

  /// "SUBJECT: PATH: what", without control characters; the error's details have the path, too.
  std::unexpected<Error> Wrong(std::string_view what) const;
  /// Refuses one that is absent, saying "missing" and, after a colon, why it is needed.
  Status Required(std::string_view why = "") const;

  Status Text(std::string& into) const;
  Status Flag(bool& into) const;
  Status Flag(std::optional<bool>& into) const { return Optional(&Field::Flag, into); }
  /// From `least` to `most`, both included.
  Status Whole(int64_t& into, int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max()) const;
  Status Whole(std::optional<int64_t>& into, int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max()) const {
    return Optional(&Field::Whole, into, least, most);
  }
  Status Number(double& into, double least = 0, double most = kAny) const;
  Status Number(std::optional<double>& into, double least = 0, double most = kAny) const {
    return Optional(&Field::Number, into, least, most);
  }
  /// "10m", "1h30m".
  Status Wait(Duration& into, Duration least = {}, Duration most = Duration::max()) const;
  Status Wait(std::optional<Duration>& into, Duration least = {}, Duration most = Duration::max()) const {
    return Optional(&Field::Wait, into, least, most);
  }
  /// RFC 3339.
  Status Instant(std::optional<Time>& into) const;
  /// One of some words; an empty text is none.
  template <typename T>
  Status Word(T& into, std::span<const std::pair<std::string_view, T>> words) const;
  template <typename T>
  Status Word(T& into, std::initializer_list<std::pair<std::string_view, T>> words) const {
    return Word<T>(into, std::span(words.begin(), words.size()));
  }
  Status Word(std::string& into, std::initializer_list<std::string_view> words) const;

  Status IsObject() const;
  /// visit(item) of each item of a list; `of`: what the items are, for the message.
  template <typename Visit>
  Status ForEach(const Visit& visit, std::string_view of = "") const;
  /// visit(key, member) of each member of an object.
  template <typename Visit>
  Status ForEachMember(const Visit& visit) const;
  Status Texts(std::vector<std::string>& into) const;

 private:
  static constexpr double kAny = std::numeric_limits<double>::max();
  struct Subject {
    std::string text;
    Code code;
  };
  Field(const Json* value, std::shared_ptr<const Subject> subject, std::string path);

  template <typename T, typename... Bounds>
  Status Optional(Status (Field::*read)(T&, Bounds...) const, std::optional<T>& into, Bounds... bounds) const {
    T value{};
    EVENKEEL_TRY((this->*read)(value, bounds...));
    if (*this) into = value;
    return {};
  }
  std::unexpected<Error> NoneOf(std::span<const std::string_view> words) const;

  const Json* value_;
  std::shared_ptr<const Subject> subject_;
  std::string path_;
};

template <typename T>
Status Field::Word(T& into, std::span<const std::pair<std::string_view, T>> words) const {
  if (IsEmpty()) return {};
  std::vector<std::string_view> names;
  for (const auto& [word, meaning] : words) {
    names.push_back(word);
    if (!value_->is_string() || value_->get_string() != word) continue;
    into = meaning;
    return {};
  }
  return NoneOf(names);
}

template <typename Visit>
Status Field::ForEach(const Visit& visit, std::string_view of) const {
  if (!*this) return {};
  if (!value_->is_array()) return Wrong(of.empty() ? "not a list" : "not a list of " + std::string(of));
  for (size_t i = 0; i < value_->get_array().size(); ++i) EVENKEEL_TRY(visit(Item(i)));
  return {};
}

template <typename Visit>
Status Field::ForEachMember(const Visit& visit) const {
  if (!*this) return {};
  EVENKEEL_TRY(IsObject());
  for (const auto& member : value_->get_object()) EVENKEEL_TRY(visit(std::string_view(member.key()), (*this)[member.key()]));
  return {};
}

}  // namespace evenkeel::base
