#include "cli/commands/top.h"

#include <cstdlib>
#include <map>

#include "cli/clusters/fleet_tables.h"
#include "cli/clusters/hub_members.h"
#include "cli/commands/top_screen.h"
#include "cli/terminal/printable.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/watch_rows.h"

namespace evenkeel::cli {
namespace {

/// How late keys, changes and a new size are noticed.
constexpr base::Duration kGlance = std::chrono::milliseconds(100);
/// For a picture that is shown once: members that do not answer are shown as such by then.
constexpr base::Duration kPictureWait = std::chrono::seconds(10);
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
  void WarnOfNews(const FleetPicture& picture, const std::string& only) {
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

/// As the flags say.
base::Result<TopView> FirstView(const TopOptions& options) {
  TopView view{.what = options.what, .cluster = options.cluster, .reverse = options.reverse, .filter = options.filter};
  if (options.sort.empty()) return view;
  EVENKEEL_ASSIGN(view.sort, TopTable({}, view, base::SystemClock().Now()).FindColumn(options.sort));
  return view;
}

base::Status TopOnce(const TopOptions& options, const TopView& view, LiveFleet& fleet, SignalWaiter& signals,
                     std::ostream& out) {
  const FleetPicture picture = AwaitPicture(fleet, signals);
  EVENKEEL_TRY(CheckAsked(options.hub, picture, options.cluster));
  const SortableTable table = TopTable(picture, view, base::SystemClock().Now());
  out << FleetSummary(picture) << "\n\n";
  PrintTable(out, table.Header(), table.Texts());
  if (options.what == "nodes") MemberWarnings().WarnOfNews(picture, options.cluster);
  return {};
}

/// Members whose own documents the view needs.
void FollowFor(const TopView& view, LiveFleet& fleet) {
  if (view.what == "nodes") fleet.FollowMembers(view.cluster);
  if (view.what == "clusters" && view.pane == TopView::Pane::kExplanation && !view.under.empty())
    fleet.FollowMembers(view.under.front());
}

base::Status TopLive(const TopOptions& options, TopView view, LiveFleet& fleet, SignalWaiter& signals) {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool colour = options.colour && (no_colour == nullptr || *no_colour == '\0');
  Terminal terminal;
  TerminalSize size{};
  FleetPicture picture;
  std::string typed;
  bool again = true;
  while (!signals.WaitFor({})) {
    // The picture is as large as the fleet, and mostly the one that is shown.
    if (fleet.version() != picture.version) {
      picture = fleet.Look();
      again = true;
    }
    const base::Time now = base::SystemClock().Now();
    if (again || terminal.size() != size) {
      size = terminal.size();
      SettleTop(TopTable(picture, view, now), size, view);
      const base::Status readable = CheckPicture(picture, options.cluster);
      std::string summary = readable ? FleetSummary(picture) : readable.error().message();
      if (picture.fleet.is_null()) summary = "asking the hub";
      terminal.Draw(DrawTop(picture, view, summary, now, size, colour));
    }
    typed += terminal.Read(kGlance);
    again = false;
    for (const std::string& key : TakeKeys(typed)) {
      const SortableTable table = TopTable(picture, view, now);
      SettleTop(table, size, view);
      if (!PressKey(key, table, size, view)) return {};
      again = true;
    }
    FollowFor(view, fleet);
  }
  return {};
}

}  // namespace

base::Status Top(const TopOptions& options, std::ostream& out) {
  if (!options.cluster.empty() && options.what != "nodes") {
    return base::Fail(base::Code::kBadRequest, "--cluster goes with top nodes");
  }
  EVENKEEL_ASSIGN(TopView view, FirstView(options));
  SignalWaiter signals;
  EVENKEEL_ASSIGN(const std::unique_ptr<LiveFleet> fleet, LiveFleet::Connect(options.hub));
  if (options.what == "nodes") fleet->FollowMembers(options.cluster);
  if (options.once || !IsTerminal()) return TopOnce(options, view, *fleet, signals, out);
  return TopLive(options, std::move(view), *fleet, signals);
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
  warnings.WarnOfNews(picture, options.cluster);
  EVENKEEL_TRY(rows.Show(ShowNodeGroups(picture)));
  while (options.get.watch && out.flush() && !signals.WaitFor(kGlance)) {
    if (fleet->version() == picture.version) continue;
    picture = fleet->Look();
    // Of a member that is new its groups come a little later.
    if (!picture.complete) continue;
    EVENKEEL_TRY(rows.Show(ShowNodeGroups(picture)));
    warnings.WarnOfNews(picture, options.cluster);
  }
  return {};
}

}  // namespace evenkeel::cli
