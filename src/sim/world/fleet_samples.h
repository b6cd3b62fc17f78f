// What a fleet was like at so many instants of a run, and what happened to its pods and owners in between: what a report shows.
// The number of samples is bounded however long the run is: when there are too many, every other one is forgotten, and from
// then on they are taken half as often.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace evenkeel::sim {

enum class NodeState : uint8_t { kReady, kNotReady, kCordoned, kDeleting };

/// Texts are numbers of FleetSamples::TextOf.
struct NodeSample {
  uint32_t name = 0, group = 0;
  float load = 0;  ///< the largest share of an amount that its pods request; 1: full
  NodeState state = NodeState::kReady;
};

struct ClusterSample {
  uint32_t name = 0;
  uint32_t owner = 0;                              ///< "" for nobody
  std::vector<NodeSample> nodes{};                 ///< by name
  int64_t wanted = 0;                              ///< nodes that its groups are to have
  int64_t running = 0, starting = 0, pending = 0;  ///< pods; starting: on a node, and not ready
  /// Of one node, per hour, by group; not of groups without a price. Groups of one name may cost differently elsewhere.
  std::map<uint32_t, double> prices{};

  /// Of one node of the group, per hour; 0 without a price.
  double PriceOf(uint32_t group) const {
    const auto found = prices.find(group);
    return found == prices.end() ? 0 : found->second;
  }
};

struct FleetSample {
  base::Duration at{};                    ///< since the start
  std::vector<ClusterSample> clusters{};  ///< by name
  int64_t replicas = 0;                   ///< that run
  int64_t voters = 0, serving = 0;        ///< of the ensemble; 0 without one
};

class FleetSamples {
 public:
  static constexpr size_t kMost = 600;

  FleetSamples() = default;
  FleetSamples(FleetSamples&&) = default;
  FleetSamples& operator=(FleetSamples&&) = default;

  /// When the next one is due.
  base::Duration due() const { return due_; }
  /// Takes one, at or after the instant at which it was due; or the last of all, at any later time.
  void Add(FleetSample sample);
  const std::vector<FleetSample>& all() const { return all_; }

  /// The same number for the same text; 0 is "".
  uint32_t NumberOf(std::string_view text);
  const std::string& TextOf(uint32_t number) const { return *texts_[number]; }

 private:
  std::vector<FleetSample> all_;
  base::Duration interval_ = std::chrono::seconds(1), due_{};
  std::map<std::string, uint32_t, std::less<>> numbers_{{"", 0}};
  std::vector<const std::string*> texts_{&numbers_.begin()->first};
};

struct RecordedMove {
  base::Duration at{};
  std::string cluster, object, from, to, reason;
  double gain = 0;
};

/// From then on.
struct OwnerChange {
  base::Duration at{};
  std::string owner;  ///< "" for nobody
  std::string why;    ///< the one before is it no longer; "" of the first
};

struct Recording {
  FleetSamples samples;
  std::map<std::string, std::vector<OwnerChange>> owners{};  ///< by cluster; to the second
  std::vector<RecordedMove> moves{};                         ///< of pods, by balancers
  std::vector<base::Duration> waited{};                      ///< of each pod that got a node: for how long it had none; sorted
};

}  // namespace evenkeel::sim
