// The account that the replicas have in a member: made, taken away and given tokens by somebody who may do that there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/client.h"

namespace evenkeel::cli {

/// Namespace and name of the account, in every member.
inline constexpr const char* kMemberNamespace = "evenkeel";
inline constexpr const char* kMemberAccount = "evenkeel-member";

/// What the replicas do in a member; each has roles of its own.
struct MemberParts {
  std::string cloud_provider = "clusterapi";  ///< "clusterapi", "kwok", or another one, which needs no rights in the member
  bool zookeeper = true;
};

/// Account, roles and bindings, in the order in which they are made.
std::vector<base::Json> MemberAccountObjects(const MemberParts& parts);

/// Makes namespace, account, roles and the kinds that replicas only look for; brings what is there up to date. Roles of parts
/// that are not named stay as they are.
base::Status InstallMemberAccount(client::Client& member, const MemberParts& parts);
/// Takes account, roles and bindings away, of all parts. Namespace and kinds stay: there may be more in them.
base::Status RemoveMemberAccount(client::Client& member);
/// Ends all tokens of the account, which is made anew for that.
base::Status RevokeMemberTokens(client::Client& member);

struct MemberToken {
  std::string token;                  ///< never in a log
  std::optional<base::Time> expires;  ///< nothing: it holds until its Secret is deleted
};
/// By TokenRequest; where the API does not have that, or does not allow it, by a Secret that it fills in. `wait` lets a moment
/// pass, and fails when there is to be no other attempt.
base::Result<MemberToken> MakeMemberToken(client::Client& member, base::Duration lifetime,
                                          const std::function<base::Status()>& wait);

}  // namespace evenkeel::cli
