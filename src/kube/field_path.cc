#include "kube/field_path.h"

#include <algorithm>

namespace evenkeel::kube {

std::string FieldPath::Text() const {
  if (parent_ == nullptr) return std::string(name_);
  std::string text = parent_->Text();
  switch (kind_) {
    case Kind::kRoot:
      break;
    case Kind::kField:
      if (!text.empty()) text += '.';
      text += name_;
      break;
    case Kind::kKey:
      text += '[';
      text += name_;
      text += ']';
      break;
    case Kind::kIndex:
      text += '[' + std::to_string(index_) + ']';
      break;
  }
  return text;
}

base::Cause RequiredValue(const FieldPath& path, std::string_view detail) {
  std::string message = "Required value";
  if (!detail.empty()) message.append(": ").append(detail);
  return {"FieldValueRequired", std::move(message), path.Text()};
}

base::Cause InvalidValue(const FieldPath& path, const base::Json& value, std::string_view detail) {
  std::string message = "Invalid value: " + base::ToText(value);
  if (!detail.empty()) message.append(": ").append(detail);
  return {"FieldValueInvalid", std::move(message), path.Text()};
}

base::Cause DuplicateValue(const FieldPath& path, const base::Json& value) {
  return {"FieldValueDuplicate", "Duplicate value: " + base::ToText(value), path.Text()};
}

base::Cause ForbiddenValue(const FieldPath& path, std::string_view detail) {
  return {"FieldValueForbidden", "Forbidden: " + std::string(detail), path.Text()};
}

base::Cause UnsupportedValue(const FieldPath& path, const base::Json& value, std::vector<std::string> supported) {
  std::sort(supported.begin(), supported.end());
  std::string message = "Unsupported value: " + base::ToText(value) + ": supported values: ";
  for (size_t i = 0; i < supported.size(); ++i) message += (i == 0 ? "\"" : ", \"") + supported[i] + "\"";
  return {"FieldValueNotSupported", std::move(message), path.Text()};
}

base::Cause InvalidText(const FieldPath& path, std::string_view text, std::string_view detail) {
  return InvalidValue(path, boost::json::string(text), detail);
}

base::Cause UnsupportedText(const FieldPath& path, std::string_view text, std::vector<std::string> supported) {
  return UnsupportedValue(path, boost::json::string(text), std::move(supported));
}

base::Cause DuplicateText(const FieldPath& path, std::string_view text) {
  return DuplicateValue(path, boost::json::string(text));
}

base::Cause TooManyBytes(const FieldPath& path, size_t limit) {
  return {"FieldValueTooLong", "Too long: must have at most " + std::to_string(limit) + " bytes", path.Text()};
}

base::Cause NotFoundValue(const FieldPath& path, std::string_view text) {
  return {"FieldValueNotFound", "Not found: " + base::ToText(boost::json::string(text)), path.Text()};
}

base::Cause TooLong(const FieldPath& path, size_t limit) {
  return {"FieldValueTooLong", "Too long: may not be longer than " + std::to_string(limit), path.Text()};
}

base::Cause TooMany(const FieldPath& path, size_t count, size_t limit) {
  return {"FieldValueTooMany", "Too many: " + std::to_string(count) + ": must have at most " + std::to_string(limit) + " items",
          path.Text()};
}

}  // namespace evenkeel::kube
