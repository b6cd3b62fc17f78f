// The part of JSONPath that printer columns use.
#include "base/json.h"
#include "embedded/apiserver/table.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;

std::string_view Unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::vector<const Json*> Children(const std::vector<const Json*>& values) {
  std::vector<const Json*> result;
  for (const Json* value : values) {
    if (value->is_array()) {
      for (const Json& item : value->get_array()) result.push_back(&item);
    } else if (value->is_object()) {
      for (const auto& field : value->get_object()) result.push_back(&field.value());
    }
  }
  return result;
}

std::vector<const Json*> Field(const std::vector<const Json*>& values, std::string_view name) {
  std::vector<const Json*> result;
  for (const Json* value : values) {
    if (!value->is_object()) continue;
    if (const Json* field = value->get_object().if_contains(name)) result.push_back(field);
  }
  return result;
}

std::vector<const Json*> Item(const std::vector<const Json*>& values, int64_t index) {
  std::vector<const Json*> result;
  for (const Json* value : values) {
    if (!value->is_array()) continue;
    const auto size = static_cast<int64_t>(value->get_array().size());
    const int64_t at = index < 0 ? size + index : index;
    if (at >= 0 && at < size) result.push_back(&value->get_array()[static_cast<size_t>(at)]);
  }
  return result;
}

// ?(@.type=="Ready") and ?(@.port!=80).
std::vector<const Json*> Filtered(const std::vector<const Json*>& values, std::string_view condition) {
  const bool unequal = condition.find("!=") != condition.npos;
  const size_t at = condition.find(unequal ? "!=" : "==");
  if (at == condition.npos) return {};
  std::string_view left = condition.substr(0, at), right = condition.substr(at + 2);
  const auto trim = [](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  };
  left = trim(left);
  const std::string_view expected = Unquoted(trim(right));
  if (!left.starts_with("@")) return {};
  std::vector<const Json*> result;
  for (const Json* item : Children(values)) {
    const std::vector<const Json*> found = FindJsonPath(*item, left.substr(1));
    const bool equal =
        !found.empty() && (found[0]->is_string() ? std::string(found[0]->get_string()) : base::ToText(*found[0])) == expected;
    if (equal != unequal) result.push_back(item);
  }
  return result;
}

std::vector<const Json*> Bracket(const std::vector<const Json*>& values, std::string_view inside) {
  if (inside == "*") return Children(values);
  if (inside.starts_with("?(") && inside.ends_with(')')) return Filtered(values, inside.substr(2, inside.size() - 3));
  if (inside.starts_with('\'') || inside.starts_with('"')) return Field(values, Unquoted(inside));
  int64_t index = 0;
  bool negative = false, digits = false;
  for (const char letter : inside) {
    if (letter == '-' && !digits && !negative) {
      negative = true;
    } else if (letter >= '0' && letter <= '9' && index < 1'000'000) {
      index = index * 10 + (letter - '0');
      digits = true;
    } else {
      return {};
    }
  }
  return digits ? Item(values, negative ? -index : index) : std::vector<const Json*>();
}

// Past the bracket that opens at `at`; quotes may contain brackets.
size_t BracketEnd(std::string_view path, size_t at) {
  char quote = 0;
  for (size_t i = at + 1; i < path.size(); ++i) {
    if (quote != 0) {
      if (path[i] == quote) quote = 0;
    } else if (path[i] == '\'' || path[i] == '"') {
      quote = path[i];
    } else if (path[i] == ']') {
      return i;
    }
  }
  return path.npos;
}

}  // namespace

std::vector<const Json*> FindJsonPath(const Json& object, std::string_view path) {
  std::vector<const Json*> values{&object};
  while (!path.empty() && !values.empty()) {
    if (path[0] == '[') {
      const size_t end = BracketEnd(path, 0);
      if (end == path.npos) return {};
      values = Bracket(values, path.substr(1, end - 1));
      path.remove_prefix(end + 1);
      continue;
    }
    if (path[0] == '.') path.remove_prefix(1);
    std::string name;
    size_t used = 0;
    while (used < path.size() && path[used] != '.' && path[used] != '[') {
      // A dot that belongs to the name is escaped: .metadata.annotations.example\.com/x
      if (path[used] == '\\' && used + 1 < path.size()) ++used;
      name += path[used++];
    }
    path.remove_prefix(used);
    if (name.empty()) {
      if (path.starts_with('.')) return {};
      continue;
    }
    values = name == "*" ? Children(values) : Field(values, name);
  }
  return values;
}

}  // namespace evenkeel::embedded::apiserver
