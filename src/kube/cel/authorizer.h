// What expressions of admission ask of access rules.
#pragma once

#include <string>
#include <string_view>

#include "kube/cel/value.h"

namespace evenkeel::kube::cel {

/// One question; a path, or what else there is of a resource.
struct AccessQuestion {
  std::string_view path{};
  std::string_view group{}, resource{}, subresource{}, namespace_name{}, name{};
  /// Of a service account that is asked about; empty: whoever sent the request.
  std::string_view account_namespace{}, account_name{};
};

/// Answers questions of access while an expression is evaluated.
class AccessRules {
 public:
  struct Answer {
    bool allowed = false;
    std::string reason;
  };
  virtual Answer Ask(const AccessQuestion& question, std::string_view verb) const = 0;

 protected:
  ~AccessRules() = default;
};

/// The variable `authorizer`; the rules must outlive the arena's values.
Value MakeAuthorizer(const AccessRules& rules, Arena& arena);
/// The variable `authorizer.requestResource`: a check of a resource that is filled in.
Value MakeResourceCheck(const AccessRules& rules, const AccessQuestion& question, Arena& arena);

}  // namespace evenkeel::kube::cel
