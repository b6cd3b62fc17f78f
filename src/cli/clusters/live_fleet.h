// The fleet as the dashboard's views have it (dashboard/documents.h), followed for a command that shows it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/clusters/hub.h"
#include "dashboard/feed.h"

namespace evenkeel::cli {

/// The documents as they are now.
struct FleetPicture {
  uint64_t version = 0;                        ///< LiveFleet::version
  base::Json fleet;                            ///< view "fleet"; null until the hub has answered, or has not for too long
  std::map<std::string, base::Json> members;   ///< views "cluster/NAME" of those that are followed, once they are there
  std::map<std::string, std::string> refused;  ///< why of these members there never will be one
  bool complete = false;                       ///< everything that is followed is there
};

/// Before threads are started, a SignalWaiter is to be made. For one thread.
class LiveFleet {
 public:
  /// Does not wait for the hub. kBadRequest: the kubeconfig cannot be used.
  static base::Result<std::unique_ptr<LiveFleet>> Connect(const HubOptions& options);
  ~LiveFleet();
  LiveFleet(const LiveFleet&) = delete;
  LiveFleet& operator=(const LiveFleet&) = delete;

  /// Whether members' own documents are followed: of all, or of the one named. Those that are followed stay so.
  void FollowMembers(const std::string& only = "");
  /// Grows with every change of what Look returns, which copies it all.
  uint64_t version() const;
  FleetPicture Look();

 private:
  struct Documents;
  class DocumentFollower;
  LiveFleet() = default;
  void Follow(const std::string& view);

  std::unique_ptr<client::Client> hub_;
  std::unique_ptr<base::Executor> executor_, sources_;
  std::shared_ptr<Documents> documents_;
  std::unique_ptr<dashboard::Feed> feed_;
  std::map<std::string, std::shared_ptr<dashboard::Follower>> followers_;  // by view
  bool members_ = false;
  std::string only_;
};

/// Of which members (of the one named, or of all) not all is shown that is followed, and why.
std::map<std::string, std::string> MissingMembers(const FleetPicture& picture, const std::string& only);

/// kUnavailable says why the hub cannot be read; kNotFound lists the members where `member` is none of them ("": any).
base::Status CheckPicture(const FleetPicture& picture, const std::string& member);

}  // namespace evenkeel::cli
