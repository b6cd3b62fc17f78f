// The BalancingPlans of one member: read through its feed, and what has just been written, which the feed will tell of later.
// Belongs to the strand of the feed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/client.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/runtime/member_feed.h"

namespace evenkeel::controllers::balancer {

class PlanStore final : public scheduling::ClusterListener {
 public:
  /// Before the feed is started.
  PlanStore(client::Client& client, runtime::MemberFeed& feed);

  /// "": the kind is there, and its plans have been listed. Else what is missing and why.
  std::string Missing();

  /// The latest versions that are known, by time of creation, then name. O(all moves).
  std::vector<PlanObject> All();
  /// Of ours the one that is under way, else the oldest that waits for approval; null when all have ended.
  static const PlanObject* Current(const std::vector<PlanObject>& plans);

  /// Names it after its policy and the time.
  base::Status Create(PlanObject& plan, base::Time now);
  /// kConflict: somebody has changed the plan; read again.
  base::Status WriteStatus(PlanObject& plan);
  /// Deletes of ours those that have ended and whose moves are all older than `memory`, but for the latest ten of the last
  /// hour. `plans`: as All() gives them; `failed` is told of each that could not be deleted.
  void Prune(const std::vector<PlanObject>& plans, base::Duration memory, base::Time now,
             const std::function<void(const base::Error&)>& failed);

 private:
  void AfterChange(const scheduling::ObjectEvent& event) override;
  void Keep(PlanObject& plan, const base::Json& stored);

  client::Client& client_;
  runtime::MemberFeed& feed_;
  std::map<std::string, PlanObject> written_;  // by name
};

}  // namespace evenkeel::controllers::balancer
