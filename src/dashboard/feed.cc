#include "dashboard/feed.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "dashboard/sources.h"
#include "dashboard/views.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;
using base::Json;
using base::JsonObject;
using controllers::distribution::Cluster;

constexpr base::Duration kHousekeeping = std::chrono::seconds(5);

std::shared_ptr<const std::string> EventText(std::string_view name, const Json& data) {
  std::string text = "event: ";
  text += name;
  text += "\ndata: ";
  base::AppendText(text, data);
  text += "\n\n";
  return std::make_shared<const std::string>(std::move(text));
}

/// Of a cluster, "" being the hub.
using SourceId = std::pair<std::string, Topic>;

struct RunningSource {
  uint64_t serial = 0;
  std::unique_ptr<SourceRunner> runner;
  bool arrived = false;
  Outage outage;
  /// For views that come later, of sources that several views share: what there is by now.
  std::map<std::pair<std::string, std::string>, Json> kept;
};

struct OpenView {
  std::string name;
  std::unique_ptr<View> view;
  base::Instant looked_at{};
  base::Timer patience{};
  bool ready = false;
  std::vector<std::shared_ptr<Follower>> followers{};
  std::vector<std::function<void(base::Result<Json>)>> readers{};

  bool watched() const { return !followers.empty() || !readers.empty(); }
};

/// One that is under way.
struct Search {
  FindRequest request;
  std::function<void(base::Result<Found>)> done;  // null once it was called
  base::Timer deadline{};
  std::set<std::string> awaited{}, missing{};  // members
  std::map<std::string, Found> by_member{};
};

struct AwaitedMember {
  std::string name;
  std::function<void(base::Result<std::unique_ptr<client::Client>>)> use;
  base::Instant until{};
};

}  // namespace

struct Feed::State : std::enable_shared_from_this<State> {
  explicit State(FeedContext c) : context(std::move(c)), strand(context.executor.NewStrand("dashboard")) {}

  const FeedContext context;
  const std::shared_ptr<base::Strand> strand;

  // On the strand.
  uint64_t next_serial = 1;
  std::map<SourceId, RunningSource> sources;
  std::vector<std::weak_ptr<base::Strand>> retired;  // strands of sources that are ending
  std::map<std::string, OpenView> views;
  bool members_known = false;
  std::map<std::string, Cluster> members;
  base::Timer flush, housekeeping, ping, waiting;
  bool flush_due = false, keeping = false;
  std::vector<AwaitedMember> awaited;
  base::Instant flushed = base::Instant::min();

  base::Instant Now() const { return context.executor.clock().Monotonic(); }

  // Views.

  base::Result<OpenView*> Open(const std::string& name);
  void Close(std::string name, const base::Error& error);
  void CheckReady(OpenView& view);
  bool AllArrived(const OpenView& view) const;
  void Show(OpenView& view);
  void Schedule();
  void Flush();
  void SendAll(OpenView& view, const std::shared_ptr<const std::string>& event);
  /// Lets go of what nobody looks at any more, until there is nothing left.
  void KeepUp();
  void Keep();
  void Ping();

  // Sources.

  std::vector<SourceId> WantedBy(const OpenView& view) const;
  void Adjust();
  void Start(const SourceId& id);
  void Arrived(const SourceId& id, uint64_t serial, Update update, const Outage& outage);
  void TakeMembers(const std::vector<Cluster>& now);
  void Replay(OpenView& view);
  /// Those who wait for a member get it, once it is known or their time is over.
  void Serve();
  void Find(const std::shared_ptr<Search>& search);
  void End(Search& search);
};

base::Result<OpenView*> Feed::State::Open(const std::string& name) {
  auto found = views.find(name);
  if (found == views.end()) {
    EVENKEEL_ASSIGN(auto made, NewView(name, context.hub_name));
    found = views.emplace(name, OpenView{.name = name, .view = std::move(made)}).first;
    OpenView& view = found->second;
    view.patience = strand->PostAfter(kPatience, [this, name] {
      const auto opened = views.find(name);
      if (opened != views.end()) Show(opened->second);
    });
    Adjust();
    Replay(view);
  }
  found->second.looked_at = Now();
  KeepUp();
  return &found->second;
}

// The name is a copy: what is closed may be whose name it was.
void Feed::State::Close(std::string name, const base::Error& error) {
  OpenView closed = std::move(views.at(name));
  views.erase(name);
  for (const auto& follower : closed.followers) follower->Refuse(error);
  for (const auto& done : closed.readers) done(base::Fail(error));
  Adjust();
}

