#include "client/informer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>

#include "base/log.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Duration;
using base::Instant;
using namespace std::chrono_literals;

// client-go's reflector: 800 ms doubling to 30 s, each wait up to twice as long by jitter.
constexpr Duration kBackoffBase = 800ms;
constexpr Duration kWatchPeriodMin = 1s;
constexpr Duration kWatchLifeMin = 5min;
constexpr Duration kWatchLifeMax = 10min;
// A burst of a few hundred MB at most when decoded; more is cheaper to fetch again than to hold.
constexpr size_t kWaitingEventsMax = 10000;
constexpr size_t kWaitingBytesMax = 64u << 20;
// A watch that has been followed for so long was no torrent: what ran ahead of its reader was a burst.
constexpr Duration kTorrentAge = 1min;
// Others on the strand get their turn in between.
constexpr size_t kEventsPerTask = 500;
// A server waits 3 s until its cache is current, and then sends all that there is.
constexpr Duration kStreamSilenceMax = 10s;

// Where a watch's thread leaves events for the strand.
struct WatchMailbox {
  std::mutex mutex;
  std::deque<Result<WatchEvent>> waiting;
  size_t waiting_bytes = 0;
  bool scheduled = false;
  bool bounded = true;  ///< false while a list is streamed, which is as long as it is
  bool overflowed = false;
};

bool IsVersionTooLarge(const base::Error& error) {
  const base::ErrorDetails* details = error.details();
  return details != nullptr && std::any_of(details->causes.begin(), details->causes.end(),
                                           [](const base::Cause& cause) { return cause.reason == "ResourceVersionTooLarge"; });
}

}  // namespace

struct Reflector::State : std::enable_shared_from_this<Reflector::State> {
  State(Client& c, const Resource& r, InformerOptions o, std::shared_ptr<base::Strand> s, base::Clock& k, base::Random rnd,
        Sink snk)
      : client(c),
        resource(r),
        options(std::move(o)),
        strand(std::move(s)),
        clock(k),
        random(std::move(rnd)),
        sink(std::move(snk)),
        last_contact(k.Monotonic()),
        budget(c.Limits()) {}

  Client& client;
  const Resource resource;
  const InformerOptions options;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  const Sink sink;

  bool started = false;
  bool stopped = false;
  bool synced = false;
  std::optional<base::Error> last_error;
  std::optional<Instant> failing_since;
  Instant last_contact;
  int failures = 0;
  int overruns = 0;  ///< watches in a row that ran too far ahead

  std::string version;       ///< resume point; empty before the first list
  bool list_newest = true;   ///< the next list asks for the most recent state rather than for `version` or later
  std::vector<Json> listed;  ///< pages so far
  std::string continue_token;
  ListBudget budget;
  bool stream_lists = true;              ///< the server has not shown yet that it does not
  bool streaming = false;                ///< the present watch has not sent all that it begins with
  std::map<std::string, Json> streamed;  ///< by key, so far
  uint64_t streamed_events = 0;

  std::unique_ptr<Watch> watch;
  std::shared_ptr<WatchMailbox> mailbox;  ///< of the present watch: events in any other are dropped
  Instant watch_started{};
  bool watch_delivered = false;

  base::Timer retry;
  base::Timer silence;
  base::Timer settled;
  base::Timer renewal;

  void Stop() {
    stopped = true;
    CloseWatch();
    retry.Cancel();
    listed.clear();
  }

  void CloseWatch() {
    silence.Cancel();
    settled.Cancel();
    renewal.Cancel();
    streaming = false;
    streamed.clear();
    mailbox.reset();
    watch.reset();
  }

  void RunSoon(void (State::*step)()) {
    strand->Post([self = shared_from_this(), step] {
      if (!self->stopped) (self.get()->*step)();
    });
  }

  void RunAfter(Duration delay, void (State::*step)()) {
    if (delay <= Duration::zero()) return RunSoon(step);
    retry = After(delay, [step](State& self) { (self.*step)(); });
  }

  base::Timer After(Duration delay, std::function<void(State&)> step) {
    return strand->PostAfter(delay, [weak = weak_from_this(), step = std::move(step)] {
      if (const auto self = weak.lock(); self && !self->stopped) step(*self);
    });
  }

