// Who asks: bearer tokens and client certificates, and the decorator that asks for them.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// A token's SHA-256, by which tokens are kept, so that the time that looking one up takes tells nothing of others.
using TokenHash = std::array<unsigned char, 32>;
TokenHash HashToken(std::string_view token);

/// "CN=name,O=group,O=group", with a backslash before commas and backslashes in values.
std::string FormatSubject(std::string_view common_name, const std::vector<std::string>& organizations);
/// The inverse: the common name becomes the user, organizations its groups. nullopt without a common name.
std::optional<UserInfo> ParseSubject(std::string_view subject);

/// Filled before use, then only read: thread-safe. Tokens are kept and looked up as SHA-256 hashes, so that how long a look-up
/// takes says nothing about a token.
class Authenticator {
 public:
  void AddToken(std::string_view token, UserInfo user);
  /// Kubernetes' static token file: lines of token,user,uid[,"group1,group2"]. kBadRequest names file and line.
  base::Status AddTokensFromText(std::string_view csv, std::string_view source);
  base::Status AddTokenFile(const std::string& path);

  /// Whose a token is, and for whom.
  struct Owner {
    UserInfo user;
    std::vector<std::string> audiences;
  };
  using TokenSource = std::function<base::Result<Owner>(std::string_view token)>;
  /// Who knows tokens that have not been added.
  void AddSource(TokenSource source) { source_ = std::move(source); }

  /// `audiences` (empty: this server) becomes those that the token is for: kUnauthorized when there are none of them, or the
  /// token is nobody's.
  base::Result<UserInfo> AuthenticateToken(std::string_view token, std::vector<std::string>& audiences) const;
  /// Everybody known is also in system:authenticated. nullopt: no credentials. kUnauthorized: credentials that are not valid.
  base::Result<std::optional<UserInfo>> Authenticate(const HttpRequest& request) const;

 private:
  std::map<std::array<unsigned char, 32>, UserInfo> tokens_;
  TokenSource source_;
};

/// Fills HttpRequest::user before a body is read, and passes the request on: without credentials as system:anonymous. A request
/// with credentials that are not valid gets 401.
class AuthenticatingHandler final : public HttpHandler {
 public:
  /// Both must outlive it.
  AuthenticatingHandler(const Authenticator& authenticator, HttpHandler& next) : authenticator_(authenticator), next_(next) {}
  std::optional<HttpResponse> Admit(HttpRequest& head) override;
  void Handle(HttpRequest request, std::unique_ptr<Responder> responder) override;

 private:
  const Authenticator& authenticator_;
  HttpHandler& next_;
};

}  // namespace evenkeel::embedded::apiserver
