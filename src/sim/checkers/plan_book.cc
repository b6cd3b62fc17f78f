#include "sim/checkers/plan_book.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {

using controllers::distribution::PublishedPlan;

std::optional<PublishedPlan> PlanOf(const ApiWrite& write) {
  if (write.record.plural != controllers::distribution::ShardPlans().plural || write.value == nullptr) return std::nullopt;
  const auto object = base::ParseJson(*write.value, "plan");
  if (!object) return std::nullopt;
  return PublishedPlan::Decode(*object);
}

int64_t MovesOf(const PublishedPlan& plan) {
  return std::ranges::count_if(plan.moves, [&](const auto& move) { return move.epoch == plan.epoch && move.from >= 0; });
}

bool PlanBook::See(const ApiWrite& write) {
  if (write.api != kHub || !write.took_effect) return false;
  const std::string& user = write.record.user.name;
  // Every process has one Lease of its own on the hub, named after its identity.
  if (write.record.plural == "leases" && write.record.ns == embedded::fleet::kNamespace && write.value != nullptr &&
      !identities_.contains(user)) {
    if (const auto lease = base::ParseJson(*write.value, "lease")) {
      identities_[user] = base::FindString(*lease, {"spec", "holderIdentity"});
    }
  }
  auto plan = PlanOf(write);
  if (!plan) return false;
  before_ = std::exchange(plan_, *std::move(plan));
  leader_ = user;
  return true;
}

std::string PlanBook::Changes() const {
  int64_t placed = 0, standbys = 0, weights = 0;
  std::string weight;  // the first that changed
  for (const PublishedPlan::Assignment& now : plan_.assignments) {
    const PublishedPlan::Assignment* was = before_.Find(now.server);
    placed += was == nullptr;
    standbys += was != nullptr && was->standby != now.standby;
    if (was == nullptr || was->weight == now.weight) continue;
    if (weights++ == 0) weight = fmt::format("{} {} to {}", now.cluster, was->weight, now.weight);
  }
  std::string text = fmt::format("{} moves", MovesOf(plan_));
  if (placed > 0) text += fmt::format(", {} placed", placed);
  if (standbys > 0) text += fmt::format(", {} standbys", standbys);
  if (weights > 0) text += fmt::format(", {} weights ({})", weights, weight);
  if (plan_.shards != before_.shards) text += ", other shards";
  if (plan_.waiting != before_.waiting) text += fmt::format(", {} moves wait", plan_.waiting);
  return text;
}

bool PlanBook::WeightsChanged() const {
  return std::ranges::any_of(plan_.assignments, [&](const PublishedPlan::Assignment& now) {
    const PublishedPlan::Assignment* was = before_.Find(now.server);
    return was == nullptr || was->weight != now.weight;
  });
}

std::string PlanBook::OwnerOf(const std::string& member) const {
  const auto assignment = std::ranges::find(plan_.assignments, member, &PublishedPlan::Assignment::cluster);
  if (assignment == plan_.assignments.end()) return "";
  const PublishedPlan::Shard* shard = plan_.FindShard(assignment->shard);
  if (shard == nullptr) return "";
  for (const auto& [user, identity] : identities_) {
    if (identity == shard->replica) return user;
  }
  return "";
}

}  // namespace evenkeel::sim
