// ValidatingAdmissionPolicies, as their bindings say: expressions judge writes before webhooks do.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go,
// staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "embedded/apiserver/admission/write_filter.h"
#include "kube/rules/admission_policy.h"

namespace evenkeel::embedded::apiserver {

/// Thread-safe.
class AdmissionPolicies {
 public:
  explicit AdmissionPolicies(AdmissionView view) : view_(std::move(view)) {}

  /// An object as it is now.
  void SetPolicy(const base::Json& policy);
  void RemovePolicy(const std::string& name);
  void SetBinding(const base::Json& binding);
  void RemoveBinding(const std::string& name);

  /// Whether a bound policy may mean this write; without bindings one atomic read.
  bool Concern(const Call& call, std::string_view operation) const;
  /// Asks all policies, by name, and each for all of its bindings; `object` null: a deletion. The first denial is the error, in
  /// upstream's words. Appends the warnings of bindings that only warn. Reads parameters, so it may block.
  base::Status Judge(const Call& call, const AdmissionQuestion& question, const base::Json& object,
                     std::vector<std::string>& warnings) const;

 private:
  struct Policy {
    explicit Policy(const base::Json& object);
    std::string name;
    WriteFilter writes;
    std::string params_version, params_kind;  ///< empty: it has no parameters
    kube::cel::AdmissionPolicy expressions;
  };
  struct Binding {
    std::string name, policy;
    bool has_match = false;  ///< else whatever the policy means
    WriteFilter writes;
    base::Json params;  ///< paramRef, or null
    bool deny = false, warn = false;
  };
  struct Match {
    std::shared_ptr<const Policy> policy;
    std::vector<std::shared_ptr<const Binding>> bindings;
    ServedPointer as;  ///< the version in which it wants to see the object
  };
  struct Write;  // what is asked about, as one policy sees it
  struct Outcome;

  std::vector<Match> Find(const Call& call, std::string_view operation) const;
  void JudgeBinding(const Policy& policy, const Binding& binding, const Write& write, Outcome& outcome) const;
  /// One entry for each evaluation; null without parameters.
  base::Result<std::vector<base::Json>> Params(const Policy& policy, const Binding& binding, const Call& call) const;

  const AdmissionView view_;
  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Policy>> policies_;
  std::map<std::string, std::shared_ptr<const Binding>> bindings_;
};

/// What the author of a policy or a binding is warned of: what has no effect here.
std::vector<std::string> WarnOfPolicy(const base::Json& object);

}  // namespace evenkeel::embedded::apiserver
