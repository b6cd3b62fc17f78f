#include "sim/network/process.h"

#include <deque>
#include <list>
#include <map>
#include <vector>

namespace evenkeel::sim {
namespace {

using base::Duration;
using base::Instant;

constexpr int64_t kMillion = 1'000'000;
/// Beyond this (3 years) a delay means "never", and clock arithmetic would overflow.
constexpr Duration kNever = std::chrono::hours(24 * 1000);

}  // namespace

struct Wait::State : std::enable_shared_from_this<Wait::State> {
  explicit State(std::shared_ptr<Process::Core> c) : core(std::move(c)) {}
  const std::shared_ptr<Process::Core> core;
  Fiber* fiber = nullptr;  ///< while it blocks
  bool done = false;
  bool interruptible = true;  ///< ends when the process is killed
};

struct Process::Core final : base::Clock, std::enable_shared_from_this<Process::Core> {
  Core(base::VirtualExecutor& e, Fibers& f, std::string n, ClockFaults c)
      : executor(e), fibers(f), name(std::move(n)), faults(c), started(e.clock().Monotonic()) {}

  base::VirtualExecutor& executor;
  Fibers& fibers;
  const std::string name;
  ClockFaults faults;
  const Instant started;
  bool alive = true;
  bool paused = false;
  std::deque<base::Task> deferred;                  ///< what came due while paused
  std::list<std::shared_ptr<Wait::State>> blocked;  ///< in the order in which they began to wait

  base::Time Now() const override { return executor.clock().Now() + faults.wall_offset; }
  Instant Monotonic() const override { return started + Own(executor.clock().Monotonic() - started); }

  /// How long `elapsed` of true time since the start is by the own clock.
  Duration Own(Duration elapsed) const {
    return elapsed + Duration(static_cast<int64_t>(static_cast<__int128>(elapsed.count()) * faults.drift_ppm / kMillion));
  }
  /// How long to wait in true time until `delay` has passed by the own clock.
  Duration True(Duration delay) const {
    if (delay <= Duration::zero() || faults.drift_ppm == 0 || delay > kNever) return delay;
    const Duration elapsed = executor.clock().Monotonic() - started;
    const Duration due = Own(elapsed) + delay;
    Duration wait(static_cast<int64_t>(static_cast<__int128>(delay.count()) * kMillion / (kMillion + faults.drift_ppm)));
    while (Own(elapsed + wait) < due) ++wait;
    return wait;
  }

  /// Now, or when the process goes on.
  void Do(base::Task task) {
    if (!alive) return;
    if (paused) {
      deferred.push_back(std::move(task));
    } else {
      task();
    }
  }

  bool Block(const std::shared_ptr<Wait::State>& wait) {
    if (!alive && wait->interruptible) return false;
    if (wait->done && !paused) return alive;
    EVENKEEL_CHECK(fibers.current() != nullptr);
    wait->fiber = fibers.current();
    const auto place = blocked.insert(blocked.end(), wait);
    if (wait->done) Wake(wait);
    fibers.Suspend();
    blocked.erase(place);
    wait->fiber = nullptr;
    return alive;
  }

  void Done(const std::shared_ptr<Wait::State>& wait) {
    if (std::exchange(wait->done, true) || wait->fiber == nullptr) return;
    Wake(wait);
  }

  void Wake(const std::shared_ptr<Wait::State>& wait) {
    auto go_on = [this, wait] {
      if (wait->fiber != nullptr) fibers.Resume(*wait->fiber);
    };
    if (alive) {
      Do(std::move(go_on));
    } else {
      go_on();
    }
  }

  void Resume() {
    if (!std::exchange(paused, false)) return;
    // It may be paused again by what runs here; the rest then waits once more, in its order.
    while (!paused && !deferred.empty()) {
      base::Task next = std::move(deferred.front());
      deferred.pop_front();
      next();
    }
  }

  void Kill() {
    if (!std::exchange(alive, false)) return;
    paused = false;
    deferred.clear();
    // A wait for a task that must end first (Strand::Close) is woken by that task's end.
    while (true) {
      const auto next = std::ranges::find_if(blocked, [](const auto& wait) { return wait->interruptible || wait->done; });
      if (next == blocked.end()) break;
      const std::shared_ptr<Wait::State> wait = *next;
      fibers.Resume(*wait->fiber);
    }
    EVENKEEL_CHECK(blocked.empty() || fibers.current() != nullptr);
  }
};

namespace {

// Tasks wait here in order; the strand of the virtual executor gives the turns.
struct StrandState : std::enable_shared_from_this<StrandState> {
  StrandState(std::shared_ptr<Process::Core> c, std::string_view n)
      : core(std::move(c)), name(n), turns(core->executor.NewStrand(n)) {}

  struct Item {
    base::Task task;
  };

  const std::shared_ptr<Process::Core> core;
  const std::string name;
  const std::shared_ptr<base::Strand> turns;
  std::deque<std::shared_ptr<Item>> ready;
  std::map<uint64_t, std::pair<std::shared_ptr<Item>, base::Timer>> timers;
  uint64_t next_timer = 0;
  bool closed = false;
  bool turn_posted = false;
  bool running = false;
  Fiber* fiber = nullptr;  ///< of the running task
  Instant began{};
  Duration busy{};
  std::vector<Wait> closing;  ///< who waits for the running task

