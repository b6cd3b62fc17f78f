#include "controllers/autoscaler/scale_up/estimator.h"

#include <numeric>

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::Amount;
using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;

constexpr std::string_view kSpreadText = "node(s) didn't match pod topology spread constraints";

double Score(std::span<const Amount> requests, const kube::ResourceList& allocatable) {
  double score = 0;
  for (const auto& [resource, name] : {std::pair{scheduling::kCpu, "cpu"}, std::pair{scheduling::kMemory, "memory"}}) {
    const auto there = allocatable.find(name);
    if (there == allocatable.end() || there->second == 0) continue;
    for (const Amount& amount : requests) {
      if (amount.resource == resource) score += static_cast<double>(amount.amount) / static_cast<double>(there->second);
    }
  }
  return score;
}

class Packing {
 public:
  Packing(scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::span<const int64_t> free,
          std::span<const Demand> demands, int64_t limit, const EstimateTime& time)
      : snapshot_(snapshot), template_(node_template), demands_(demands), limit_(limit), time_(time) {
    timed_ = time.clock != nullptr && time.limit > base::Duration{};
    if (timed_) ends_ = time.clock->Monotonic() + time.limit;
    for (const Demand& demand : demands) {
      tracked_ |= !demand.group->plain;
      for (const Amount& amount : snapshot.Requests(demand.group->pod_class)) Use(amount.resource, free);
    }
    result_.pods.assign(demands.size(), 0);
  }

  Estimate Run() {
    Sort();
    std::optional<scheduling::WhatIf> fork;
    if (tracked_) {
      fork.emplace(snapshot_);
      base_ = static_cast<uint32_t>(snapshot_.order().size());
    }
    may_add_ = limit_ >= 0;
    for (const uint32_t demand : result_.order) {
      demand_ = demand;
      wanted_ = Wanted(demands_[demand].group->pod_class);
      left_ = demands_[demand].pods;
      const bool plain = demands_[demand].group->plain;
      if (!pods_on_.empty()) plain ? FillAdded() : TryAdded();
      if (left_ > 0 && may_add_) plain ? AddForPlain() : AddForOthers();
      result_.pods[demand] = demands_[demand].pods - left_;
    }
    result_.added = std::ranges::count_if(pods_on_, [](int64_t pods) { return pods > 0; });
    result_.nodes = result_.added + static_cast<int64_t>(existing_used_.size());
    return std::move(result_);
  }

 private:
  struct Want {
    size_t column;
    int64_t amount;
  };

  void Use(scheduling::ResourceId resource, std::span<const int64_t> free) {
    if (std::ranges::find(resources_, resource) != resources_.end()) return;
    resources_.push_back(resource);
    fresh_.push_back(resource < free.size() ? free[resource] : 0);
    columns_.emplace_back();
  }

  std::vector<Want> Wanted(ClassId pod_class) const {
    std::vector<Want> wanted;
    for (const Amount& amount : snapshot_.Requests(pod_class)) {
      const auto at = std::ranges::find(resources_, amount.resource) - resources_.begin();
      wanted.push_back({static_cast<size_t>(at), amount.amount});
    }
    return wanted;
  }

