// `evenkeel top`: clusters, nodes or shards of the fleet, live.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"
#include "cli/clusters/fleet_tables.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/terminal.h"

namespace evenkeel::cli {

struct TopOptions {
  HubOptions hub;
  std::string what = "clusters";  ///< or "nodes", "shards"
  std::string cluster;            ///< nodes of this one; "": of all
  std::string sort;               ///< a column; "": the first
  bool reverse = false;
  bool once = false;
};

/// What the keys change.
struct TopView {
  std::string what = "clusters";
  size_t sort = 0;
  bool reverse = false;
  size_t skip = 0;  ///< rows above the first that is shown
};

/// What the key makes of the view; `table`: that is shown. False: it ends.
bool PressKey(std::string_view key, const SortableTable& table, size_t page, TopView& view);
/// The screen, of exactly `size`. Pure. `table` is sorted; `skip` that is too large shows the last rows.
std::string DrawTop(const SortableTable& table, const TopView& view, const std::string& summary, TerminalSize size);

/// On a terminal until q or a signal; otherwise, and with --once, once.
base::Status Top(const TopOptions& options, std::ostream& out);

struct NodeGroupsOptions {
  HubOptions hub;
  std::string cluster;  ///< "": of all
  GetOptions get{};
};
base::Status GetNodeGroups(const NodeGroupsOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
