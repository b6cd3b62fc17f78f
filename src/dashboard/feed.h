// The views that somebody looks at, kept current: informers of hub and members that are started when a view is first looked at
// and stopped a minute after nobody has, and for each follower of a view its document and then merge patches, at most every
// 250 ms.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/distribution/sharding/options.h"
#include "dashboard/find.h"

namespace evenkeel::dashboard {

struct FeedContext {
  client::Client& hub;
  std::string hub_name;
  base::Executor& executor;  ///< of the feed itself: nothing there waits
  base::Executor& sources;   ///< waits for hub and members; may be the same in virtual time
  base::Random random;
  controllers::distribution::Options distribution;   ///< namespace, in_cluster
  controllers::autoscaler::Options autoscaler = {};  ///< namespace, status_config_map_name: where its words are found
  std::function<base::Result<std::unique_ptr<client::Client>>(const controllers::distribution::Cluster& member)> connect;
};

/// For how long what nobody looks at is still followed.
inline constexpr base::Duration kLookedAt = std::chrono::minutes(1);
/// A view is shown after this long even if some of its clusters have not answered.
inline constexpr base::Duration kPatience = std::chrono::seconds(2);
/// The least time between two patches.
inline constexpr base::Duration kPatchGap = std::chrono::milliseconds(250);
inline constexpr base::Duration kPing = std::chrono::seconds(15);

/// Whoever follows a view. Called on the feed's strand; must not block.
class Follower {
 public:
  virtual ~Follower() = default;
  /// There is no such view: kNotFound, or kUnavailable while the hub does not say. Nothing comes after it.
  virtual void Refuse(const base::Error& error) = 0;
  /// An event of a text/event-stream. False: it has gone, or is too slow; nothing more is sent.
  virtual bool Send(const std::shared_ptr<const std::string>& event) = 0;
};

/// Thread-safe.
class Feed {
 public:
  explicit Feed(FeedContext context);
  /// Waits for calls to clusters that are under way.
  ~Feed();

  void Follow(const std::string& view, std::shared_ptr<Follower> follower);
  void Unfollow(const std::shared_ptr<Follower>& follower);
  /// The view's document once.
  void Read(const std::string& view, std::function<void(base::Result<base::Json>)> done);
  /// Calls back on a strand that may wait, with the hub's client.
  void WithHub(std::function<void(client::Client& hub)> use);
  /// Calls back on a strand that may wait, with a client of the member; kNotFound, or kUnavailable.
  void WithMember(const std::string& member, std::function<void(base::Result<std::unique_ptr<client::Client>>)> use);
  /// Looks for nodes, pods and groups by what is followed of the members, which this begins if need be. Members that have said
  /// nothing within kPatience, or cannot be read, are named in Found::missing. kNotFound: there is no such member.
  void Find(FindRequest request, std::function<void(base::Result<Found>)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::dashboard
