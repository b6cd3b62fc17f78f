// One cloud for all members of a simulated fleet, as a service behind the gRPC provider or a management cluster of Cluster API
// is: the autoscaler of each member sees the groups and instances of all, and may ask for any of them. Behind each group is the
// NodeGroup object of one member, whose nodes its instances become.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "providers/provider.h"
#include "sim/world/fleet.h"

namespace evenkeel::sim {

/// What an autoscaler asks of a shared cloud.
struct CloudCall {
  std::string asker;  ///< the member whose autoscaler it is
  std::string owner;  ///< the member that the group's nodes are of
  std::string group;
  int64_t delta = 0;             ///< of the group's size; 0: instances are to go
  std::vector<std::string> ids;  ///< of those
};

/// A group of the first member that every member's configuration claims.
inline constexpr std::string_view kClaimedGroup = "claimed";

/// "member-2-small": names of groups, and so ids of instances, are those of one member.
std::string SharedGroupName(const std::string& member, const std::string& group);

class SharedCloud {
 public:
  /// `on_call` is told before a call takes effect. The fleet outlives this, and this the providers.
  SharedCloud(Fleet& fleet, std::function<void(const CloudCall&)> on_call) : fleet_(fleet), on_call_(std::move(on_call)) {}

  /// What the autoscaler of a member talks to; `own` is for the groups of its own. Groups of a member whose API server is down
  /// are told as they were last, and refuse changes.
  std::unique_ptr<providers::Provider> ProviderOf(const std::string& member, std::unique_ptr<providers::Provider> own);

 private:
  class View;
  /// By the member that they are of.
  const std::map<std::string, std::vector<providers::NodeGroup>>& Look();
  /// Null while the member's API server is down.
  std::unique_ptr<providers::Provider> Behind(const std::string& member);

  Fleet& fleet_;
  const std::function<void(const CloudCall&)> on_call_;
  std::map<std::string, std::vector<providers::NodeGroup>> groups_;
};

}  // namespace evenkeel::sim
