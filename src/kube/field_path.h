// Where in an object the code is, kept on the stack: it costs nothing until a text is needed for an error.
// A path points to its parent: name every step (`const FieldPath spec = root.Field("spec")`) or use it within one expression.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace evenkeel::kube {

class FieldPath {
 public:
  /// The start: "" or a path that is already a text.
  explicit FieldPath(std::string_view root = "") : kind_(Kind::kRoot), name_(root) {}
  FieldPath Field(std::string_view name) const { return {this, Kind::kField, name, 0}; }
  FieldPath Key(std::string_view name) const { return {this, Kind::kKey, name, 0}; }
  FieldPath Index(size_t index) const { return {this, Kind::kIndex, "", index}; }

  /// "spec.containers[0].env", "metadata.labels[app]".
  std::string Text() const;

 private:
  enum class Kind { kRoot, kField, kKey, kIndex };
  FieldPath(const FieldPath* parent, Kind kind, std::string_view name, size_t index)
      : parent_(parent), kind_(kind), name_(name), index_(index) {}

  const FieldPath* parent_ = nullptr;
  Kind kind_;
  std::string_view name_;
  size_t index_ = 0;
};

/// Causes as upstream words them; `value` is what was found there.
base::Cause RequiredValue(const FieldPath& path, std::string_view detail = "");
base::Cause InvalidValue(const FieldPath& path, const base::Json& value, std::string_view detail);
base::Cause InvalidText(const FieldPath& path, std::string_view text, std::string_view detail);
base::Cause DuplicateValue(const FieldPath& path, const base::Json& value);
base::Cause ForbiddenValue(const FieldPath& path, std::string_view detail);
base::Cause UnsupportedValue(const FieldPath& path, const base::Json& value, std::vector<std::string> supported);
base::Cause UnsupportedText(const FieldPath& path, std::string_view text, std::vector<std::string> supported);
base::Cause DuplicateText(const FieldPath& path, std::string_view text);
base::Cause TooManyBytes(const FieldPath& path, size_t limit);
base::Cause NotFoundValue(const FieldPath& path, std::string_view text);
base::Cause TooLong(const FieldPath& path, size_t limit);
base::Cause TooMany(const FieldPath& path, size_t count, size_t limit);

}  // namespace evenkeel::kube
