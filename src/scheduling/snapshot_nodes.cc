// Rows of nodes: shapes, amounts, the order of searches and the blocks in it.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

constexpr size_t kStrideStep = 4;

}  // namespace

NodeLabels Snapshot::LabelsOf(NodeId node) const {
  const NodeRow& row = nodes_[node];
  return {shapes_[shape_of_[node]].shape.labels, row.hostname ? &*row.hostname : nullptr, row.name};
}

std::span<const NodeId> Snapshot::order() {
  EnsureOrder();
  return order_;
}

NodeId Snapshot::MakeNode(std::string_view name) {
  NodeId id;
  if (free_nodes_.empty()) {
    id = static_cast<NodeId>(nodes_.size());
    nodes_.emplace_back();
    shape_of_.push_back(kNone);
    allocatable_.resize(nodes_.size() * stride_, 0);
    free_.resize(nodes_.size() * stride_, 0);
  } else {
    id = free_nodes_.back();
    free_nodes_.pop_back();
    std::fill_n(allocatable_.begin() + static_cast<ptrdiff_t>(Row(id)), stride_, 0);
    std::fill_n(free_.begin() + static_cast<ptrdiff_t>(Row(id)), stride_, 0);
  }
  nodes_[id].name = name;
  node_by_name_.emplace(nodes_[id].name, id);
  return id;
}

void Snapshot::FreeNodeIfUnused(NodeId node) {
  NodeRow& row = nodes_[node];
  if (row.present || row.name.empty() || !row.pods.empty() || !row.copies.empty()) return;
  node_by_name_.erase(row.name);
  row = NodeRow{};
  free_nodes_.push_back(node);
}

void Snapshot::WidenRows() {
  if (resources_.size() <= stride_) return;
  const size_t wide = (resources_.size() + kStrideStep - 1) / kStrideStep * kStrideStep;
  const auto widen = [&](std::vector<int64_t>& rows) {
    std::vector<int64_t> widened(nodes_.size() * wide, 0);
    for (size_t row = 0; row < nodes_.size(); ++row) {
      std::copy_n(rows.begin() + static_cast<ptrdiff_t>(row * stride_), stride_,
                  widened.begin() + static_cast<ptrdiff_t>(row * wide));
    }
    rows = std::move(widened);
  };
  widen(allocatable_);
  widen(free_);
  stride_ = wide;
  block_room_.assign(block_stale_.size() * stride_, 0);
  std::fill(block_stale_.begin(), block_stale_.end(), 1);
}

ShapeId Snapshot::InternShape(NodeShape shape) {
  std::string key = shape.Key();
  const auto [found, added] = shape_by_key_.try_emplace(key, kNone);
  if (added) {
    ShapeEntry entry{std::move(shape), std::move(key), 0};
    if (free_shapes_.empty()) {
      found->second = static_cast<ShapeId>(shapes_.size());
      shapes_.push_back(std::move(entry));
    } else {
      found->second = free_shapes_.back();
      free_shapes_.pop_back();
      shapes_[found->second] = std::move(entry);
    }
  }
  ++shapes_[found->second].users;
  return found->second;
}

void Snapshot::ReleaseShape(ShapeId shape) {
  ShapeEntry& entry = shapes_[shape];
  if (--entry.users > 0) return;
  shape_by_key_.erase(entry.key);
  entry = ShapeEntry{};
  free_shapes_.push_back(shape);
  const auto forget = [shape](std::vector<uint8_t>& verdicts) {
    if (shape < verdicts.size()) verdicts[shape] = 0;
  };
  classes_.ForEachSpec([&](SpecEntry& spec) { forget(spec.verdicts); });
  for (const CounterId counter : spread_counters_) forget(counters_[counter]->eligibility->verdicts);
}

std::vector<Amount> Snapshot::Amounts(const kube::ResourceList& list) {
  std::vector<Amount> amounts;
  for (const auto& [name, amount] : list) {
    // Nodes list huge pages that they have none of; a row need not have room for those.
    if (amount != 0 || resources_.Find(name) != kNone) amounts.push_back({resources_.Intern(name), Bounded(amount)});
  }
  WidenRows();
  return amounts;
}

