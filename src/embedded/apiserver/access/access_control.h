// Who comes to one Api and what they may do: knows its tokens, follows its roles and bindings, makes those that Kubernetes
// begins with, and gathers the rules of aggregated ClusterRoles.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/executor.h"
#include "embedded/access/authorizer.h"
#include "embedded/apiserver/access/account_tokens.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/access/store_follower.h"

namespace evenkeel::embedded::apiserver {

class Api;
struct Call;

/// Thread-safe once it has been started.
class AccessControl {
 public:
  /// The api must outlive it.
  explicit AccessControl(Api& api);
  ~AccessControl();

  /// Reads the roles, bindings and accounts that there are, and follows them. Once.
  base::Status Start();
  /// From now on aggregated ClusterRoles have the rules that they should have; needs ApiOptions::executor. Once, after Start.
  void StartAggregation();

  const access::Authorizer& authorizer() const { return authorizer_; }
  /// Tokens are added before the api is served.
  Authenticator& authenticator() { return authenticator_; }
  /// Null without ApiOptions::account_key.
  AccountTokens* tokens() { return tokens_.get(); }
  /// Whether it knows of what others on the same store may have changed.
  bool current() const;

  /// Whether who writes this role or binding has all that it gives, or the right to give what they have not: kForbidden, in
  /// upstream's words. `old`: null for a new object. Other kinds may always be written.
  base::Status CheckGrant(const Call& call, const base::Json& object, const base::Json* old) const;

 private:
  void Put(const store::KeyValue& item);
  void Remove(const std::string& key);
  void Aggregate();
  base::Status CheckRole(const Call& call, const base::Json& role, const base::Json* old) const;

  Api& api_;
  access::Authorizer authorizer_;
  Authenticator authenticator_;
  std::unique_ptr<StoreFollower> roles_;
  std::unique_ptr<AccountTokens> tokens_;
  std::shared_ptr<base::Strand> strand_;
  std::atomic<bool> aggregates_ = false;  ///< StartAggregation was called
  std::atomic<bool> waiting_ = false;     ///< Aggregate is on its way
  base::Timer retry_;
};

}  // namespace evenkeel::embedded::apiserver
