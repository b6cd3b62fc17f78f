#include "cli/commands/top_screen.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "cli/clusters/fleet_details.h"
#include "cli/terminal/printable.h"

namespace evenkeel::cli {
namespace {

/// Title, summary, header and keys.
constexpr size_t kFrameLines = 4;
constexpr size_t kColumnGap = 2;
constexpr size_t kFilterMax = 100;
/// Of the last column so much is enough: it is text.
constexpr size_t kTextColumns = 16;
constexpr const char* kKeys = "c n s view  / filter  < > sort  r reverse  Enter open  e explain  ? help  q quit";
constexpr const char* kPaneKeys = "Esc back  up/down scroll  q quit";

const std::vector<std::string>& HelpLines() {
  static const std::vector<std::string> lines{
      "c clusters   n nodes   s shards",
      "j, k, up, down           move the cursor",
      "space, b, PgDn, PgUp     a page on, a page back",
      "g, G, Home, End          the first row, the last row",
      "<, >, left, right        sort by another column",
      "r                        the other way round",
      "/                        only rows that contain a text; Enter keeps it, Esc drops it",
      "Enter                    open: a cluster's nodes, a replica's clusters, what is known of a node",
      "e                        explain the row under the cursor",
      "Esc                      back",
      "q                        quit",
      "Columns that do not fit are left out: the most important ones stay."};
  return lines;
}

const char* CodeOf(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kUnknown:
      return "\x1b[90m";
    case Tone::kPlain:
      return "";
  }
  return "";
}
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kReverse = "\x1b[7m";
constexpr const char* kNormal = "\x1b[0m";

std::string Painted(const std::string& text, const char* code, bool colour) {
  return colour && *code != '\0' ? code + text + kNormal : text;
}

/// Lines of at most so many columns, broken at spaces.
std::vector<std::string> Wrapped(const std::vector<std::string>& lines, size_t columns) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    std::string rest = Printable(line);
    const std::string margin(std::min(rest.find_first_not_of(" -"), rest.size()), ' ');
    while (columns > margin.size() + 1 && Columns(rest) > columns) {
      size_t end = rest.rfind(' ', columns);
      if (end == std::string::npos || end <= margin.size()) break;
      out.push_back(rest.substr(0, end));
      rest = margin + rest.substr(end + 1);
    }
    out.push_back(rest);
  }
  return out;
}

/// Which columns are shown, in their order: by rank as many as fit. The keys and the one that is sorted by come first.
std::vector<size_t> ColumnsThatFit(const SortableTable& table, const std::vector<size_t>& widths, size_t sort, size_t room) {
  std::vector<size_t> order(table.columns.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](size_t i) { return i < table.keys ? -2 : i == sort ? -1 : table.columns[i].rank; };
  std::ranges::stable_sort(order, {}, rank);
  std::vector<size_t> chosen;
  size_t used = 0;
  for (const size_t i : order) {
    const size_t needed = (i + 1 == widths.size() ? std::min(widths[i], kTextColumns) : widths[i]) + kColumnGap;
    if (!chosen.empty() && used + needed > room + kColumnGap) continue;
    used += needed;
    chosen.push_back(i);
  }
  std::ranges::sort(chosen);
  return chosen;
}

/// One row: a mark, then the cells.
std::string Row(const std::vector<std::string>& cells, const std::vector<const char*>& codes, const std::vector<size_t>& chosen,
                const std::vector<size_t>& widths, bool marked, size_t columns, bool colour) {
  std::string line = Fitted(marked ? "> " : "  ", std::min<size_t>(2, columns));
  size_t left = columns - std::min<size_t>(2, columns);
  for (const size_t i : chosen) {
    const size_t width = i == chosen.back() ? left : std::min(widths[i] + kColumnGap, left);
    line += Painted(Fitted(cells[i], width), marked ? "" : codes[i], colour);
    left -= width;
  }
  line += std::string(left, ' ');
  return Painted(line, marked ? kReverse : "", colour);
}

std::string Title(const SortableTable& table, const TopView& view, size_t hidden) {
  std::string title = "evenkeel top " + view.what;
  if (view.what == "nodes" && !view.cluster.empty()) title += " of " + view.cluster;
  title += fmt::format(": {} rows", table.rows.size());
  if (!view.filter.empty()) title += fmt::format(" that contain \"{}\"", view.filter);
  if (hidden > 0) title += fmt::format(" ({} column{} more on a wider terminal)", hidden, hidden == 1 ? "" : "s");
  return title;
}

