// Containers that are only told about: they start after a while, run until stopped and answer every probe. Works in virtual
// time and draws every duration from the pod's uid, so a run repeats exactly. Annotations of the pod choose another behaviour:
//
//   evenkeel.dev/simulate-start: "5s"                   how long its first start takes (default 0.5 to 2 s)
//   evenkeel.dev/simulate-exit: "code=1,after=30s"      each main container ends by itself, so long after its start
//   evenkeel.dev/simulate-unready: "true"               the pod never becomes ready; may be changed at any time
//
// Without simulate-exit, containers of restart policies Never and OnFailure end with 0 after 1 to 3 s, init containers after
// 0.5 to 1 s.
#pragma once

#include <memory>

#include "base/random.h"
#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::embedded::nodeagent {

struct SimulatedExit {
  int code = 0;
  base::Duration after{};
};
/// Reads "code=1,after=30s"; both parts may be left out (0, at once). kInvalid says what is wrong.
base::Result<SimulatedExit> ParseSimulatedExit(std::string_view text);

/// `random` is forked for each container; one runtime serves any number of nodes.
std::unique_ptr<ContainerRuntime> NewSimulatedRuntime(base::Clock& clock, base::Random random);

}  // namespace evenkeel::embedded::nodeagent
