// Answers of `plan scale`, `explain pod` and `explain node` for people: what is equal stands once, with how often it is there.
#pragma once

#include <ostream>

#include "base/json.h"
#include "controllers/autoscaler/loop/plan_scale.h"

namespace evenkeel::cli {

/// Pods by controller and reason.
void PrintScalePlan(std::ostream& out, const controllers::autoscaler::ScaleOutput& plan);
/// Nodes by reason, the nearest miss first.
void PrintPodExplanation(std::ostream& out, const controllers::autoscaler::PodExplanation& pod);
/// `node`: kExplainNodeJson.
void PrintNodeExplanation(std::ostream& out, const base::Json& node);

}  // namespace evenkeel::cli