/// Title, summary, header and the rows of the page.
std::vector<std::string> TableLines(const SortableTable& table, const TopView& view, const std::string& summary,
                                    TerminalSize size, bool colour) {
  const std::vector<std::vector<std::string>> texts = table.Texts();
  std::vector<std::string> header = table.Header();
  header[view.sort] += view.reverse ? " (reverse)" : "*";
  std::vector<size_t> widths(header.size());
  Widen(header, widths);
  for (const auto& row : texts) Widen(row, widths);
  const std::vector<size_t> chosen = ColumnsThatFit(table, widths, view.sort, size.columns - std::min<size_t>(2, size.columns));
  std::vector<std::string> lines{Fitted(Title(table, view, header.size() - chosen.size()), size.columns),
                                 Fitted(summary, size.columns)};
  const std::vector<const char*> plain(header.size(), "");
  lines.push_back(Painted(Row(header, plain, chosen, widths, false, size.columns, false), kBold, colour));
  for (size_t i = view.skip; i < texts.size() && i < view.skip + TopPage(size); ++i) {
    std::vector<const char*> codes;
    for (const SortableCell& cell : table.rows[i]) codes.push_back(CodeOf(cell.tone));
    lines.push_back(Row(texts[i], codes, chosen, widths, i == view.cursor, size.columns, colour));
  }
  return lines;
}

std::vector<std::string> PaneLines(const FleetPicture& picture, const TopView& view, base::Time now, TerminalSize size) {
  std::string title = "evenkeel top: keys";
  std::vector<std::string> text = HelpLines();
  if (view.pane == TopView::Pane::kExplanation) {
    title = "evenkeel top: explain";
    for (const std::string& part : view.under) title += " " + part;
    text = FleetDetails(picture, view.what, view.under, now);
  }
  text = Wrapped(text, size.columns);
  std::vector<std::string> lines{Fitted(title, size.columns), Fitted("", size.columns)};
  const size_t room = size.lines > 3 ? size.lines - 3 : 0;
  const size_t skip = std::min(view.pane_skip, text.size() - std::min(room, text.size()));
  for (size_t i = skip; i < text.size() && i < skip + room; ++i) lines.push_back(Fitted(text[i], size.columns));
  return lines;
}

void OpenView(TopView next, TopView& view) {
  TopView before = std::move(view);
  std::vector<TopView> back = std::move(before.back);
  before.back.clear();
  back.push_back(std::move(before));
  view = std::move(next);
  view.back = std::move(back);
}

void GoBack(TopView& view) {
  if (view.pane != TopView::Pane::kTable) {
    view.pane = TopView::Pane::kTable;
  } else if (!view.filter.empty() && view.back.empty()) {
    view.filter.clear();
  } else if (!view.back.empty()) {
    std::vector<TopView> back = std::move(view.back);
    TopView before = std::move(back.back());
    back.pop_back();
    view = std::move(before);
    view.back = std::move(back);
  }
}

void TypeFilter(std::string_view key, TopView& view) {
  if (key == "\n" || key == "\r") {
    view.typing = false;
  } else if (key == "\x1b") {
    view.typing = false;
    view.filter.clear();
  } else if (key == "\x7f" || key == "\b") {
    // A letter may be several bytes.
    while (!view.filter.empty() && (static_cast<unsigned char>(view.filter.back()) & 0xc0) == 0x80) view.filter.pop_back();
    if (!view.filter.empty()) view.filter.pop_back();
  } else if (key.size() == 1 && static_cast<unsigned char>(key.front()) >= ' ' && view.filter.size() < kFilterMax) {
    view.filter += key;
  }
}

void Explain(TopView& view) {
  if (view.under.empty()) return;
  view.pane = TopView::Pane::kExplanation;
  view.pane_skip = 0;
}

/// Enter.
void Open(TopView& view) {
  if (view.under.empty()) return;
  if (view.what == "clusters") return OpenView({.what = "nodes", .cluster = view.under.front()}, view);
  if (view.what == "shards") return OpenView({.what = "clusters", .filter = view.under.front()}, view);
  Explain(view);
}

/// False: the key moves nothing.
bool MoveCursor(std::string_view key, const SortableTable& table, size_t page, TopView& view) {
  const size_t last = table.rows.empty() ? 0 : table.rows.size() - 1;
  if (key == "j" || key == "\x1b[B" || key == "\x1bOB") {
    ++view.cursor;
  } else if (key == "k" || key == "\x1b[A" || key == "\x1bOA") {
    view.cursor -= std::min<size_t>(view.cursor, 1);
  } else if (key == " " || key == "\x1b[6~") {
    view.cursor += page;
  } else if (key == "b" || key == "\x1b[5~") {
    view.cursor -= std::min(view.cursor, page);
  } else if (key == "g" || key == "\x1b[H" || key == "\x1b[1~") {
    view.cursor = 0;
  } else if (key == "G" || key == "\x1b[F" || key == "\x1b[4~") {
    view.cursor = last;
  } else {
    return false;
  }
  view.cursor = std::min(view.cursor, last);
  view.under = table.KeyOf(view.cursor);
  return true;
}

