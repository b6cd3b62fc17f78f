// The BalancingPlans of one member: read through an informer, and what has just been written, which the informer will tell of
// later. Belongs to its strand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "controllers/balancer/member/plan_object.h"

namespace evenkeel::controllers::balancer::member {

class PlanStore {
 public:
  PlanStore(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random);

  void Start() { informer_.Start(); }
  bool synced() const { return informer_.synced(); }

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
  void Keep(PlanObject& plan, const base::Json& stored);

  client::Client& client_;
  client::Informer<kube::Object> informer_;
  std::map<std::string, PlanObject> written_;  // by name
};

}  // namespace evenkeel::controllers::balancer::member
