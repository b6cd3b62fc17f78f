#include "controllers/autoscaler/cluster_state/cluster_state.h"

#include <unordered_set>

#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using providers::Instance;
using providers::NodeGroup;
using scheduling::NodeId;

constexpr base::Duration kDeletionWait = std::chrono::minutes(5);
constexpr size_t kMessagesMax = 3;
/// How long a call that timed out may still take effect.
constexpr base::Duration kAnswerWait = std::chrono::minutes(1);

enum class NodeClass { kDeleted, kSuspended, kReady, kNotStarted, kUnready };

NodeClass Classify(const NodeFacts& node, Compat compat, base::Duration startup_time, const LoopTime& now) {
  if (node.to_be_deleted) return NodeClass::kDeleted;
  if (node.suspended && compat != Compat::k1_26) return NodeClass::kSuspended;
  if (node.ready) return NodeClass::kReady;
  return node.created + startup_time > now ? NodeClass::kNotStarted : NodeClass::kUnready;
}

void Count(Readiness& readiness, NodeId id, const NodeFacts& node, NodeClass node_class) {
  ++readiness.registered;
  switch (node_class) {
    case NodeClass::kDeleted:
      ++readiness.deleted;
      break;
    case NodeClass::kSuspended:
      ++readiness.suspended;
      break;
    case NodeClass::kReady:
      ++readiness.ready;
      break;
    case NodeClass::kNotStarted:
      readiness.not_started.push_back(id);
      break;
    case NodeClass::kUnready:
      ++readiness.unready;
      if (node.resource_unready) ++readiness.resource_unready;
  }
}

bool FailedToCreate(const Instance& instance) { return instance.state == Instance::State::kCreating && instance.error; }

std::string JoinMessages(const std::set<std::string>& messages) {
  std::string text;
  size_t count = 0;
  for (const std::string& message : messages) {
    if (count == kMessagesMax) return text + ", ...";
    text += (count++ == 0 ? "" : ", ") + message;
  }
  return text;
}

/// How many nodes of the group there are, with or without a Node object: a target below that would delete some.
int64_t Existing(const NodeGroup& group, const Readiness& readiness) {
  const auto stays = [](const Instance& instance) { return instance.state != Instance::State::kDeleting; };
  return std::max<int64_t>(std::ranges::count_if(group.instances, stays), readiness.registered - readiness.deleted);
}

}  // namespace

ClusterState::ClusterState(const Options& options)
    : compat_(options.compat),
      ok_unready_(options.ok_total_unready_count),
      unready_percentage_(options.max_total_unready_percentage),
      provision_time_(options.max_node_provision_time),
      startup_time_(options.max_node_startup_time),
      backoff_({options.initial_node_group_backoff_duration, options.max_node_group_backoff_duration,
                options.node_group_backoff_reset_timeout}) {}

StageResult ClusterState::Update(ClusterView& view) {
  now_ = view.now;
  failures_.clear();
  ReadGroups(view);
  UpdateUnregistered(view);
  UpdateReadiness(view);
  UpdateRanges();
  StageResult result;
  UpdateRequests(view, result);
  HandleCreationErrors(view, result);
  UpdateRanges();
  UpdateIncorrectSizes();
  return result;
}

void ClusterState::Recalculate(const ClusterView& view) {
  for (const NodeGroup& group : view.groups.groups) {
    const auto known = groups_.find(group.id);
    if (known != groups_.end()) known->second.target = group.target_size + known->second.removed;
  }
  UpdateRanges();
}

void ClusterState::AwaitAnswer(NodeGroup& group) {
  const auto found = scale_ups_.find(group.id);
  if (found == scale_ups_.end() || found->second.unanswered == 0 || !group.set_aside.empty()) return;
  ScaleUp& request = found->second;
  if (group.target_size < request.unanswered_target && request.unanswered_until >= now_) {
    group.target_size = request.unanswered_target;
    return;
  }
  const int64_t lost = group.target_size < request.unanswered_target ? request.unanswered : 0;
  request.unanswered = 0;
  if (lost == 0) return;
  RegisterScaleUp(group.id, -lost, now());
  RegisterFailedScaleUp(group.id,
                        {Instance::ErrorClass::kOther, "cloudProviderError",
                         "the provider did not answer when it was asked for more nodes, and its size has not changed since"},
                        now(), lost);
}

