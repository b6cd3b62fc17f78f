// All that one cluster's autoscaler remembers from loop to loop. What cannot be found out again goes through JSON, so that it
// survives a restart and a hand-over to another replica.
#pragma once

#include "base/json.h"
#include "controllers/autoscaler/cluster_state/cluster_state.h"
#include "controllers/autoscaler/facts/pod_filters.h"
#include "controllers/autoscaler/loop/loop_memory.h"
#include "controllers/autoscaler/loop/status_report.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/autoscaler/scale_down/scale_down.h"

namespace evenkeel::controllers::autoscaler {

struct AutoscalerState {
  explicit AutoscalerState(const Options& options) : cluster(options) {}

  ClusterState cluster;
  ScaleDownState scale_down;
  StatusReporter status;
  PodHints hints;
  uint32_t next_node = 0;   ///< see Turn
  bool cleaned_up = false;  ///< marks of a predecessor are gone
  LoopMemory last_loop;     ///< spares loops that would find nothing new

  /// What the next loop goes by is the same, but for when the last one was.
  bool SameMemory(const AutoscalerState& other) const;

  /// {"version": 1, "cluster", "scaleDown", "status", "nextNode"}; the rest of it is in autoscaler_memory.h.
  base::Json ToJson() const;
  /// kBadRequest names what cannot be read. Parts that are missing begin anew.
  static base::Result<AutoscalerState> FromJson(const base::Json& json, const Options& options);
};

}  // namespace evenkeel::controllers::autoscaler
