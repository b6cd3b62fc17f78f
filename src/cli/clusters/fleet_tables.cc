#include "cli/clusters/fleet_tables.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace evenkeel::cli {
namespace {

using base::Find;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonObject;

SortableCell TextOf(const Json& entry, std::initializer_list<std::string_view> path) {
  const std::string_view text = FindString(entry, path);
  return {text.empty() ? "-" : std::string(text)};
}

SortableCell Whole(int64_t number) { return {std::to_string(number), static_cast<double>(number)}; }

SortableCell NumberOf(const Json& entry, std::string_view key) {
  const Json* value = Find(entry, {key});
  if (value == nullptr || !value->is_number()) return {"-", -1};
  return Whole(value->to_number<int64_t>());
}

/// Of a whole: "2/3", sorted by the whole.
SortableCell PartOf(int64_t part, int64_t whole) { return {fmt::format("{}/{}", part, whole), static_cast<double>(whole)}; }

double ShareOf(const Json& entry, std::string_view metric) {
  const Json* share = Find(entry, {"load", metric});
  return share != nullptr && share->is_number() ? share->to_number<double>() : -1;
}

SortableCell Percent(double share) {
  const Tone tone = share >= 0.9 ? Tone::kBad : share >= 0.75 ? Tone::kWarning : Tone::kPlain;
  return {share < 0 ? "-" : fmt::format("{:.0f}%", share * 100), share, tone};
}

SortableCell Toned(SortableCell cell, Tone tone) {
  cell.tone = tone;
  return cell;
}

/// Of pods that wait.
SortableCell Waiting(int64_t number) { return Toned(Whole(number), number > 0 ? Tone::kWarning : Tone::kPlain); }

Tone ToneOfHealth(std::string_view health) {
  if (health == "Healthy") return Tone::kGood;
  if (health == "Degraded") return Tone::kWarning;
  return health == "Unknown" ? Tone::kUnknown : Tone::kBad;
}

Tone ToneOfNode(std::string_view state) {
  if (state == "Ready") return Tone::kGood;
  return state == "NotReady" ? Tone::kBad : Tone::kWarning;
}

/// What is told of the member is from before.
bool IsUnknown(const Json& member) { return !FindString(member, {"unknownSince"}).empty(); }

/// Of the members of which something is known.
struct Sums {
  int64_t ready = 0, nodes = 0, running = 0, pods = 0, pending = 0, unknown = 0;

  void Add(const Json& cluster) {
    if (IsUnknown(cluster)) {
      ++unknown;
      return;
    }
    ready += FindInt(cluster, {"nodes", "ready"});
    nodes += FindInt(cluster, {"nodes", "total"});
    running += FindInt(cluster, {"pods", "running"});
    pods += FindInt(cluster, {"pods", "total"});
    pending += FindInt(cluster, {"pods", "pending"});
  }
};

}  // namespace

base::Result<size_t> SortableTable::FindColumn(const std::string& name) const {
  std::string names;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (base::Lower(columns[i].name) == base::Lower(name)) return i;
    names += (names.empty() ? "" : ", ") + base::Lower(columns[i].name);
  }
  return base::Fail(base::Code::kBadRequest, "there is no column " + name + ": there are " + names);
}

void SortableTable::Sort(size_t column, bool reverse) {
  const bool down = columns[column].numeric != reverse;
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
    const SortableCell &first = down ? b[column] : a[column], &second = down ? a[column] : b[column];
    return columns[column].numeric ? first.number < second.number : first.text < second.text;
  });
}

void SortableTable::Filter(const std::string& text) {
  if (text.empty()) return;
  std::erase_if(rows, [wanted = base::Lower(text)](const std::vector<SortableCell>& row) {
    return std::ranges::none_of(row, [&wanted](const SortableCell& cell) { return base::Lower(cell.text).contains(wanted); });
  });
}

std::vector<std::string> SortableTable::KeyOf(size_t row) const {
  std::vector<std::string> key;
  for (size_t i = 0; i < keys && row < rows.size(); ++i) key.push_back(rows[row][i].text);
  return key;
}