  void Sort() {
    std::vector<double> scores;
    for (const Demand& demand : demands_) {
      scores.push_back(Score(snapshot_.Requests(demand.group->pod_class), template_.node.allocatable));
    }
    result_.order.resize(demands_.size());
    std::iota(result_.order.begin(), result_.order.end(), 0u);
    std::ranges::stable_sort(result_.order, [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  }

  int64_t Room(size_t node) const {
    int64_t room = std::numeric_limits<int64_t>::max();
    for (const Want& want : wanted_) {
      const int64_t free = columns_[want.column][node];
      if (free < want.amount) return 0;
      room = std::min(room, free / want.amount);
    }
    return room;
  }

  void Put(size_t node, int64_t pods) {
    for (const Want& want : wanted_) columns_[want.column][node] -= want.amount * pods;
    pods_on_[node] += pods;
    left_ -= pods;
    if (tracked_) snapshot_.PlaceCopies(demands_[demand_].group->pod_class, nodes_[node], pods);
    Note(static_cast<uint32_t>(node), false, pods);
  }

  void PutOnExisting(NodeId node) {
    snapshot_.PlaceCopies(demands_[demand_].group->pod_class, node, 1);
    existing_used_.insert(node);
    --left_;
    Note(node, true, 1);
  }

  void Note(uint32_t node, bool existing, int64_t pods) {
    auto& placements = result_.placements;
    if (!placements.empty() && placements.back().demand == demand_ && placements.back().node == node &&
        placements.back().existing == existing) {
      placements.back().pods += pods;
    } else {
      placements.push_back({demand_, node, existing, pods});
    }
  }

  bool AddNode() {
    const bool late = timed_ && time_.clock->Monotonic() >= ends_;
    if (late || (limit_ > 0 && static_cast<int64_t>(pods_on_.size()) >= limit_)) {
      may_add_ = false;
      return false;
    }
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(fresh_[i]);
    pods_on_.push_back(0);
    if (!tracked_) return true;
    // A slash is in no node's name.
    nodes_.push_back(AddTemplateNode(snapshot_, template_, template_.node.meta.name + "/" + std::to_string(nodes_.size())));
    added_.Add(nodes_.back());
    return true;
  }

  /// Upstream's search goes on behind the node that it found last.
  void FoundAt(uint32_t position) { next_ = position + 1; }
  size_t NextAdded() const {
    const size_t next = next_ < base_ ? 0 : next_ - base_;
    return next < pods_on_.size() ? next : 0;
  }

  /// Puts pods around the added nodes in turn, one each, until none is left or none fits.
  void FillAdded() {
    rooms_.clear();
    int64_t total = 0, largest = 0;
    const size_t start = NextAdded();
    for (size_t i = 0; i < pods_on_.size(); ++i) {
      const size_t node = start + i < pods_on_.size() ? start + i : start + i - pods_on_.size();
      const int64_t room = Room(node);
      if (room == 0) continue;
      rooms_.emplace_back(node, room);
      total += room;
      largest = std::max(largest, room);
    }
    if (total == 0) return;
    const auto after = [&](int64_t rounds) {
      return std::accumulate(rooms_.begin(), rooms_.end(), int64_t{0},
                             [&](int64_t sum, const auto& entry) { return sum + std::min(entry.second, rounds); });
    };
    int64_t rounds = largest;
    if (total > left_) {
      int64_t low = 0;  // the most full rounds that there are pods for
      while (low + 1 < rounds) {
        const int64_t middle = (low + rounds) / 2;
        (after(middle) <= left_ ? low : rounds) = middle;
      }
      rounds = low;
    }
    int64_t rest = std::min(left_, total) - after(rounds);
    const bool partial = rest > 0;
    size_t last = 0;
    for (const auto& [node, room] : rooms_) {
      const bool one_more = rest > 0 && room > rounds;
      if (one_more) --rest;
      const int64_t pods = std::min(room, rounds) + (one_more ? 1 : 0);
      if (pods == 0) continue;
      Put(node, pods);
      if (partial ? one_more : room >= rounds) last = node;
    }
    FoundAt(base_ + static_cast<uint32_t>(last));
  }

  void AddForPlain() {
    while (left_ > 0) {
      if (!pods_on_.empty()) {
        const size_t last = pods_on_.size() - 1;
        if (const int64_t here = std::min(Room(last), left_); here > 0) Put(last, here);
        if (left_ == 0 || pods_on_[last] == 0) return;
      }
      if (!AddNode()) return;
    }
  }

  void TryAdded() {
    const ClassId pod_class = demands_[demand_].group->pod_class;
    while (left_ > 0) {
      const NodeId node = snapshot_.FindNode(pod_class, {.start = base_ + static_cast<uint32_t>(NextAdded()), .only = &added_});
      if (node == kNone) return;
      const uint32_t position = snapshot_.PositionOf(node);
      FoundAt(position);
      Put(position - base_, 1);
    }
  }

  bool SpreadRefuses(ClassId pod_class, NodeId node) {
    if (!demands_[demand_].group->hostname_spread) return false;
    const scheduling::Fit fit = snapshot_.Check(pod_class, node);
    return std::ranges::any_of(fit.reasons,
                               [](const auto& reason) { return reason.text.find(kSpreadText) != std::string::npos; });
  }

  void AddForOthers() {
    const ClassId pod_class = demands_[demand_].group->pod_class;
    while (left_ > 0) {
      if (!nodes_.empty()) {
        const size_t last = nodes_.size() - 1;
        if (snapshot_.Fits(pod_class, nodes_[last])) {
          Put(last, 1);
          continue;
        }
        if (SpreadRefuses(pod_class, nodes_[last]) && PutAnywhere(pod_class)) continue;
        if (pods_on_[last] == 0) return;
      }
      if (!AddNode() || !snapshot_.Fits(pod_class, nodes_.back())) return;
      Put(nodes_.size() - 1, 1);
    }
  }

  bool PutAnywhere(ClassId pod_class) {
    const NodeId node = snapshot_.FindNode(pod_class, {.start = next_});
    if (node == kNone) return false;
    const uint32_t position = snapshot_.PositionOf(node);
    FoundAt(position);
    if (position >= base_) {
      Put(position - base_, 1);
    } else {
      PutOnExisting(node);
    }
    return true;
  }

  scheduling::Snapshot& snapshot_;
  const NodeTemplate& template_;
  std::span<const Demand> demands_;
  const int64_t limit_;
  const EstimateTime time_;
  bool timed_ = false;
  base::Instant ends_{};
  bool tracked_ = false;  // some pods need more than room: nodes and pods are in the snapshot too
  bool may_add_ = true;
  uint32_t demand_ = 0;
  int64_t left_ = 0;
  uint32_t base_ = 0, next_ = 0;  // positions in the snapshot's order: of the first added node, of the next search
  std::vector<Want> wanted_;
  std::vector<scheduling::ResourceId> resources_;
  std::vector<int64_t> fresh_;
  std::vector<std::vector<int64_t>> columns_;  // per resource: room on the added nodes
  std::vector<int64_t> pods_on_;               // per added node
  std::vector<NodeId> nodes_;                  // added nodes, when tracked
  scheduling::NodeSet added_;
  std::set<NodeId> existing_used_;
  std::vector<std::pair<size_t, int64_t>> rooms_;
  Estimate result_;
};

void AddTopology(const scheduling::PodClass& pod_class, const kube::Labels& labels, std::string& key) {
  const auto add = [&](const std::string& topology) {
    if (topology == scheduling::kHostnameLabel) return;
    const auto found = labels.find(topology);
    key += topology + "=" + (found == labels.end() ? "!" : found->second) + ";";
  };
  for (const auto& term : pod_class.spec->spec.affinity) add(term.topology_key);
  for (const auto& term : pod_class.spec->spec.anti_affinity) add(term.topology_key);
  for (const auto& spread : pod_class.spec->spec.spread) add(spread.topology_key);
}

/// Only the class's own terms say where it can go.
bool OnlyOwnTerms(const scheduling::PodClass& pod_class) {
  const auto own = [&](scheduling::CounterId id) {
    return std::ranges::find(pod_class.topology.own, id) != pod_class.topology.own.end();
  };
  return pod_class.volumes == nullptr && !pod_class.wants_devices && !pod_class.spec->uses_identity &&
         pod_class.pinned_node.empty() && pod_class.node_name.empty() &&
         std::ranges::all_of(pod_class.topology.forbidden_by, own);
}

}  // namespace

int64_t Estimate::total_pods() const { return std::accumulate(pods.begin(), pods.end(), int64_t{0}); }

int64_t CombineLimits(std::initializer_list<int64_t> limits) {
  int64_t combined = 0;
  for (const int64_t limit : limits) {
    if (limit < 0) return -1;
    if (limit > 0) combined = combined == 0 ? limit : std::min(combined, limit);
  }
  return combined;
}

std::vector<int64_t> FreshRoom(const scheduling::Snapshot& snapshot, const NodeTemplate& node_template) {
  std::vector<int64_t> room(snapshot.resource_count(), 0);
  for (const auto& [name, amount] : node_template.node.allocatable) {
    const scheduling::ResourceId resource = snapshot.FindResource(name);
    if (resource != kNone) room[resource] = amount;
  }
  for (const scheduling::Copies& copies : node_template.pods) {
    for (const Amount& amount : snapshot.Requests(copies.pod_class)) room[amount.resource] -= amount.amount * copies.pods;
  }
  return room;
}

std::string EstimateKey(const scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::span<const int64_t> free,
                        std::span<const Demand> demands, int64_t limit) {
  std::string key = std::to_string(limit) + "|";
  for (const int64_t amount : free) key += std::to_string(amount) + ",";
  for (const char* name : {"cpu", "memory"}) {
    const auto found = node_template.node.allocatable.find(name);
    key += "|" + std::to_string(found == node_template.node.allocatable.end() ? 0 : found->second);
  }
  key += "|";
  bool whole = false, plain = true;
  for (const Demand& demand : demands) {
    const scheduling::PodClass& pod_class = snapshot.classes()[demand.group->pod_class];
    const auto address = static_cast<uint64_t>(demand.group->pods.front());
    key += std::to_string(address) + "x" + std::to_string(demand.pods) + ",";
    plain &= demand.group->plain;
    if (demand.group->plain) continue;
    whole |= !OnlyOwnTerms(pod_class);
    AddTopology(pod_class, node_template.node.meta.labels, key);
  }
  // Static pods and DaemonSet pods can matter to affinity, and any label to the rules of others.
  if (!plain) {
    for (const scheduling::Copies& copies : node_template.pods) {
      key += "|" + std::to_string(copies.pod_class) + "x" + std::to_string(copies.pods);
    }
  }
  if (!whole) return key;
  return key + "|" + node_template.group;
}

Estimate EstimateNodes(scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::span<const int64_t> free,
                       std::span<const Demand> demands, int64_t limit, const EstimateTime& time) {
  return Packing(snapshot, node_template, free, demands, limit, time).Run();
}

}  // namespace evenkeel::controllers::autoscaler
