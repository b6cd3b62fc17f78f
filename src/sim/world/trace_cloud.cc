#include "sim/world/trace_cloud.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/facts/utilization.h"

namespace evenkeel::sim {
namespace {

namespace cloud = embedded::cloud;
namespace autoscaler = controllers::autoscaler;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int kPodsMax = 110;

Json TemplateOf(const TraceShape& shape) {
  JsonObject labels{{std::string(autoscaler::kNodeGroupLabel), shape.name}};
  JsonObject amounts{{"cpu", fmt::format("{}m", shape.milli_cores)},
                     {"memory", fmt::format("{}Mi", shape.mebibytes)},
                     {"pods", std::to_string(kPodsMax)}};
  if (shape.gpus > 0) {
    amounts[autoscaler::kGpuResources.front()] = std::to_string(shape.gpus * kGpuUnits);
    labels[autoscaler::kNodeGroupGpuLabel] = shape.model;
  }
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Node"},
                    {"metadata", JsonObject{{"name", shape.name}, {"labels", std::move(labels)}}},
                    {"spec", JsonObject{}},
                    {"status", JsonObject{{"capacity", amounts}, {"allocatable", amounts}}}};
}

Json NodeOf(const Json& template_node, const cloud::InstanceRecord& record, base::Time now) {
  Json node(template_node, {});
  const std::string time = base::FormatTime(now);
  JsonObject& meta = node.as_object()["metadata"].as_object();
  meta["name"] = record.node;
  meta["uid"] = record.node;
  meta["creationTimestamp"] = time;
  meta["labels"].as_object()["kubernetes.io/hostname"] = record.node;
  base::Ensure(node, {"spec", "providerID"}) = record.id;
  base::Ensure(node, {"status", "conditions"}) =
      JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", time}}};
  return node;
}

}  // namespace

TraceCloud::TraceCloud(const std::vector<TraceShape>& shapes, const cloud::CloudSettings& settings, base::Random random)
    : random_(random) {
  for (const TraceShape& shape : shapes) {
    Group& group = groups_.emplace_back();
    group.shape = shape;
    group.template_node = TemplateOf(shape);
    group.spec.group = shape.name;
    group.spec.max = shape.nodes;
    group.spec.settings = settings;
  }
}

TraceCloud::Changes TraceCloud::Advance(base::Time now) {
  Changes changes;
  for (Group& group : groups_) {
    if (!group.changed && (!group.due || *group.due > now)) continue;
    group.changed = false;
    const cloud::Progress progress = cloud::Advance(group.spec, group.state, now, random_);
    group.due = progress.due;
    for (const cloud::InstanceRecord& record : progress.gone) {
      group.spec.deleting.erase(record.id);
      const auto joined = joined_.find(record.node);
      if (joined == joined_.end()) continue;
      Count(group, now - joined->second.since, past_);
      joined_.erase(joined);
      changes.gone.push_back(record.node);
    }
    for (const cloud::InstanceRecord& record : group.state.instances) {
      if (record.state != cloud::InstanceRecord::State::kRunning || record.never_registers) continue;
      if (!joined_.try_emplace(record.node, Joined{&group, now}).second) continue;
      ++made_;
      changes.joined.push_back(NodeOf(group.template_node, record, now));
    }
  }
  nodes_max_ = std::max(nodes_max_, joined_.size());
  return changes;
}

std::optional<base::Time> TraceCloud::due() const {
  std::optional<base::Time> due;
  for (const Group& group : groups_) {
    if (group.due) due = std::min(due.value_or(*group.due), *group.due);
  }
  return due;
}

providers::NodeGroups TraceCloud::Groups() const {
  providers::NodeGroups all;
  all.gpu_label = autoscaler::kNodeGroupGpuLabel;
  for (const Group& group : groups_) {
    providers::NodeGroup& made = all.groups.emplace_back();
    made.id = group.shape.name;
    made.max_size = group.spec.max;
    made.target_size = group.spec.target;
    made.template_node = group.template_node;
    for (const cloud::InstanceRecord& record : group.state.instances) {
      made.instances.push_back({record.id, record.state, record.error});
    }
    if (!group.shape.model.empty()) all.gpu_types.push_back(group.shape.model);
  }
  for (const auto& [name, joined] : joined_) all.group_of_node.emplace(name, joined.group->shape.name);
  return all;
}

std::map<std::string, const TraceShape*> TraceCloud::Nodes() const {
  std::map<std::string, const TraceShape*> nodes;
  for (const auto& [name, joined] : joined_) nodes.emplace_hint(nodes.end(), name, &joined.group->shape);
  return nodes;
}

int64_t TraceCloud::wanted() const {
  int64_t wanted = 0;
  for (const Group& group : groups_) wanted += group.spec.target;
  return wanted;
}

TraceCloud::Group* TraceCloud::Find(std::string_view name) {
  const auto found = std::ranges::find(groups_, name, [](const Group& group) { return std::string_view(group.shape.name); });
  return found == groups_.end() ? nullptr : &*found;
}

base::Status TraceCloud::Resize(std::string_view group, int64_t delta) {
  Group* found = Find(group);
  const int64_t target = found == nullptr ? 0 : found->spec.target + delta;
  if (found == nullptr || target < 0 || target > found->spec.max) {
    return base::Fail(base::Code::kInvalid, fmt::format("node group {} cannot have {} nodes", group, target));
  }
  found->spec.target = target;
  found->changed = true;
  return {};
}

base::Status TraceCloud::Delete(std::string_view group, const std::vector<std::string>& ids) {
  EVENKEEL_TRY(Resize(group, -static_cast<int64_t>(ids.size())));
  Find(group)->spec.deleting.insert(ids.begin(), ids.end());
  return {};
}

void TraceCloud::Count(const Group& group, base::Duration time, NodeHours& hours) {
  const double length = std::chrono::duration<double, std::ratio<3600>>(time).count();
  hours.nodes += length;
  hours.cores += length * static_cast<double>(group.shape.milli_cores) / 1000;
  hours.gpus += length * static_cast<double>(group.shape.gpus);
  hours.by_shape[group.shape.name] += length;
}

NodeHours TraceCloud::Hours(base::Time now) const {
  NodeHours hours = past_;
  for (const auto& [name, joined] : joined_) Count(*joined.group, now - joined.since, hours);
  return hours;
}

}  // namespace evenkeel::sim