std::vector<std::string> SortableTable::Header() const {
  std::vector<std::string> header;
  for (const Column& column : columns) header.push_back(column.name);
  return header;
}

std::vector<std::vector<std::string>> SortableTable::Texts() const {
  std::vector<std::vector<std::string>> texts;
  for (const auto& row : rows) {
    std::vector<std::string>& cells = texts.emplace_back();
    for (const SortableCell& cell : row) cells.push_back(cell.text);
  }
  return texts;
}

SortableTable ClusterTable(const FleetPicture& picture) {
  SortableTable table;
  table.columns = {{"CLUSTER"},         {"OWNER", false, 3}, {"HEALTH"},           {"NODES", true},
                   {"PODS", true, 2},   {"PENDING", true},   {"CPU", true, 1},     {"MEMORY", true, 2},
                   {"WEIGHT", true, 5}, {"SHARD", true, 5},  {"MESSAGE", false, 1}};
  for (const auto& [name, entry] : FindObject(picture.fleet, {"clusters"})) {
    Sums sums;
    sums.Add(entry);
    const bool unknown = sums.unknown > 0;
    const SortableCell nothing{"-", -1, Tone::kUnknown};
    table.rows.push_back(
        {{std::string(name)},
         TextOf(entry, {"owner"}),
         Toned(TextOf(entry, {"health"}), ToneOfHealth(FindString(entry, {"health"}))),
         unknown ? nothing : Toned(PartOf(sums.ready, sums.nodes), sums.ready < sums.nodes ? Tone::kWarning : Tone::kPlain),
         unknown ? nothing : PartOf(sums.running, sums.pods),
         unknown ? nothing : Waiting(sums.pending),
         unknown ? nothing : Percent(ShareOf(entry, "cpu")),
         unknown ? nothing : Percent(ShareOf(entry, "memory")),
         NumberOf(entry, "weight"),
         NumberOf(entry, "shard"),
         TextOf(entry, {"message"})});
  }
  table.Sort(0, false);
  return table;
}

SortableTable NodeTable(const FleetPicture& picture) {
  SortableTable table;
  table.keys = 2;
  table.columns = {{"CLUSTER"},
                   {"NODE"},
                   {"OWNER", false, 4},
                   {"STATE"},
                   {"GROUP", false, 2},
                   {"PODS", true, 1},
                   {"CPU", true, 1},
                   {"MEMORY", true, 1},
                   {"CPU REQUESTED", false, 3},
                   {"MEMORY REQUESTED", false, 3}};
  for (const auto& [member, document] : picture.members) {
    for (const auto& [name, entry] : FindObject(document, {"nodes"})) {
      auto requested = [&entry](std::string_view what) -> SortableCell {
        const SortableCell of = TextOf(entry, {"allocatable", what});
        return {TextOf(entry, {"requested", what}).text + " of " + of.text};
      };
      table.rows.push_back({{member},
                            {std::string(name)},
                            TextOf(document, {"owner"}),
                            IsUnknown(document) ? SortableCell{"Unknown", 0, Tone::kUnknown}
                                                : Toned(TextOf(entry, {"state"}), ToneOfNode(FindString(entry, {"state"}))),
                            TextOf(entry, {"group"}),
                            NumberOf(entry, "pods"),
                            Percent(ShareOf(entry, "cpu")),
                            Percent(ShareOf(entry, "memory")),
                            requested("cpu"),
                            requested("memory")});
    }
  }
  table.Sort(1, false);
  table.Sort(0, false);
  return table;
}

