// Numbers of the forms in which this program writes down what programs of other versions read: several versions work side by
// side while one takes the place of the other, and some go back.
#pragma once

#include <cstdint>

namespace evenkeel::controllers::rollout::zookeeper {

struct Forms {
  /// How a server is written down: StatefulSet, pod and script. Whoever has another number leaves servers as they are that run
  /// what was asked for.
  int64_t servers = 1;
  /// Of orders: the hub's status, and what an override says. Whoever knows only smaller numbers leaves everything as it is, and
  /// says so; whoever writes something that a reader must not pass over raises it.
  int64_t orders = 1;
  /// Of the kinds' definitions (client/definitions.h). Raised with each change of one. A default in one never changes, since
  /// what was asked for before would be something else.
  int64_t definitions = 1;
};

/// In a status and in a ZooKeeper's spec: Forms::orders. Absent: 1.
inline constexpr char kFormatField[] = "format";

}  // namespace evenkeel::controllers::rollout::zookeeper
