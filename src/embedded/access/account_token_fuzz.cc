// Any text as a token: it is never taken for one of ours, and what is taken apart can be put together again.
#include <cstdint>

#include "embedded/access/account_token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::embedded::access;
  static const TokenKey key = TokenKey::FromPem(TokenKey::NewPem().value()).value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto now = evenkeel::base::Time(std::chrono::seconds(1'700'000'000));
  const auto jwt = ParseJwt(text);
  if (jwt) EVENKEEL_CHECK(text.starts_with(jwt->signed_text) && jwt->claims.is_object());
  EVENKEEL_CHECK(!key.Verify(text, now));
  return 0;
}
