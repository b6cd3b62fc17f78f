// What becomes of the pods of a node that is drained, before anything is done: the autoscaler's rules say which may go, and the
// scheduler's where each would find room. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::dashboard {

struct DrainPlan {
  struct Pod {
    std::string key, uid;
    bool leaves = false;  ///< it is to be evicted
    bool waits = false;   ///< ... and no other node has room for it
    std::string words;    ///< "to n2", "no other node has room: it will wait", "stays: nobody would make it again"
  };
  std::vector<Pod> pods;  ///< by key; without those of DaemonSets
  size_t daemons = 0;     ///< which stay
};

/// `objects`: as autoscaler::ReadKinds lists them, each with its kind. kNotFound: there is no such node.
base::Result<DrainPlan> PlanDrain(const std::vector<base::Json>& objects, const std::string& node, base::Time now);

}  // namespace evenkeel::dashboard
