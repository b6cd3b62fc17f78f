// Rules of a schema that are more than its shape, for whoever validates objects: what they are is known further down.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace evenkeel::kube {

class ValueRules {
 public:
  virtual ~ValueRules() = default;
  /// What is wrong with an object whose shape is right. `old`: what it replaces, or null. Thread-safe.
  virtual std::vector<base::Cause> Check(const base::Json& object, const base::Json* old) const = 0;
};

}  // namespace evenkeel::kube