std::vector<SourceId> Feed::State::WantedBy(const OpenView& view) const {
  std::vector<SourceId> wanted{{"", Topic::kFleet}};
  for (const Topic topic : view.view->HubTopics()) wanted.emplace_back("", topic);
  const std::string only = view.view->member();
  for (const Topic topic : view.view->MemberTopics()) {
    for (const auto& [name, member] : members) {
      if (only.empty() || only == name) wanted.emplace_back(name, topic);
    }
  }
  return wanted;
}

void Feed::State::Adjust() {
  std::set<SourceId> wanted;
  if (!awaited.empty()) wanted.emplace("", Topic::kFleet);
  for (const auto& [name, view] : views) {
    for (SourceId& id : WantedBy(view)) wanted.insert(std::move(id));
  }
  std::erase_if(sources, [&](const auto& entry) {
    if (wanted.contains(entry.first)) return false;
    retired.push_back(entry.second.runner->strand());
    if (entry.first.second == Topic::kFleet) members_known = false;
    return true;
  });
  if (!members_known) members.clear();
  for (const SourceId& id : wanted) {
    if (!sources.contains(id)) Start(id);
  }
}

void Feed::State::Start(const SourceId& id) {
  const auto& [cluster, topic] = id;
  SourceRunner::Connect connect;
  if (cluster.empty()) {
    // Lives longer than the feed.
    connect = [hub = std::shared_ptr<client::Client>(std::shared_ptr<void>(), &context.hub)] { return hub; };
  } else {
    connect = [&make = context.connect, member = members.at(cluster)]() -> base::Result<std::shared_ptr<client::Client>> {
      return make(member);
    };
  }
  RunningSource& source = sources[id];
  source.serial = next_serial++;
  const std::string name = fmt::format("dashboard-{}-{}", cluster.empty() ? "hub" : cluster, source.serial);
  auto sink = [weak = weak_from_this(), id, serial = source.serial](Update update, const Outage& outage) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->strand->Post([self = self.get(), id, serial, update = std::move(update), outage]() mutable {
      self->Arrived(id, serial, std::move(update), outage);
    });
  };
  source.runner =
      std::make_unique<SourceRunner>(context.sources, name, context.random.Fork(name), std::move(connect),
                                     FactoryOf(topic, cluster, context.distribution, context.autoscaler), std::move(sink));
}

void Feed::State::Arrived(const SourceId& id, uint64_t serial, Update update, const Outage& outage) {
  const auto found = sources.find(id);
  if (found == sources.end() || found->second.serial != serial) return;
  RunningSource& source = found->second;
  source.arrived = true;
  source.outage = outage;
  if (id.second == Topic::kFleet) {
    for (const Change& change : update.changes) {
      if (change.value) {
        source.kept[{change.field, change.key}] = *change.value;
      } else {
        source.kept.erase({change.field, change.key});
      }
    }
    if (update.members) TakeMembers(*update.members);
  }
  for (auto& [name, view] : views) {
    if (view.view->Wants(id.second, id.first)) view.view->Apply(id.second, id.first, update, outage);
  }
  std::vector<std::string> names;
  for (const auto& [name, view] : views) names.push_back(name);
  for (const std::string& name : names) CheckReady(views.at(name));
  Serve();
  Schedule();
}

void Feed::State::Serve() {
  if (awaited.empty()) return;
  std::vector<AwaitedMember> later;
  for (AwaitedMember& each : std::exchange(awaited, {})) {
    if (!members_known && Now() < each.until) {
      later.push_back(std::move(each));
    } else if (!members_known) {
      each.use(base::Fail(Code::kUnavailable, "the hub does not say which members there are"));
    } else if (!members.contains(each.name)) {
      each.use(base::Fail(Code::kNotFound, "there is no member " + each.name));
    } else {
      const auto worker = context.sources.NewStrand("dashboard-" + each.name);
      retired.push_back(worker);
      worker->Post([keep = worker, make = context.connect, member = members.at(each.name), use = std::move(each.use)] {
        use(make(member));
      });
    }
  }
  awaited = std::move(later);
}

