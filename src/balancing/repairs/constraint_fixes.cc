#include "balancing/repairs/constraint_fixes.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "balancing/repairs/application_repairs.h"
#include "balancing/repairs/overload_repairs.h"
#include "balancing/repairs/replica_repairs.h"
#include "balancing/repairs/unmended_reasons.h"
#include "balancing/search/rebuild_step.h"

namespace evenkeel::balancing {
namespace {

// A second or so: beyond it nobody makes room for others, and what was found is not improved.
constexpr int64_t kDefaultEvaluations = 1'000'000;
constexpr int kImprovingPasses = 2;
constexpr int kMendingPasses = 4;            // over what is still violated: one repair may be what another one waited for
constexpr size_t kReplicasRebuilt = 30'000;  // looked at for violations: so many attempts, ...
constexpr size_t kMostRebuilds = 300;        // ... but no more, of each level
constexpr size_t kExplainedViolations = 100;
constexpr double kNoticeable = 1 - 1e-9;

auto KeyOf(const Violation& violation) {
  return std::tuple(violation.constraint, violation.node, violation.metric, violation.replica, violation.partition,
                    violation.application);
}

class FixSearch {
 public:
  FixSearch(Arrangement& arrangement, const ServiceGroup& group, const FixOptions& options, bool costs_count)
      : arrangement_(arrangement),
        group_(group),
        budget_(options.evaluations > 0 ? options.evaluations : kDefaultEvaluations),
        seed_(options.seed),
        levels_(arrangement, Purpose::kConstraintCheck, options.light, true),
        journal_(arrangement, group, costs_count),
        finder_(journal_, options.seed),
        mover_(journal_, finder_, options.movement_slots) {}

  FixResult Run();
  /// What Run has made, which is no more; and it once more.
  std::vector<StepJournal::Made> TakeBack();
  void Repeat(std::span<const StepJournal::Made> steps);

 private:
  std::vector<Violation> ViolationsNow() { return ViolationsOf(arrangement_, group_, levels_[0].Violations()); }
  void Mend(const Violation& violation);
  void MendAll(std::span<const Violation> violations);
  std::vector<ReplicaId> ConcernedBy(std::span<const Violation> violations);
  void Rebuild(std::vector<Violation>& violations);
  void TakeBackNeedless();
  void Improve();
  void Report(std::vector<Violation> after);

