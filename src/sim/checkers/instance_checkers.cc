#include "sim/checkers/instance_checkers.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::sim {
namespace {

using base::Duration;
using namespace std::chrono_literals;

/// What a cloud that does not answer, and back-off from it, may add.
constexpr Duration kCloudSlack = 2min;

}  // namespace

const std::vector<std::string>& InstanceCheckerNames() {
  static const std::vector<std::string> names = {"drained", "given-back", "own-nodes"};
  return names;
}

void DrainedChecker::OnGroup(const GroupChange& change) {
  const MemberBook::Member& member = book_.Of(change.member);
  for (const std::string& name : change.removed) {
    const MemberBook::Node& node = member.nodes.at(name);
    if (!node.ready || node.leaving || node.took >= options_.max_node_provision_time) continue;
    Violated(fmt::format("{} removed node {} of {}, which is ready, without draining it", change.by, name, change.member));
  }
}

Duration GivenBackChecker::Bound() const {
  return 2 * (view().lease_duration() + view().lease_margin()) + options_.scan_interval + kCloudSlack;
}

void GivenBackChecker::OnSecond() {
  if (!healed_) return;
  for (const auto& [api, member] : book_.all()) {
    if (!view().Registered().contains(api)) continue;
    for (const auto& [name, group] : member.groups) {
      if (name == kClaimedGroup || group.target <= group.min) continue;
      for (const auto& [id, since] : group.failed) {
        const Duration kept = view().now() - std::max(since, *healed_);
        if (kept <= Bound() || !told_.insert(api + " " + id).second) continue;
        Violated(fmt::format("instance {} of {} has failed and is still there after {} without any fault", id, api,
                             base::FormatDuration(kept)));
      }
    }
  }
}

void OwnNodesChecker::OnCall(const CloudCall& call) {
  if (call.group == kClaimedGroup) {
    Violated(fmt::format("the autoscaler of {} changed group {}, which other members claim, too", call.asker, call.group));
  }
  for (const auto& [api, member] : book_.all()) {
    if (api == call.asker || !view().Registered().contains(api)) continue;
    for (const auto& [name, node] : member.nodes) {
      if (std::ranges::find(call.ids, node.provider_id) == call.ids.end() || view().now() - node.since < kKnownAfter) continue;
      Violated(fmt::format("the autoscaler of {} deleted instance {}, which is node {} of {}", call.asker, node.provider_id,
                           name, api));
    }
  }
}

}  // namespace evenkeel::sim
