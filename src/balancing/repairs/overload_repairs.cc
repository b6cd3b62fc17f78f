#include "balancing/repairs/overload_repairs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "balancing/repairs/repair_price.h"

namespace evenkeel::balancing {

// What is too much by the capacities as they are at the beginning: what others' fixes take off or add counts.
void OverloadRepairs::Find(std::span<const Violation> violations) {
  overloads_.clear();
  for (const Violation& violation : violations) {
    const bool capacity = violation.constraint == Constraint::kCapacity;
    if ((!capacity && violation.constraint != Constraint::kApplicationCapacity) || violation.node == kNoId) continue;
    int64_t amount = arrangement_.UsedOf(violation.metric, violation.node);
    if (!capacity) {
      const auto& metrics = arrangement_.cluster().applications[violation.application].metrics;
      const auto found = std::ranges::find(metrics, violation.metric, &ApplicationMetric::metric);
      amount = arrangement_.LoadOnNode(violation.application, static_cast<size_t>(found - metrics.begin()), violation.node);
    }
    const bool same = !overloads_.empty() && overloads_.back().node == violation.node &&
                      overloads_.back().application == violation.application;
    if (!same) {
      overloads_.push_back(
          {.node = violation.node, .application = violation.application, .priority = violation.priority, .limits = {}});
    }
    overloads_.back().limits.push_back({violation.metric, amount - violation.excess});
  }
}

// Where movements cost differently, many cheap ones may cost less than few dear ones.
bool OverloadRepairs::MendCheaply(const Overload& overload, const Constraints& constraints) {
  if (!journal_.costs_count()) return false;
  const bool make_room = finder_.evaluations() <= budget_;
  const size_t mark = journal_.Mark();
  std::optional<std::pair<RepairPrice, double>> best;  // what all cost, and most of one
  for (const double most : OverloadFixer(mover_, constraints, overload, make_room).Costs()) {
    OverloadFixer fixer(mover_, constraints, overload, make_room, most);
    fixer.Fix();
    const std::pair price(PriceOf(journal_), most);
    if (fixer.Fixed() && (!best || price < *best)) best = price;
    journal_.UndoTo(mark);
  }
  if (!best) return false;
  OverloadFixer fixer(mover_, constraints, overload, make_room, best->second);
  fixer.Fix();
  return fixer.Fixed();
}

// What an application has reserved goes only with all of its replicas.
bool OverloadRepairs::FreeReservation(const Overload& overload, const Constraints& constraints, const OverloadFixer& fixer) {
  const Cluster& cluster = arrangement_.cluster();
  if (overload.application != kNoId) return false;
  const size_t mark = journal_.Mark();
  std::set<ApplicationId> applications;
  for (const ReplicaId replica : arrangement_.On(overload.node)) {
    const ApplicationId application = cluster.services[arrangement_.ServiceOf(replica)].application;
    const bool reserves =
        application != kNoId && std::ranges::any_of(overload.limits, [&](const Overload::Limit& limit) {
          return std::ranges::any_of(cluster.applications[application].metrics, [&](const ApplicationMetric& metric) {
            return metric.metric == limit.metric && metric.node_reservation > 0;
          });
        });
    if (reserves) applications.insert(application);
  }
  std::vector<ApplicationId> cheapest_first(applications.begin(), applications.end());
  std::ranges::stable_sort(cheapest_first, {},
                           [&](ApplicationId application) { return applications_.CostToVacate(application, overload.node); });
  for (const ApplicationId application : cheapest_first) {
    // Together where there is a place for all, else wherever there is one.
    for (const NodeId node : arrangement_.sets().all()) {
      if (node == overload.node || !arrangement_.sets().available().test(node)) continue;
      if (applications_.Vacate(application, overload.node, constraints, [&](NodeId to) { return to == node; }) && fixer.Fixed())
        return true;
      journal_.UndoTo(mark);
    }
    if (applications_.Vacate(application, overload.node, constraints, {}) && fixer.Fixed()) return true;
    journal_.UndoTo(mark);
  }
  return false;
}

bool OverloadRepairs::Mend(size_t index, bool partly) {
  const Overload& overload = overloads_[index];
  const size_t mark = journal_.Mark();
  for (size_t level = 0; level < levels_.size() && levels_.PriorityOf(level) >= overload.priority; ++level) {
    if (MendCheaply(overload, levels_[level])) return true;
    OverloadFixer fixer(mover_, levels_[level], overload, finder_.evaluations() <= budget_);
    fixer.Fix();
    if (fixer.Fixed()) return true;
    if (FreeReservation(overload, levels_[level], fixer)) return true;
    if (!partly) journal_.UndoTo(mark);
  }
  return false;
}

}  // namespace evenkeel::balancing
