// What every controller counts of itself.
#pragma once

#include "base/metric_family.h"

namespace evenkeel::controllers::runtime {

inline constexpr base::MetricFamily kReconcileTotal{"evenkeel_reconcile_total", base::MetricType::kCounter,
                                                    "Reconciles by controller and how they ended.", "controller result"};
inline constexpr base::MetricFamily kReconcileDuration{"evenkeel_reconcile_duration_seconds", base::MetricType::kHistogram,
                                                       "How long reconciles take.", "controller"};
inline constexpr base::MetricFamily kWorkQueueDepth{"evenkeel_workqueue_depth", base::MetricType::kGauge,
                                                    "Keys ready to be reconciled.", "controller"};

inline constexpr base::MetricFamily kControllerMetrics[] = {kReconcileTotal, kReconcileDuration, kWorkQueueDepth};

}  // namespace evenkeel::controllers::runtime
