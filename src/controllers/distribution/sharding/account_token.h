// The token of a member's account in its cluster Secret, where `evenkeel clusters add` has put it: whose it is, until when it
// holds, and how another one takes its place. The account may make itself a token (TokenRequest) and nothing else of the kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "client/client.h"

namespace evenkeel::controllers::distribution {

/// A label that such Secrets have, so that they are found among others.
inline constexpr std::string_view kTokenLabel = "evenkeel.dev/token=renewed";
// Annotations of a cluster Secret whose token is renewed.
/// Namespace and name of the ServiceAccount in the member.
inline constexpr std::string_view kTokenAccountAnnotation = "evenkeel.dev/token-account";
/// RFC 3339.
inline constexpr std::string_view kTokenIssuedAnnotation = "evenkeel.dev/token-issued";
inline constexpr std::string_view kTokenExpiresAnnotation = "evenkeel.dev/token-expires";

struct AccountToken {
  std::string ns, account;  ///< of the ServiceAccount
  base::Time issued{}, expires{};

  /// How long it holds from the start; a new one is asked to hold as long.
  base::Duration lifetime() const { return expires - issued; }
  /// After two thirds of its life: what is left is for whatever keeps the first attempts from succeeding.
  base::Time renewal() const { return issued + lifetime() * 2 / 3; }
};
/// What the annotations say; nothing where they do not say all of it, or no time that can be: such a token is not renewed.
std::optional<AccountToken> AccountTokenOf(const base::Json& secret);

struct NewToken {
  std::string token;  ///< never in a log
  base::Time expires{};
};
/// Asks the member for a token of the account. The server may give it a shorter life.
base::Result<NewToken> RequestToken(client::Client& member, const std::string& ns, const std::string& account,
                                    base::Duration lifetime);

/// Puts the token where the Secret (with its kind) has its bearer token, and the annotations beside it. All else stays as it
/// is. kBadRequest: the Secret's config is no JSON object; the message quotes nothing of it.
base::Status PutToken(base::Json& secret, const NewToken& token, const std::string& ns, const std::string& account,
                      base::Time now);

}  // namespace evenkeel::controllers::distribution
