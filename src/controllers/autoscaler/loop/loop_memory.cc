#include "controllers/autoscaler/loop/loop_memory.h"

#include "controllers/autoscaler/loop/run_once.h"

namespace evenkeel::controllers::autoscaler {
namespace {

/// Everything else in the report is as it was.
void ReportAt(StatusReport& report, base::Time now) {
  report.time = now;
  const auto probe = [now](StatusReport::Condition& condition) { condition.probed = now; };
  for (StatusReport::Condition* condition :
       std::initializer_list<StatusReport::Condition*>{&report.health, &report.scale_up, &report.scale_down}) {
    probe(*condition);
  }
  for (StatusReport::Group& group : report.groups) {
    probe(group.health);
    probe(group.scale_up);
    probe(group.scale_down);
  }
}

}  // namespace

LoopBasis LoopBasis::Of(const ClusterObjects& objects, uint64_t groups_revision, const Options& options,
                        const AutoscalerState& state, const LoopRequest& request) {
  LoopBasis basis;
  basis.objects = &objects;
  basis.options = &options;
  basis.objects_revision = objects.revision();
  basis.groups_revision = groups_revision;
  basis.cluster_revision = state.cluster.revision();
  basis.comparable = groups_revision != 0 && request.deleting_empty.empty() && request.deleting_drain.empty() &&
                     request.quotas.empty() && !state.scale_down.consolidation;
  basis.count_unprocessed = request.count_unprocessed;
  basis.cleaned_up = state.cleaned_up;
  basis.list_order = request.list_order;
  basis.next_node = state.next_node;
  basis.cool_down = state.scale_down.cool_down;
  basis.group_cool_down = state.scale_down.group_cool_down;
  basis.last_consolidation = state.scale_down.last_consolidation;
  basis.unneeded = state.scale_down.unneeded.size();
  basis.unremovable = state.scale_down.unremovable.size();
  return basis;
}

struct LoopMemory::Last {
  LoopBasis basis;
  LoopTime now;
  bool settled = false;
  std::optional<LoopPlan> plan;
};

void LoopMemory::Keep(LoopPlan plan) {
  if (last_ != nullptr && last_->settled) last_->plan = std::move(plan);
}

bool LoopMemory::MaySettle(const LoopBasis& basis) const {
  return last_ != nullptr && basis.comparable && last_->basis == basis;
}

void LoopMemory::Note(LoopBasis basis, const LoopTime& now, bool settled) {
  last_ = std::make_shared<Last>(Last{std::move(basis), now, settled, std::nullopt});
}

std::optional<LoopPlan> LoopMemory::Recall(const LoopBasis& basis, const LoopRequest& request, ClusterObjects& objects,
                                           AutoscalerState& state) {
  if (last_ == nullptr || !last_->settled || !last_->plan || !basis.comparable || last_->basis != basis) return std::nullopt;
  const base::Time now = request.now;
  if (now < last_->now.Read() || now >= last_->now.HoldsUntil()) return std::nullopt;
  if (!state.scale_down.PassLoop(now)) return std::nullopt;
  const base::Instant began = request.clock == nullptr ? base::Instant{} : request.clock->Monotonic();
  state.cluster.PassLoop(now);
  objects.templates().PassLoop(now);
  LoopPlan plan = *std::move(last_->plan);
  last_->plan.reset();
  plan.view.now = now;
  ReportAt(plan.status, now);
  if (!plan.scale_down.cool_down.empty()) {
    const bool disabled = plan.decision == ScaleUpDecision::kInCooldown;
    plan.scale_down.cool_down = WhyNoDeletions(state.scale_down, *basis.options, disabled, objects.PlanUnderWay(now), now);
  }
  plan.stages_ran = false;
  for (auto& [name, took] : plan.durations) took = request.clock->Monotonic() - began;
  return plan;
}

}  // namespace evenkeel::controllers::autoscaler
