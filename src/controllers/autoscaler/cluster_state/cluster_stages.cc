#include "controllers/autoscaler/cluster_state/cluster_stages.h"

#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using providers::Instance;
using providers::NodeGroup;

constexpr base::Duration kQuietStart = std::chrono::minutes(10);

bool Atomic(const NodeGroup& group) { return group.options.zero_or_max_node_scaling.value_or(false); }

/// Registered names by provider id, of one group.
std::map<std::string_view, std::string_view> NamesById(const ClusterView& view, const std::string& group) {
  std::map<std::string_view, std::string_view> names;
  for (const NodeFacts& node : *view.nodes) {
    if (node.present && node.group == group && !node.provider_id.empty()) names.emplace(node.provider_id, node.name);
  }
  return names;
}

/// All instances of the group that are not on their way out already.
std::vector<std::string> AllInstances(const NodeGroup& group) {
  std::vector<std::string> ids;
  for (const Instance& instance : group.instances) {
    if (instance.state != Instance::State::kDeleting) ids.push_back(instance.id);
  }
  std::ranges::sort(ids);
  return ids;
}

/// What a deletion of instances is about to become.
struct InstanceRemoval {
  std::vector<std::string> ids;
  bool force = false;
  std::string what;  ///< "unregistered nodes"
};

/// Cuts the removal to what the group's minimum leaves; an atomic group goes whole or not at all. False, with a note: nothing
/// is left.
bool FitToMinimum(const NodeGroup& group, InstanceRemoval& removal, StageResult& result) {
  const int64_t room = group.target_size - group.min_size;
  const std::string who = "node group " + group.id + ": ";
  if (!removal.force && room <= 0) {
    result.notes.push_back(who + "at its minimum size of " + std::to_string(group.min_size) + ", so " +
                           std::to_string(removal.ids.size()) + " " + removal.what + " stay");
    return false;
  }
  if (Atomic(group)) {
    // What is missing of it is bought later; what is there goes on.
    if (group.options.allow_non_atomic_scale_up_to_max.value_or(false) && removal.ids.size() < group.instances.size()) {
      result.notes.push_back(who + "some of it is there, so it goes on without the rest for now");
      return false;
    }
    removal.ids = AllInstances(group);
    if (!removal.force && static_cast<int64_t>(removal.ids.size()) > room) {
      result.notes.push_back(who + "is removed whole or not at all, and its minimum size is " + std::to_string(group.min_size));
      return false;
    }
  } else if (!removal.force && static_cast<int64_t>(removal.ids.size()) > room) {
    result.notes.push_back(who + "only " + std::to_string(room) + " of " + std::to_string(removal.ids.size()) + " " +
                           removal.what + " are removed, its minimum size is " + std::to_string(group.min_size));
    removal.ids.resize(static_cast<size_t>(room));
  }
  return !removal.ids.empty();
}

/// Marks the instances as going, lowers the target and says so.
GroupChange Delete(const ClusterView& view, NodeGroup& group, const InstanceRemoval& removal) {
  GroupChange change;
  change.kind = GroupChange::Kind::kDeleteNodes;
  change.group = group.id;
  change.force = removal.force;
  const auto count = static_cast<int64_t>(removal.ids.size());
  change.delta = -std::min(count, group.target_size);
  group.target_size += change.delta;
  const auto names = Atomic(group) ? NamesById(view, group.id) : std::map<std::string_view, std::string_view>{};
  const std::set<std::string_view> going(removal.ids.begin(), removal.ids.end());
  for (const std::string& id : removal.ids) {
    const auto name = names.find(id);
    change.nodes.push_back({name == names.end() ? "" : std::string(name->second), id, {}});
  }
  for (Instance& instance : group.instances) {
    if (going.contains(instance.id)) instance.state = Instance::State::kDeleting;
  }
  return change;
}

