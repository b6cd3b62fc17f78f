// Tells people about findings: in the log once for as long as each holds, and as Events from one replica only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/event_recorder.h"
#include "controllers/distribution/sharding/cluster.h"

namespace evenkeel::controllers::distribution {

/// On one strand.
class FindingReporter {
 public:
  explicit FindingReporter(client::EventRecorder& events) : events_(events) {}

  /// What holds now. All replicas see the same findings, so only one `tells`; whoever takes that part over tells again, since
  /// it cannot know what was told.
  void Report(const std::vector<Finding>& findings, bool tells);
  /// Something that happened once: logged and told by whoever saw it.
  void ReportOnce(const std::vector<Finding>& findings);

 private:
  client::EventRecorder& events_;
  std::set<std::string> logged_;  ///< and still holding
  std::set<std::string> told_;
};

}  // namespace evenkeel::controllers::distribution