void Feed::State::TakeMembers(const std::vector<Cluster>& now) {
  std::map<std::string, Cluster> present;
  std::vector<std::string> anew;
  for (const Cluster& cluster : now) present.emplace(cluster.name, cluster);
  for (const auto& [name, cluster] : members) {
    const auto still = present.find(name);
    if (still != present.end() && still->second.connection_hash == cluster.connection_hash) continue;
    // It is connected to anew, or not any more.
    std::erase_if(sources, [&, &gone = name](const auto& entry) {
      if (entry.first.first != gone) return false;
      retired.push_back(entry.second.runner->strand());
      return true;
    });
    for (auto& [opened, view] : views) {
      if (view.view->member().empty() || (view.view->member() == name && still == present.end())) {
        view.view->Forget(name);
      } else if (view.view->member() == name) {
        anew.push_back(opened);
      }
    }
  }
  for (const auto& [opened, view] : views) {
    const std::string member = view.view->member();
    // It was gone, and is a member again: what was shown of it is of before.
    if (view.ready && present.contains(member) && !members.contains(member)) anew.push_back(opened);
  }
  members = std::move(present);
  members_known = true;
  Adjust();
  for (const std::string& name : anew) {
    OpenView& view = views.at(name);
    view.view = *NewView(name, context.hub_name);
    view.ready = false;
    Replay(view);
  }
}

void Feed::State::Replay(OpenView& view) {
  for (const SourceId& id : WantedBy(view)) {
    const RunningSource& source = sources.at(id);
    if (!source.arrived) continue;
    Update update;
    for (const auto& [where, value] : source.kept) update.Set(where.first, where.second, value);
    view.view->Apply(id.second, id.first, update, source.outage);
  }
}

bool Feed::State::AllArrived(const OpenView& view) const {
  return std::ranges::all_of(WantedBy(view), [&](const SourceId& id) { return sources.at(id).arrived; });
}

void Feed::State::CheckReady(OpenView& view) {
  if (!view.ready && AllArrived(view)) Show(view);
}

void Feed::State::Show(OpenView& view) {
  if (view.ready) return;
  const std::string member = view.view->member();
  if (!member.empty() && !members_known) {
    return Close(view.name, base::Error(Code::kUnavailable, "the hub has not said yet which members there are: " +
                                                                sources.at({"", Topic::kFleet}).outage.error));
  }
  if (!member.empty() && !members.contains(member)) {
    return Close(view.name, base::Error(Code::kNotFound, "there is no member " + member));
  }
  view.ready = true;
  view.patience.Cancel();
  view.view->document().TakePatch();
  if (!view.followers.empty()) {
    SendAll(view, EventText("document", JsonObject{{"view", view.name}, {"document", view.view->document().value()}}));
  }
  for (const auto& done : std::exchange(view.readers, {})) done(view.view->document().value());
}

void Feed::State::SendAll(OpenView& view, const std::shared_ptr<const std::string>& event) {
  std::erase_if(view.followers, [&](const std::shared_ptr<Follower>& follower) { return !follower->Send(event); });
}

void Feed::State::Schedule() {
  if (std::exchange(flush_due, true)) return;
  const base::Instant now = Now();
  const bool early = flushed != base::Instant::min() && now - flushed < kPatchGap;
  flush = strand->PostAfter(early ? kPatchGap - (now - flushed) : base::Duration{}, [this] { Flush(); });
}

void Feed::State::Flush() {
  flush_due = false;
  flushed = Now();
  for (auto& [name, view] : views) {
    if (!view.ready) continue;
    Json patch = view.view->document().TakePatch();
    if (view.followers.empty() || patch.get_object().empty()) continue;
    SendAll(view, EventText("patch", JsonObject{{"view", name}, {"patch", std::move(patch)}}));
  }
}

void Feed::State::KeepUp() {
  if (std::exchange(keeping, true)) return;
  Keep();
  Ping();
}

void Feed::State::Keep() {
  housekeeping = strand->PostAfter(kHousekeeping, [this] {
    const base::Instant now = Now();
    for (auto& [name, view] : views) {
      if (view.watched()) view.looked_at = now;
    }
    std::erase_if(views, [&](const auto& entry) { return now - entry.second.looked_at >= kLookedAt; });
    std::erase_if(retired, [](const auto& weak) { return weak.expired(); });
    Adjust();
    keeping = !views.empty() || !awaited.empty();
    if (keeping) {
      Keep();
    } else {
      ping.Cancel();
    }
  });
}

void Feed::State::Ping() {
  ping = strand->PostAfter(kPing, [this] {
    const auto event = EventText("ping", JsonObject{{"now", base::FormatTime(context.executor.clock().Now())}});
    for (auto& [name, view] : views) {
      if (view.ready) SendAll(view, event);
    }
    Ping();
  });
}

