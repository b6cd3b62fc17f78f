#include "client/http/http_credentials.h"

#include "base/hash.h"
#include "base/input/file.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Result;

constexpr base::Duration kTokenFileAge = std::chrono::seconds(60);  // kubelets rotate tokens hourly, well before they expire

Result<std::shared_ptr<TlsContext>> MakeTls(const ConnectionConfig& config, const std::string& server,
                                            const std::string& certificate_pem, const std::string& key_pem) {
  auto made = TlsContext::ForClient(config.ca_pem, !config.insecure_skip_tls_verify, certificate_pem, key_pem);
  if (!made) return Fail(made.error().Wrap("cannot set up TLS to " + server));
  return made;
}

}  // namespace

Result<std::string> TokenSource::Get() {
  if (file_.empty()) return token_;
  std::lock_guard lock(mutex_);
  const base::Instant now = base::SystemClock().Monotonic();
  if (!read_ || now - read_at_ >= kTokenFileAge) {
    Result<std::string> text = base::ReadFile(file_, 1 << 20);
    // A file that is being replaced may be missing for a moment: the last token is good for a while yet.
    if (!text && !read_) return Fail(text.error().Wrap("tokenFile"));
    if (text) {
      while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' ')) text->pop_back();
      token_ = *std::move(text);
      read_ = true;
      read_at_ = now;
    }
  }
  return token_;
}

void TokenSource::Forget() {
  std::lock_guard lock(mutex_);
  read_at_ = {};
}

HttpCredentials::HttpCredentials(ConnectionConfig config, std::string server)
    : config_(std::move(config)), server_(std::move(server)), token_(config_.token, config_.token_file) {
  if (!config_.username.empty()) basic_ = "Basic " + base::Base64Encode(config_.username + ":" + config_.password);
}

Result<std::unique_ptr<HttpCredentials>> HttpCredentials::Make(ConnectionConfig config, bool over_tls,
                                                               const std::string& server,
                                                               std::shared_ptr<CredentialPlugins> plugins) {
  std::unique_ptr<HttpCredentials> made(new HttpCredentials(std::move(config), server));
  const ConnectionConfig& kept = made->config_;
  if (kept.exec != nullptr) {
    made->plugins_ = plugins != nullptr ? std::move(plugins) : CredentialPlugins::OfProcess();
    EVENKEEL_ASSIGN(made->plugin_, made->plugins_->Open(*kept.exec));
  }
  if (over_tls) {
    EVENKEEL_ASSIGN(made->tls_, MakeTls(kept, server, kept.client_certificate_pem, kept.client_key_pem));
  }
  return made;
}

Result<HttpCredentials::Proof> HttpCredentials::Get(base::Instant deadline) {
  Proof proof;
  std::string token;
  if (plugin_ != nullptr) {
    EVENKEEL_ASSIGN(const auto credential, plugin_->Await(deadline));
    token = credential->token;
    proof.serial = credential->serial;
    EVENKEEL_ASSIGN(proof.tls, TlsFor(*credential));
  } else {
    EVENKEEL_ASSIGN(token, token_.Get());
    proof.tls = tls_;
  }
  if (token.find_first_of("\r\n") != std::string::npos)
    return Fail(Code::kBadRequest, "the bearer token has more than one line");
  proof.authorization = token.empty() ? basic_ : "Bearer " + token;
  return proof;
}

Result<std::shared_ptr<TlsContext>> HttpCredentials::TlsFor(const PluginCredential& credential) {
  const std::lock_guard lock(mutex_);
  const bool same = credential.certificate_pem == certificate_pem_ && credential.key_pem == key_pem_;
  if (tls_ == nullptr || same) return tls_;
  auto made = MakeTls(config_, server_, credential.certificate_pem, credential.key_pem);
  if (!made) return Fail(made.error().Wrap("getting credentials"));
  tls_ = *made;
  certificate_pem_ = credential.certificate_pem;
  key_pem_ = credential.key_pem;
  return tls_;
}

bool HttpCredentials::Rejected(const Proof& proof) {
  if (plugin_ != nullptr) return plugin_->Rejected(proof.serial);
  token_.Forget();
  return false;
}

}  // namespace evenkeel::client