  void Answered() {
    last_contact = clock.Monotonic();
    last_error.reset();
    failing_since.reset();
  }

  void Failed(const base::Error& error, std::string_view doing) {
    if (!failing_since) failing_since = clock.Monotonic();
    // The first failure of a row says it all; the rest repeats it for as long as the outage lasts.
    const bool news = !last_error || last_error->code() != error.code();
    last_error = error;
    if (!news) return;
    // Many clusters have no Karmada, no Argo CD, no machines of Cluster API; whoever needs the kind says so himself.
    if (error.code() == base::Code::kNotFound) {
      return base::log::Debug("the API does not serve a kind: it is followed as soon as there is one",
                              {{"resource", resource.QualifiedPlural()}, {"server", client.Describe()}});
    }
    base::log::Warn(
        "cannot follow the API",
        {{"doing", doing}, {"resource", resource.QualifiedPlural()}, {"server", client.Describe()}, {"error", error}});
  }

  Duration NextBackoff(const base::Error& error) {
    Duration delay = kBackoffBase;
    for (int i = 0; i < failures && delay < options.backoff_max; ++i) delay *= 2;
    delay = std::min(delay, options.backoff_max);
    ++failures;
    delay += random.Between(Duration::zero(), delay);
    if (error.details() != nullptr)
      delay = std::max<Duration>(delay, std::chrono::seconds(error.details()->retry_after_seconds));
    return delay;
  }

  void ListFromStart() {
    listed.clear();
    continue_token.clear();
    budget.Reset();
    if (stream_lists && client.StreamsLists()) return StreamList();
    ListNextPage();
  }

  void StreamList() {
    streaming = true;
    NewWatch();
    if (streaming && watch != nullptr) AwaitMore();
  }

  /// As long as a list is streamed, something has to come.
  void AwaitMore() {
    silence = After(kStreamSilenceMax, [before = streamed_events](State& self) {
      if (self.streamed_events != before) return self.AwaitMore();
      self.StreamFailed(
          base::Error(Code::kInvalid, "the server does not send what there is when it is asked to begin with it"));
    });
  }

