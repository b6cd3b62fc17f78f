// Any text as a static token file: it is read or refused in one line, which never shows a token.
#include <cstdint>

#include "embedded/apiserver/access/authentication.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::embedded::apiserver;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Authenticator authenticator;
  const auto status = authenticator.AddTokensFromText(text, "tokens.csv");
  if (!status) EVENKEEL_CHECK(status.error().message().starts_with("tokens.csv:") && status.error().message().size() < 200);
  std::vector<std::string> audiences;
  const auto user = authenticator.AuthenticateToken(text.substr(0, text.find(',')), audiences);
  if (user) EVENKEEL_CHECK(!user->name.empty() && InGroup(*user, evenkeel::embedded::access::kAuthenticated));
  return 0;
}
