// Tokens of ServiceAccounts: JSON Web Tokens signed with ECDSA P-256 (RFC 7519, ES256 of RFC 7518).
// Follows: kubernetes@1.36 pkg/serviceaccount/{claims,legacy,jwt}.go.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::access {

struct AccountToken {
  std::string ns, account;
  std::string account_uid;
  std::string id{};                      ///< of the token; "" of a Secret's
  std::string secret{}, secret_uid{};    ///< in which it is kept, and which it ends with; "": none
  std::vector<std::string> audiences{};  ///< a Secret's has none
  base::Time issued{};
  base::Time expires{};  ///< a Secret's: the epoch, since it does not end by itself

  bool HoldsAt(base::Time now) const { return expires == base::Time() || (issued <= now && now < expires); }
};

/// A token taken apart. Nothing of it is known to be true.
struct Jwt {
  base::Json header, claims;
  std::string signed_text;  ///< what the signature is of
  std::string signature;
};
/// kBadRequest for what is none, or is longer than any of ours.
base::Result<Jwt> ParseJwt(std::string_view token);

/// A private key that signs tokens, and tells its own from others'. Thread-safe.
class TokenKey {
 public:
  /// A new key as PEM.
  static base::Result<std::string> NewPem();
  /// kBadRequest when it is no key of that curve.
  static base::Result<TokenKey> FromPem(const std::string& pem);
  /// Reads the file, or makes it (0600).
  static base::Result<TokenKey> LoadOrMake(const std::string& path);

  std::string Sign(const AccountToken& token) const;
  /// kUnauthorized when it is not ours, or its time is not now. Whether the account still exists is for the caller to ask.
  base::Result<AccountToken> Verify(std::string_view token, base::Time now) const;

 private:
  struct Key;
  explicit TokenKey(std::shared_ptr<const Key> key) : key_(std::move(key)) {}
  std::shared_ptr<const Key> key_;
};

/// Who issues tokens, and for whom they are unless something else was asked for.
inline constexpr char kTokenIssuer[] = "https://kubernetes.default.svc.cluster.local";

}  // namespace evenkeel::embedded::access
