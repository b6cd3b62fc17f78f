// Conditions under which webhooks and policies are asked about a write.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go
#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "kube/field_path.h"
#include "kube/rules/admission_world.h"

namespace evenkeel::kube::cel {

/// What all conditions of one webhook or policy may cost together.
inline constexpr uint64_t kMatchConditionsCostMax = 2'500'000;
inline constexpr size_t kMatchConditionsMax = 64;

struct MatchCondition {
  std::string name, expression;
  std::shared_ptr<const Program> program;  ///< null where it does not compile
};

/// What is wrong with a list of matchConditions. `params`: whether they know those of a policy.
std::vector<base::Cause> CheckMatchConditions(const base::JsonArray& conditions, const FieldPath& path, bool params = false);
/// Of a webhook.
std::vector<MatchCondition> CompileMatchConditions(const base::JsonArray& conditions);
std::vector<MatchCondition> CompileMatchConditions(const base::JsonArray& conditions, const AdmissionWorld& world);

/// Whether all hold. One that does not decides, whatever others fail; else an error is told.
base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const AdmissionInput& input);
/// The same of those that were compiled with the world of these values.
base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const Activation& activation, Arena& arena);

}  // namespace evenkeel::kube::cel
