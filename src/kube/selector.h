// Label and field selectors, in the query syntax of the API and in the JSON form of objects' specs.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/labels/selector.go, fields/selector.go
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"

namespace evenkeel::kube {

/// One condition on one label. Gt and Lt compare whole numbers; only the query syntax has them.
struct LabelRequirement {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGreaterThan, kLessThan };

  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;  ///< sorted, without duplicates

  /// `value` is null where the object does not have the label.
  bool Matches(const std::string_view* value) const;
  bool operator==(const LabelRequirement&) const = default;
};

/// A conjunction of requirements; none match everything. Immutable, thread-safe. Matching costs one look-up per requirement.
class LabelSelector {
 public:
  /// Matches everything.
  LabelSelector() = default;

  /// "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5"; the empty text selects everything. kBadRequest.
  static base::Result<LabelSelector> Parse(std::string_view text);
  /// {matchLabels, matchExpressions}. As in Kubernetes {} selects everything and null nothing. kInvalid.
  static base::Result<LabelSelector> FromJson(const base::Json& selector);
  /// Labels that must be there with exactly these values.
  static LabelSelector FromLabels(const std::map<std::string, std::string>& labels);
  /// Selects no object at all.
  static LabelSelector Nothing();

  /// This and one more; one that makes no sense selects nothing.
  LabelSelector With(LabelRequirement requirement) const;

  template <typename Compare>
  bool Matches(const std::map<std::string, std::string, Compare>& labels) const {
    return MatchesAll([&](const std::string& key) -> std::optional<std::string_view> {
      const auto found = labels.find(key);
      if (found == labels.end()) return std::nullopt;
      return found->second;
    });
  }
  /// metadata.labels as it stands in the object; values that are not strings count as absent.
  bool Matches(const base::JsonObject& labels) const;

  bool everything() const { return !nothing_ && requirements_.empty(); }
  bool nothing() const { return nothing_; }
  /// Sorted by key.
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }
  /// The query syntax, in a canonical form that Parse reads back; "" for everything and also for nothing.
  std::string ToString() const;

  bool operator==(const LabelSelector&) const = default;

 private:
  template <typename Lookup>
  bool MatchesAll(const Lookup& lookup) const {
    if (nothing_) return false;
    for (const LabelRequirement& requirement : requirements_) {
      const std::optional<std::string_view> value = lookup(requirement.key);
      if (!requirement.Matches(value ? &*value : nullptr)) return false;
    }
    return true;
  }

  base::Status Add(LabelRequirement requirement);

  bool nothing_ = false;
  std::vector<LabelRequirement> requirements_;
};

/// "metadata.name=x,status.phase!=Running". Which paths a kind offers is for the caller to check, with terms().
class FieldSelector {
 public:
  struct Term {
    std::string path;
    bool equal = true;  ///< false for !=
    std::string value;
    bool operator==(const Term&) const = default;
  };
  /// The field's text, nothing where the object lacks it (which counts as the empty text).
  using Lookup = std::function<std::optional<std::string>(std::string_view path)>;

  /// Matches everything.
  FieldSelector() = default;

  /// Operators =, == and !=; in values \\ \, and \= stand for the second character. kBadRequest.
  static base::Result<FieldSelector> Parse(std::string_view text);

  bool Matches(const Lookup& lookup) const;
  bool everything() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  /// The value that `path` must equal, if a term says so.
  std::optional<std::string_view> Required(std::string_view path) const;
  std::string ToString() const;

  bool operator==(const FieldSelector&) const = default;

 private:
  std::vector<Term> terms_;
};

/// `into` stays as it is where there is none.
base::Status ReadSelector(const base::Field& field, LabelSelector& into);

}  // namespace evenkeel::kube
