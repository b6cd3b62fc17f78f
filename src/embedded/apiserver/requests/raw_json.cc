#include "embedded/apiserver/requests/raw_json.h"

#include <cstring>

#include "base/json.h"

namespace evenkeel::embedded::apiserver {
namespace {

// Past the closing quote of the string that begins at `at`.
size_t SkipString(std::string_view json, size_t at) {
  ++at;
  while (at < json.size()) {
    const char* quote = static_cast<const char*>(std::memchr(json.data() + at, '"', json.size() - at));
    if (quote == nullptr) return json.size();
    const size_t position = static_cast<size_t>(quote - json.data());
    size_t backslashes = 0;
    while (position > at + backslashes && json[position - 1 - backslashes] == '\\') ++backslashes;
    at = position + 1;
    if (backslashes % 2 == 0) return at;
  }
  return json.size();
}

// Past the value that begins at `at`.
size_t SkipValue(std::string_view json, size_t at) {
  if (at >= json.size()) return json.size();
  if (json[at] == '"') return SkipString(json, at);
  if (json[at] != '{' && json[at] != '[') {
    while (at < json.size() && json[at] != ',' && json[at] != '}' && json[at] != ']') ++at;
    return at;
  }
  int depth = 0;
  while (at < json.size()) {
    switch (json[at]) {
      case '"':
        at = SkipString(json, at);
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return json.size();
}

}  // namespace

void RawFields(std::string_view object, const std::function<bool(std::string_view, std::string_view)>& visit) {
  if (object.size() < 2 || object[0] != '{') return;
  size_t at = 1;
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = SkipString(object, at);
    if (key_end >= object.size()) return;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    const size_t value_end = SkipValue(object, key_end + 1);
    if (!visit(key, object.substr(key_end + 1, value_end - key_end - 1))) return;
    at = value_end + 1;
  }
}

std::string_view RawFind(std::string_view json, std::span<const std::string_view> path) {
  for (const std::string_view step : path) {
    if (json.size() < 2 || json[0] != '{') return {};
    std::string_view found;
    size_t at = 1;
    while (at < json.size() && json[at] == '"') {
      const size_t key_end = SkipString(json, at);
      if (key_end >= json.size()) return {};
      const std::string_view key = json.substr(at + 1, key_end - at - 2);
      const size_t value_end = SkipValue(json, key_end + 1);
      if (key == step) {
        found = json.substr(key_end + 1, value_end - key_end - 1);
        break;
      }
      at = value_end + 1;
    }
    if (found.empty()) return {};
    json = found;
  }
  return json;
}

std::string RawText(std::string_view value) {
  if (value.empty() || value == "null") return "";
  if (value[0] != '"') return std::string(value);
  const std::string_view content = value.substr(1, value.size() - 2);
  if (content.find('\\') == content.npos) return std::string(content);
  auto parsed = base::ParseJson(value, "stored text");
  if (!parsed || !parsed->is_string()) return "";
  return std::string(parsed->get_string());
}

}  // namespace evenkeel::embedded::apiserver
