#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/hash.h"

namespace evenkeel::base {
namespace {

// Instants first, then the order in which tasks were asked for.
using EventKey = std::pair<Instant, uint64_t>;

// A task on its way. Cancelling empties it wherever it is; an empty one is skipped.
struct VirtualTask {
  Task task;
  uint64_t sequence = 0;
};

struct VirtualStrandState {
  std::string name;
  uint64_t name_hash = 0;
  bool closed = false;
  bool running = false;
  Instant busy_until{};
  Duration busy{};
  std::deque<std::shared_ptr<VirtualTask>> ready;
  std::set<EventKey> events;  ///< this strand's keys in Impl::events
};

// Either a timer that comes due (task set) or the strand's turn to run the first of its ready tasks.
struct VirtualEvent {
  std::shared_ptr<VirtualStrandState> strand;
  std::shared_ptr<VirtualTask> timer;
};

Instant SaturatingAdd(Instant at, Duration delay) {
  if (delay <= Duration::zero()) return at;
  const int64_t limit = std::numeric_limits<int64_t>::max();
  return at.time_since_epoch().count() > limit - delay.count() ? Instant(Duration(limit)) : at + delay;
}

}  // namespace

struct VirtualExecutor::Impl final : Clock {
  explicit Impl(Time start_time) : start(start_time) {}

  Time Now() const override { return start + now.time_since_epoch(); }
  Instant Monotonic() const override { return now; }

  void Schedule(const std::shared_ptr<VirtualStrandState>& strand, EventKey key, std::shared_ptr<VirtualTask> timer) {
    strand->events.insert(key);
    events.emplace(key, VirtualEvent{strand, std::move(timer)});
  }

  void MakeReady(const std::shared_ptr<VirtualStrandState>& strand, std::shared_ptr<VirtualTask> task) {
    strand->ready.push_back(std::move(task));
    // A strand has one turn scheduled at a time: for the first of its ready tasks.
    if (strand->ready.size() == 1 && !strand->running) ScheduleTurn(strand);
  }

  void ScheduleTurn(const std::shared_ptr<VirtualStrandState>& strand) {
    if (strand->ready.empty()) return;
    Schedule(strand, {std::max(now, strand->busy_until), strand->ready.front()->sequence}, nullptr);
  }

  // Handles the next event; says whether a task ran.
  bool Step() {
    const auto first = events.begin();
    const EventKey key = first->first;
    VirtualEvent event = std::move(first->second);
    events.erase(first);
    event.strand->events.erase(key);
    now = key.first;
    if (event.timer) {
      if (event.timer->task) MakeReady(event.strand, std::move(event.timer));
      return false;
    }
    return RunFirst(event.strand);
  }

  bool RunFirst(const std::shared_ptr<VirtualStrandState>& strand) {
    const std::shared_ptr<VirtualTask> next = std::move(strand->ready.front());
    strand->ready.pop_front();
    Task task = std::exchange(next->task, nullptr);
    const bool runs = static_cast<bool>(task);
    if (runs) {
      ++steps;
      Mix(static_cast<uint64_t>(now.time_since_epoch().count()));
      Mix(strand->name_hash);
      strand->running = true;
      task();
      task = nullptr;
      strand->running = false;
    }
    if (!strand->closed) ScheduleTurn(strand);
    return runs;
  }

  void Mix(uint64_t fact) {
    hash ^= fact + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 33;
  }

  void Close(VirtualStrandState& strand) {
    strand.closed = true;
    // What the tasks hold may call back into the executor when it is destroyed, so that comes last.
    const auto dropped = std::exchange(strand.ready, {});
    std::vector<VirtualEvent> events_dropped;
    for (const EventKey& key : std::exchange(strand.events, {})) {
      auto node = events.extract(key);
      events_dropped.push_back(std::move(node.mapped()));
    }
  }

