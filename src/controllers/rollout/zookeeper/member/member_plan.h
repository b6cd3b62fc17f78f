// What is to be done next for one ZooKeeper in its cluster, and what its status says: pure functions of a Picture.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/member/members_change.h"
#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// Servers of this cluster: its pods', and those that are to come and have none yet.
std::set<int64_t> IdsHere(const Picture& picture);

/// A server that is asked how it does.
struct Question {
  Endpoint endpoint;
  std::string uid;  ///< of its pod; "": it is in another cluster
};
/// Pods that run, and all other servers of the wanted list and of `known`, the members that were agreed on when last heard of.
std::vector<Question> Questions(const Picture& picture, const std::vector<ServerLine>& known);

/// Reasons of a plan that nothing comes of by itself.
inline constexpr char kPaused[] = "Paused", kObjectRefused[] = "ObjectRefused";
/// Reasons for which nothing is planned: all that runs is held.
inline constexpr char kInvalidSpec[] = "InvalidSpec", kNotPinned[] = "OverrideMissing", kTooNew[] = "WrittenByNewer";

struct MemberPlan {
  std::vector<base::Json> objects;         ///< as they have to be, in their order; none while paused
  std::optional<base::Json> stateful_set;  ///< the last of them
  std::optional<ServerPod> replace;        ///< this pod is deleted
  std::optional<VolumeClaim> reclaim;      ///< this claim is deleted
  std::optional<Reconfiguration> change;   ///< the ensemble is asked for this, through `via`
  Endpoint via;
  std::string reason, message;  ///< what is done or waited for; "": nothing
  bool settled = false;         ///< everything here is as the spec says, so its revision may be echoed
};

MemberPlan PlanMember(const Picture& picture, const std::vector<ServerLine>& known);

/// The status of `object` with what the picture shows.
base::Json ReportMember(const base::Json& object, const Picture& picture, const MemberPlan& plan, base::Time now);
/// The status of one whose spec cannot be used, or is nobody's wish.
base::Json ReportInvalid(const base::Json& object, const std::string& reason, const std::string& what, base::Time now);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
