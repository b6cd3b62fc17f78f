// Reads the logs of the pods of one cluster's nodes for its API server. The agents tell it what there is; requests come from
// the API server's threads, so it keeps its own copy and never waits for an agent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "embedded/apiserver/requests/log_source.h"

namespace evenkeel::embedded::nodeagent {

/// What the logs need to know about a pod.
struct PodLogEntry {
  struct Container {
    std::string name;
    std::string waiting_reason;       ///< empty once it has begun
    std::string path, previous_path;  ///< empty: nothing was ever written there
    bool running = false;
    bool has_previous = false;
  };
  std::string uid;
  bool simulated = true;
  std::vector<Container> containers;
};

/// Thread-safe. Must outlive the agents and the API that use it. Followers are polled every 250 ms on `strand`.
class PodLogs final : public apiserver::LogSource {
 public:
  explicit PodLogs(std::shared_ptr<base::Strand> strand);
  ~PodLogs() override;

  void Record(const std::string& pod_key, PodLogEntry entry);
  /// Forgets the pod, unless another one of its name has taken its place.
  void Forget(const std::string& pod_key, const std::string& uid);

  base::Result<std::string> ReadLog(const apiserver::LogRequest& request) override;
  base::Result<std::unique_ptr<apiserver::LogFollower>> FollowLog(
      const apiserver::LogRequest& request, std::function<void(std::string_view chunk, bool end)> sink) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::embedded::nodeagent
