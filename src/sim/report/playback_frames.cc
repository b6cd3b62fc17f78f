// The frames of a report's playback.
#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "sim/report/report_data.h"

namespace evenkeel::sim {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// As the page knows them.
std::string_view Name(NodeState state) {
  switch (state) {
    case NodeState::kReady:
      return "Ready";
    case NodeState::kNotReady:
      return "NotReady";
    case NodeState::kCordoned:
      return "Cordoned";
    case NodeState::kDeleting:
      return "Deleting";
  }
  return "";
}

double Hundredths(double value) { return std::round(value * 100) / 100; }

size_t NodesOf(const FleetSample& sample) {
  size_t nodes = 0;
  for (const ClusterSample& cluster : sample.clusters) nodes += cluster.nodes.size();
  return nodes;
}

/// How many nodes of a group one cell stands for.
size_t NodesPerCell(const FleetSamples& samples) {
  size_t most = 0;
  for (const FleetSample& sample : samples.all()) most = std::max(most, NodesOf(sample));
  return std::max<size_t>(1, (most + kCellsMax - 1) / kCellsMax);
}

JsonObject Cells(const FleetSamples& samples, const ClusterSample& cluster) {
  JsonObject cells;
  for (const NodeSample& node : cluster.nodes) {
    cells[samples.TextOf(node.name)] = JsonArray{Hundredths(node.load), Name(node.state), samples.TextOf(node.group)};
  }
  return cells;
}

/// Nodes of a group that follow each other stand together: their mean load, the worst state, and how many they are.
JsonObject Cells(const FleetSamples& samples, const ClusterSample& cluster, size_t nodes_per_cell) {
  std::map<uint32_t, std::vector<const NodeSample*>> groups;
  for (const NodeSample& node : cluster.nodes) groups[node.group].push_back(&node);
  JsonObject cells;
  for (const auto& [group, nodes] : groups) {
    for (size_t first = 0; first < nodes.size(); first += nodes_per_cell) {
      const size_t end = std::min(nodes.size(), first + nodes_per_cell);
      double load = 0;
      NodeState state = NodeState::kReady;
      for (size_t i = first; i < end; ++i) {
        load += nodes[i]->load / static_cast<double>(end - first);
        if (nodes[i]->state == NodeState::kNotReady || state == NodeState::kReady) state = nodes[i]->state;
      }
      const std::string& name = samples.TextOf(group);
      cells[fmt::format("{} {}", name.empty() ? "nodes" : name, first / nodes_per_cell + 1)] =
          JsonArray{Hundredths(load), Name(state), name, end - first};
    }
  }
  return cells;
}

Json ClustersOf(const FleetSamples& samples, const FleetSample& sample, size_t nodes_per_cell) {
  JsonObject clusters;
  for (const ClusterSample& cluster : sample.clusters) {
    JsonObject object{{"nodes", nodes_per_cell == 1 ? Cells(samples, cluster) : Cells(samples, cluster, nodes_per_cell)},
                      {"pending", cluster.pending}};
    // A merge patch cannot carry a null, so a cluster without an owner has none.
    if (cluster.owner != 0) object["owner"] = samples.TextOf(cluster.owner);
    clusters[samples.TextOf(cluster.name)] = std::move(object);
  }
  return clusters;
}

/// Of every so many samples; empty when they would be too large.
JsonArray FramesOf(const FleetSamples& samples, size_t every, size_t nodes_per_cell, const ReportProgress& on_progress) {
  JsonArray frames;
  Json before;
  size_t bytes = 0;
  const auto& all = samples.all();
  // The last one is always among them.
  const size_t total = (all.size() + every - 2) / every + 1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % every != 0 && i + 1 != all.size()) continue;
    Json clusters = ClustersOf(samples, all[i], nodes_per_cell);
    JsonObject frame{{"t", std::round(std::chrono::duration<double>(all[i].at).count())}};
    if (frames.empty()) {
      frame["clusters"] = clusters;
    } else {
      frame["patch"] = JsonObject{{"clusters", base::DiffMergePatch(before, clusters)}};
    }
    before = std::move(clusters);
    bytes += base::ToText(frame).size();
    if (bytes > kFramesBytesMax && every < all.size()) return {};
    frames.push_back(std::move(frame));
    if (on_progress) on_progress(frames.size(), total);
  }
  return frames;
}

}  // namespace

JsonArray PlaybackFrames(const FleetSamples& samples, const ReportProgress& on_progress) {
  if (samples.all().empty()) return {};
  const size_t nodes_per_cell = NodesPerCell(samples);
  size_t every = 1;
  JsonArray frames = FramesOf(samples, every, nodes_per_cell, on_progress);
  while (frames.empty()) frames = FramesOf(samples, every *= 2, nodes_per_cell, on_progress);
  return frames;
}

}  // namespace evenkeel::sim
