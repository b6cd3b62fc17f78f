// What is different about an object in one cluster: override policies and their overriders. Pure.
// Follows: karmada@1.16 pkg/util/overridemanager/overridemanager.go
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::federation {

/// The overriders of one rule that applies, and whose they are.
struct MatchedOverriders {
  std::string policy;
  bool cluster_wide = false;
  const base::Json* overriders = nullptr;  ///< within the policy
};

/// ClusterOverridePolicies first, then OverridePolicies of the object's namespace; in each the least precise selectors first,
/// then by name; then in the order of the rules: what is written later wins. The policies must outlive the result.
std::vector<MatchedOverriders> SelectOverriders(const std::vector<const base::Json*>& policies, const base::Json& object,
                                                const base::Json& cluster);

/// Image, command, arguments, labels, annotations, fields, plain text, in this order. kInvalid or kBadRequest names the
/// overrider; `object` is then undefined.
base::Status ApplyOverriders(base::Json& object, const base::Json& overriders);

/// Applies all of them; the error names the policy.
base::Status ApplyAll(base::Json& object, const std::vector<MatchedOverriders>& overriders);

/// The annotation that says what was applied: [{"policyName", "overriders"}] by name, as text; empty when nothing was.
std::string AppliedOverridesText(const std::vector<MatchedOverriders>& overriders, bool cluster_wide);

/// [REGISTRY/]REPOSITORY[:TAG|@DIGEST]
struct ImageName {
  std::string registry, repository, tag, digest;

  static ImageName Parse(std::string_view text);
  std::string ToString() const;
};

}  // namespace evenkeel::embedded::federation
