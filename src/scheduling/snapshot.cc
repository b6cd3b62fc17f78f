#include "scheduling/snapshot.h"

#include "base/hash.h"

namespace evenkeel::scheduling {

Snapshot::Snapshot() = default;
Snapshot::~Snapshot() = default;

NodeId Snapshot::UpsertNode(const kube::Node& node, bool* changed) {
  EVENKEEL_CHECK(marks_.empty());
  const auto tell = [changed](bool whether) {
    if (changed != nullptr) *changed = whether;
  };
  NodeId id = FindNodeByName(node.meta.name);
  if (id == kNone) id = MakeNode(node.meta.name);
  const std::vector<Amount> allocatable = Amounts(node.allocatable);
  NodeShape shape{node.meta.labels, node.taints, node.unschedulable, node.declared_features};
  std::optional<std::string> hostname;
  if (const auto label = shape.labels.find(std::string(kHostnameLabel)); label != shape.labels.end()) {
    hostname = label->second;
    shape.labels.erase(label);
  }
  NodeRow& row = nodes_[id];
  const bool resized = SetAllocatable(id, allocatable);
  const ShapeId shape_id = InternShape(std::move(shape));
  if (row.present && row.hostname == hostname && shape_of_[id] == shape_id) {
    ReleaseShape(shape_id);
    tell(resized);
    return id;
  }
  tell(true);
  if (row.present) {
    Detach(id);
    ReleaseShape(shape_of_[id]);
  } else {
    new_nodes_.push_back(id);
    ++node_count_;
  }
  shape_of_[id] = shape_id;
  row.hostname = std::move(hostname);
  row.volume_limits = nullptr;
  row.slices = nullptr;
  row.present = true;
  Attach(id);
  return id;
}

void Snapshot::RemoveNode(std::string_view name) {
  EVENKEEL_CHECK(marks_.empty());
  const NodeId id = FindNodeByName(name);
  if (id == kNone || !nodes_[id].present) return;
  NodeRow& row = nodes_[id];
  Detach(id);
  row.present = false;
  --node_count_;
  if (row.position == kNone) {
    std::erase(new_nodes_, id);
  } else {
    order_[row.position] = kNone;
    order_has_holes_ = true;
    row.position = kNone;
  }
  ReleaseShape(shape_of_[id]);
  shape_of_[id] = kNone;
  FreeNodeIfUnused(id);
}

PodId Snapshot::UpsertPod(const base::Json& pod) {
  EVENKEEL_CHECK(marks_.empty());
  const std::string key = kube::KeyOf(pod);
  if (kube::HasEnded(pod)) {
    RemovePod(key);
    return kNone;
  }
  // Pods of files may lack one.
  const std::string_view uid = kube::UidOf(pod);
  const uint64_t uid_hash = base::Fnv1a64(uid.empty() ? std::string_view(key) : uid);
  PodId id = FindPod(key);
  if (id != kNone && pods_[id].uid_hash != uid_hash) {
    DeletePod(id);
    id = kNone;
  }
  const auto [pod_class, added] = classes_.Intern(pod, false, resources_);
  if (added) RegisterClass(pod_class);
  if (id == kNone) id = MakePod(key);
  PodRow& row = pods_[id];
  row.uid_hash = uid_hash;
  row.priority = static_cast<int32_t>(base::FindInt(pod, {"spec", "priority"}));
  const std::string_view node_name = base::FindString(pod, {"spec", "nodeName"});
  NodeId node = kNone;
  if (!node_name.empty()) {
    node = FindNodeByName(node_name);
    if (node == kNone) node = MakeNode(node_name);
    Assume(id, false);
  } else if (row.assumed) {
    node = row.node;
  }
  if (row.pod_class == pod_class && row.node == node) return id;
  const NodeId before = row.node;
  if (before != kNone && before != node) GiveBackDevices(id);
  if (before != kNone) TakeOff(id);
  SetClass(id, pod_class);
  if (node != kNone) PutOn(id, node);
  if (before != kNone) FreeNodeIfUnused(before);
  CollectGarbage();
  return id;
}

void Snapshot::RemovePod(std::string_view key) {
  EVENKEEL_CHECK(marks_.empty());
  const PodId id = FindPod(key);
  if (id == kNone) return;
  DeletePod(id);
  CollectGarbage();
}

void Snapshot::UpsertNamespace(std::string_view name, const kube::Labels& labels) {
  EVENKEEL_CHECK(marks_.empty());
  const std::string ns(name);
  kube::Labels& known = namespaces_[ns];
  if (known == labels) return;
  known = labels;
  ++version_;
  ++relief_;
  for (CounterId id = 0; id < counters_.size(); ++id) {
    if (counters_[id] == nullptr) continue;
    Counter& counter = *counters_[id];
    const bool concerned = std::any_of(counter.terms.begin(), counter.terms.end(),
                                       [](const TermMatcher& term) { return term.namespace_selector.has_value(); });
    if (!concerned) continue;
    for (ClassId other = 0; other < classes_.slots(); ++other) {
      PodClass* pod_class = classes_.Find(other);
      if (pod_class == nullptr || pod_class->ns != ns) continue;
      const bool holding = counter.kind == Counter::Kind::kHolding;
      std::erase(holding ? pod_class->topology.forbidden_by : pod_class->topology.counted_by, id);
      JoinCounter(id, *pod_class);
      ClassTopology& topology = pod_class->topology;
      if (!topology.affinity.empty()) {
        topology.first_of_its_group = CounterMatches(*counters_[topology.affinity.front()], *pod_class);
      }
    }
    if (counter.kind == Counter::Kind::kMatching) CountAll(id);
  }
}

void Snapshot::UpsertVolume(VolumeKind kind, const base::Json& object) {
  EVENKEEL_CHECK(marks_.empty());
  volumes_.Upsert(kind, object);
  ++version_;
  ++relief_;
}

void Snapshot::RemoveVolume(VolumeKind kind, const std::string& key) {
  EVENKEEL_CHECK(marks_.empty());
  volumes_.Remove(kind, key);
  ++version_;
  ++relief_;
}

void Snapshot::UpsertDevices(DeviceKind kind, const base::Json& object) {
  EVENKEEL_CHECK(marks_.empty());
  devices_.Upsert(kind, object);
  EndFlights();
  ++version_;
  ++relief_;
}

void Snapshot::RemoveDevices(DeviceKind kind, const std::string& key) {
  EVENKEEL_CHECK(marks_.empty());
  devices_.Remove(kind, key);
  ++version_;
  ++relief_;
}

ClassId Snapshot::InternClass(const base::Json& pod, bool keep_node_name) {
  const auto [id, added] = classes_.Intern(pod, keep_node_name, resources_);
  if (added) RegisterClass(id);
  classes_.AddUser(id);
  return id;
}

void Snapshot::ReleaseClass(ClassId pod_class) {
  classes_.RemoveUser(pod_class);
  if (marks_.empty()) CollectGarbage();
}

NodeId Snapshot::FindNodeByName(std::string_view name) const {
  const auto found = node_by_name_.find(name);
  return found == node_by_name_.end() ? kNone : found->second;
}

PodId Snapshot::FindPod(std::string_view key) const {
  const auto found = pod_by_key_.find(key);
  return found == pod_by_key_.end() ? kNone : found->second;
}

PodId Snapshot::MakePod(std::string_view key) {
  PodId id;
  if (free_pods_.empty()) {
    id = static_cast<PodId>(pods_.size());
    pods_.emplace_back();
  } else {
    id = free_pods_.back();
    free_pods_.pop_back();
  }
  pods_[id].key = key;
  pod_by_key_.emplace(pods_[id].key, id);
  return id;
}

void Snapshot::DeletePod(PodId pod) {
  PodRow& row = pods_[pod];
  const NodeId node = row.node;
  GiveBackDevices(pod);
  if (node != kNone) TakeOff(pod);
  Assume(pod, false);
  SetClass(pod, kNone);
  pod_by_key_.erase(row.key);
  row = PodRow{};
  free_pods_.push_back(pod);
  if (node != kNone) FreeNodeIfUnused(node);
}

void Snapshot::SetClass(PodId pod, ClassId pod_class) {
  PodRow& row = pods_[pod];
  if (row.pod_class == pod_class) return;
  if (row.pod_class != kNone) {
    std::vector<PodId>& members = classes_[row.pod_class].pods;
    members[row.at_class] = members.back();
    pods_[members.back()].at_class = row.at_class;
    members.pop_back();
    classes_.RemoveUser(row.pod_class);
  }
  row.pod_class = pod_class;
  if (pod_class == kNone) return;
  std::vector<PodId>& members = classes_[pod_class].pods;
  row.at_class = static_cast<uint32_t>(members.size());
  members.push_back(pod);
  classes_.AddUser(pod_class);
}

void Snapshot::CollectGarbage() {
  classes_.Collect([this](ClassId id, PodClass& gone) { ForgetClass(id, gone); });
}

void Snapshot::ForgetClass(ClassId, PodClass& gone) {
  const std::vector<CounterId> own = std::move(gone.topology.own);
  gone.topology = {};
  for (const CounterId counter : own) ReleaseCounter(counter);
}

}  // namespace evenkeel::scheduling
