#include "sim/report/report_data.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "sim/report/report_parts.h"
#include "sim/report/report_series.h"

namespace evenkeel::sim {
namespace {

using base::Duration;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// A distribution with more values keeps so many of them, evenly.
constexpr size_t kValuesMax = 20'000;

double ReportSeconds(Duration duration) {
  return std::round(std::chrono::duration<double, std::milli>(duration).count()) / 1000;
}

/// As the page writes times since the beginning.
std::string ClockText(Duration at) {
  const auto seconds = std::chrono::round<std::chrono::seconds>(at).count();
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string SpanText(Duration duration) {
  return base::FormatDuration(std::chrono::round<std::chrono::milliseconds>(duration));
}

void AddDistribution(JsonArray& distributions, const std::string& title, const std::vector<Duration>& sorted) {
  if (sorted.empty()) return;
  const size_t kept = std::min(sorted.size(), kValuesMax);
  JsonArray values;
  for (size_t i = 0; i < kept; ++i) {
    values.emplace_back(ReportSeconds(sorted[kept == 1 ? 0 : i * (sorted.size() - 1) / (kept - 1)]));
  }
  const std::string shown = kept < sorted.size() ? fmt::format("{} ({} of {} values)", title, kept, sorted.size()) : title;
  distributions.push_back(JsonObject{{"title", shown}, {"unit", "s"}, {"values", std::move(values)}});
}

Json OwnersOf(const Recording& recording, Duration end) {
  if (recording.owners.empty()) return Json();
  JsonObject clusters;
  for (const auto& [cluster, changes] : recording.owners) {
    JsonArray list;
    for (const OwnerChange& change : changes) {
      list.push_back(JsonArray{ReportSeconds(change.at), change.owner.empty() ? Json() : Json(change.owner)});
    }
    clusters[cluster] = std::move(list);
  }
  return JsonObject{{"t", JsonArray{0, ReportSeconds(end)}}, {"clusters", std::move(clusters)}};
}

/// From whom to whom each cluster went, for how long it had nobody in between, and why.
JsonArray HandoverRows(const Recording& recording) {
  std::vector<std::pair<Duration, JsonArray>> rows;
  for (const auto& [cluster, changes] : recording.owners) {
    const OwnerChange* last = nullptr;  // the one after which nobody was
    std::string from;
    for (const OwnerChange& change : changes) {
      if (change.owner.empty()) {
        last = &change;
        continue;
      }
      if (!from.empty()) {
        const OwnerChange& ended = last == nullptr ? change : *last;
        rows.emplace_back(change.at, JsonArray{Json(ClockText(change.at)), Json(cluster), Json(from), Json(change.owner),
                                               Json(ReportSeconds(change.at - ended.at)), Json(ended.why)});
      }
      from = change.owner;
      last = nullptr;
    }
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  JsonArray sorted;
  for (auto& [at, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

JsonArray MovesOf(const Recording& recording) {
  JsonArray moves;
  for (const RecordedMove& move : recording.moves) {
    if (moves.size() == kReportRowsMax) break;
    moves.push_back(JsonObject{{"t", ReportSeconds(move.at)},
                               {"cluster", move.cluster},
                               {"object", move.object},
                               {"from", move.from},
                               {"to", move.to},
                               {"reason", move.reason},
                               {"gain", move.gain}});
  }
  return moves;
}

/// What a reader wants to find beside a bend in a chart; the rest is in the timeline (--timeline).
bool IsNews(const TimelineEntry& entry) {
  return entry.event.starts_with("fault ") || entry.event == "event" || entry.event == "healed" || entry.event == "converged" ||
         entry.event == "wish" || entry.event == "record" || entry.event == "server stopped";
}

bool HasPrices(const FleetSamples& samples) {
  return std::ranges::any_of(samples.all(), [](const FleetSample& sample) {
    return std::ranges::any_of(sample.clusters, [](const ClusterSample& cluster) { return !cluster.prices.empty(); });
  });
}

void AddCost(const FleetSamples& samples, JsonArray& facts, ReportTables& tables) {
  const auto hours = HoursOfGroups(samples);
  if (hours.empty()) return;
  GroupHours all;
  JsonArray rows;
  const bool priced = HasPrices(samples);
  for (const auto& [group, of_group] : hours) {
    all.node_hours += of_group.node_hours;
    all.cost += of_group.cost;
    JsonArray row{Json(group.empty() ? "without a group" : group), Json(std::round(of_group.node_hours * 1000) / 1000)};
    if (priced) row.push_back(std::round(of_group.cost * 1000) / 1000);
    rows.push_back(std::move(row));
  }
  facts.push_back(ReportFact("Node hours", fmt::format("{:.1f}", all.node_hours)));
  if (priced) facts.push_back(ReportFact("Cost", fmt::format("{:.2f}", all.cost)));
  if (priced) return tables.Add("Cost", {"Group", "Node hours", "Cost"}, std::move(rows));
  tables.Add("Node hours", {"Group", "Node hours"}, std::move(rows));
}

JsonArray FactsOf(const SimulationReport& report) {
  JsonArray facts{ReportFact("Seed", std::to_string(report.seed)), ReportFact("Simulated", SpanText(report.virtual_time)),
                  ReportFact("Checks", report.passed() ? "all held" : fmt::format("{} broken", report.violations.size()))};
  facts.push_back(ReportFact("Longest without an owner", SpanText(report.longest_unowned)));
  const Recording& recording = *report.recording;
  if (report.autoscaling) {
    facts.push_back(
        ReportFact("Nodes joined, gone", fmt::format("{}, {}", report.autoscaling->joined, report.autoscaling->gone)));
  }
  if (!recording.waited.empty()) {
    facts.push_back(ReportFact("Pods waited, 90 %", SpanText(Percentile(recording.waited, 0.9))));
  }
  if (report.movements) facts.push_back(ReportFact("Pods moved", std::to_string(*report.movements)));
  return facts;
}

JsonArray NewsRows(const SimulationReport& report) {
  JsonArray rows;
  for (const TimelineEntry& entry : report.timeline) {
    if (IsNews(entry))
      rows.push_back(JsonArray{Json(ClockText(entry.at)), Json(entry.party), Json(entry.event), Json(entry.detail)});
  }
  return rows;
}

}  // namespace

JsonObject ReportData(const SimulationReport& report, const ReportProgress& on_progress) {
  const Recording& recording = *report.recording;
  const size_t clusters = recording.samples.all().empty() ? 0 : recording.samples.all().front().clusters.size();
  JsonArray facts = FactsOf(report), distributions;
  ReportTables tables;
  JsonArray broken;
  for (const Violation& violation : report.violations) {
    broken.push_back(JsonArray{Json(ClockText(violation.at)), Json(violation.checker), Json(violation.what)});
  }
  tables.Add("Broken checks", {"Time", "Checker", "What"}, std::move(broken));
  AddCost(recording.samples, facts, tables);
  AddDistribution(distributions, "Time that pods had no node", recording.waited);
  AddDistribution(distributions, "Time that a cluster had no owner between two", report.handovers);
  tables.Add("Hand-overs", {"Time", "Cluster", "From", "To", "Seconds without", "Why"}, HandoverRows(recording));
  tables.Add("What happened", {"Time", "Where", "What", "Detail"}, NewsRows(report));
  JsonObject data =
      ReportHead("simulate", report.scenario,
                 fmt::format("{} clusters for {}, seed {}", clusters, SpanText(report.virtual_time), report.seed));
  data["facts"] = std::move(facts);
  data["series"] = ReportSeries(recording.samples);
  data["distributions"] = std::move(distributions);
  data["owners"] = OwnersOf(recording, report.virtual_time);
  PutMoves(data, MovesOf(recording), recording.moves.size());
  data["tables"] = tables.Take();
  data["frames"] = PlaybackFrames(recording.samples, on_progress);
  return data;
}

JsonObject ReportData(const ReplayReport& report, const ReportProgress& on_progress) {
  const Recording& recording = *report.recording;
  JsonArray facts{ReportFact("Simulated", base::HumanDuration(report.virtual_time)),
                  ReportFact("Tasks", std::to_string(report.tasks)),
                  ReportFact("Placed", std::to_string(report.placed)),
                  ReportFact("Waited, 90 %", SpanText(Percentile(report.pending, 0.9))),
                  ReportFact("Nodes at most", fmt::format("{} of {}", report.nodes_max, report.nodes_static)),
                  ReportFact("Node hours", fmt::format("{:.0f}", report.hours.nodes))};
  if (report.hours_static.nodes > 0) {
    facts.push_back(
        ReportFact("Of all nodes all the time", fmt::format("{:.1f} %", 100 * report.hours.nodes / report.hours_static.nodes)));
  }
  JsonArray rows, distributions;
  for (const auto& [shape, hours] : report.hours_static.by_shape) {
    const auto used = report.hours.by_shape.find(shape);
    rows.push_back(JsonArray{Json(shape), Json(used == report.hours.by_shape.end() ? 0.0 : std::round(used->second)),
                             Json(std::round(hours))});
  }
  AddDistribution(distributions, "Time that tasks had no node", report.pending);
  ReportTables tables;
  tables.Add("Node hours", {"Shape", "With the autoscaler", "All nodes all the time"}, std::move(rows));
  JsonObject data = ReportHead("simulate", report.scenario,
                               fmt::format("trace {} of {} tasks, seed {}", report.kind, report.tasks, report.seed));
  data["facts"] = std::move(facts);
  data["series"] = ReportSeries(recording.samples);
  data["distributions"] = std::move(distributions);
  data["tables"] = tables.Take();
  data["frames"] = PlaybackFrames(recording.samples, on_progress);
  return data;
}

}  // namespace evenkeel::sim
