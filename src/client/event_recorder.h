// Writes Kubernetes Events about objects, and keeps a fleet's event list readable: the same event again raises its count
// instead of making a new object, many similar ones are folded into one, and a burst is limited per source object (client-go:
// 25, then one per 5 minutes).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"

namespace evenkeel::client {

class EventRecorder {
 public:
  /// `component` and `host` become source.component and source.host (reportingComponent, reportingInstance). Events are written
  /// from `strand`; failures are logged and dropped, never returned: an event must not hold up the work it tells of.
  EventRecorder(Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                std::string component, std::string host);
  /// Drops the events that wait and lets the one being written finish: the client is not used after that.
  ~EventRecorder();

  /// `about` needs apiVersion, kind and metadata (name, namespace, uid). Cluster-scoped objects' events go to namespace
  /// "default". Thread-safe, does not block; at most 1000 events wait to be written, what comes on top is dropped and counted.
  void Normal(const Json& about, std::string_view reason, std::string_view message);
  void Warning(const Json& about, std::string_view reason, std::string_view message);

  /// Events dropped because too many were waiting. Those held back by the limit per object are not counted: that is its
  /// purpose.
  uint64_t dropped() const;

 private:
  struct State;
  void Record(const Json& about, std::string_view type, std::string_view reason, std::string_view message);
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::client
