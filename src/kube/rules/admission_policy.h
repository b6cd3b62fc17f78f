// The expressions of a ValidatingAdmissionPolicy: what is wrong with them, and what they say about a write.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go, typechecking.go,
// staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/composition.go, pkg/apis/admissionregistration/validation/validation.go
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/field_path.h"
#include "kube/rules/admission.h"

namespace evenkeel::kube::cel {

/// How long a message may be that an expression makes.
inline constexpr size_t kMessageBytesMax = 5 * 1024;

/// What is wrong with the expressions of a policy's spec, which stands at `path`; `name` is the policy's.
std::vector<base::Cause> CheckPolicyExpressions(const base::Json& spec, std::string_view name, const FieldPath& path);

/// A kind that a policy means, for CheckPolicyTypes.
struct PolicyKind {
  std::string name;         ///< "apps/v1, Kind=Deployment"
  base::JsonObject schema;  ///< OpenAPI v3, without references; empty: it is not known
};
inline constexpr size_t kPolicyKindsMax = 10;

/// What is wrong with a policy's validations if objects are of these kinds, as status.typeChecking.expressionWarnings has it:
/// it has no effect on writes. `params`: of the parameters; where it is empty, expressions that name `params` are warned of.
base::JsonArray CheckPolicyTypes(const base::Json& spec, const std::vector<PolicyKind>& kinds, const base::JsonObject& params);

class PolicyCompiler;
class PolicyRound;

/// A spec, compiled. Immutable, thread-safe.
class AdmissionPolicy {
 public:
  explicit AdmissionPolicy(const base::Json& spec);
  AdmissionPolicy(const AdmissionPolicy&) = delete;
  AdmissionPolicy& operator=(const AdmissionPolicy&) = delete;
  ~AdmissionPolicy();

  struct Refusal {
    std::string message;
    std::string reason;  ///< "Forbidden" and the like
  };
  struct Verdict {
    std::vector<Refusal> refusals;  ///< of validations, in their order; their binding says what becomes of them
    std::vector<Refusal> failures;  ///< of audit annotations: they deny
  };
  /// With one object of parameters, or none. What fails is a refusal, or nothing where the policy ignores failures.
  Verdict Judge(const AdmissionInput& input) const;

  bool ignores_failures() const { return ignores_failures_; }

 private:
  struct Validation {
    std::string expression, message, reason;
    base::Result<std::shared_ptr<const Program>> program;
    std::shared_ptr<const Program> message_program;  ///< null: there is none
  };
  struct Annotation {
    std::string expression;
    base::Result<std::shared_ptr<const Program>> program;
  };

  void Annotate(const AdmissionInput& input, Verdict& verdict) const;
  Refusal RefusalOf(const Validation& validation, PolicyRound& messages) const;

  bool ignores_failures_ = false, has_params_ = false;
  std::unique_ptr<const PolicyCompiler> compiled_;  ///< the variables, and what all programs refer to
  std::vector<MatchCondition> conditions_;
  std::vector<Validation> validations_;
  std::vector<Annotation> annotations_;
};

}  // namespace evenkeel::kube::cel
