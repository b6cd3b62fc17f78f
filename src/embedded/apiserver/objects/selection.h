// Label and field selectors of one request, applied to stored bytes without parsing them, unless fields of a custom kind are
// asked for in rows of another form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/watch_event.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace evenkeel::embedded::apiserver {

/// Immutable, thread-safe.
class Selection {
 public:
  /// kBadRequest in upstream's words: a selector that cannot be read, a field that the kind does not offer.
  static base::Result<Selection> Parse(const ServedPointer& served, const std::string& label_selector,
                                       const std::string& field_selector);

  bool everything() const { return fields_.empty() && !has_labels_; }
  bool Matches(const Stored& stored) const;
  /// The same for both sides of an event, sharing its parsed labels.
  bool MatchesNow(SharedEvent& event) const;
  bool MatchedBefore(SharedEvent& event) const;
  /// The name that a metadata.name=NAME selector asks for; "" when there is none.
  std::string_view only_name() const { return only_name_; }

 private:
  struct Term {
    std::vector<std::string> path;
    std::string value;
    bool equal = true;
    std::string fallback;  ///< what an absent field counts as
  };
  bool FieldsMatch(const Stored& stored) const;

  bool has_labels_ = false;
  kube::LabelSelector labels_;
  std::vector<Term> fields_;
  std::string only_name_;
  ServedPointer form_;  ///< whose rows may have to be brought to another form first; null: none
};

}  // namespace evenkeel::embedded::apiserver
