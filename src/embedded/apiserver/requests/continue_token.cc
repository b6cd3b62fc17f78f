#include "embedded/apiserver/requests/continue_token.h"

#include "base/hash.h"
#include "base/json.h"

namespace evenkeel::embedded::apiserver {

// URL-safe without padding, so that a client may put it in a query as it is.
std::string ContinueToken::Encode() const {
  std::string text = base::Base64Encode(base::ToText(base::JsonObject{{"v", 1}, {"rv", revision}, {"start", after}}));
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

base::Result<ContinueToken> ContinueToken::Decode(const std::string& given) {
  const auto invalid = [](std::string_view why) {
    return base::Fail(base::Code::kBadRequest, "continue key is not valid: " + std::string(why));
  };
  std::string text = given;
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  std::string bytes;
  if (!base::Base64Decode(text, bytes)) return invalid("it is not base64");
  const auto json = base::ParseJson(bytes, "continue token");
  if (!json || !json->is_object()) return invalid("it is not a token of this server");
  ContinueToken token{.revision = base::FindInt(*json, {"rv"}), .after = std::string(base::FindString(*json, {"start"}))};
  if (base::FindInt(*json, {"v"}) != 1 || token.revision <= 0 || token.after.empty())
    return invalid("incorrect encoding or version");
  return token;
}

}  // namespace evenkeel::embedded::apiserver
