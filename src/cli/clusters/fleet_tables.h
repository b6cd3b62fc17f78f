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

/// What a row is sorted by: numbers from the greatest down, texts from A on.
struct SortableCell {
  std::string text;
  double number = 0;
};

struct SortableTable {
  struct Column {
    std::string name;
    bool numeric = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<SortableCell>> rows;

  /// The position of the column; its name in any case. kBadRequest lists them.
  base::Result<size_t> FindColumn(const std::string& name) const;
  /// Rows that are equal there stay in the order of what comes first in them.
  void Sort(size_t column, bool reverse);
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
