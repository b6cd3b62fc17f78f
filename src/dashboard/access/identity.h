// Who looks, and what they ask to do. What they may do is decided by the hub's own RBAC: each action is a question about the
// group dashboard.evenkeel.dev, which no API serves, so that a role may say it.
//
//   members    get, logs, cordon, drain, scale, approve     named by member
//   rollouts   get, pause                                   namespaced, named by MultiClusterZooKeeper
//   sessions   list, delete
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::dashboard {

struct Identity {
  std::string user;
  std::vector<std::string> groups;
  std::string uid;  ///< "": none
  bool operator==(const Identity&) const = default;
};

inline constexpr std::string_view kAccessGroup = "dashboard.evenkeel.dev";

/// Whoever has the dashboard's own tokens. The groups have the shipped roles; the hub's RBAC may give them others.
Identity TokenHolder();
Identity ReadTokenHolder();

struct Question {
  std::string verb, resource, ns{}, name{};
  /// "approve members.dashboard.evenkeel.dev member-1"
  std::string ToText() const;
  auto operator<=>(const Question&) const = default;
};

Question MayLook();
/// Of all members, for what a page offers; the action itself asks about its own.
Question MayOnMember(std::string_view verb, std::string_view member = "");
Question MayOnRollout(std::string_view verb, std::string_view ns = "", std::string_view name = "");
Question MayOnSessions(std::string_view verb);

}  // namespace evenkeel::dashboard
