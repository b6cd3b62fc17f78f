// Changes, and how they are taken back.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
void Snapshot::Fork() {
  EnsureOrder();
  marks_.push_back(log_.size());
}

void Snapshot::Revert() {
  EVENKEEL_CHECK(!marks_.empty());
  const size_t mark = marks_.back();
  while (log_.size() > mark) {
    const Change change = log_.back();
    log_.pop_back();
    Undo(change);
  }
  marks_.pop_back();
}

void Snapshot::Commit() {
  EVENKEEL_CHECK(!marks_.empty());
  marks_.pop_back();
  if (!marks_.empty()) return;
  const std::vector<Change> done = std::move(log_);
  log_.clear();
  for (const Change& change : done) {
    switch (change.op) {
      case Op::kPlace:
      case Op::kUnplace:
        Assume(change.a, pods_[change.a].node != kNone);
        if (change.op == Op::kUnplace) FreeNodeIfUnused(change.b);
        break;
      case Op::kCopies:
        Keep(change.a, change.b, change.pods);
        FreeNodeIfUnused(change.b);
        break;
      case Op::kAddNode:
      case Op::kDropNode:
        // Nodes that came in the fork stand behind the real ones; they take their place by name now.
        if (nodes_[change.a].position != kNone) order_[nodes_[change.a].position] = kNone;
        nodes_[change.a].position = kNone;
        order_has_holes_ = true;
        if (nodes_[change.a].present) {
          new_nodes_.push_back(change.a);
        } else if (shape_of_[change.a] != kNone) {
          ReleaseShape(shape_of_[change.a]);
          shape_of_[change.a] = kNone;
          FreeNodeIfUnused(change.a);
        }
        break;
      case Op::kShape:
        ReleaseShape(change.b);
        break;
      case Op::kDevices:
        break;
    }
  }
  device_changes_.clear();
}

void Snapshot::Record(Op op, uint32_t a, uint32_t b, int64_t pods) {
  if (!marks_.empty()) log_.push_back({op, a, b, pods});
}

void Snapshot::Undo(const Change& change) {
  switch (change.op) {
    case Op::kPlace:
      TakeOff(change.a);
      return;
    case Op::kUnplace:
      PutOn(change.a, change.b);
      return;
    case Op::kCopies:
      AddCopies(change.a, change.b, -change.pods);
      return;
    case Op::kAddNode: {
      NodeRow& row = nodes_[change.a];
      Detach(change.a);
      row.present = false;
      --node_count_;
      row.position = kNone;
      order_.pop_back();
      ReleaseShape(shape_of_[change.a]);
      shape_of_[change.a] = kNone;
      SetAllocatable(change.a, {});
      FreeNodeIfUnused(change.a);
      return;
    }
    case Op::kDropNode:
      order_[nodes_[change.a].position] = change.a;
      ShowNode(change.a);
      return;
    case Op::kShape: {
      const ShapeId now = shape_of_[change.a];
      ChangeShape(change.a, change.b);
      ReleaseShape(now);
      return;
    }
    case Op::kDevices:
      UndoDevices();
      return;
  }
}

TemplateId Snapshot::InternTemplate(const kube::Node& node, std::shared_ptr<const VolumeLimits> volume_limits,
                                    std::shared_ptr<const NodeSlices> slices) {
  Template made;
  made.volume_limits = std::move(volume_limits);
  made.slices = std::move(slices);
  made.allocatable = Amounts(node.allocatable);
  NodeShape shape{node.meta.labels, node.taints, node.unschedulable, node.declared_features};
  made.has_hostname = shape.labels.erase(std::string(kHostnameLabel)) > 0;
  made.shape = InternShape(std::move(shape));
  made.used = true;
  for (TemplateId id = 0; id < templates_.size(); ++id) {
    if (templates_[id].used) continue;
    templates_[id] = std::move(made);
    return id;
  }
  templates_.push_back(std::move(made));
  return static_cast<TemplateId>(templates_.size() - 1);
}

void Snapshot::ReleaseTemplate(TemplateId node_template) {
  ReleaseShape(templates_[node_template].shape);
  templates_[node_template] = Template{};
}

NodeId Snapshot::AddNode(TemplateId node_template, std::string_view name) {
  const Template& made_from = templates_[node_template];
  NodeId id = FindNodeByName(name);
  if (id == kNone) id = MakeNode(name);
  NodeRow& row = nodes_[id];
  EVENKEEL_CHECK(!row.present && shape_of_[id] == kNone);
  for (const Amount& amount : made_from.allocatable) {
    allocatable_[Row(id) + amount.resource] = amount.amount;
    free_[Row(id) + amount.resource] += amount.amount;
  }
  shape_of_[id] = made_from.shape;
  ++shapes_[made_from.shape].users;
  row.volume_limits = made_from.volume_limits;
  row.slices = made_from.slices;
  row.hostname = made_from.has_hostname ? std::optional<std::string>(row.name) : std::nullopt;
  if (marks_.empty()) {
    new_nodes_.push_back(id);
  } else {
    row.position = static_cast<uint32_t>(order_.size());
    order_.push_back(id);
    if (order_.size() > block_stale_.size() * kBlock) {
      block_stale_.push_back(1);
      block_room_.resize(block_stale_.size() * stride_, 0);
    }
  }
  ShowNode(id);
  Record(Op::kAddNode, id, 0);
  return id;
}

