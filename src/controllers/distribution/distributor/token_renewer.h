// The owner of a member renews the token that it reaches the member with, before it ends: it asks the member for another one
// with the one that it has, and writes that into the cluster Secret on the hub. All replicas then connect with it. The one
// before holds on until its own end, so nobody is locked out meanwhile.
#pragma once

#include <string>

#include "base/random.h"
#include "client/client.h"
#include "controllers/runtime/member.h"

namespace evenkeel::controllers::distribution {

struct TokenRenewerContext {
  client::Client& hub;  ///< outlives all members
  std::string ns;       ///< of the cluster Secrets
  base::Clock& clock;
  base::Random random;
};

/// Looks at the member's cluster Secret once an hour, and when its token is due. A Secret without the annotations of
/// sharding/account_token.h is left alone, and so is one of another namespace, or of two members with one name.
runtime::MemberControllerFactory NewTokenRenewer(TokenRenewerContext context);

}  // namespace evenkeel::controllers::distribution
