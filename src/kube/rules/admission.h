// Expressions about a write that is asked for: conditions of webhooks and of policies.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/cel/authorizer.h"
#include "kube/cel/cel.h"
#include "kube/field_path.h"

namespace evenkeel::kube::cel {

/// What all conditions of one webhook or policy may cost together.
inline constexpr uint64_t kMatchConditionsCostMax = 2'500'000;
inline constexpr size_t kMatchConditionsMax = 64;

/// One write. Objects that are not there are null; all must outlive what is asked about them.
struct AdmissionInput {
  const base::Json* object = nullptr;
  const base::Json* old_object = nullptr;
  const base::Json* request = nullptr;  ///< admission.k8s.io/v1's, without objects
  const base::Json* namespace_object = nullptr;
  const AccessRules* access = nullptr;
  AccessQuestion resource{};  ///< what `authorizer.requestResource` asks about
};

struct MatchCondition {
  std::string name, expression;
  std::shared_ptr<const Program> program;  ///< null where it does not compile
};

/// What is wrong with a list of matchConditions.
std::vector<base::Cause> CheckMatchConditions(const base::JsonArray& conditions, const FieldPath& path);
std::vector<MatchCondition> CompileMatchConditions(const base::JsonArray& conditions);

/// Whether all hold. One that does not decides, whatever others fail; else an error is told.
base::Result<bool> MatchesConditions(const std::vector<MatchCondition>& conditions, const AdmissionInput& input);

}  // namespace evenkeel::kube::cel
