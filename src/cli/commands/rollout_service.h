// What `evenkeel run --rollout` adds to a replica: the hub's rollouts while it leads, and the two webhooks, which every replica
// serves and the leader registers.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "client/client.h"

namespace evenkeel::cli {

struct RolloutRunOptions {
  bool enabled = false;
  bool install = false;  ///< the leader writes definitions and webhook configurations, and keeps them as they are to be
  std::string address = "0.0.0.0";
  int port = 8443;               ///< 0: any free one
  std::string url;               ///< how the hub reaches the webhooks; empty: this replica's host or address, and the port
  std::string certificate_file;  ///< of the server; empty: one is made, for this run
  std::string key_file;
  std::string ca_file;  ///< that signed it; empty: the certificate itself, or the made one's
};

class RolloutService {
 public:
  virtual ~RolloutService() = default;
  /// Gives the Lease up and returns once this is done.
  virtual void Stop() = 0;
  /// Brings the gauges up to date; before they are rendered.
  virtual void PublishMetrics() = 0;
};

/// Serves the webhooks and stands for election. `hub`, `executor` and `metrics` must outlive it. kBadRequest, kUnavailable: a
/// certificate that cannot be used, a port that is taken.
base::Result<std::unique_ptr<RolloutService>> StartRolloutService(const RolloutRunOptions& options, client::Client& hub,
                                                                  base::Executor& executor, const base::Random& random,
                                                                  base::MetricRegistry& metrics, const std::string& ns,
                                                                  const std::string& host);

}  // namespace evenkeel::cli
