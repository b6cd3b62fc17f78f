// Reads fields of the state file with their types, and says where a wrong one stands. cluster_reader.h is the contract.
#pragma once

#include <deque>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancing/input/text_position.h"
#include "base/json.h"
#include "base/result.h"

namespace evenkeel::balancing {

/// A value's place, by its parents; lives on the stack while the value is read.
struct Where {
  const Where* parent = nullptr;  ///< null: the document
  std::string_view key{};         ///< of a member
  size_t index = 0;               ///< of an item, when there is no key

  Where Member(std::string_view name) const { return {this, name, 0}; }
  Where Item(size_t at) const { return {this, {}, at}; }
};

/// An object of the file.
struct Fields {
  const base::JsonObject& object;
  const Where& where;
};

class StateFile {
 public:
  StateFile(std::string_view text, TextSyntax syntax, const std::string& file, const base::Json& root)
      : text_(text), syntax_(syntax), file_(file), root_(root) {}

  const base::Json& root() const { return root_; }

  /// "FILE:LINE: partition \"s1/0\": replicas[1].node: what".
  std::unexpected<base::Error> Refused(const Where& where, const std::string& what) const;
  std::unexpected<base::Error> Refused(const Fields& fields, std::string_view key, const std::string& what) const {
    return Refused(fields.where.Member(key), what);
  }
  /// Once for each `kind`.
  void Warn(const Where& where, const std::string& kind, const std::string& what);
  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

  /// Warns of fields that are not known.
  void CheckKeys(const Fields& fields, std::string_view kind, std::span<const std::string_view> known);

  base::Result<Fields> Object(const base::Json& value, const Where& where) const;
  /// A name: a text, or a number as people write them without quotes. Lives as long as this. Not empty.
  base::Result<std::string_view> Name(const base::Json& value, const Where& where);
  base::Result<std::string_view> Name(const Fields& fields, std::string_view key);
  /// `fallback` when the field is absent or null.
  base::Result<std::string_view> NameOr(const Fields& fields, std::string_view key, std::string_view fallback);
  base::Result<bool> BoolOr(const Fields& fields, std::string_view key, bool fallback) const;
  base::Result<int64_t> WholeOr(const Fields& fields, std::string_view key, int64_t fallback, int64_t min,
                                int64_t max = INT64_MAX) const;
  base::Result<int64_t> Whole(const base::Json& value, const Where& where, int64_t min, int64_t max = INT64_MAX) const;
  base::Result<double> NumberOr(const Fields& fields, std::string_view key, double fallback) const;
  base::Result<double> Number(const base::Json& value, const Where& where) const;

  /// Null when the field is absent or null.
  const base::Json* Get(const Fields& fields, std::string_view key) const;
  /// visit(value, where) for each item of a list; an absent one has none.
  template <typename Visit>
  base::Status ForEachItem(const Fields& fields, std::string_view key, Visit visit) const;
  /// visit(key, value, where) for each member of an object; an absent one has none.
  template <typename Visit>
  base::Status ForEachMember(const Fields& fields, std::string_view key, Visit visit) const;
  /// The value of a word, in any case.
  template <typename T, size_t N>
  base::Result<T> Word(const base::Json& value, const Where& where, const std::pair<std::string_view, T> (&words)[N]) const;
  template <typename T, size_t N>
  base::Result<T> WordOr(const Fields& fields, std::string_view key, T fallback,
                         const std::pair<std::string_view, T> (&words)[N]) const;

 private:
  base::Result<size_t> WordIndex(const base::Json& value, const Where& where, std::span<const std::string_view> words) const;

  std::string_view text_;
  TextSyntax syntax_;
  const std::string& file_;
  const base::Json& root_;
  std::set<std::string, std::less<>> warned_;
  std::vector<std::string> warnings_;
  std::deque<std::string> numbers_;  // names that were written as numbers
};

template <typename Visit>
base::Status StateFile::ForEachItem(const Fields& fields, std::string_view key, Visit visit) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return {};
  const Where where = fields.where.Member(key);
  const base::JsonArray* list = value->if_array();
  if (list == nullptr) return Refused(where, "expected a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const Where item = where.Item(i);
    EVENKEEL_TRY(visit((*list)[i], item));
  }
  return {};
}

template <typename Visit>
base::Status StateFile::ForEachMember(const Fields& fields, std::string_view key, Visit visit) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return {};
  const Where where = fields.where.Member(key);
  EVENKEEL_ASSIGN(const Fields object, Object(*value, where));
  for (const auto& member : object.object) {
    const Where at = where.Member(member.key());
    EVENKEEL_TRY(visit(std::string_view(member.key()), member.value(), at));
  }
  return {};
}

template <typename T, size_t N>
base::Result<T> StateFile::Word(const base::Json& value, const Where& where,
                                const std::pair<std::string_view, T> (&words)[N]) const {
  std::string_view names[N];
  for (size_t i = 0; i < N; ++i) names[i] = words[i].first;
  EVENKEEL_ASSIGN(const size_t index, WordIndex(value, where, names));
  return words[index].second;
}

template <typename T, size_t N>
base::Result<T> StateFile::WordOr(const Fields& fields, std::string_view key, T fallback,
                                  const std::pair<std::string_view, T> (&words)[N]) const {
  const base::Json* value = Get(fields, key);
  if (value == nullptr) return fallback;
  return Word(*value, fields.where.Member(key), words);
}

}  // namespace evenkeel::balancing
