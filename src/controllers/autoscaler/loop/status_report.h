// What people and dashboards read in the ConfigMap cluster-autoscaler-status: YAML with upstream's fields in upstream's order,
// or with 1.26's rules the text that it wrote then.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/clusterstate/api/types.go
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/autoscaler/cluster_state/cluster_state.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr std::string_view kLastUpdatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated";

/// "2024-12-15 01:13:04.5 +0000 UTC": how upstream writes the time of the whole report and of the annotation.
std::string FormatStatusTime(base::Time time);
/// At most `bytes` long; longer text ends in "<truncated>". Never cuts a UTF-8 character in two.
std::string Truncate(std::string_view text, size_t bytes);

struct StatusReport {
  struct Counts {
    int64_t total = 0, ready = 0, not_started = 0, suspended = 0, deleted = 0, unready = 0, resource_unready = 0;
    int64_t long_unregistered = 0, unregistered = 0;
  };
  struct Condition {
    std::string status;
    base::Time probed{}, changed{};  ///< when it was looked at; since when it has this status
  };
  struct Health : Condition {
    Counts counts;
    int64_t target = 0, min = 0, max = 0;  ///< groups only
  };
  struct ScaleUp : Condition {
    std::string error_code, error_message;  ///< with status Backoff
  };
  struct ScaleDown : Condition {
    int64_t candidates = 0;
  };
  /// What is left alone, and since when.
  struct Notice : LeftAlone {
    base::Time changed{};
  };
  struct Group {
    std::string name;
    Health health;
    ScaleUp scale_up;
    ScaleDown scale_down;
  };

  base::Time time{};
  std::string autoscaler_status = "Running";
  std::string message;
  bool running = true;  ///< false: there is nothing to tell about the cluster yet
  Health health;
  ScaleUp scale_up;
  ScaleDown scale_down;
  std::vector<Group> groups;    ///< by name
  std::vector<Notice> notices;  ///< our own; after all that is upstream's

  std::string ToYaml() const;
  /// 1.26's.
  std::string ToText() const;
  std::string Body(Compat compat) const { return compat == Compat::k1_26 ? ToText() : ToYaml(); }
  /// The same within so many bytes, where all does not fit: groups to which nothing happens are left out first, and `message`
  /// says how many are.
  std::string Body(Compat compat, size_t bytes) const;
};

/// What scale-down has found.
struct ScaleDownCandidates {
  std::map<std::string, int64_t, std::less<>> by_group;
  base::Time at{};
};

/// Makes reports and remembers since when each condition has been as it is.
class StatusReporter {
 public:
  StatusReport Report(const ClusterView& view, const ClusterState& state, const ScaleDownCandidates& candidates,
                      std::span<const LeftAlone> left_alone = {});
  /// Before the first loop, and while a loop does not get as far as the state of the cluster.
  StatusReport Initializing(std::string message, std::span<const LeftAlone> left_alone, base::Time now) const;

  /// {"CONDITION": {"status", "since"}}
  bool operator==(const StatusReporter&) const = default;

  base::Json ToJson() const;
  static base::Result<StatusReporter> FromJson(const base::Json& json);

 private:
  struct Transition {
    std::string status;
    base::Time since{};
    bool operator==(const Transition&) const = default;
  };

  StatusReport::Condition Note(const std::string& key, std::string status, base::Time probed);
  StatusReport::Group ReportGroup(const providers::NodeGroup& group, const ClusterState& state,
                                  const ScaleDownCandidates& candidates, const LoopTime& now);

  std::map<std::string, Transition, std::less<>> transitions_, next_;
};

}  // namespace evenkeel::controllers::autoscaler
