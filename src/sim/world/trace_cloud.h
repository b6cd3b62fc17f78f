// The node groups of a replayed trace, one for each shape of its nodes: what the embedded cloud's rules (group_state.h) make of
// the targets that the autoscaler sets, without an API in between.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "embedded/cloud/group_state.h"
#include "providers/provider.h"
#include "sim/world/trace.h"

namespace evenkeel::sim {

/// A GPU counts as so many of nvidia.com/gpu, because tasks may share one.
inline constexpr int64_t kGpuUnits = 1000;

/// How long nodes ran: from when they joined until they were gone, by shape.
struct NodeHours {
  double nodes = 0, cores = 0, gpus = 0;
  std::map<std::string, double> by_shape;
};

class TraceCloud {
 public:
  struct Changes {
    std::vector<base::Json> joined;  ///< v1.Node, ready
    std::vector<std::string> gone;   ///< names of nodes
  };

  /// A group of a shape has at most as many nodes as the traced cluster had of it.
  TraceCloud(const std::vector<TraceShape>& shapes, const embedded::cloud::CloudSettings& settings, base::Random random);

  /// Everything that is due by now.
  Changes Advance(base::Time now);
  /// When something is next to happen by itself.
  std::optional<base::Time> due() const;

  providers::NodeGroups Groups() const;
  base::Status Resize(std::string_view group, int64_t delta);
  /// Lowers the target by as many.
  base::Status Delete(std::string_view group, const std::vector<std::string>& ids);

  /// Those that have joined, by name, and their shapes.
  std::map<std::string, const TraceShape*> Nodes() const;
  /// All groups' targets together.
  int64_t wanted() const;
  size_t nodes() const { return joined_.size(); }
  size_t nodes_max() const { return nodes_max_; }
  int64_t nodes_made() const { return made_; }
  /// Of all nodes until now.
  NodeHours Hours(base::Time now) const;

 private:
  struct Group {
    TraceShape shape;
    base::Json template_node;
    embedded::cloud::GroupSpec spec;
    embedded::cloud::GroupState state;
    std::optional<base::Time> due;
    bool changed = false;  ///< the spec is
  };
  struct Joined {
    const Group* group;
    base::Time since;
  };
  Group* Find(std::string_view name);
  static void Count(const Group& group, base::Duration time, NodeHours& hours);

  std::vector<Group> groups_;  ///< by name; does not grow
  std::map<std::string, Joined> joined_;
  NodeHours past_;
  size_t nodes_max_ = 0;
  int64_t made_ = 0;
  base::Random random_;
};

}  // namespace evenkeel::sim