void Snapshot::ShowNode(NodeId node) {
  nodes_[node].present = true;
  ++node_count_;
  Attach(node);
}

void Snapshot::DropNode(NodeId node) {
  NodeRow& row = nodes_[node];
  EVENKEEL_CHECK(row.present);
  if (marks_.empty()) {
    RemoveNode(std::string(row.name));
    return;
  }
  Detach(node);
  row.present = false;
  --node_count_;
  order_[row.position] = kNone;
  Record(Op::kDropNode, node, 0);
}

void Snapshot::Reshape(NodeId node, NodeShape shape) {
  const ShapeId before = shape_of_[node];
  ChangeShape(node, InternShape(std::move(shape)));
  if (marks_.empty()) {
    ReleaseShape(before);
  } else {
    Record(Op::kShape, node, before);
  }
}

void Snapshot::AddTaint(NodeId node, const kube::Taint& taint) {
  NodeShape shape = shapes_[shape_of_[node]].shape;
  shape.taints.push_back(taint);
  Reshape(node, std::move(shape));
}

void Snapshot::Place(PodId pod, NodeId node) {
  EVENKEEL_CHECK(pods_[pod].node == kNone);
  PutOn(pod, node);
  Record(Op::kPlace, pod, node);
  if (marks_.empty()) Assume(pod, true);
  TakeDevices(pod, node);
}

void Snapshot::Unplace(PodId pod) {
  const NodeId node = pods_[pod].node;
  if (node == kNone) return;
  GiveBackDevices(pod);
  Vacate(pod);
  if (!marks_.empty()) return;
  Assume(pod, false);
  FreeNodeIfUnused(node);
}

void Snapshot::Vacate(PodId pod) {
  const NodeId node = pods_[pod].node;
  TakeOff(pod);
  Record(Op::kUnplace, pod, node);
}

void Snapshot::PlaceCopies(ClassId pod_class, NodeId node, int64_t pods) {
  if (pods == 0) return;
  // Copies that go leave their devices first: the last one may take its class with it.
  if (pods < 0) GiveBackCopies(pod_class, node, -pods);
  AddCopies(pod_class, node, pods);
  Record(Op::kCopies, pod_class, node, pods);
  if (marks_.empty()) Keep(pod_class, node, pods);
  if (pods > 0) TakeForCopies(pod_class, node, pods);
}

void Snapshot::Assume(PodId pod, bool assumed) {
  if (pods_[pod].assumed == assumed) return;
  pods_[pod].assumed = assumed;
  assumed ? void(assumed_.insert(pod)) : void(assumed_.erase(pod));
}

void Snapshot::Keep(ClassId pod_class, NodeId node, int64_t pods) {
  const auto entry = kept_.try_emplace({pod_class, node}, 0).first;
  entry->second += pods;
  if (entry->second == 0) kept_.erase(entry);
}

void Snapshot::LiftUntold() {
  EVENKEEL_CHECK(!marks_.empty());
  for (const PodId pod : assumed_) Unplace(pod);
  for (const auto& [where, pods] : kept_) PlaceCopies(where.first, where.second, -pods);
}

void Snapshot::PutOn(PodId pod, NodeId node) {
  PodRow& row = pods_[pod];
  row.node = node;
  row.at_node = static_cast<uint32_t>(nodes_[node].pods.size());
  nodes_[node].pods.push_back(pod);
  Occupy(classes_[row.pod_class], node, 1);
}

void Snapshot::TakeOff(PodId pod) {
  PodRow& row = pods_[pod];
  const NodeId node = row.node;
  Occupy(classes_[row.pod_class], node, -1);
  std::vector<PodId>& here = nodes_[node].pods;
  here[row.at_node] = here.back();
  pods_[here.back()].at_node = row.at_node;
  here.pop_back();
  row.node = kNone;
}

void Snapshot::AddCopies(ClassId pod_class, NodeId node, int64_t pods) {
  std::vector<Copies>& here = nodes_[node].copies;
  auto found = std::find_if(here.begin(), here.end(), [&](const Copies& copies) { return copies.pod_class == pod_class; });
  if (found == here.end()) {
    classes_.AddUser(pod_class);
    found = here.insert(here.end(), {pod_class, 0});
  }
  Occupy(classes_[pod_class], node, pods);
  found->pods += pods;
  if (found->pods != 0) return;
  here.erase(found);
  classes_.RemoveUser(pod_class);
}

void Snapshot::Occupy(PodClass& pod_class, NodeId node, int64_t pods) {
  int64_t* row = &free_[Row(node)];
  for (const Amount& amount : pod_class.spec->requests) row[amount.resource] -= amount.amount * pods;
  auto& taken = nodes_[node].ports;
  for (const HostPort& port : pod_class.spec->spec.ports) {
    auto found = std::find_if(taken.begin(), taken.end(), [&](const auto& entry) { return entry.first == port; });
    if (found == taken.end()) found = taken.insert(taken.end(), {port, 0});
    found->second += pods;
    if (found->second == 0) taken.erase(found);
  }
  if (pod_class.volumes != nullptr) nodes_[node].volume_pods += pods;
  Touch(node);
  Count(pod_class, node, pods);
  ++version_;
  if (pods < 0) ++relief_;
}

}  // namespace evenkeel::scheduling
