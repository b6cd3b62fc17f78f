#include "controllers/rollout/zookeeper/plan/membership.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "controllers/rollout/budget.h"

namespace evenkeel::controllers::rollout::zookeeper {

Shares NextShares(const Shares& now, const Shares& wanted, const Identities& identities) {
  // Whether it is new, its index, its name: the least grows first, the one with the highest index shrinks first.
  std::set<std::tuple<bool, int64_t, std::string>> growing, shrinking;
  const auto note = [&](const std::string& cluster) {
    const int64_t have = ShareOf(now, cluster), want = ShareOf(wanted, cluster);
    if (want > have) growing.emplace(have == 0, identities.at(cluster).index, cluster);
    if (want < have) shrinking.emplace(false, identities.at(cluster).index, cluster);
  };
  for (const auto& [cluster, share] : now) note(cluster);
  for (const auto& [cluster, share] : wanted) note(cluster);
  Shares next = now;
  if (!growing.empty() && (shrinking.empty() || Total(now) <= Total(wanted))) {
    ++next[std::get<2>(*growing.begin())];
  } else if (!shrinking.empty()) {
    const std::string& cluster = std::get<2>(*shrinking.rbegin());
    if (--next.at(cluster) == 0) next.erase(cluster);
  }
  EVENKEEL_CHECK(MajoritiesIntersect(Total(now), Total(next), std::max(Total(now), Total(next))));
  return next;
}

std::optional<VoterChange> ChangeOf(const Shares& before, const Shares& after) {
  std::optional<VoterChange> change;
  std::set<std::string> clusters;
  for (const auto& [cluster, share] : before) clusters.insert(cluster);
  for (const auto& [cluster, share] : after) clusters.insert(cluster);
  for (const std::string& cluster : clusters) {
    const int64_t by = ShareOf(after, cluster) - ShareOf(before, cluster);
    if (by != 0) change = {cluster, by};
  }
  return change;
}

std::vector<std::string> RolloutOrder(const EnsembleSpec& spec, const Shares& before, const Shares& after,
                                      const std::optional<Leader>& leader) {
  std::vector<std::string> order;
  const auto add = [&](const std::string& cluster) {
    if (!before.contains(cluster) && !after.contains(cluster)) return;
    if (!Contains(order, cluster)) order.push_back(cluster);
  };
  const auto move = [&](const std::string& cluster, bool first) {
    if (std::erase(order, cluster) > 0) order.insert(first ? order.begin() : order.end(), cluster);
  };
  for (const std::string& cluster : spec.order) add(cluster);
  std::set<std::string> rest;
  for (const auto& [cluster, share] : before) rest.insert(cluster);
  for (const auto& [cluster, share] : after) rest.insert(cluster);
  for (const std::string& cluster : rest) add(cluster);
  if (before.empty()) return order;
  if (leader && spec.order.empty()) move(leader->cluster, false);
  if (const auto change = ChangeOf(before, after)) move(change->cluster, change->by > 0);
  return order;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
