// What a loop says in metrics.
#pragma once

#include "controllers/autoscaler/loop/run_once.h"
#include "controllers/autoscaler/member/autoscaler_metrics.h"

namespace evenkeel::controllers::autoscaler {

/// When something was last done, for last_activity.
struct LastActivity {
  base::Time main{}, autoscaling{}, scale_up{}, scale_down{};
};

/// Gauges of the state that a loop has found. O(nodes).
std::vector<AutoscalerMetrics::Sample> SamplesOf(const LoopPlan& plan, const AutoscalerState& state, const Options& options,
                                                 size_t pending_deletions, const LastActivity& last);
/// Counts nodes, or failures, by their GPUs and drivers of devices; those with GPUs also under the older name. `labels`: the
/// others.
void CountByKind(AutoscalerMetrics& metrics, const std::string& cluster, const NodeKind& kind, const char* name,
                 const char* name_of_gpus, const base::MetricLabels& labels, double amount);
/// Counts what has happened in the loop; `templates` are those of that loop.
void CountLoop(const LoopPlan& plan, const AutoscalerState& state, const NodeTemplates& templates, const std::string& cluster,
               AutoscalerMetrics& metrics);

}  // namespace evenkeel::controllers::autoscaler
