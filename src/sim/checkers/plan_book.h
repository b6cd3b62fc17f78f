// The ShardPlan as the hub has it, and which processes its identities stand for: read from the writes that took effect.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controllers/distribution/sharding/published_plan.h"
#include "sim/network/api_server.h"

namespace evenkeel::sim {

/// If it wrote a ShardPlan: that.
std::optional<controllers::distribution::PublishedPlan> PlanOf(const ApiWrite& write);
/// How many members that version of the plan gave to another replica.
int64_t MovesOf(const controllers::distribution::PublishedPlan& plan);

class PlanBook {
 public:
  /// Call it once for each write, in order. True when there is a new plan.
  bool See(const ApiWrite& write);

  const controllers::distribution::PublishedPlan& plan() const { return plan_; }
  /// What the plan changed of the one before, for people: "2 moves, 5 weights".
  std::string Changes() const;
  /// Whether it counts some member differently than the one before.
  bool WeightsChanged() const;
  /// The user who wrote it; "" before the first.
  const std::string& leader() const { return leader_; }
  /// The user who is to look after the member; "" for nobody.
  std::string OwnerOf(const std::string& member) const;

 private:
  controllers::distribution::PublishedPlan plan_, before_;
  std::string leader_;
  std::map<std::string, std::string> identities_;  ///< by user
};

}  // namespace evenkeel::sim
