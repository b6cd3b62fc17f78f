// Tokens of ServiceAccounts on one Api: issues them (TokenRequest), fills in Secrets of type
// kubernetes.io/service-account-token, and tells whose a token is. Follows ServiceAccounts and those Secrets, so that a token
// ends with its account, or with its Secret.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "embedded/access/account_token.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/access/store_follower.h"

namespace evenkeel::embedded::apiserver {

class Api;
struct Call;
struct Served;

/// The type of Secrets that are filled in.
inline constexpr char kTokenSecret[] = "kubernetes.io/service-account-token";

/// Thread-safe once it has been started.
class AccountTokens {
 public:
  /// The api must outlive it. `ca_pem`: of the server, for Secrets.
  AccountTokens(Api& api, access::TokenKey key, std::string ca_pem);
  ~AccountTokens();

  /// Reads what there is and follows it. Once.
  base::Status Start();
  bool current() const { return accounts_follower_->current() && secrets_follower_->current(); }

  /// Answers a TokenRequest for the account that the call names.
  base::Result<base::Json> Request(const Call& call, base::Json body);

  /// kUnauthorized when it is no token of a living account.
  base::Result<Authenticator::Owner> FindOwner(std::string_view token) const;

 private:
  using NamespacedName = std::pair<std::string, std::string>;
  struct Secret {
    std::string uid, account;
    bool complete = false;  ///< has what is filled in
  };
  void PutAccount(const Served& served, const store::KeyValue& item);
  void RemoveAccount(const std::string& key);
  void PutSecret(const Served& served, const store::KeyValue& item);
  void Post(const NamespacedName& secret);
  void Fill(const NamespacedName& secret);
  bool Lives(const access::AccountToken& token) const;
  /// As TokenKey's, but the signature of a token that is remembered has been verified before.
  base::Result<access::AccountToken> Verify(std::string_view token) const;

  Api& api_;
  const access::TokenKey key_;
  const std::string ca_pem_;
  std::shared_ptr<base::Strand> strand_;
  mutable std::mutex mutex_;
  std::map<NamespacedName, std::string> accounts_;  ///< their uids
  std::map<NamespacedName, Secret> secrets_;        ///< with tokens
  mutable std::map<TokenHash, access::AccountToken> verified_;
  std::unique_ptr<StoreFollower> accounts_follower_, secrets_follower_;
};

}  // namespace evenkeel::embedded::apiserver
