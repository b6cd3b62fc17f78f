#include "cli/commands/top.h"

#include <algorithm>

#include "cli/clusters/hub_members.h"
#include "cli/terminal/printable.h"
#include "cli/terminal/signals.h"

namespace evenkeel::cli {
namespace {

/// How late keys, changes and a new size are noticed.
constexpr base::Duration kGlance = std::chrono::milliseconds(100);
/// For a picture that is shown once: members that do not answer are shown as such by then.
constexpr base::Duration kPictureWait = std::chrono::seconds(10);
/// Title, summary, header and keys.
constexpr size_t kFrameLines = 4;
constexpr const char* kKeys = "c clusters  n nodes  s shards  < > sort by  r reverse  up/down scroll  q quit";

std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths, size_t columns) {
  constexpr size_t kGap = 2;
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += Fitted(cells[i], widths[i] + kGap);
  return Fitted(line, columns);
}

size_t RowsOf(TerminalSize size) { return size.lines > kFrameLines ? size.lines - kFrameLines : 0; }

SortableTable TableOf(const FleetPicture& picture, const std::string& what) {
  if (what == "nodes") return NodeTable(picture);
  if (what == "shards") return ShardTable(picture, base::SystemClock().Now());
  return ClusterTable(picture);
}

/// The picture once it is complete, or what there is when the time is over.
FleetPicture AwaitPicture(LiveFleet& fleet, SignalWaiter& signals) {
  const base::Instant begin = base::SystemClock().Monotonic();
  FleetPicture picture = fleet.Look();
  while (!picture.complete && base::SystemClock().Monotonic() - begin < kPictureWait && !signals.WaitFor(kGlance / 4)) {
    if (fleet.version() != picture.version) picture = fleet.Look();
  }
  return picture;
}

/// CheckPicture, and that what has no members is a hub.
base::Status CheckAsked(const HubOptions& hub, const FleetPicture& picture, const std::string& member) {
  if (!picture.fleet.is_null() && base::FindObject(picture.fleet, {"clusters"}).empty()) EVENKEEL_TRY(CheckIsHub(hub));
  return CheckPicture(picture, member);
}

/// Says on standard error of which members not all is shown, and that the hub cannot be read: of each once, until it is again.
class MemberWarnings {
 public:
  void Tell(const FleetPicture& picture, const std::string& only) {
    const base::Status readable = CheckPicture(picture, "");
    if (!readable && !hub_told_) PrintWarning(readable.error().message() + ": what is shown is as it was");
    hub_told_ = !readable;
    std::map<std::string, std::string> missing = MissingMembers(picture, only);
    for (const auto& [member, why] : missing) {
      if (!told_.contains(member)) PrintWarning(member + ": " + why);
    }
    told_ = std::move(missing);
  }

 private:
  bool hub_told_ = false;
  std::map<std::string, std::string> told_;
};

base::Status TopOnce(const TopOptions& options, LiveFleet& fleet, SignalWaiter& signals, std::ostream& out) {
  const FleetPicture picture = AwaitPicture(fleet, signals);
  EVENKEEL_TRY(CheckAsked(options.hub, picture, options.cluster));
  SortableTable table = TableOf(picture, options.what);
  if (!options.sort.empty() || options.reverse) {
    EVENKEEL_ASSIGN(const size_t column, options.sort.empty() ? base::Result<size_t>(0) : table.FindColumn(options.sort));
    table.Sort(column, options.reverse);
  }
  out << FleetSummary(picture) << "\n\n";
  PrintTable(out, table.Header(), table.Texts());
  if (options.what == "nodes") MemberWarnings().Tell(picture, options.cluster);
  return {};
}

base::Status TopLive(const TopOptions& options, LiveFleet& fleet, SignalWaiter& signals) {
  TopView view{.what = options.what, .reverse = options.reverse};
  if (!options.sort.empty()) {
    EVENKEEL_ASSIGN(view.sort, TableOf({}, view.what).FindColumn(options.sort));
  }
  Terminal terminal;
  TerminalSize size{};
  FleetPicture picture;
  SortableTable table = TableOf(picture, view.what);
  std::string typed;
  bool again = true;
  while (!signals.WaitFor({})) {
    // The picture is as large as the fleet, and mostly the one that is shown.
    if (fleet.version() != picture.version) {
      picture = fleet.Look();
      again = true;
    }
    const TerminalSize now = terminal.size();
    if (again || now != size) {
      size = now;
      table = TableOf(picture, view.what);
      table.Sort(view.sort, view.reverse);
      const base::Status readable = CheckPicture(picture, options.cluster);
      std::string summary = readable ? FleetSummary(picture) : readable.error().message();
      if (picture.fleet.is_null()) summary = "asking the hub";
      terminal.Draw(DrawTop(table, view, summary, size));
    }
    typed += terminal.Read(kGlance);
    again = false;
    for (const std::string& key : TakeKeys(typed)) {
      const std::string what = view.what;
      if (!PressKey(key, table, RowsOf(size), view)) return {};
      if (view.what != what) table = TableOf(picture, view.what);
      again = true;
    }
    if (view.what == "nodes") fleet.FollowMembers(options.cluster);
  }
  return {};
}

}  // namespace

