#include "base/utf8.h"
#include "client/http/exec_credential.h"

using evenkeel::client::ExecConfig;

/// What a plugin writes: its answer, and its complaints.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* version : {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}) {
    const auto answer = evenkeel::client::ParseExecAnswer(text, version);
    if (!answer) continue;
    EVENKEEL_CHECK(!answer->token.empty() || !answer->certificate_pem.empty());
    EVENKEEL_CHECK(answer->certificate_pem.empty() == answer->key_pem.empty());
    EVENKEEL_CHECK(answer->token.find_first_of("\r\n") == std::string::npos);
  }
  ExecConfig config;
  config.env = {{"KEY", "a secret word"}};
  const std::string shown = evenkeel::client::RedactedErrors(text, config);
  EVENKEEL_CHECK(shown.size() < 500);
  EVENKEEL_CHECK(shown.find('\n') == std::string::npos);
  EVENKEEL_CHECK(evenkeel::base::FindNotUtf8(shown) == std::string::npos);
  EVENKEEL_CHECK(shown.find("a secret word") == std::string::npos);
  return 0;
}
