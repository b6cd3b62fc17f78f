// Finds fields of an ensemble's spec that no schema has: typing errors. Without a warning the template would keep them, or the
// API would drop them silently.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/zookeeper/spec/forms.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct UnknownField {
  std::string field;    ///< "spec.template.confg"
  std::string message;  ///< "unknown field; did you mean config?"
};

/// Of the spec of a MultiClusterZooKeeper or a ZooKeeper, as its definition has them, in the order of the object. What is below
/// podTemplate.spec is a pod's, and is checked as such.
std::vector<UnknownField> FindUnknownFields(const base::Json& object);

/// Something that only a newer program can have written: what, where and what to do, in one line. "": nothing.
/// Of a MultiClusterZooKeeper's status: its format, and fields of what is in force (the last record, clusters, revisions). Of a
/// ZooKeeper: its format, and fields of its spec.
std::string WhyTooNew(const base::Json& object, const Forms& forms);

}  // namespace evenkeel::controllers::rollout::zookeeper
