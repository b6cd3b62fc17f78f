// The status of ValidatingAdmissionPolicies: what is wrong with their expressions if objects are of the kinds that they mean.
// A warning for their authors; policies judge writes whatever it says.
// Follows: kubernetes@1.36 pkg/controller/validatingadmissionpolicystatus/controller.go,
// staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go
#pragma once

#include <string>
#include <vector>

#include "embedded/workloads/pods/reconciler.h"
#include "kube/rules/admission_policy.h"

namespace evenkeel::embedded::workloads {

class PolicyStatus final : public Reconciler {
 public:
  explicit PolicyStatus(Context& context);

 private:
  /// The policy's name. Once for each generation.
  base::Result<Again> Reconcile(const std::string& key) override;
  /// By group, version and kind: of the rules without wildcards, at most kPolicyKindsMax.
  base::Result<std::vector<kube::cel::PolicyKind>> KindsOf(const base::Json& spec);
  /// Empty: there is no such kind, or its shape is not known.
  base::Result<base::JsonObject> ParamsOf(const base::Json& spec);
};

}  // namespace evenkeel::embedded::workloads
