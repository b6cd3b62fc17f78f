#include "dashboard/member_rows.h"

#include <algorithm>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/balancer/member_objects.h"
#include "scheduling/well_known.h"

namespace evenkeel::dashboard {
namespace {

using base::Json;

std::string LabelOf(const kube::ObjectMeta& meta, std::string_view key) {
  const auto found = meta.labels.find(std::string(key));
  return found == meta.labels.end() ? "" : found->second;
}

}  // namespace

RowMeta RowMeta::Decode(const Json& object) {
  return {std::string(kube::UidOf(object)), std::string(kube::ResourceVersionOf(object))};
}

NodeRow NodeRow::Decode(const Json& object) {
  const kube::Node node = kube::Node::Decode(object);
  NodeRow row;
  row.meta = RowMeta::Decode(object);
  row.name = node.meta.name;
  row.group = LabelOf(node.meta, controllers::autoscaler::kNodeGroupLabel);
  row.type = LabelOf(node.meta, "node.kubernetes.io/instance-type");
  row.zone = LabelOf(node.meta, "topology.kubernetes.io/zone");
  row.allocatable = node.allocatable;
  row.created = node.meta.creation_time;
  row.since = node.ready_since == base::Time{} ? node.meta.creation_time : node.ready_since;
  const bool going = node.meta.deletion_time || std::ranges::any_of(node.taints, [](const kube::Taint& taint) {
                       return taint.key == scheduling::kToBeDeletedTaint;
                     });
  // A node that was ready before has been so for longer than the few minutes between its making and its first readiness.
  const bool young = row.since - node.meta.creation_time < std::chrono::minutes(1);
  if (going) {
    row.state = "Deleting";
  } else if (!node.ready) {
    row.state = young ? "Upcoming" : "NotReady";
  } else {
    row.state = node.unschedulable ? "Cordoned" : "Ready";
  }
  return row;
}

PodRow PodRow::Decode(const Json& object) {
  const kube::CompactPod pod = kube::CompactPod::Decode(object);
  PodRow row;
  row.meta = RowMeta::Decode(object);
  row.key = pod.meta.Key();
  row.node = pod.node_name;
  row.phase = pod.phase;
  row.running = pod.phase == "Running";
  row.containers = static_cast<uint16_t>(base::FindArray(object, {"spec", "containers"}).size());
  for (const Json& status : base::FindArray(object, {"status", "containerStatuses"})) {
    if (base::FindBool(status, {"ready"})) ++row.ready;
    row.restarts += static_cast<int32_t>(base::FindInt(status, {"restartCount"}));
  }
  row.ended = pod.terminal();
  row.leaving = pod.meta.deletion_time.has_value();
  row.created = pod.meta.creation_time;
  row.requests = pod.Requests();
  if (row.waits()) {
    if (const Json* condition = kube::FindCondition(object, "PodScheduled")) {
      row.message = base::FindString(*condition, {"message"});
    }
  }
  return row;
}

}  // namespace evenkeel::dashboard
