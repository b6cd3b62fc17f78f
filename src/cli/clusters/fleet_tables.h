// Tables of a fleet's picture: for `top` and `get nodegroups`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "cli/clusters/live_fleet.h"
#include "cli/terminal/watch_rows.h"

namespace evenkeel::cli {

/// How good what a cell says is, for its colour.
enum class Tone { kPlain, kGood, kWarning, kBad, kUnknown };

/// What a row is sorted by: numbers from the greatest down, texts from A on.
struct SortableCell {
  std::string text;
  double number = 0;
  Tone tone = Tone::kPlain;
};

struct SortableTable {
  struct Column {
    std::string name;
    bool numeric = false;
    int rank = 0;  ///< where there is no room for all, those with the lowest are shown
  };
  std::vector<Column> columns;
  std::vector<std::vector<SortableCell>> rows;
  size_t keys = 1;  ///< so many of the first cells tell rows apart

  /// The position of the column; its name in any case. kBadRequest lists them.
  base::Result<size_t> FindColumn(const std::string& name) const;
  /// Rows that are equal there stay in the order of what comes first in them.
  void Sort(size_t column, bool reverse);
  /// Keeps the rows in which a cell contains the text, in any case.
  void Filter(const std::string& text);
  std::vector<std::string> KeyOf(size_t row) const;
  std::vector<std::string> Header() const;
  std::vector<std::vector<std::string>> Texts() const;
};

SortableTable ClusterTable(const FleetPicture& picture);
/// Of the members that are followed.
SortableTable NodeTable(const FleetPicture& picture);
SortableTable ShardTable(const FleetPicture& picture, base::Time now);
/// What there is all together: a line for people.
std::string FleetSummary(const FleetPicture& picture);

/// JSON: {"nodeGroups": [{"cluster", "name", "target", "ready", "upcoming", "min", "max", "pricePerHour", "backoffUntil",
/// "backoffReason"}]}. Names are "CLUSTER/GROUP".
Shown ShowNodeGroups(const FleetPicture& picture);

}  // namespace evenkeel::cli
