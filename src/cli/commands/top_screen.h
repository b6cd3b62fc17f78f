// The screen of `evenkeel top`: what keys do to it, and how it is drawn. Pure: of a picture, keys, a size and a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/clusters/fleet_tables.h"
#include "cli/terminal/terminal.h"

namespace evenkeel::cli {

/// What the keys change.
struct TopView {
  enum class Pane { kTable, kExplanation, kHelp };
  std::string what = "clusters";  ///< or "nodes", "shards"
  std::string cluster{};          ///< nodes of this one alone; "": of all
  size_t sort = 0;
  bool reverse = false;
  std::string filter{};
  bool typing = false;               ///< keys are letters of the filter
  std::vector<std::string> under{};  ///< the key of the row under the cursor; empty: the first
  size_t cursor = 0;                 ///< its position
  size_t skip = 0;                   ///< rows above the first that is shown
  Pane pane = Pane::kTable;
  size_t pane_skip = 0;         ///< lines of the pane that are above the first
  std::vector<TopView> back{};  ///< where Escape leads
};

/// How many rows the screen has room for.
size_t TopPage(TerminalSize size);
/// The rows of the view, filtered and sorted.
SortableTable TopTable(const FleetPicture& picture, const TopView& view, base::Time now);
/// Keeps the cursor on its row wherever that has gone, and the row on the screen.
void SettleTop(const SortableTable& table, TerminalSize size, TopView& view);
/// What the key makes of a view that is settled on `table`. False: it ends.
bool PressKey(std::string_view key, const SortableTable& table, TerminalSize size, TopView& view);
/// The screen, of exactly `size`, but for escape sequences of colours where `colour` is wanted.
std::string DrawTop(const FleetPicture& picture, const TopView& view, const std::string& summary, base::Time now,
                    TerminalSize size, bool colour);

}  // namespace evenkeel::cli
