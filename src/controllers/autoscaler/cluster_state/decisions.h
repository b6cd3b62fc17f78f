// What the stages of one loop decide: values that whoever acts carries out, in their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

/// An event on the status ConfigMap, with upstream's reason and text.
struct ClusterEvent {
  bool warning = false;
  std::string reason, message;
  bool operator==(const ClusterEvent&) const = default;
};

/// Something that is left alone until somebody or time mends it: for the status, for `plan scale` and for an Event.
struct LeftAlone {
  std::string type;     ///< "NodeGroupSetAside"
  std::string name;     ///< of the node group; "": of the whole cluster
  std::string message;  ///< why, on one line
  bool operator==(const LeftAlone&) const = default;
};

/// One call of the provider about one node group. The view's group has been changed already as if it had succeeded.
struct GroupChange {
  enum class Kind { kDeleteNodes, kDecreaseTarget, kIncreaseSize };
  Kind kind = Kind::kDeleteNodes;
  std::string group;
  int64_t delta = 0;                            ///< by which the target changes
  std::vector<providers::NodeReference> nodes;  ///< for kDeleteNodes; without their objects
  bool force = false, atomically = false;
  std::string why;                                  ///< for people
  std::map<std::string, int64_t> failed_creations;  ///< nodes to be deleted that could not be created, by error code
  std::vector<ClusterEvent> before, succeeded;
  std::vector<ClusterEvent> failed;  ///< the provider's error is to be added to the messages
};

struct StageResult {
  std::vector<ClusterEvent> events;
  std::vector<GroupChange> changes;
  bool stop = false;               ///< the loop ends here
  bool clear_unneeded = false;     ///< what has been found out about unneeded nodes holds no longer
  std::string why;                 ///< it stops; "" otherwise
  std::vector<std::string> notes;  ///< what was left alone, and why; for the log
};

}  // namespace evenkeel::controllers::autoscaler