SortableTable ShardTable(const FleetPicture& picture, base::Time now) {
  std::map<std::string, Sums, std::less<>> owned;
  for (const auto& [name, entry] : FindObject(picture.fleet, {"clusters"}))
    owned[std::string(FindString(entry, {"owner"}))].Add(entry);
  SortableTable table;
  table.columns = {{"REPLICA"},        {"SHARD", true, 2},   {"STATE"},
                   {"SINCE", true, 2}, {"CLUSTERS", true},   {"NODES", true, 1},
                   {"PODS", true, 2},  {"PENDING", true, 1}, {"WEIGHT", true, 3}};
  const std::string_view leader = FindString(picture.fleet, {"plan", "leader"});
  for (const auto& [name, entry] : FindObject(picture.fleet, {"replicas"})) {
    const Sums& sums = owned[std::string(name)];
    std::string state = base::FindBool(entry, {"alive"}) ? "alive" : "silent";
    if (base::FindBool(entry, {"leaving"})) state = "leaving";
    if (leader == name) state += ", leads";
    SortableCell since{"-", -1};
    if (const auto time = base::ParseTime(FindString(entry, {"since"}))) {
      since = {base::HumanDuration(now - *time), std::chrono::duration<double>(now - *time).count()};
    }
    table.rows.push_back({{std::string(name)},
                          NumberOf(entry, "shard"),
                          {state, 0,
                           state.starts_with("alive")    ? Tone::kGood
                           : state.starts_with("silent") ? Tone::kBad
                                                         : Tone::kWarning},
                          since,
                          NumberOf(entry, "clusters"),
                          PartOf(sums.ready, sums.nodes),
                          PartOf(sums.running, sums.pods),
                          Waiting(sums.pending),
                          NumberOf(entry, "weight")});
  }
  table.Sort(0, false);
  return table;
}

std::string FleetSummary(const FleetPicture& picture) {
  Sums sums;
  int64_t unhealthy = 0;
  const JsonObject& clusters = FindObject(picture.fleet, {"clusters"});
  for (const auto& [name, entry] : clusters) {
    sums.Add(entry);
    if (FindString(entry, {"health"}) != "Healthy") ++unhealthy;
  }
  std::string text = fmt::format("{} clusters, {} not healthy; {} of {} nodes ready; {} of {} pods run, {} wait",
                                 clusters.size(), unhealthy, sums.ready, sums.nodes, sums.running, sums.pods, sums.pending);
  if (sums.unknown > 0) text += fmt::format("; {} unknown", sums.unknown);
  if (const int64_t epoch = FindInt(picture.fleet, {"plan", "epoch"}); epoch > 0) text += fmt::format("; plan {}", epoch);
  return text;
}

Shown ShowNodeGroups(const FleetPicture& picture) {
  Shown shown;
  shown.keys = 2;
  shown.kind = "nodegroup";
  shown.items = "nodeGroups";
  shown.header = {"CLUSTER", "GROUP", "TARGET",         "READY",         "UPCOMING",
                  "MIN",     "MAX",   "PRICE PER HOUR", "BACKOFF UNTIL", "BACKOFF REASON"};
  shown.wide = 1;
  base::JsonArray groups;
  for (const auto& [member, document] : picture.members) {
    for (const auto& [name, entry] : FindObject(document, {"groups"})) {
      const Json* price = Find(entry, {"pricePerHour"});
      const bool priced = price != nullptr && price->is_number();
      const auto number = [&entry](const char* key) { return std::to_string(FindInt(entry, {key})); };
      shown.rows.push_back({member, std::string(name), number("target"), number("ready"), number("upcoming"), number("min"),
                            number("max"), priced ? fmt::format("{:.6g}", price->to_number<double>()) : "-",
                            TextOf(entry, {"backoffUntil"}).text, TextOf(entry, {"backoffReason"}).text});
      shown.names.push_back(member + "/" + std::string(name));
      JsonObject group{{"cluster", member}, {"name", name}};
      for (const char* key : {"target", "ready", "upcoming", "min", "max", "pricePerHour", "backoffUntil", "backoffReason"}) {
        const Json* value = Find(entry, {key});
        group[key] = value == nullptr ? Json() : *value;
      }
      groups.push_back(std::move(group));
    }
  }
  shown.json = JsonObject{{"nodeGroups", std::move(groups)}};
  return shown;
}

}  // namespace evenkeel::cli