void Feed::State::Find(const std::shared_ptr<Search>& search) {
  const std::string& only = search->request.cluster;
  for (const auto& [name, member] : members) {
    if (only.empty() || only == name) search->awaited.insert(name);
  }
  if (search->awaited.empty()) return End(*search);
  search->deadline = strand->PostAfter(kPatience, [this, search] { End(*search); });
  for (const std::string& name : std::set<std::string>(search->awaited)) {
    auto source = sources.find({name, Topic::kCluster});
    if (source == sources.end()) source = sources.find({name, Topic::kSummary});
    if (source == sources.end()) continue;
    source->second.runner->Find(search->request, [weak = weak_from_this(), search, name](std::optional<Found> found) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->strand->Post([self = self.get(), search, name, found = std::move(found)]() mutable {
        if (search->awaited.erase(name) == 0) return;
        if (found) {
          search->by_member[name] = *std::move(found);
        } else {
          search->missing.insert(name);
        }
        if (search->awaited.empty()) self->End(*search);
      });
    });
  }
}

void Feed::State::End(Search& search) {
  search.deadline.Cancel();
  const auto done = std::exchange(search.done, nullptr);
  if (done == nullptr) return;
  Found all;
  for (auto& [name, found] : search.by_member) all.Merge(std::move(found), name, search.request.limit);
  search.missing.merge(search.awaited);
  search.awaited.clear();
  all.missing.assign(search.missing.begin(), search.missing.end());
  done(std::move(all));
}

Feed::Feed(FeedContext context) : state_(std::make_shared<State>(std::move(context))) {}

Feed::~Feed() {
  state_->strand->Close();
  for (auto& [id, source] : state_->sources) source.runner->strand()->Close();
  for (const auto& weak : state_->retired) {
    if (const auto strand = weak.lock()) strand->Close();
  }
  state_->sources.clear();
}

void Feed::Follow(const std::string& view, std::shared_ptr<Follower> follower) {
  state_->strand->Post([state = state_.get(), view, follower = std::move(follower)] {
    const auto opened = state->Open(view);
    if (!opened) return follower->Refuse(opened.error());
    OpenView& target = **opened;
    if (!target.ready) {
      target.followers.push_back(follower);
      return state->CheckReady(target);
    }
    // Those who follow already get what has changed first, so that all go on from the same document.
    state->Flush();
    const Json data = JsonObject{{"view", view}, {"document", target.view->document().value()}};
    if (follower->Send(EventText("document", data))) target.followers.push_back(follower);
  });
}

void Feed::Unfollow(const std::shared_ptr<Follower>& follower) {
  state_->strand->Post([state = state_.get(), follower] {
    for (auto& [name, view] : state->views) std::erase(view.followers, follower);
  });
}

void Feed::WithMember(const std::string& member, std::function<void(base::Result<std::unique_ptr<client::Client>>)> use) {
  state_->strand->Post([state = state_.get(), member, use = std::move(use)]() mutable {
    state->awaited.push_back({member, std::move(use), state->Now() + kPatience});
    state->KeepUp();
    state->Adjust();
    state->Serve();
    if (state->awaited.empty()) return;
    state->waiting = state->strand->PostAfter(kPatience, [state] { state->Serve(); });
  });
}

void Feed::WithHub(std::function<void(client::Client& hub)> use) {
  state_->strand->Post([state = state_.get(), use = std::move(use)]() mutable {
    const auto worker = state->context.sources.NewStrand("dashboard-hub-question");
    state->retired.push_back(worker);
    state->KeepUp();
    worker->Post([keep = worker, &hub = state->context.hub, use = std::move(use)] { use(hub); });
  });
}

void Feed::Find(FindRequest request, std::function<void(base::Result<Found>)> done) {
  const std::string view = request.cluster.empty() ? "fleet" : "cluster/" + request.cluster;
  auto search = std::make_shared<Search>(Search{.request = std::move(request), .done = std::move(done)});
  // The view's sources are those that know; they go on for as long as they would for somebody who looks.
  Read(view, [state = state_.get(), search = std::move(search)](const base::Result<Json>& document) {
    if (document) return state->Find(search);
    std::exchange(search->done, nullptr)(base::Fail(document.error()));
  });
}

void Feed::Read(const std::string& view, std::function<void(base::Result<Json>)> done) {
  state_->strand->Post([state = state_.get(), view, done = std::move(done)] {
    const auto opened = state->Open(view);
    if (!opened) return done(base::Fail(opened.error()));
    if ((*opened)->ready) return done((*opened)->view->document().value());
    (*opened)->readers.push_back(done);
    state->CheckReady(**opened);
  });
}

}  // namespace evenkeel::dashboard
