// What must become of instances, whatever their cloud says of them: autoscaler_checkers.h for single instances.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/checkers/autoscaler_checkers.h"
#include "sim/world/shared_cloud.h"

namespace evenkeel::sim {

/// "drained": no node that is ready is removed unless it was marked for deletion before, which is how draining it begins,
/// whatever the cloud says of its instance. One that took longer to come than --max-node-provision-time may have been given up.
class DrainedChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "drained"; }

 protected:
  void OnGroup(const GroupChange& change) override;
};

/// "given-back": after the last fault no instance that has failed before it became a node is kept for longer than a bound, but
/// as far as the group's minimum asks for it.
class GivenBackChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "given-back"; }
  void OnHealed() override { healed_ = view().now(); }
  void OnSecond() override;

  /// A member gets its owner, which looks at the cloud.
  base::Duration Bound() const;

 private:
  std::optional<base::Instant> healed_;
  std::set<std::string> told_;
};

/// "own-nodes": where one cloud has the nodes of all members, no autoscaler deletes an instance that is a node of another
/// member, and none changes a group that several members claim. Nodes of a cluster that has been taken out of the fleet do not
/// count: a replica that starts after that knows nothing of it.
class OwnNodesChecker final : public Checker {
 public:
  /// A node that came less than this before may not be known to others.
  static constexpr base::Duration kKnownAfter = std::chrono::seconds(30);

  explicit OwnNodesChecker(const MemberBook* book) : book_(*book) {}
  std::string_view name() const override { return "own-nodes"; }
  void OnCall(const CloudCall& call);

 private:
  const MemberBook& book_;
};

/// Names of these, in the order above.
const std::vector<std::string>& InstanceCheckerNames();

}  // namespace evenkeel::sim
