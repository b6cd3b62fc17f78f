// Looking into JSON text without parsing it: lists and watches of very many objects read a label or a field of each.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace evenkeel::embedded::apiserver {

/// The text of the value at the end of the path of object keys; empty where a step is absent. `json` must be valid compact JSON
/// (what the API server stored); keys with escapes are never matched. Cost: a scan up to the value.
std::string_view RawFind(std::string_view json, std::span<const std::string_view> path);
inline std::string_view RawFind(std::string_view json, std::initializer_list<std::string_view> path) {
  return RawFind(json, std::span(path.begin(), path.size()));
}
/// A string value's content (unescaped), or the text of a number or boolean; "" for absent and null.
std::string RawText(std::string_view value);
/// Calls `visit(key, value)` for every field of an object's text until it returns false; keys are as written.
void RawFields(std::string_view object, const std::function<bool(std::string_view key, std::string_view value)>& visit);

}  // namespace evenkeel::embedded::apiserver