void ClusterState::ReadGroups(ClusterView& view) {
  groups_.clear();
  for (NodeGroup& group : view.groups.groups) {
    AwaitAnswer(group);
    GroupState state;
    state.target = group.target_size;
    state.provision_time = group.options.max_node_provision_time.value_or(provision_time_);
    state.startup_time = group.options.max_node_startup_time.value_or(startup_time_);
    groups_.emplace(group.id, std::move(state));
  }
}

void ClusterState::UpdateUnregistered(const ClusterView& view) {
  const bool known = view.groups.revision != 0 && view.nodes_revision != 0;
  if (known && matched_groups_ == view.groups.revision && matched_nodes_ == view.nodes_revision) return;
  matched_groups_ = known ? view.groups.revision : 0;
  matched_nodes_ = view.nodes_revision;
  std::unordered_set<std::string_view> registered;
  const auto has_instances = [](const NodeGroup& group) { return !group.instances.empty(); };
  if (std::ranges::any_of(view.groups.groups, has_instances)) {
    registered.reserve(view.nodes->size());
    for (const NodeFacts& node : *view.nodes) {
      if (node.present) registered.insert(node.provider_id);
    }
  }
  std::map<std::string, UnregisteredInstance, std::less<>> next;
  for (const NodeGroup& group : view.groups.groups) {
    for (const Instance& instance : group.instances) {
      if (instance.state == Instance::State::kDeleting || instance.error || registered.contains(instance.id)) continue;
      const auto before = unregistered_.find(instance.id);
      next[instance.id] = {group.id, before == unregistered_.end() ? now() : before->second.since};
    }
  }
  unregistered_ = std::move(next);
}

void ClusterState::CountNodes(const ClusterView& view) {
  const LoopTime now = now_.Part();
  counted_ = {};
  struct Group {
    base::Duration startup_time{};
    Readiness readiness;
  };
  std::unordered_map<base::SharedText, Group, base::SharedText::Hash> by_id;
  for (const auto& [id, state] : groups_) by_id[id].startup_time = state.startup_time;
  for (NodeId id = 0; id < view.nodes->size(); ++id) {
    const NodeFacts& node = (*view.nodes)[id];
    if (!node.present) continue;
    const auto found = node.group.empty() ? by_id.end() : by_id.find(node.group);
    const bool grouped = found != by_id.end();
    const NodeClass node_class = Classify(node, compat_, grouped ? found->second.startup_time : startup_time_, now);
    Count(counted_.total, id, node, node_class);
    if (grouped) Count(found->second.readiness, id, node, node_class);
  }
  for (auto& [id, group] : by_id) {
    if (group.readiness.registered > 0) counted_.by_group.emplace(id.text(), std::move(group.readiness));
  }
  counted_.nodes = view.nodes_revision;
  counted_.groups = view.groups.revision;
  counted_.hold = Holding(now);
  now_.Join(now.HoldsUntil());
}

void ClusterState::UpdateReadiness(const ClusterView& view) {
  const bool known = view.nodes_revision != 0 && view.groups.revision != 0;
  const bool same = known && counted_.nodes == view.nodes_revision && counted_.groups == view.groups.revision;
  if (!same || !counted_.hold.At(now_)) CountNodes(view);
  total_ = counted_.total;
  for (const auto& [id, readiness] : counted_.by_group) {
    GroupState& group = groups_.find(id)->second;
    group.readiness = readiness;
    group.has_readiness = true;
  }
  for (const auto& [id, instance] : unregistered_) {
    GroupState& group = groups_.find(instance.group)->second;
    group.has_readiness = true;
    const bool is_long = instance.since + group.provision_time < now_;
    for (Readiness* readiness : {&group.readiness, &total_}) {
      ++(is_long ? readiness->long_unregistered : readiness->unregistered);
    }
  }
}

void ClusterState::UpdateRanges() {
  for (auto& [id, group] : groups_) {
    group.range = {group.target - group.readiness.long_unregistered, group.target, group.target};
    if (const auto request = scale_ups_.find(id); request != scale_ups_.end()) group.range.min -= request->second.increase;
  }
  for (const ScaleDown& request : scale_downs_) {
    if (const auto group = groups_.find(request.group); group != groups_.end()) ++group->second.range.max;
  }
}

