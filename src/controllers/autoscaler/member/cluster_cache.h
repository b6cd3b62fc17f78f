// What the autoscaler sees of one member: the kinds that its rules ask about, read through the member's feed, and the facts
// that are worked out from them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/runtime/member_feed.h"

namespace evenkeel::controllers::autoscaler {

/// `options`: namespace and expanders. BalancingPlans are read besides.
std::vector<runtime::ReadKind> ReadKinds(const Options& options);

/// Belongs to the strand of the feed.
class ClusterCache final : public scheduling::ClusterListener {
 public:
  struct Handlers {
    std::function<void()> pod_unschedulable;                   ///< a scheduler has just given up on a pod
    std::function<void(const std::string& node)> node_marked;  ///< a node with the taint ToBeDeleted has been seen
  };

  /// Asks the feed for its kinds; before the feed is started.
  ClusterCache(runtime::MemberFeed& feed, base::Clock& clock, const Options& options, Handlers handlers);

  /// "pods, nodes (connection refused)": what has not been listed yet and why; "" when all has been.
  std::string Missing();

  ClusterObjects& objects() { return objects_; }
  /// A pod that waits for a node, as the API has it; kept only where --expander=grpc needs it. nullopt: there is none.
  std::optional<base::Json> PendingPod(scheduling::PodId pod) const;
  /// "" when there is no such pod (key "namespace/name") or node.
  std::string_view PodUid(const std::string& key) const { return feed_.UidOf(pods_, key); }
  std::string_view NodeUid(const std::string& name) const { return feed_.UidOf(nodes_, name); }

 private:
  void AfterChange(const scheduling::ObjectEvent& event) override;
  void KeepPending(const scheduling::ObjectEvent& event);

  runtime::MemberFeed& feed_;
  base::Clock& clock_;
  Handlers handlers_;
  const std::vector<runtime::ReadKind> kinds_;
  runtime::ReadKind pods_, nodes_;
  ClusterObjects objects_;
  bool keeps_pending_;
  std::unordered_map<std::string, base::Json> pending_;  // by key
};

}  // namespace evenkeel::controllers::autoscaler