  Arrangement& arrangement_;
  const ServiceGroup& group_;
  const int64_t budget_;
  const uint64_t seed_;
  SearchLevels levels_;
  StepJournal journal_;
  TargetFinder finder_;
  Mover mover_;
  const RepairContext context_{arrangement_, group_, levels_, journal_, finder_, mover_, budget_};
  ReplicaRepairs replicas_{context_};
  ApplicationRepairs applications_{context_};
  OverloadRepairs overloads_{context_, applications_};
  FixResult result_;
};

void FixSearch::Mend(const Violation& violation) {
  const bool scaleout = violation.constraint == Constraint::kScaleoutCount;
  for (size_t level = 0; level < levels_.size() && levels_.PriorityOf(level) >= violation.priority; ++level) {
    const Constraints& constraints = levels_[level];
    const int64_t wrong = scaleout ? applications_.TooMany(violation.application) : replicas_.Measure(violation, constraints);
    if (mover_.slots_left() <= 0 || wrong == 0) return;
    if (scaleout ? applications_.MendScaleout(violation, constraints) : replicas_.Mend(violation, constraints)) return;
  }
}

// One fix may have made another one superfluous.
void FixSearch::TakeBackNeedless() {
  const Constraints& constraints = levels_[0];
  for (const ReplicaId replica : journal_.MovedSince(0)) {
    if (arrangement_.IsNew(replica)) continue;
    const NodeId origin = arrangement_.cluster().replicas[replica].node;
    if (arrangement_.NodeOf(replica) == origin) continue;
    const int64_t movements = journal_.movements();
    const size_t mark = journal_.Mark();
    if (mover_.TryMove(constraints, replica, origin) && journal_.movements() >= movements) journal_.UndoTo(mark);
  }
}

void FixSearch::Improve() {
  const Constraints& constraints = levels_[0];
  for (int pass = 0; pass < kImprovingPasses; ++pass) {
    for (const ReplicaId replica : journal_.MovedSince(0)) {
      if (finder_.evaluations() > budget_) return;
      const double before = journal_.score().average_deviation();
      const int64_t movements = journal_.movements();
      const std::vector<Target> targets = finder_.Best(constraints, replica, arrangement_.RoleOf(replica));
      if (targets.empty() || targets[0].deviation >= before * kNoticeable) continue;
      const size_t mark = journal_.Mark();
      if (!mover_.TryMove(constraints, replica, targets[0].node)) continue;
      if (journal_.movements() > movements || journal_.score().average_deviation() >= before * kNoticeable) {
        journal_.UndoTo(mark);
      }
    }
  }
}

void FixSearch::Report(std::vector<Violation> after) {
  std::set<decltype(KeyOf(after[0]))> left;
  for (const Violation& violation : after) left.insert(KeyOf(violation));
  for (const Violation& violation : result_.before) {
    if (!left.contains(KeyOf(violation))) result_.mended.push_back(violation);
  }
  UnmendedReasons reasons(context_);
  for (const Violation& violation : after) {
    result_.left.push_back(reasons.Explain(violation, result_.left.size() < kExplainedViolations));
  }
  result_.moves = journal_.movements();
  result_.evaluations = finder_.evaluations();
}

void FixSearch::MendAll(std::span<const Violation> violations) {
  overloads_.Find(violations);
  size_t next_overload = 0;
  std::vector<size_t> not_mended;
  std::set<std::pair<NodeId, ApplicationId>> seen;
  for (const Violation& violation : violations) {
    if (violation.node == kNoId) {
      applications_.MendTotal(violation);
      continue;
    }
    const bool overload =
        violation.constraint == Constraint::kCapacity || violation.constraint == Constraint::kApplicationCapacity;
    if (!overload) {
      Mend(violation);
    } else if (seen.emplace(violation.node, violation.application).second) {
      if (!overloads_.Mend(next_overload, false)) not_mended.push_back(next_overload);
      ++next_overload;
    }
  }
  for (const size_t overload : not_mended) overloads_.Mend(overload, true);
}

// What is merely preferred is not worth that others move.
std::vector<ReplicaId> FixSearch::ConcernedBy(std::span<const Violation> violations) {
  std::vector<ReplicaId> concerned;
  const UnmendedReasons reasons(context_);
  for (const Violation& violation : violations) {
    if (violation.priority > 1 || violation.node == kNoId) continue;
    for (const ReplicaId replica : reasons.Concerned(violation)) {
      if (mover_.Movable(levels_[0], replica)) concerned.push_back(replica);
    }
  }
  std::ranges::sort(concerned);
  return concerned;
}

// What is left goes off and is put back together with what is in its way, with less and less that must not become worse.
void FixSearch::Rebuild(std::vector<Violation>& violations) {
  const size_t replicas = arrangement_.cluster().replicas.size();
  if (replicas == 0 || replicas > kRebuildableReplicas) return;
  ViolationSummary best = Summarize(violations);
  std::vector<ReplicaId> concerned = ConcernedBy(violations);
  const size_t attempts = std::min(kReplicasRebuilt / replicas, kMostRebuilds);
  for (size_t level = 0; level < levels_.size(); ++level) {
    const Constraints& constraints = levels_[level];
    // A parent does not go where its children are unless the settings say so.
    const bool parents_go = arrangement_.settings().move_parent_to_fix_affinity_violation;
    const auto may_take = [&](ReplicaId replica) {
      return mover_.Movable(constraints, replica) && (parents_go || mover_.MisplacedFollowers(constraints, replica) == 0);
    };
    RebuildStep step(mover_, constraints, may_take, seed_);
    for (size_t attempt = 0; attempt < attempts && !concerned.empty() && finder_.evaluations() <= budget_; ++attempt) {
      const int64_t movements = journal_.movements();
      const size_t mark = journal_.Mark();
      if (!step.Take(concerned)) continue;
      std::vector<Violation> now = ViolationsNow();
      ViolationSummary summary = Summarize(now);
      if (!Better(summary, best) && !(summary == best && journal_.movements() < movements)) {
        journal_.UndoTo(mark);
        continue;
      }
      best = std::move(summary);
      violations = std::move(now);
      concerned = ConcernedBy(violations);
    }
  }
}

FixResult FixSearch::Run() {
  result_.before = ViolationsNow();
  std::vector<Violation> after = result_.before;
  for (int pass = 0; pass < kMendingPasses && !after.empty(); ++pass) {
    const size_t mark = journal_.Mark();
    MendAll(after);
    if (journal_.Mark() == mark) break;
    after = ViolationsNow();
  }
  Rebuild(after);
  const size_t mended = journal_.Mark();
  TakeBackNeedless();
  Improve();
  if (journal_.Mark() > mended) after = ViolationsNow();
  if (journal_.movements() > 0 && !Better(Summarize(after), Summarize(result_.before))) {
    journal_.UndoTo(0);
    after = result_.before;
  }
  Report(std::move(after));
  return std::move(result_);
}

std::vector<StepJournal::Made> FixSearch::TakeBack() {
  std::vector<StepJournal::Made> steps = journal_.AllMade();
  journal_.UndoTo(0);
  return steps;
}

void FixSearch::Repeat(std::span<const StepJournal::Made> steps) {
  for (const auto& [replica, other, to] : steps) {
    if (other == kNoId) {
      journal_.Move(replica, to);
    } else {
      journal_.Swap(replica, other);
    }
  }
}

ViolationSummary SummaryOf(std::span<const UnmendedViolation> left) {
  std::vector<Violation> violations;
  for (const UnmendedViolation& unmended : left) violations.push_back(unmended.violation);
  return Summarize(violations);
}

}  // namespace

std::vector<Violation> ViolationsOf(const Arrangement& arrangement, const ServiceGroup& group, std::vector<Violation> all) {
  const Cluster& cluster = arrangement.cluster();
  std::vector<bool> services(cluster.services.size()), metrics(cluster.metrics.size()),
      applications(cluster.applications.size());
  for (const MetricId metric : group.metrics) metrics[metric] = true;
  for (const ServiceId service : group.services) {
    services[service] = true;
    if (cluster.services[service].application != kNoId) applications[cluster.services[service].application] = true;
  }
  std::erase_if(all, [&](const Violation& violation) {
    if (violation.partition != kNoId) return !services[cluster.partitions[violation.partition].service];
    if (violation.application != kNoId) return !applications[violation.application];
    return !metrics[violation.metric];
  });
  return all;
}

FixResult FixViolations(Arrangement& arrangement, const ServiceGroup& group, const FixOptions& options) {
  FixSearch search(arrangement, group, options, true);
  FixResult result = search.Run();
  if (!arrangement.settings().use_move_cost_reports || result.left.empty()) return result;
  // One repair is in the way of another. What the cheapest ones leave may be mended by those that are made without costs.
  const std::vector<StepJournal::Made> steps = search.TakeBack();
  FixSearch without_costs(arrangement, group, options, false);
  FixResult other = without_costs.Run();
  const int64_t evaluations = result.evaluations + other.evaluations;
  if (Better(SummaryOf(other.left), SummaryOf(result.left))) {
    result = std::move(other);
  } else {
    without_costs.TakeBack();
    search.Repeat(steps);
  }
  result.evaluations = evaluations;
  return result;
}

}  // namespace evenkeel::balancing
