// Fields of an ensemble's spec that nobody knows: slips of the pen, which would be kept in its template, or dropped in silence.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct UnknownField {
  std::string field;    ///< "spec.template.confg"
  std::string message;  ///< "unknown field; did you mean config?"
};

/// As MultiClusterZooKeeperDefinition has them, in the order of the object. What is below podTemplate.spec is a pod's, and is
/// checked as such.
std::vector<UnknownField> FindUnknownFields(const base::Json& ensemble);

}  // namespace evenkeel::controllers::rollout::zookeeper
