// JSON values and the few operations on them that everybody needs.
#pragma once

#include <boost/json.hpp>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::base {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

/// How deep objects and arrays may be nested in one another, wherever they come from.
inline constexpr size_t kJsonDepthMax = 1'000;
/// How deep they are; 0 for a number or a text.
size_t DepthOf(const Json& value);

/// Parses one JSON text. `source` (a file name, "request body") goes into the error, with line and column. Nesting deeper
/// than kJsonDepthMax, a number beyond what a double can be and anything after the value are errors. Numbers with a fraction or
/// an exponent are the nearest double. Duplicate keys: the last wins. kBadRequest. `storage`: where the value, what is put into
/// it later and its copies live, for values that all go together; a copy for longer is made as Json(value,
/// {}).
Result<Json> ParseJson(std::string_view text, std::string_view source, boost::json::storage_ptr storage = {});
/// The same, and where keys come again within their object, e.g. "spec.containers[0].image": each place once, in order, a
/// hundred at most, long ones cut.
Result<Json> ParseJson(std::string_view text, std::string_view source, boost::json::storage_ptr storage,
                       std::vector<std::string>& repeated_keys);

/// RFC 3629: no surrogates, nothing longer than it has to be, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

/// Compact, as on the wire.
std::string ToText(const Json& value);
/// The same at the end of a text; the second writes a string with its quotes.
void AppendText(std::string& out, const Json& value);
void AppendQuoted(std::string& out, std::string_view text);
/// Two-space indent, keys in their order.
std::string ToPrettyText(const Json& value);

/// Follows object keys; null where a step is absent or not an object.
const Json* Find(const Json& value, std::initializer_list<std::string_view> path);
const Json* Find(const JsonObject& object, std::string_view key);
Json* Find(Json& value, std::initializer_list<std::string_view> path);
/// The string (integer, bool) there, or the fallback where it is absent or of another type.
std::string_view FindString(const Json& value, std::initializer_list<std::string_view> path, std::string_view fallback = "");
int64_t FindInt(const Json& value, std::initializer_list<std::string_view> path, int64_t fallback = 0);
bool FindBool(const Json& value, std::initializer_list<std::string_view> path, bool fallback = false);
/// The object (array) there, or an empty one that lives forever.
const JsonObject& FindObject(const Json& value, std::initializer_list<std::string_view> path);
const JsonArray& FindArray(const Json& value, std::initializer_list<std::string_view> path);
/// The texts among an array's items; the second of the array there.
std::vector<std::string> TextsIn(const JsonArray& array);
std::vector<std::string> FindTexts(const Json& value, std::initializer_list<std::string_view> path);
/// The members of the object there that are texts.
std::map<std::string, std::string> FindTextMap(const Json& value, std::initializer_list<std::string_view> path);
template <typename Texts>
JsonArray ToJsonArray(const Texts& texts) {
  return JsonArray(texts.begin(), texts.end());
}
/// Makes the objects on the way and returns the value at the end, null when new. The root must be an object or null.
Json& Ensure(Json& value, std::initializer_list<std::string_view> path);
/// Removes the key at the end of the path, if it is there.
void Erase(Json& value, std::initializer_list<std::string_view> path);

/// Deep equality where objects are unordered and 1 == 1u; 1 and 1.0 are equal as in Kubernetes' semantic comparison.
bool Equal(const Json& a, const Json& b);
/// The same value with the keys of all objects sorted: equal values give equal texts.
std::string CanonicalText(const Json& value);

/// RFC 7386. `target` becomes the result.
void ApplyMergePatch(Json& target, const Json& patch);
/// RFC 6902, all operations; kInvalid names the operation that failed ("the server rejected our request" is the caller's
/// wording). kTooLarge: more than 10,000 operations. kInvalid also where what is copied comes to more than 3 MiB: a value that
/// is copied into itself doubles each time. On an error `target` is unchanged. Source of the limits:
/// kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, pkg/server/config.go.
Status ApplyJsonPatch(Json& target, const Json& patch);
/// The smallest merge patch that turns `from` into `to`.
Json DiffMergePatch(const Json& from, const Json& to);

}  // namespace evenkeel::base