bool Snapshot::SetAllocatable(NodeId node, const std::vector<Amount>& amounts) {
  std::vector<int64_t> wanted(stride_, 0);
  for (const Amount& amount : amounts) wanted[amount.resource] = amount.amount;
  bool changed = false;
  for (size_t i = 0; i < stride_; ++i) {
    int64_t& now = allocatable_[Row(node) + i];
    if (now == wanted[i]) continue;
    free_[Row(node) + i] += wanted[i] - now;
    now = wanted[i];
    changed = true;
  }
  if (!changed) return false;
  devices_.ForgetNode(node);
  Touch(node);
  ++version_;
  ++relief_;
  return true;
}

void Snapshot::Attach(NodeId node) {
  devices_.ForgetNode(node);
  const NodeLabels labels = LabelsOf(node);
  for (TopologyKey& key : keys_) key.Set(node, labels.Find(key.key()));
  for (const CounterId id : spread_counters_) {
    Counter& counter = *counters_[id];
    if (Eligible(counter, node)) counter.AddNode(keys_[counter.key].Of(node));
  }
  ForEachClassOn(node, [&](PodClass& pod_class, int64_t pods) { Count(pod_class, node, pods); });
  Touch(node);
  ++version_;
  ++relief_;
}

void Snapshot::Detach(NodeId node) {
  devices_.ForgetNode(node);
  ForEachClassOn(node, [&](PodClass& pod_class, int64_t pods) { Count(pod_class, node, -pods); });
  for (const CounterId id : spread_counters_) {
    Counter& counter = *counters_[id];
    if (Eligible(counter, node)) counter.RemoveNode(keys_[counter.key].Of(node));
  }
  for (TopologyKey& key : keys_) key.Set(node, nullptr);
  ++version_;
  ++relief_;
}

void Snapshot::ChangeShape(NodeId node, ShapeId shape) {
  const bool present = nodes_[node].present;
  if (present) Detach(node);
  shape_of_[node] = shape;
  if (present) Attach(node);
}

void Snapshot::EnsureOrder() {
  if (!marks_.empty() || (new_nodes_.empty() && !order_has_holes_)) return;
  const auto by_name = [this](NodeId a, NodeId b) { return nodes_[a].name < nodes_[b].name; };
  std::erase(order_, kNone);
  std::sort(new_nodes_.begin(), new_nodes_.end(), by_name);
  const auto middle = static_cast<ptrdiff_t>(order_.size());
  order_.insert(order_.end(), new_nodes_.begin(), new_nodes_.end());
  std::inplace_merge(order_.begin(), order_.begin() + middle, order_.end(), by_name);
  new_nodes_.clear();
  order_has_holes_ = false;
  for (size_t i = 0; i < order_.size(); ++i) nodes_[order_[i]].position = static_cast<uint32_t>(i);
  const size_t blocks = (order_.size() + kBlock - 1) / kBlock;
  block_room_.assign(blocks * stride_, 0);
  block_stale_.assign(blocks, 1);
}

void Snapshot::Touch(NodeId node) {
  const uint32_t position = nodes_[node].position;
  if (position != kNone) block_stale_[position / kBlock] = 1;
}

void Snapshot::RefreshBlock(size_t block) {
  int64_t* room = &block_room_[block * stride_];
  std::fill_n(room, stride_, std::numeric_limits<int64_t>::min());
  const size_t end = std::min(order_.size(), (block + 1) * kBlock);
  for (size_t position = block * kBlock; position < end; ++position) {
    if (order_[position] == kNone) continue;
    const int64_t* row = &free_[Row(order_[position])];
    for (size_t i = 0; i < stride_; ++i) room[i] = std::max(room[i], row[i]);
  }
  block_stale_[block] = 0;
}

}  // namespace evenkeel::scheduling
