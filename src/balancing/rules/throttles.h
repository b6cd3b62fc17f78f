// How much may still be moved: movements of the recent past are counted in sliding windows, all together, by phase and by
// partition, and compared with limits that are numbers or shares of the existing replicas; the smaller one counts. Only
// movements of existing replicas are told here: those of balancing and of placement with moves.
//
// Windows and limits come from the settings at each question, so they may be changed at any time; a window of 0 seconds, or a
// limit of 0, limits nothing. Seconds of the caller's clock; a movement counts from its instant until just before one window
// later.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/settings.h"
#include "base/input/field.h"
#include "base/json.h"
#include "base/result.h"

namespace evenkeel::balancing {

inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// Events in a sliding window; those of one instant share an entry.
class SlidingCounter {
 public:
  /// An instant before the latest one counts as that one. What has left the window is dropped: O(1) amortised.
  void Record(double now, int64_t events, double window);
  /// Events at instants in (now - window, now]. O(log entries). 0 when the window is 0.
  int64_t Count(double now, double window) const;
  bool empty() const { return entries_.empty(); }
  /// The latest instant; kLongAgo when there is none.
  double latest() const { return entries_.empty() ? kLongAgo : entries_.back().at; }

  base::Json ToJson() const;  ///< [[instant, events], ...]
  static base::Result<SlidingCounter> Read(const base::Field& of);
  bool operator==(const SlidingCounter& other) const;

 private:
  struct Entry {
    double at;
    int64_t total;  // of this entry and all before it, also dropped ones
  };
  std::deque<Entry> entries_;
  int64_t dropped_ = 0;  // total of the entry before the first
};

/// What limits a phase at the moment.
struct Allowance {
  int64_t remaining = kUnlimited;
  /// The limit that leaves the least, for people: "10 of 10 movements were made in the last 600 seconds
  /// (GlobalMovementThrottleThreshold)". Empty when nothing limits.
  std::string why;
};

/// min(`absolute` unless 0, `share` of the existing replicas, rounded up, unless 0); kUnlimited when both are 0.
int64_t MovementLimit(int64_t absolute, double share, int64_t existing_replicas);

class MovementThrottles {
 public:
  /// One movement of an existing replica. Those of a constraint check are not limited and not counted.
  void Record(const Settings& settings, Movement::Phase phase, std::string_view partition, double now);

  /// For placement with moves and for balancing: the global limit and that of the phase. A constraint check: unlimited.
  /// `existing_replicas`: of the whole cluster.
  Allowance Allowed(const Settings& settings, Movement::Phase phase, int64_t existing_replicas, double now) const;

  /// Whether a partition has moved so often in balancing that it may not at the moment.
  bool PartitionThrottled(const Settings& settings, std::string_view partition, double now) const;
  /// All of these, by name. O(partitions that moved in the last window).
  std::vector<std::string> ThrottledPartitions(const Settings& settings, double now) const;

  base::Json ToJson() const;
  static base::Result<MovementThrottles> Read(const base::Field& of);
  bool operator==(const MovementThrottles& other) const {
    return placement_ == other.placement_ && balancing_ == other.balancing_ && partitions_ == other.partitions_;
  }

 private:
  void DropOldPartitions(double now, double window);

  SlidingCounter placement_, balancing_;
  std::map<std::string, SlidingCounter, std::less<>> partitions_;
  int64_t records_until_cleaning_ = 0;
};

/// From the movements that the state of a cluster tells of.
MovementThrottles ThrottlesOf(const Settings& settings, const Cluster& cluster);

/// Existing replicas: a run moves a share of its group's, limits are shares of the whole cluster's.
struct ReplicaCounts {
  int64_t group = 0, cluster = 0;
};

/// How many existing replicas a run of a phase may move: the share of MaxPercentageToMove (...ForPlacement) rounded up, no more
/// than there are, no more than is allowed. A constraint check: unlimited.
int64_t MovementSlots(const Settings& settings, const MovementThrottles& throttles, Movement::Phase phase,
                      const ReplicaCounts& replicas, double now);

}  // namespace evenkeel::balancing