  const Time start;
  Instant now{};
  uint64_t sequence = 0;
  uint64_t steps = 0;
  uint64_t hash = 0;
  bool inside = false;
  std::map<EventKey, VirtualEvent> events;
};

namespace {

class VirtualStrand final : public Strand {
 public:
  VirtualStrand(std::weak_ptr<VirtualExecutor::Impl> executor, std::string_view name) : executor_(std::move(executor)) {
    state_->name = name;
    state_->name_hash = Fnv1a64(name);
  }
  ~VirtualStrand() override { Close(); }

  void Post(Task task) override {
    const auto executor = executor_.lock();
    if (!executor || state_->closed) return;
    executor->MakeReady(state_, std::make_shared<VirtualTask>(std::move(task), executor->sequence++));
  }

  Timer PostAfter(Duration delay, Task task) override {
    const auto executor = executor_.lock();
    if (!executor || state_->closed) return {};
    auto timer = std::make_shared<VirtualTask>(std::move(task), executor->sequence++);
    const EventKey key(SaturatingAdd(executor->now, delay), timer->sequence);
    executor->Schedule(state_, key, timer);
    return Timer([executor = executor_, strand = std::weak_ptr(state_), weak = std::weak_ptr(timer), key] {
      const auto waiting = weak.lock();
      if (!waiting || !waiting->task) return;
      const Task dropped = std::exchange(waiting->task, nullptr);
      const auto impl = executor.lock();
      const auto owner = strand.lock();
      if (!impl || !owner) return;
      // Once due, the key may belong to the strand's turn for this very task, which must stay: others may wait behind it.
      const auto found = impl->events.find(key);
      if (found == impl->events.end() || found->second.timer != waiting) return;
      impl->events.erase(found);
      owner->events.erase(key);
    });
  }

  void Close() override {
    if (const auto executor = executor_.lock()) executor->Close(*state_);
  }

  const std::string& name() const override { return state_->name; }

  void Charge(Duration cost) override {
    if (const auto executor = executor_.lock()) {
      state_->busy_until = SaturatingAdd(std::max(executor->now, state_->busy_until), cost);
      state_->busy += cost;
    }
  }
  Duration busy() const override { return state_->busy; }

 private:
  const std::weak_ptr<VirtualExecutor::Impl> executor_;
  const std::shared_ptr<VirtualStrandState> state_ = std::make_shared<VirtualStrandState>();
};

}  // namespace

VirtualExecutor::VirtualExecutor(Time start) : impl_(std::make_shared<Impl>(start)) {}

VirtualExecutor::~VirtualExecutor() {
  while (!impl_->events.empty()) {
    const auto strand = impl_->events.begin()->second.strand;
    impl_->Close(*strand);
  }
}

std::shared_ptr<Strand> VirtualExecutor::NewStrand(std::string_view name) {
  return std::make_shared<VirtualStrand>(impl_, name);
}

Clock& VirtualExecutor::clock() { return *impl_; }

void VirtualExecutor::RunFor(Duration duration) {
  const Instant end = SaturatingAdd(impl_->now, duration);
  RunUntil([] { return false; }, duration);
  impl_->now = end;
}

void VirtualExecutor::RunUntilIdle() { RunFor(Duration::zero()); }

bool VirtualExecutor::RunUntil(const std::function<bool()>& done, Duration limit) {
  EVENKEEL_CHECK(!impl_->inside);
  const Instant end = SaturatingAdd(impl_->now, limit);
  if (done()) return true;
  impl_->inside = true;
  bool holds = false;
  while (!holds && !impl_->events.empty() && impl_->events.begin()->first.first <= end) {
    if (impl_->Step()) holds = done();
  }
  impl_->inside = false;
  if (!holds) impl_->now = end;
  return holds;
}

uint64_t VirtualExecutor::steps() const { return impl_->steps; }
uint64_t VirtualExecutor::trace_hash() const { return impl_->hash; }

void VirtualExecutor::Mark(std::string_view fact) { impl_->Mix(Fnv1a64(fact)); }

}  // namespace evenkeel::base