  void Stream(WatchEvent event) {
    if (!IsInitialEnd(event)) {
      ++streamed_events;
      if (event.type == WatchEvent::Type::kBookmark) return;
      if (const auto within = budget.Add(1, event.bytes, ""); !within) {
        CloseWatch();
        return ListFailed(within.error());
      }
      const std::string key = kube::KeyOf(event.object);
      if (event.type == WatchEvent::Type::kDeleted) {
        streamed.erase(key);
      } else {
        streamed[key] = std::move(event.object);
      }
      return;
    }
    const std::string list_version(kube::ResourceVersionOf(event.object));
    if (!list_newest && IsOlderVersion(list_version, version)) return StreamFailed(TooOld(list_version));
    streaming = false;
    silence.Cancel();
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->bounded = true;
    }
    failures = 0;
    for (auto& [key, object] : std::exchange(streamed, {})) listed.push_back(std::move(object));
    Deliver(list_version);
    if (!stopped) Follow();
  }

  void StreamFailed(const base::Error& error) {
    CloseWatch();
    // What a retry does not mend is better told by a list, or not there to be told.
    if (error.code() != Code::kExpired && error.code() != Code::kInternal && !base::IsRetryable(error.code()) &&
        !IsVersionTooLarge(error)) {
      stream_lists = false;
      return RunSoon(&State::ListFromStart);
    }
    ListFailed(error);
  }

  base::Error TooOld(std::string_view list_version) const {
    return base::Error(Code::kInternal,
                       fmt::format("the server answered with version {} when asked for {} or later", list_version, version));
  }

  void ListNextPage() {
    ListOptions request;
    request.ns = options.ns;
    request.label_selector = options.label_selector;
    request.field_selector = options.field_selector;
    request.limit = kListPageSize;
    request.continue_token = continue_token;
    if (continue_token.empty() && !list_newest) {
      request.resource_version = version;
      request.resource_version_match = "NotOlderThan";
    }
    auto page = client.List(resource, request);
    if (!page) return ListFailed(page.error());
    Answered();
    if (continue_token.empty() && !list_newest && IsOlderVersion(page->resource_version, version)) {
      return ListFailed(TooOld(page->resource_version));
    }
    if (const auto within = budget.Add(page->items.size(), page->bytes, page->continue_token); !within) {
      listed = {};
      return ListFailed(within.error());
    }
    std::move(page->items.begin(), page->items.end(), std::back_inserter(listed));
    continue_token = page->continue_token;
    if (!continue_token.empty()) return RunSoon(&State::ListNextPage);
    Deliver(page->resource_version);
    if (!stopped) OpenWatch();
  }

  void ListFailed(const base::Error& error) {
    // A token or a version that the server no longer has (or does not have yet, after a restore): take whatever is newest.
    const bool expired = error.code() == Code::kExpired;
    if (expired || IsVersionTooLarge(error) || error.code() == Code::kInternal) list_newest = true;
    if (!expired) Failed(error, "list");
    if (expired && failures == 0) {
      ++failures;
      return RunSoon(&State::ListFromStart);
    }
    RunAfter(NextBackoff(error), &State::ListFromStart);
  }

  void Deliver(const std::string& list_version) {
    if (IsOlderVersion(list_version, version)) {
      base::log::Warn(
          "the API's versions went back: was it restored from a backup?",
          {{"resource", resource.QualifiedPlural()}, {"server", client.Describe()}, {"from", version}, {"to", list_version}});
    }
    version = list_version;
    list_newest = false;
    const size_t bytes_each = listed.empty() ? 0 : budget.size().bytes / listed.size();
    sink.replace(std::exchange(listed, {}), bytes_each);
    synced = synced || !stopped;
  }

  void OpenWatch() {
    NewWatch();
    if (watch != nullptr) Follow();
  }

  /// After the last event; where `streaming`, with all that there is first. `watch` is null when it was refused.
  void NewWatch() {
    WatchOptions request;
    request.ns = options.ns;
    request.label_selector = options.label_selector;
    request.field_selector = options.field_selector;
    request.send_initial_events = streaming;
    if (!streaming || !list_newest) request.resource_version = version;
    mailbox = std::make_shared<WatchMailbox>();
    mailbox->bounded = !streaming;
    watch_started = clock.Monotonic();
    watch_delivered = false;
    auto opened =
        client.NewWatch(resource, request, [weak = weak_from_this(), box = mailbox, posts = strand](Result<WatchEvent> event) {
          Receive(weak, box, *posts, std::move(event));
        });
    if (!opened) return streaming ? StreamFailed(opened.error()) : WatchRefused(opened.error());
    watch = *std::move(opened);
  }

  void Follow() {
    settled = After(kWatchPeriodMin, [](State& self) { self.Settled(); });
    renewal = After(random.Between(kWatchLifeMin, kWatchLifeMax), [](State& self) {
      self.CloseWatch();
      self.OpenWatch();
    });
  }

  void Settled() {
    Answered();
    failures = 0;
  }

  // On the watch's own thread.
  static void Receive(const std::weak_ptr<State>& weak, const std::shared_ptr<WatchMailbox>& box, base::Strand& strand,
                      Result<WatchEvent> event) {
    {
      const std::lock_guard lock(box->mutex);
      if (box->overflowed) return;
      // One event may be as large as it likes, so that there is always one to take.
      const bool full = box->waiting_bytes > kWaitingBytesMax;
      box->overflowed = full || (box->bounded && box->waiting.size() >= kWaitingEventsMax);
      if (!box->overflowed) {
        if (event) box->waiting_bytes += event->bytes;
        box->waiting.push_back(std::move(event));
      }
      if (std::exchange(box->scheduled, true)) return;
    }
    PostDrain(weak, box, strand);
  }

  static void PostDrain(const std::weak_ptr<State>& weak, const std::shared_ptr<WatchMailbox>& box, base::Strand& strand) {
    strand.Post([weak, box] {
      if (const auto self = weak.lock()) self->Drain(box);
    });
  }

  void Drain(const std::shared_ptr<WatchMailbox>& box) {
    if (stopped || box != mailbox) return;
    std::deque<Result<WatchEvent>> batch;
    bool more = false;
    bool overflowed = false;
    {
      const std::lock_guard lock(box->mutex);
      const size_t taken = std::min(box->waiting.size(), kEventsPerTask);
      for (size_t i = 0; i < taken; ++i) box->waiting_bytes -= box->waiting[i] ? box->waiting[i]->bytes : 0;
      std::move(box->waiting.begin(), box->waiting.begin() + static_cast<ptrdiff_t>(taken), std::back_inserter(batch));
      box->waiting.erase(box->waiting.begin(), box->waiting.begin() + static_cast<ptrdiff_t>(taken));
      more = !box->waiting.empty();
      box->scheduled = more;
      overflowed = box->overflowed;
    }
    for (Result<WatchEvent>& event : batch) {
      if (!event) return streaming ? StreamFailed(event.error()) : WatchEnded(event.error());
      Handle(*std::move(event));
      if (stopped || box != mailbox) return;
    }
    if (more) return PostDrain(weak_from_this(), box, *strand);
    if (!overflowed) return;
    // A list comes as fast as its reader asks for pages; a stream does not.
    if (streaming) return StreamFailed(base::Error(Code::kTooLarge, "the list came faster than it could be read"));
    Overran();
  }

  // A burst is read on from where it was left. Who never stops would be read for ever, without ever being found too large.
  void Overran() {
    if (clock.Monotonic() - watch_started > kTorrentAge) overruns = 0;
    const base::Error error(Code::kTooLarge, "answers too much: events come faster than they can be read");
    if (overruns++ == 0) return WatchEnded(error);
    CloseWatch();
    Failed(error, "watch");
    failures = overruns - 1;
    RunAfter(NextBackoff(error), &State::OpenWatch);
  }

  void Handle(WatchEvent event) {
    Answered();
    if (streaming) return Stream(std::move(event));
    failures = 0;
    watch_delivered = true;
    const std::string seen(kube::ResourceVersionOf(event.object));
    if (event.type != WatchEvent::Type::kBookmark) sink.event(event.type, std::move(event.object), event.bytes);
    if (!seen.empty() && !IsOlderVersion(seen, version)) version = seen;
    if (stopped) return;
    if (const auto within = CheckSize(client.Limits(), sink.held()); !within) {
      CloseWatch();
      ListFailed(within.error());
    }
  }

  void WatchRefused(const base::Error& error) {
    CloseWatch();
    if (error.code() == Code::kExpired) return Relist(error);
    Failed(error, "watch");
    // What a retry does not mend (the kind is gone, access was taken away) is better told by a list.
    RunAfter(NextBackoff(error), base::IsRetryable(error.code()) ? &State::OpenWatch : &State::ListFromStart);
  }

  void WatchEnded(const base::Error& error) {
    CloseWatch();
    if (error.code() != Code::kTooLarge) overruns = 0;
    if (error.code() == Code::kExpired) return Relist(error);
    const Duration open = clock.Monotonic() - watch_started;
    if (watch_delivered || open >= kWatchPeriodMin) return RunAfter(kWatchPeriodMin - open, &State::OpenWatch);
    Failed(error, "watch");
    RunAfter(NextBackoff(error), base::IsRetryable(error.code()) ? &State::OpenWatch : &State::ListFromStart);
  }

  void Relist(const base::Error& error) {
    base::log::Info("resource version is too old, listing again",
                    {{"resource", resource.QualifiedPlural()}, {"server", client.Describe()}, {"version", version}});
    const Duration early = kWatchPeriodMin - (clock.Monotonic() - watch_started);
    const bool first = failures == 0;
    const Duration backoff = NextBackoff(error);
    RunAfter(first ? early : backoff, &State::ListFromStart);
  }
};

Reflector::Reflector(Client& client, const Resource& resource, InformerOptions options, std::shared_ptr<base::Strand> strand,
                     base::Clock& clock, base::Random random, Sink sink)
    : state_(std::make_shared<State>(client, resource, std::move(options), std::move(strand), clock, std::move(random),
                                     std::move(sink))) {}

Reflector::~Reflector() { state_->Stop(); }

void Reflector::Start() {
  if (!std::exchange(state_->started, true)) state_->RunSoon(&State::ListFromStart);
}

void Reflector::Stop() { state_->Stop(); }

bool Reflector::synced() const { return state_->synced; }

std::optional<base::Error> Reflector::last_error() const { return state_->last_error; }

base::Instant Reflector::last_contact() const { return state_->last_contact; }

ReflectorHealth Reflector::health() const {
  return {state_->synced, state_->last_error, state_->failing_since, state_->last_contact};
}

}  // namespace evenkeel::client