bool ClusterState::HasUpcoming(std::string_view id) const {
  const GroupState* group = Find(id);
  if (group == nullptr) return false;
  const auto not_started = static_cast<int64_t>(group->readiness.not_started.size());
  return group->range.target > group->readiness.registered - not_started;
}

void ClusterState::UpdateRequests(ClusterView& view, StageResult& result) {
  backoff_.RemoveStale(now_);
  for (auto next = scale_ups_.begin(); next != scale_ups_.end();) {
    const auto request = next++;
    const NodeGroup* group = view.groups.Find(request->first);
    if (group != nullptr && !group->set_aside.empty()) continue;
    if (!HasUpcoming(request->first)) {
      if (compat_ == Compat::k1_26) backoff_.Remove(request->first);
      scale_ups_.erase(request);
    } else if (request->second.expected < now_) {
      TimeOut(view, request->first, request->second, result);
      scale_ups_.erase(request);
    }
  }
  std::erase_if(scale_downs_, [this](const ScaleDown& request) { return request.expected <= now_; });
}

void ClusterState::TimeOut(ClusterView& view, const std::string& id, const ScaleUp& request, StageResult& result) {
  const std::string waited = base::FormatDuration(now() - request.at);
  result.events.push_back(
      {true, events::kScaleUpTimedOut.reason, "Nodes added to group " + id + " failed to register within " + waited});
  RegisterFailedScaleUp(
      id, {Instance::ErrorClass::kOther, "timeout", "Scale-up timed out for node group " + id + " after " + waited}, now(),
      request.increase);
  NodeGroup* group = view.groups.Find(id);
  if (compat_ == Compat::k1_26 || group == nullptr) return;
  const int64_t floor = std::max(group->min_size, Existing(*group, groups_.at(id).readiness));
  const int64_t revert = std::min(request.increase, group->target_size - floor);
  const std::string failed =
      "Failed to revert scale-up of group " + id + " by " + std::to_string(request.increase) + " nodes: ";
  if (revert <= 0) {
    result.events.push_back(
        {true, events::kFailedToRevertScaleUp.reason, failed + "the nodes exist, or the group is at its minimum size"});
    return;
  }
  // Ranges and sizes of this loop still count with the old target: it was in force while the nodes were waited for.
  group->target_size -= revert;
  GroupChange change;
  change.kind = GroupChange::Kind::kDecreaseTarget;
  change.group = id;
  change.delta = -revert;
  change.why = "nodes asked for " + waited + " ago have not come";
  change.failed = {{true, events::kFailedToRevertScaleUp.reason, failed}};
  result.changes.push_back(std::move(change));
}

void ClusterState::HandleCreationErrors(const ClusterView& view, StageResult& result) {
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> failed_creations;
  for (const NodeGroup& group : view.groups.groups) {
    struct Kind {
      int64_t unseen = 0;
      std::set<std::string> messages;
    };
    std::map<std::pair<Instance::ErrorClass, std::string>, Kind> kinds;
    const auto& seen = failed_creations_[group.id];
    for (const Instance& instance : group.instances) {
      if (!FailedToCreate(instance)) continue;
      Kind& kind = kinds[{instance.error->error_class, instance.error->code}];
      kind.messages.insert(instance.error->message);
      kind.unseen += seen.contains(instance.id) ? 0 : 1;
      failed_creations[group.id].insert(instance.id);
    }
    for (const auto& [code, kind] : kinds) {
      if (kind.unseen == 0 || !IsScalingUp(group.id)) continue;
      const std::string messages = JoinMessages(kind.messages);
      result.events.push_back({true, events::kScaleUpFailed.reason,
                               "Failed adding " + std::to_string(kind.unseen) + " nodes to group " + group.id + " due to " +
                                   std::string(Name(code.first)) + "." + code.second + "; source errors: " + messages});
      RegisterScaleUp(group.id, -kind.unseen, now());
      RegisterFailedScaleUp(group.id, {code.first, code.second, messages}, now(), kind.unseen);
    }
  }
  failed_creations_ = std::move(failed_creations);
}

void ClusterState::UpdateIncorrectSizes() {
  std::map<std::string, IncorrectSize, std::less<>> next;
  for (const auto& [id, group] : groups_) {
    if (!group.has_readiness) continue;
    const Readiness& readiness = group.readiness;
    const int64_t expected = group.range.target, without_node = readiness.unregistered + readiness.long_unregistered;
    if (readiness.registered <= expected && readiness.registered >= expected - without_node) continue;
    IncorrectSize size{readiness.registered, expected, now()};
    const auto known = incorrect_.find(id);
    if (known != incorrect_.end() && known->second.current == size.current && known->second.expected == size.expected) {
      size = known->second;
    }
    next.emplace(id, size);
  }
  incorrect_ = std::move(next);
}