void ScrollPane(std::string_view key, size_t page, TopView& view) {
  if (key == "j" || key == "\x1b[B" || key == "\x1bOB") ++view.pane_skip;
  if (key == "k" || key == "\x1b[A" || key == "\x1bOA") view.pane_skip -= std::min<size_t>(view.pane_skip, 1);
  if (key == " " || key == "\x1b[6~") view.pane_skip += page;
  if (key == "b" || key == "\x1b[5~") view.pane_skip -= std::min(view.pane_skip, page);
}

}  // namespace

size_t TopPage(TerminalSize size) { return size.lines > kFrameLines ? size.lines - kFrameLines : 0; }

SortableTable TopTable(const FleetPicture& picture, const TopView& view, base::Time now) {
  SortableTable table = view.what == "nodes"    ? NodeTable(picture)
                        : view.what == "shards" ? ShardTable(picture, now)
                                                : ClusterTable(picture);
  if (view.what == "nodes" && !view.cluster.empty()) {
    std::erase_if(table.rows, [&view](const auto& row) { return row.front().text != view.cluster; });
  }
  table.Filter(view.filter);
  table.Sort(view.sort, view.reverse);
  return table;
}

void SettleTop(const SortableTable& table, TerminalSize size, TopView& view) {
  for (size_t i = 0; !view.under.empty() && i < table.rows.size(); ++i) {
    if (table.KeyOf(i) != view.under) continue;
    view.cursor = i;
    break;
  }
  view.cursor = std::min(view.cursor, table.rows.empty() ? 0 : table.rows.size() - 1);
  // What is explained may be gone; what was known of it is said all the same.
  if (view.pane == TopView::Pane::kTable) view.under = table.KeyOf(view.cursor);
  const size_t page = TopPage(size);
  view.skip = std::min(view.skip, view.cursor);
  if (page > 0 && view.cursor >= view.skip + page) view.skip = view.cursor - page + 1;
  view.skip = std::min(view.skip, table.rows.size() - std::min(page, table.rows.size()));
}

bool PressKey(std::string_view key, const SortableTable& table, TerminalSize size, TopView& view) {
  if (view.typing) {
    TypeFilter(key, view);
    return true;
  }
  if (key == "q") return false;
  if (view.pane != TopView::Pane::kTable && key != "\x1b") {
    ScrollPane(key, TopPage(size), view);
    return true;
  }
  if (MoveCursor(key, table, TopPage(size), view)) return true;
  const auto turn_to = [&view](const char* what) {
    if (view.what != what || !view.cluster.empty()) view = TopView{.what = what};
  };
  if (key == "c") turn_to("clusters");
  if (key == "n") turn_to("nodes");
  if (key == "s") turn_to("shards");
  if (key == "r") view.reverse = !view.reverse;
  if (key == ">" || key == "\x1b[C" || key == "\x1bOC") view.sort = (view.sort + 1) % table.columns.size();
  if (key == "<" || key == "\x1b[D" || key == "\x1bOD")
    view.sort = (view.sort + table.columns.size() - 1) % table.columns.size();
  if (key == "/") view.typing = true;
  if (key == "e") Explain(view);
  if (key == "\n" || key == "\r") Open(view);
  if (key == "\x1b") GoBack(view);
  if (key == "?") {
    view.pane = TopView::Pane::kHelp;
    view.pane_skip = 0;
  }
  return true;
}

std::string DrawTop(const FleetPicture& picture, const TopView& view, const std::string& summary, base::Time now,
                    TerminalSize size, bool colour) {
  const bool is_table = view.pane == TopView::Pane::kTable;
  std::vector<std::string> lines =
      is_table ? TableLines(TopTable(picture, view, now), view, summary, size, colour) : PaneLines(picture, view, now, size);
  while (lines.size() + 1 < size.lines) lines.push_back(Fitted("", size.columns));
  lines.push_back(Fitted(view.typing ? "filter: " + view.filter + "_" : is_table ? kKeys : kPaneKeys, size.columns));
  // A terminal that is lower than the frame shows its beginning.
  lines.resize(size.lines);
  std::string screen;
  for (const std::string& line : lines) screen += line + "\n";
  return screen;
}

}  // namespace evenkeel::cli