std::string Quantity(int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace

std::vector<NodeCleanup> CleanUpLeftovers(const ClusterView& view, const Options& options) {
  std::set<std::string_view> going;
  for (const NodeGroup& group : view.groups.groups) {
    for (const Instance& instance : group.instances) {
      if (instance.state == Instance::State::kDeleting) going.insert(instance.id);
    }
  }
  std::vector<NodeCleanup> cleanups;
  for (scheduling::NodeId id = 0; id < view.nodes->size(); ++id) {
    const NodeFacts& node = (*view.nodes)[id];
    if (!node.present || going.contains(node.provider_id)) continue;
    NodeCleanup cleanup{node.name, node.to_be_deleted && !node.group.empty(), false, false};
    if (cleanup.to_be_deleted && options.cordon_node_before_terminating) {
      cleanup.uncordon = view.snapshot != nullptr && view.snapshot->Present(id) && view.snapshot->Unschedulable(id);
    }
    cleanup.deletion_candidate = options.max_bulk_soft_taint_count == 0 && node.deletion_candidate &&
                                 *node.deletion_candidate + options.node_deletion_candidate_ttl < view.now;
    if (cleanup.to_be_deleted || cleanup.deletion_candidate) cleanups.push_back(std::move(cleanup));
  }
  std::ranges::sort(cleanups, {}, &NodeCleanup::node);
  return cleanups;
}

StageResult CheckActionable(const ClusterView& view, const Options& options, base::Duration uptime) {
  StageResult result;
  if (options.scale_up_from_zero) return result;
  bool any = false;
  for (scheduling::NodeId id = 0; id < view.nodes->size(); ++id) {
    const NodeFacts& node = (*view.nodes)[id];
    if (!node.present) continue;
    any = true;
    const bool cordoned = view.snapshot != nullptr && view.snapshot->Present(id) && view.snapshot->Unschedulable(id);
    if (node.ready && !cordoned) return result;
  }
  result.stop = result.clear_unneeded = true;
  result.why = any ? "Cluster has no ready nodes." : "Cluster has no nodes.";
  if (!any || uptime > kQuietStart) result.events.push_back({true, events::kClusterUnhealthy.reason, result.why});
  return result;
}

StageResult UpdateClusterState(ClusterView& view, const Options&, ClusterState& state) { return state.Update(view); }

StageResult RemoveLongUnregistered(ClusterView& view, const Options& options, ClusterState& state) {
  struct Old {
    base::Time since;
    std::string id;
    auto operator<=>(const Old&) const = default;
  };
  std::map<std::string, std::vector<Old>> old_by_group;
  for (const auto& [id, instance] : state.unregistered()) {
    const GroupState* group = state.Find(instance.group);
    if (group != nullptr && instance.since + group->provision_time < view.now) {
      old_by_group[instance.group].push_back({instance.since, id});
    }
  }
  StageResult result;
  for (auto& [id, old] : old_by_group) {
    NodeGroup* group = view.groups.Find(id);
    if (group == nullptr || !WhyKept(*group).empty()) continue;
    std::ranges::sort(old);
    InstanceRemoval removal{{}, options.force_delete_unregistered_nodes, "unregistered nodes"};
    for (const Old& instance : old) removal.ids.push_back(instance.id);
    if (!FitToMinimum(*group, removal, result)) continue;
    GroupChange change = Delete(view, *group, removal);
    change.why = Quantity(static_cast<int64_t>(old.size()), "instance has", "instances have") + " not become nodes within " +
                 base::FormatDuration(state.Find(id)->provision_time);
    int64_t removed = 0;
    for (const std::string& instance : removal.ids) {
      change.succeeded.push_back({false, events::kDeleteUnregistered.reason, "Removed unregistered node " + instance});
      change.failed.push_back({true, events::kDeleteUnregisteredFailed.reason, "Failed to remove node " + instance + ": "});
      removed += std::ranges::count(old, instance, &Old::id);
    }
    state.NoteRemoved(id, removed);
    result.changes.push_back(std::move(change));
  }
  return result;
}

StageResult CheckClusterHealth(const ClusterView&, const Options&, const ClusterState& state) {
  StageResult result;
  if (state.IsClusterHealthy()) return result;
  result.stop = result.clear_unneeded = true;
  result.why = std::to_string(state.total().unready) + " of " + Quantity(state.total().registered, "node is", "nodes are") +
               " not ready";
  result.events.push_back({true, events::kClusterUnhealthy.reason, "Cluster is unhealthy"});
  return result;
}

StageResult DeleteFailedCreations(ClusterView& view, const Options& options, ClusterState& state) {
  StageResult result;
  for (NodeGroup& group : view.groups.groups) {
    if (!WhyKept(group).empty()) continue;
    InstanceRemoval removal{{}, options.force_delete_failed_nodes, "nodes that could not be created"};
    std::set<std::string> codes;
    std::map<std::string, int64_t> failures;
    for (const Instance& instance : group.instances) {
      if (instance.state != Instance::State::kCreating || !instance.error) continue;
      removal.ids.push_back(instance.id);
      ++failures[instance.error->code];
      codes.insert(std::string(Name(instance.error->error_class)) + "." + instance.error->code);
    }
    if (removal.ids.empty()) continue;
    const auto failed = static_cast<int64_t>(removal.ids.size());
    std::ranges::sort(removal.ids);
    if (!FitToMinimum(group, removal, result)) continue;
    GroupChange change = Delete(view, group, removal);
    change.failed_creations = std::move(failures);
    change.why = Quantity(failed, "instance", "instances") + " could not be created:";
    for (const std::string& code : codes) change.why += " " + code;
    result.changes.push_back(std::move(change));
  }
  if (result.changes.empty()) return result;
  state.Recalculate(view);
  if (options.compat == Compat::k1_26) {
    result.stop = true;
    result.why = "nodes that could not be created are being deleted";
  }
  return result;
}

StageResult FixNodeGroupSize(ClusterView& view, const Options&, ClusterState& state) {
  StageResult result;
  for (const auto& [id, size] : state.incorrect_sizes()) {
    NodeGroup* group = view.groups.Find(id);
    const GroupState* known = state.Find(id);
    if (group == nullptr || known == nullptr || !group->set_aside.empty() || size.current >= size.expected) continue;
    if (size.first_observed + known->provision_time >= view.now) continue;
    // Instances that have no node yet are there, too: a provider refuses a target that would delete some.
    const Readiness& readiness = known->readiness;
    const int64_t without_node = readiness.unregistered + readiness.long_unregistered - known->removed;
    const int64_t target = std::max(group->min_size, size.current + std::max<int64_t>(0, without_node));
    if (target >= group->target_size) continue;
    GroupChange change;
    change.kind = GroupChange::Kind::kDecreaseTarget;
    change.group = id;
    change.delta = target - group->target_size;
    change.why = std::to_string(size.expected - size.current) + " of " + std::to_string(size.expected) +
                 " nodes have been missing since " + base::FormatTime(size.first_observed);
    group->target_size = target;
    result.changes.push_back(std::move(change));
  }
  if (!result.changes.empty()) {
    result.stop = true;
    result.why = "sizes of node groups have been corrected";
  }
  return result;
}

ClusterState::Upcoming FindUpcomingNodes(const ClusterView& view, const Options&, const ClusterState& state) {
  return state.UpcomingNodes(view);
}

StageResult EnforceMinSize(ClusterView& view, const Options& options, ClusterState& state, const SizeAllowance& allowance) {
  StageResult result;
  if (!options.enforce_node_group_min_size) return result;
  for (NodeGroup& group : view.groups.groups) {
    int64_t delta = std::min(group.min_size, group.max_size) - group.target_size;
    if (!group.exists || delta <= 0 || !group.set_aside.empty()) continue;
    if (!state.IsSafeToScaleUp(group.id)) {
      result.notes.push_back("node group " + group.id + ": below its minimum size, but " +
                             (state.IsBackedOff(group.id) ? "backed off" : "not healthy"));
      continue;
    }
    if (options.max_nodes_total > 0) delta = std::min(delta, options.max_nodes_total - group.target_size);
    if (allowance && delta > 0) delta = std::min(delta, allowance(group, delta));
    if (delta <= 0) {
      result.notes.push_back("node group " + group.id + ": below its minimum size, but the limits of the cluster are reached");
      continue;
    }
    GroupChange change;
    change.kind = GroupChange::Kind::kIncreaseSize;
    change.group = group.id;
    change.delta = delta;
    change.why = "below its minimum size of " + std::to_string(group.min_size);
    AddScaleUpEvents(change, group.target_size, group.max_size);
    group.target_size += delta;
    state.RegisterScaleUp(group.id, delta, view.now.Read());
    result.changes.push_back(std::move(change));
  }
  if (!result.changes.empty()) state.Recalculate(view);
  return result;
}

void AddScaleUpEvents(GroupChange& change, int64_t from, int64_t max) {
  const std::string to = std::to_string(from + change.delta), was = std::to_string(from), limit = std::to_string(max);
  change.before.push_back(
      {false, events::kScaledUpGroup.reason,
       "Scale-up: setting group " + change.group + " size to " + to + " instead of " + was + " (max: " + limit + ")"});
  change.succeeded.push_back(
      {false, events::kScaledUpGroup.reason,
       "Scale-up: group " + change.group + " size set to " + to + " instead of " + was + " (max: " + limit + ")"});
  change.failed.push_back({true, events::kFailedToScaleUpGroup.reason, "Scale-up failed for group " + change.group + ": "});
}

}  // namespace evenkeel::controllers::autoscaler
