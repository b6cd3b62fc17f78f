// What the dashboard keeps of each node and pod of a member: little, as there may be very many.
#pragma once

#include <string>

#include "base/json.h"
#include "base/time.h"
#include "kube/types.h"

namespace evenkeel::dashboard {

/// All that an informer asks of an object.
struct RowMeta {
  std::string uid, resource_version;
  uint32_t bytes = 0;
  static RowMeta Decode(const base::Json& object);
};

/// For so long a node that has never been ready may still be on its way: as long as the autoscaler waits for one
/// (--max-node-provision-time).
inline constexpr base::Duration kOnItsWay = std::chrono::minutes(15);

struct NodeRow {
  RowMeta meta;
  std::string name, group, type, zone;  ///< "": its labels do not say
  std::string state;  ///< "Ready", "NotReady", "Cordoned", "Deleting", or "Upcoming": not ready yet, however old
  base::Time created{};
  base::Time since{};  ///< it has been ready, or not; or when it was made
  kube::ResourceList allocatable;
  static NodeRow Decode(const base::Json& object);
};

struct PodRow {
  RowMeta meta;
  std::string key;       ///< namespace/name
  std::string node;      ///< "": it waits for one
  bool running = false;  ///< its phase
  bool ended = false;    ///< it takes no room any more
  bool leaving = false;  ///< it has been deleted and takes room until it is gone
  base::Time created{};
  std::string phase;
  uint16_t ready = 0, containers = 0;  ///< of which so many are ready
  int32_t restarts = 0;                ///< of all of them
  std::string message;                 ///< why no node has been found for it, as the scheduler puts it
  kube::ResourceList requests;
  bool waits() const { return node.empty() && !ended && !leaving; }
  static PodRow Decode(const base::Json& object);
};

}  // namespace evenkeel::dashboard