bool PressKey(std::string_view key, const SortableTable& table, size_t page, TopView& view) {
  const size_t last = table.rows.empty() ? 0 : table.rows.size() - 1;
  auto turn_to = [&view](const char* what) {
    if (view.what != what) view = TopView{.what = what};
  };
  if (key == "q") return false;
  if (key == "c") turn_to("clusters");
  if (key == "n") turn_to("nodes");
  if (key == "s") turn_to("shards");
  if (key == "r") view.reverse = !view.reverse;
  if (key == ">" || key == "\x1b[C") view.sort = (view.sort + 1) % table.columns.size();
  if (key == "<" || key == "\x1b[D") view.sort = (view.sort + table.columns.size() - 1) % table.columns.size();
  if (key == "j" || key == "\x1b[B") view.skip = std::min(view.skip + 1, last);
  if (key == "k" || key == "\x1b[A") view.skip -= std::min<size_t>(view.skip, 1);
  if (key == " " || key == "\x1b[6~") view.skip = std::min(view.skip + page, last);
  if (key == "b" || key == "\x1b[5~") view.skip -= std::min(view.skip, page);
  return true;
}

std::string DrawTop(const SortableTable& table, const TopView& view, const std::string& summary, TerminalSize size) {
  const size_t page = RowsOf(size);
  const size_t skip = std::min(view.skip, table.rows.size() - std::min(page, table.rows.size()));
  const std::vector<std::vector<std::string>> texts = table.Texts();
  std::vector<std::string> header = table.Header();
  header[view.sort] += view.reverse ? " (reverse)" : "*";
  std::vector<size_t> widths(header.size());
  Widen(header, widths);
  for (const auto& row : texts) Widen(row, widths);
  std::vector<std::string> lines{
      Fitted("evenkeel top " + view.what + ": " + std::to_string(texts.size()) + " rows", size.columns),
      Fitted(summary, size.columns), Line(header, widths, size.columns)};
  for (size_t i = skip; i < texts.size() && i < skip + page; ++i) lines.push_back(Line(texts[i], widths, size.columns));
  while (lines.size() + 1 < size.lines) lines.push_back(Fitted("", size.columns));
  lines.push_back(Fitted(kKeys, size.columns));
  // A terminal that is lower than the frame shows its beginning.
  lines.resize(size.lines);
  std::string screen;
  for (const std::string& line : lines) screen += line + "\n";
  return screen;
}

base::Status Top(const TopOptions& options, std::ostream& out) {
  if (!options.cluster.empty() && options.what != "nodes") {
    return base::Fail(base::Code::kBadRequest, "--cluster goes with top nodes");
  }
  SignalWaiter signals;
  EVENKEEL_ASSIGN(const std::unique_ptr<LiveFleet> fleet, LiveFleet::Connect(options.hub));
  if (options.what == "nodes") fleet->FollowMembers(options.cluster);
  if (options.once || !IsTerminal()) return TopOnce(options, *fleet, signals, out);
  return TopLive(options, *fleet, signals);
}

base::Status GetNodeGroups(const NodeGroupsOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(GetOutput output, GetOutput::Parse(options.get.output));
  SignalWaiter signals;
  EVENKEEL_ASSIGN(const std::unique_ptr<LiveFleet> fleet, LiveFleet::Connect(options.hub));
  fleet->FollowMembers(options.cluster);
  FleetPicture picture = AwaitPicture(*fleet, signals);
  EVENKEEL_TRY(CheckAsked(options.hub, picture, options.cluster));
  RowWatch rows(std::move(output), options.get.names, out);
  MemberWarnings warnings;
  warnings.Tell(picture, options.cluster);
  EVENKEEL_TRY(rows.Show(ShowNodeGroups(picture)));
  while (options.get.watch && out.flush() && !signals.WaitFor(kGlance)) {
    if (fleet->version() == picture.version) continue;
    picture = fleet->Look();
    // Of a member that is new its groups come a little later.
    if (!picture.complete) continue;
    EVENKEEL_TRY(rows.Show(ShowNodeGroups(picture)));
    warnings.Tell(picture, options.cluster);
  }
  return {};
}

}  // namespace evenkeel::cli
