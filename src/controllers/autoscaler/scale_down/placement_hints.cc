#include "base/hash.h"
#include "base/parse_number.h"
#include "controllers/autoscaler/scale_down/removal_simulation.h"

namespace evenkeel::controllers::autoscaler {

using base::Json;
using base::JsonObject;
using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::Snapshot;

PlacementHints::Named PlacementHints::NamedOf(const Snapshot& snapshot, NodeId node) {
  return {node, base::XxHash64(snapshot.NodeName(node))};
}

bool PlacementHints::Holds(const Snapshot& snapshot, const Named& named) {
  return snapshot.Present(named.node) && base::XxHash64(snapshot.NodeName(named.node)) == named.name;
}

NodeId PlacementHints::Find(NodeId from, ClassId pod_class, const Snapshot& snapshot) const {
  if (from >= by_node_.size() || by_node_[from].to.empty() || !Holds(snapshot, {from, by_node_[from].name})) return kNone;
  const uint64_t signature = snapshot.classes()[pod_class].signature;
  for (const auto& [known, to] : by_node_[from].to) {
    if (known == signature) return Holds(snapshot, to) ? to.node : kNone;
  }
  return kNone;
}

void PlacementHints::Set(const Snapshot& snapshot, NodeId from, const std::vector<std::pair<ClassId, NodeId>>& to) {
  Row row{NamedOf(snapshot, from).name, {}};
  row.to.reserve(to.size());
  for (const auto& [pod_class, node] : to) {
    row.to.emplace_back(snapshot.classes()[pod_class].signature, NamedOf(snapshot, node));
  }
  if (by_node_.size() <= from) by_node_.resize(from + 1);
  if (by_node_[from] == row) return;
  by_node_[from] = std::move(row);
  ++changes_;
}

Json PlacementHints::ToJson(const Snapshot& snapshot) const {
  std::map<std::string_view, JsonObject> sorted;
  for (NodeId from = 0; from < by_node_.size(); ++from) {
    const Row& row = by_node_[from];
    if (row.to.empty() || !Holds(snapshot, {from, row.name})) continue;
    std::map<uint64_t, std::string_view> places;
    for (const auto& [signature, to] : row.to) {
      if (Holds(snapshot, to)) places[signature] = snapshot.NodeName(to.node);
    }
    for (const auto& [signature, place] : places) sorted[snapshot.NodeName(from)][std::to_string(signature)] = place;
  }
  JsonObject object;
  for (auto& [from, places] : sorted) object[from] = std::move(places);
  return object;
}

base::Status PlacementHints::Restore(const base::Field& moves, const Snapshot& snapshot) {
  return moves.ForEachMember([&](std::string_view from, const base::Field& places) -> base::Status {
    const NodeId node = snapshot.FindNodeByName(from);
    if (node == kNone || !snapshot.Present(node)) return {};
    Row row{NamedOf(snapshot, node).name, {}};
    EVENKEEL_TRY(places.ForEachMember([&](std::string_view text, const base::Field& name) -> base::Status {
      const auto signature = base::ParseNumber<uint64_t>(text);
      std::string to;
      if (!signature) return name.Wrong("not the number of a class");
      EVENKEEL_TRY(name.Text(to));
      const NodeId place = snapshot.FindNodeByName(to);
      if (place != kNone && snapshot.Present(place)) row.to.emplace_back(*signature, NamedOf(snapshot, place));
      return {};
    }));
    if (by_node_.size() <= node) by_node_.resize(node + 1);
    by_node_[node] = std::move(row);
    return {};
  });
}

}  // namespace evenkeel::controllers::autoscaler
