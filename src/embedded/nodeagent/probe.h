// Probes as pure values: what a container asks for, and when a run of successes or failures counts.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::embedded::nodeagent {

struct ProbeSpec {
  ProbeAction action;
  base::Duration initial_delay{}, period{}, timeout{};
  int success_threshold = 1, failure_threshold = 3;
  std::optional<int64_t> grace_seconds;  ///< of the termination after a failed liveness or startup probe
};

/// Decodes containers[].livenessProbe and its siblings with the API's defaults. `host` is where http and tcp probes go unless
/// they name one; named ports are looked up in `container`. An error names what cannot be probed (grpc, an unknown port).
base::Result<ProbeSpec> DecodeProbe(const base::Json& probe, const base::Json& container, const std::string& host);
/// The action of a probe or of a lifecycle hook (exec, httpGet, tcpSocket).
base::Result<ProbeAction> DecodeAction(const base::Json& handler, const base::Json& container, const std::string& host);

/// Counts results against the thresholds.
class ProbeTracker {
 public:
  ProbeTracker(int success_threshold, int failure_threshold) : success_(success_threshold), failure_(failure_threshold) {}
  /// True or false once a threshold has been reached, and on every further result of the same kind; nullopt below it.
  std::optional<bool> Record(bool success);

 private:
  int success_, failure_;
  int run_ = 0;
  bool last_ = false;
};

}  // namespace evenkeel::embedded::nodeagent