void ClusterState::RegisterScaleUp(std::string_view group, int64_t delta, base::Time now) {
  ++revision_;
  auto found = scale_ups_.find(group);
  if (found == scale_ups_.end()) {
    if (delta <= 0) return;
    found = scale_ups_.emplace(std::string(group), ScaleUp{}).first;
  }
  ScaleUp& request = found->second;
  request.increase += delta;
  if (request.increase <= 0) {
    scale_ups_.erase(found);
  } else if (delta > 0) {
    const GroupState* known = Find(group);
    request.at = now;
    request.expected = now + (known == nullptr ? provision_time_ : known->provision_time);
  }
}

void ClusterState::RegisterUnanswered(std::string_view group, int64_t target, int64_t delta, base::Time now) {
  ++revision_;
  const auto found = scale_ups_.find(group);
  if (found == scale_ups_.end()) return;
  ScaleUp& request = found->second;
  request.unanswered += delta;
  request.unanswered_target = target;
  request.unanswered_until = std::min(now + kAnswerWait, request.expected);
}

void ClusterState::RegisterScaleDown(std::string_view group, std::string_view node, base::Time now) {
  ++revision_;
  scale_downs_.push_back({std::string(group), std::string(node), now, now + kDeletionWait});
}

void ClusterState::RegisterFailedScaleUp(std::string_view group, ErrorInfo error, base::Time now, int64_t delta) {
  ++revision_;
  failures_.push_back({std::string(group), error, delta, now});
  backoff_.Fail(group, std::move(error), now);
}

void ClusterState::NoteRemoved(std::string_view group, int64_t instances) {
  ++revision_;
  if (const auto found = groups_.find(group); found != groups_.end()) found->second.removed += instances;
}

bool ClusterState::SameMemory(const ClusterState& other) const {
  return unregistered_ == other.unregistered_ && scale_ups_ == other.scale_ups_ && scale_downs_ == other.scale_downs_ &&
         incorrect_ == other.incorrect_ && failed_creations_ == other.failed_creations_ &&
         backoff_.entries() == other.backoff_.entries();
}

bool ClusterState::IsClusterHealthy() const {
  return total_.unready <= ok_unready_ ||
         static_cast<double>(total_.unready) <= unready_percentage_ / 100 * static_cast<double>(total_.registered);
}

bool ClusterState::IsGroupHealthy(std::string_view id) const {
  const GroupState* group = Find(id);
  if (group == nullptr) return false;
  const AcceptableRange& range = group->range;
  if (!group->has_readiness) return range.target == 0 || (range.min == 0 && range.target > 0);
  const Readiness& readiness = group->readiness;
  const int64_t unjustified = range.min - readiness.ready - readiness.suspended;
  const auto started = static_cast<double>(readiness.ready + readiness.unready + readiness.suspended) +
                       static_cast<double>(readiness.not_started.size());
  return unjustified <= ok_unready_ || static_cast<double>(unjustified) <= unready_percentage_ / 100 * started;
}

bool ClusterState::IsScalingUp(std::string_view group) const { return HasUpcoming(group) && scale_ups_.contains(group); }

ClusterState::Upcoming ClusterState::UpcomingNodes(const ClusterView& view) const {
  Upcoming upcoming;
  for (const auto& [id, group] : groups_) {
    if (compat_ != Compat::k1_26 && (!scale_ups_.contains(id) || IsBackedOff(id))) continue;
    const Readiness& readiness = group.readiness;
    const int64_t arrived = readiness.ready + readiness.unready + readiness.suspended + readiness.long_unregistered;
    if (group.range.target <= arrived) continue;
    upcoming.nodes[id] = group.range.target - arrived;
    if (readiness.not_started.empty()) continue;
    std::vector<NodeId>& nodes = upcoming.registered[id];
    nodes = readiness.not_started;
    std::ranges::sort(nodes, {}, [&view](NodeId node) -> const std::string& { return (*view.nodes)[node].name; });
  }
  return upcoming;
}

const GroupState* ClusterState::Find(std::string_view group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace evenkeel::controllers::autoscaler