  Instant TrueTime() const { return core->executor.clock().Monotonic(); }

  void Push(std::shared_ptr<Item> item) {
    ready.push_back(std::move(item));
    PostTurn();
  }

  void PostTurn() {
    if (running || ready.empty() || std::exchange(turn_posted, true)) return;
    turns->Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Turn();
    });
  }

  void Turn() {
    if (!core->alive) return;
    if (core->paused) {
      turn_posted = true;
      core->deferred.push_back([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Turn();
      });
      return;
    }
    turn_posted = false;
    while (!running && !ready.empty()) {
      base::Task task = std::exchange(ready.front()->task, nullptr);
      ready.pop_front();
      if (!task) continue;
      running = true;
      began = TrueTime();
      core->fibers.Run([self = shared_from_this(), task = std::move(task)]() mutable {
        self->fiber = self->core->fibers.current();
        task();
        task = nullptr;
        self->Ended();
      });
      break;
    }
    PostTurn();
  }

  void Ended() {
    running = false;
    fiber = nullptr;
    busy += TrueTime() - began;
    for (Wait& wait : std::exchange(closing, {})) wait.Done();
    PostTurn();
  }

  base::Timer After(Duration delay, base::Task task) {
    if (closed || !core->alive) return {};
    const uint64_t id = next_timer++;
    auto item = std::make_shared<Item>(std::move(task));
    base::Timer due = turns->PostAfter(core->True(delay), [weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->Due(id);
    });
    const std::weak_ptr<Item> waiting = item;
    timers.emplace(id, std::pair(std::move(item), std::move(due)));
    return base::Timer([weak = weak_from_this(), waiting, id] {
      const auto dropped = waiting.lock();
      if (!dropped) return;
      const base::Task gone = std::exchange(dropped->task, nullptr);
      if (const auto self = weak.lock()) self->timers.erase(id);
    });
  }

  void Due(uint64_t id) {
    auto timer = timers.extract(id);
    if (!timer || closed || !core->alive) return;
    ready.push_back(std::move(timer.mapped().first));
    // This is a turn of the strand already.
    if (!running && !turn_posted) Turn();
  }

  void Close() {
    closed = true;
    // What the tasks hold may call back when it is destroyed, so that comes last.
    const auto dropped = std::exchange(ready, {});
    const auto timers_dropped = std::exchange(timers, {});
    if (!running || fiber == core->fibers.current()) return;
    const auto wait = std::make_shared<Wait::State>(core);
    wait->interruptible = false;
    closing.push_back(Wait(wait));
    core->Block(wait);
  }
};

class ProcessStrand final : public base::Strand {
 public:
  explicit ProcessStrand(std::shared_ptr<StrandState> state) : state_(std::move(state)) {}
  ~ProcessStrand() override { Close(); }

  void Post(base::Task task) override {
    if (state_->closed || !state_->core->alive) return;
    state_->Push(std::make_shared<StrandState::Item>(std::move(task)));
  }
  base::Timer PostAfter(Duration delay, base::Task task) override { return state_->After(delay, std::move(task)); }
  void Close() override { state_->Close(); }
  const std::string& name() const override { return state_->name; }
  void Charge(Duration cost) override {
    state_->busy += cost;
    state_->turns->Charge(cost);
  }
  Duration busy() const override { return state_->busy; }

 private:
  const std::shared_ptr<StrandState> state_;
};

}  // namespace

Process::Process(base::VirtualExecutor& executor, Fibers& fibers, std::string name, ClockFaults clock)
    : core_(std::make_shared<Core>(executor, fibers, std::move(name), clock)) {}

Process::~Process() { Kill(); }

std::shared_ptr<base::Strand> Process::NewStrand(std::string_view name) {
  return std::make_shared<ProcessStrand>(std::make_shared<StrandState>(core_, name));
}

base::Clock& Process::clock() { return *core_; }
const std::string& Process::name() const { return core_->name; }
void Process::Pause() { core_->paused = core_->alive; }
void Process::Resume() { core_->Resume(); }
void Process::Kill() { core_->Kill(); }
bool Process::alive() const { return core_->alive; }
bool Process::paused() const { return core_->paused; }
void Process::JumpWallClock(Duration by) { core_->faults.wall_offset += by; }
void Process::Deliver(base::Task task) { core_->Do(std::move(task)); }

bool Process::WaitWhilePaused() {
  if (!core_->paused) return core_->alive;
  Wait wait(*this);
  wait.Done();
  return wait.Block();
}

Wait::Wait(Process& process) : state_(std::make_shared<State>(process.core_)) {}
Wait::Wait(std::shared_ptr<State> state) : state_(std::move(state)) {}
bool Wait::Block() { return state_->core->Block(state_); }
void Wait::Done() { state_->core->Done(state_); }

}  // namespace evenkeel::sim
