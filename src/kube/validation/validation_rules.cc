#include "kube/validation/validation_rules.h"

#include "base/text.h"
#include "kube/object.h"

namespace evenkeel::kube::validation {

using base::Json;
using base::JsonArray;
using base::JsonObject;

const Json* Member(const Json& parent, std::string_view key) {
  const JsonObject* object = parent.if_object();
  const Json* value = object == nullptr ? nullptr : object->if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json& MemberOrNothing(const Json& parent, std::string_view key) {
  static const Json kEmpty = JsonObject();
  const Json* value = Member(parent, key);
  return value == nullptr ? kEmpty : *value;
}

std::string_view Text(const Json& parent, std::string_view key) {
  const Json* value = Member(parent, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::string_view TextIn(const Json& value) { return value.is_string() ? std::string_view(value.get_string()) : ""; }

const JsonArray& List(const Json& parent, std::string_view key) {
  static const JsonArray kEmpty;
  const Json* value = Member(parent, key);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

const JsonObject& Fields(const Json& parent, std::string_view key) {
  static const JsonObject kEmpty;
  const Json* value = Member(parent, key);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

int64_t Number(const Json& parent, std::string_view key, int64_t fallback) {
  const Json* value = Member(parent, key);
  if (value == nullptr) return fallback;
  if (value->is_int64()) return value->get_int64();
  return value->is_uint64() ? static_cast<int64_t>(value->get_uint64()) : fallback;
}

bool Flag(const Json& parent, std::string_view key) {
  const Json* value = Member(parent, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool Has(const Json& parent, std::string_view key) { return Member(parent, key) != nullptr; }

bool SameMember(const Json& a, const Json& b, std::string_view key) {
  const Json* left = Member(a, key);
  const Json* right = Member(b, key);
  if (left == nullptr || right == nullptr) return left == right;
  return *left == *right || base::Equal(*left, *right);
}

namespace {

bool IsLower(char letter) { return letter >= 'a' && letter <= 'z'; }

}  // namespace

std::string CheckDns1035Label(std::string_view name) {
  if (name.size() > 63) return "must be no more than 63 characters";
  const bool good = !name.empty() && IsLower(name.front()) && name.back() != '-' &&
                    std::all_of(name.begin(), name.end(),
                                [](char letter) { return IsLower(letter) || base::IsDigit(letter) || letter == '-'; });
  if (good) return "";
  return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
         "end "
         "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
         "'[a-z]([-a-z0-9]*[a-z0-9])?')";
}

std::string CheckPathSegment(std::string_view name) {
  if (name == "." || name == "..") return "may not be '" + std::string(name) + "'";
  for (const char letter : {'/', '%'}) {
    if (name.find(letter) != name.npos) return std::string("may not contain '") + letter + "'";
  }
  return "";
}

std::string CheckPortName(std::string_view name) {
  if (name.size() > 15) return "must be no more than 15 characters";
  if (!std::all_of(name.begin(), name.end(),
                   [](char letter) { return IsLower(letter) || base::IsDigit(letter) || letter == '-'; })) {
    return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  }
  if (std::none_of(name.begin(), name.end(), IsLower)) return "must contain at least one letter (a-z)";
  if (name.find("--") != name.npos) return "must not contain consecutive hyphens";
  if (name.front() == '-' || name.back() == '-') return "must not begin or end with a hyphen";
  return "";
}

std::string CheckConfigKey(std::string_view key) {
  if (key.size() > 253) return "must be no more than 253 characters";
  const bool good = !key.empty() && std::all_of(key.begin(), key.end(), [](char letter) {
    return base::IsLetter(letter) || base::IsDigit(letter) || letter == '-' || letter == '_' || letter == '.';
  });
  if (!good) {
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
           "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  }
  if (key == "." || key == "..") return "must not be '" + std::string(key) + "'";
  return key.starts_with("..") ? "must not start with '..'" : "";
}

std::string CheckEnvName(std::string_view name) {
  const bool good =
      !name.empty() && std::ranges::all_of(name, [](char letter) { return letter >= ' ' && letter <= '~' && letter != '='; });
  return good ? "" : "a valid environment variable name must consist only of printable ASCII characters other than '='";
}

bool IsIpAddress(std::string_view text) {
  if (text.find(':') != text.npos) {
    size_t colons = 0;
    for (const char letter : text) {
      if (letter == ':') {
        ++colons;
      } else if (!std::isxdigit(static_cast<unsigned char>(letter)) && letter != '.') {
        return false;
      }
    }
    return colons >= 2 && colons <= 7 && (colons == 7 || text.find("::") != text.npos);
  }
  int parts = 0;
  while (true) {
    const size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || part.size() > 3 || !std::all_of(part.begin(), part.end(), base::IsDigit)) return false;
    if ((part.size() > 1 && part[0] == '0') || std::stoi(std::string(part)) > 255) return false;
    ++parts;
    if (dot == text.npos) return parts == 4;
    text.remove_prefix(dot + 1);
  }
}

void Address(std::string_view text, const FieldPath& path, Causes& causes) {
  if (IsIpAddress(text)) return;
  causes.push_back(InvalidText(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
}

void Port(const Json& value, const FieldPath& path, Causes& causes) {
  const int64_t number = value.is_int64() ? value.get_int64() : 0;
  if (number < 1 || number > 65535) causes.push_back(InvalidValue(path, value, "must be between 1 and 65535, inclusive"));
}

void PortOrName(const Json& value, const FieldPath& path, Causes& causes) {
  if (!value.is_string()) return Port(value, path, causes);
  if (std::string problem = CheckPortName(value.get_string()); !problem.empty() || value.get_string().empty()) {
    causes.push_back(InvalidValue(path, value, problem.empty() ? "must contain at least one letter (a-z)" : problem));
  }
}

void NonNegativeAmounts(const JsonObject& amounts, const FieldPath& path, Causes& causes) {
  for (const auto& [name, amount] : amounts) {
    if (!amount.is_string() || !amount.get_string().starts_with('-')) continue;
    causes.push_back(InvalidValue(path.Key(name), amount, "must be greater than or equal to 0"));
  }
}

void Labels(const JsonObject& labels, const FieldPath& path, Causes& causes) {
  for (const auto& [key, value] : labels) {
    if (std::string problem = CheckQualifiedName(key); !problem.empty()) causes.push_back(InvalidText(path, key, problem));
    if (!value.is_string()) continue;
    if (std::string problem = CheckLabelValue(value.get_string()); !problem.empty()) {
      causes.push_back(InvalidValue(path, value, problem));
    }
  }
}

void Annotations(const JsonObject& annotations, const FieldPath& path, Causes& causes) {
  constexpr size_t kMaxBytes = 256 * 1024;
  size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    if (std::string problem = CheckQualifiedName(base::Lower(key)); !problem.empty())
      causes.push_back(InvalidText(path, key, problem));
    bytes += key.size() + (value.is_string() ? value.get_string().size() : 0);
  }
  if (bytes > kMaxBytes) causes.push_back(TooManyBytes(path, kMaxBytes));
}

void LabelSelector(const Json& selector, const FieldPath& path, Causes& causes) {
  Labels(Fields(selector, "matchLabels"), path.Field("matchLabels"), causes);
  const FieldPath expressions = path.Field("matchExpressions");
  size_t index = 0;
  for (const Json& one : List(selector, "matchExpressions")) {
    const FieldPath here = expressions.Index(index++);
    const std::string_view operation = Text(one, "operator");
    const bool values = !List(one, "values").empty();
    if (operation == "In" || operation == "NotIn") {
      if (!values)
        causes.push_back(RequiredValue(here.Field("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (operation == "Exists" || operation == "DoesNotExist") {
      if (values) {
        causes.push_back(
            ForbiddenValue(here.Field("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else if (!operation.empty()) {
      causes.push_back(InvalidText(here.Field("operator"), operation, "not a valid selector operator"));
    }
    if (std::string problem = CheckQualifiedName(Text(one, "key")); !problem.empty() && !Text(one, "key").empty()) {
      causes.push_back(InvalidText(here.Field("key"), Text(one, "key"), problem));
    }
  }
}

bool SelectorMatches(const Json& selector, const JsonObject& labels) {
  for (const auto& [key, value] : Fields(selector, "matchLabels")) {
    const Json* label = labels.if_contains(key);
    if (label == nullptr || *label != value) return false;
  }
  for (const Json& one : List(selector, "matchExpressions")) {
    const std::string_view operation = Text(one, "operator");
    const Json* label = labels.if_contains(Text(one, "key"));
    const JsonArray& values = List(one, "values");
    const bool listed = label != nullptr && std::find(values.begin(), values.end(), *label) != values.end();
    if (operation == "In" && !listed) return false;
    if (operation == "NotIn" && listed) return false;
    if (operation == "Exists" && label == nullptr) return false;
    if (operation == "DoesNotExist" && label != nullptr) return false;
  }
  return true;
}

}  // namespace evenkeel::kube::validation
