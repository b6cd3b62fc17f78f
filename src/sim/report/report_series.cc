#include "sim/report/report_series.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "balancing/measures/deviation.h"

namespace evenkeel::sim {
namespace {

using base::JsonArray;
using base::JsonObject;

/// A chart with more lines says nothing; the smallest groups share one.
constexpr size_t kGroupLinesMax = 7;

double FourDigits(double value) { return std::round(value * 10'000) / 10'000; }

/// What a report says of one sample, all clusters together.
struct Sums {
  int64_t ready = 0, nodes = 0, wanted = 0;
  int64_t running = 0, starting = 0, pending = 0;
  int64_t clusters = 0, unowned = 0;
  double cost = 0, load = 0;
  double spread_mean = 0, spread_most = 0;  ///< standard deviation of the loads of a cluster's nodes
  std::map<uint32_t, int64_t> groups;
};

/// Of the nodes that may get pods.
double SpreadOf(const ClusterSample& cluster) {
  double sum = 0, squares = 0, count = 0;
  for (const NodeSample& node : cluster.nodes) {
    if (node.state != NodeState::kReady) continue;
    sum += node.load;
    squares += static_cast<double>(node.load) * node.load;
    ++count;
  }
  return count == 0 ? 0 : balancing::NormStdDev(count, sum, squares) * sum / count;
}

Sums SumsOf(const FleetSample& sample) {
  Sums sums;
  sums.clusters = std::ssize(sample.clusters);
  for (const ClusterSample& cluster : sample.clusters) {
    sums.unowned += cluster.owner == 0 ? 1 : 0;
    sums.wanted += cluster.wanted;
    sums.running += cluster.running;
    sums.starting += cluster.starting;
    sums.pending += cluster.pending;
    for (const NodeSample& node : cluster.nodes) {
      ++sums.nodes;
      sums.ready += node.state == NodeState::kNotReady ? 0 : 1;
      sums.load += node.load;
      ++sums.groups[node.group];
      sums.cost += cluster.PriceOf(node.group);
    }
    const double spread = SpreadOf(cluster);
    sums.spread_mean += spread / static_cast<double>(sums.clusters);
    sums.spread_most = std::max(sums.spread_most, spread);
  }
  if (sums.nodes > 0) sums.load /= static_cast<double>(sums.nodes);
  return sums;
}

class SeriesWriter {
 public:
  using Value = std::function<double(const Sums&)>;

  explicit SeriesWriter(const FleetSamples& samples) : samples_(samples) {
    for (const FleetSample& sample : samples.all()) {
      t_.emplace_back(std::round(std::chrono::duration<double>(sample.at).count()));
      sums_.push_back(SumsOf(sample));
    }
  }

  void Add(std::string_view title, std::string_view unit, std::string_view style,
           const std::vector<std::pair<std::string, Value>>& lines) {
    JsonArray array;
    for (const auto& [name, value] : lines) {
      JsonArray values;
      for (const Sums& sums : sums_) values.emplace_back(FourDigits(value(sums)));
      array.push_back(JsonObject{{"name", name}, {"values", std::move(values)}});
    }
    AddLines(title, unit, style, std::move(array));
  }

  void AddGroups() {
    std::map<uint32_t, int64_t> totals;
    for (const Sums& sums : sums_) {
      for (const auto& [group, count] : sums.groups) totals[group] += count;
    }
    if (totals.size() < 2) return;
    std::vector<uint32_t> groups;
    for (const auto& [group, total] : totals) groups.push_back(group);
    std::ranges::stable_sort(groups, std::greater(), [&](uint32_t group) { return totals[group]; });
    if (groups.size() > kGroupLinesMax) groups.resize(kGroupLinesMax);
    std::ranges::sort(groups, {}, [&](uint32_t group) { return samples_.TextOf(group); });
    std::vector<std::pair<std::string, Value>> lines;
    const auto count = [](const Sums& sums, uint32_t group) {
      const auto found = sums.groups.find(group);
      return found == sums.groups.end() ? 0.0 : static_cast<double>(found->second);
    };
    for (const uint32_t group : groups) {
      const std::string& name = samples_.TextOf(group);
      lines.emplace_back(name.empty() ? "without a group" : name,
                         [group, count](const Sums& sums) { return count(sums, group); });
    }
    if (groups.size() < totals.size()) {
      lines.emplace_back("others", [groups, count](const Sums& sums) {
        double rest = static_cast<double>(sums.nodes);
        for (const uint32_t group : groups) rest -= count(sums, group);
        return rest;
      });
    }
    Add("Nodes by group", "nodes", "stack", lines);
  }

  void AddEnsemble() {
    JsonArray serving, needed;
    bool any = false;
    for (const FleetSample& sample : samples_.all()) {
      any = any || sample.voters > 0;
      serving.emplace_back(sample.serving);
      needed.emplace_back(sample.voters == 0 ? 0 : sample.voters / 2 + 1);
    }
    if (!any) return;
    AddLines("Voters of the ensemble", "servers", "step",
             JsonArray{JsonObject{{"name", "serving"}, {"values", std::move(serving)}},
                       JsonObject{{"name", "majority"}, {"values", std::move(needed)}}});
  }

  void AddReplicas() {
    JsonArray values;
    for (const FleetSample& sample : samples_.all()) values.emplace_back(sample.replicas);
    JsonArray unowned;
    for (const Sums& sums : sums_) unowned.emplace_back(sums.unowned);
    AddLines("Controller replicas", "", "step",
             JsonArray{JsonObject{{"name", "running"}, {"values", std::move(values)}},
                       JsonObject{{"name", "clusters without an owner"}, {"values", std::move(unowned)}}});
  }

  bool Has(const Value& value) const {
    return std::ranges::any_of(sums_, [&](const Sums& sums) { return value(sums) != 0; });
  }
  bool HasReplicas() const {
    return std::ranges::any_of(samples_.all(), [](const FleetSample& sample) { return sample.replicas > 0; });
  }
  JsonArray Take() { return std::move(series_); }

 private:
  void AddLines(std::string_view title, std::string_view unit, std::string_view style, JsonArray lines) {
    JsonObject series{{"title", title}, {"x", "time"}, {"t", t_}, {"lines", std::move(lines)}, {"style", style}};
    if (!unit.empty()) series["unit"] = unit;
    series_.push_back(std::move(series));
  }

  const FleetSamples& samples_;
  std::vector<Sums> sums_;
  JsonArray t_;
  JsonArray series_;
};

double AsDouble(int64_t value) { return static_cast<double>(value); }

}  // namespace

JsonArray ReportSeries(const FleetSamples& samples) {
  SeriesWriter series(samples);
  const auto nodes = [](const Sums& sums) { return AsDouble(sums.nodes); };
  const auto running = [](const Sums& sums) { return AsDouble(sums.running); };
  const auto starting = [](const Sums& sums) { return AsDouble(sums.starting); };
  const auto pending = [](const Sums& sums) { return AsDouble(sums.pending); };
  const auto cost = [](const Sums& sums) { return sums.cost; };
  if (series.Has(nodes)) {
    series.Add("Nodes", "nodes", "step",
               {{"ready", [](const Sums& sums) { return AsDouble(sums.ready); }},
                {"wanted", [](const Sums& sums) { return AsDouble(sums.wanted); }}});
  }
  if (series.Has(running) || series.Has(pending)) {
    series.Add("Pods", "pods", "stack", {{"running", running}, {"starting", starting}, {"pending", pending}});
  }
  series.AddGroups();
  if (series.Has(cost)) series.Add("Cost", "per hour", "step", {{"cost", cost}});
  if (series.Has(nodes)) {
    series.Add("Load of the nodes", "share", "line", {{"mean", [](const Sums& sums) { return sums.load; }}});
    series.Add("Imbalance: deviation of the loads in a cluster", "share", "line",
               {{"mean of the clusters", [](const Sums& sums) { return sums.spread_mean; }},
                {"most", [](const Sums& sums) { return sums.spread_most; }}});
  }
  if (series.HasReplicas()) series.AddReplicas();
  series.AddEnsemble();
  return series.Take();
}

std::map<std::string, GroupHours> HoursOfGroups(const FleetSamples& samples) {
  std::map<std::string, GroupHours> hours;
  const auto& all = samples.all();
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const double length = std::chrono::duration<double, std::ratio<3600>>(all[i + 1].at - all[i].at).count();
    for (const ClusterSample& cluster : all[i].clusters) {
      for (const NodeSample& node : cluster.nodes) {
        GroupHours& group = hours[samples.TextOf(node.group)];
        group.node_hours += length;
        group.cost += length * cluster.PriceOf(node.group);
      }
    }
  }
  return hours;
}

}  // namespace evenkeel::sim
