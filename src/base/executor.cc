#include "base/executor.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace evenkeel::base {
namespace {

using TimerKey = std::pair<Instant, uint64_t>;

// A task on its way. Cancelling empties it wherever it is; an empty one is skipped.
struct PoolTask {
  Task task;
};

struct PoolStrandState {
  std::string name;
  bool closed = false;
  bool scheduled = false;  ///< in PoolCore::ready, or running
  bool running = false;
  std::thread::id runner;
  std::condition_variable idle;
  std::deque<std::shared_ptr<PoolTask>> tasks;
  std::set<TimerKey> timers;     ///< this strand's keys in PoolCore::timers
  std::atomic<int64_t> busy{0};  ///< nanoseconds
};

struct PoolWorker {
  std::condition_variable called;
  bool is_called = false;
};

struct PoolTimer {
  std::shared_ptr<PoolStrandState> strand;
  std::shared_ptr<PoolTask> task;
};

// Everything behind one mutex: tasks are reconciles and client calls, so it is held for a tiny part of the time. Tasks are
// never destroyed under it, because what they hold may call back.
struct PoolCore {
  std::mutex mutex;
  /// Who has become idle last is called first: a pool has threads for its busiest moment, and those that are not needed touch
  /// no stack and no memory of their own.
  std::vector<PoolWorker*> idle;
  std::condition_variable timer_changed;
  bool stopping = false;
  uint64_t sequence = 0;
  std::deque<std::shared_ptr<PoolStrandState>> ready;
  std::map<TimerKey, PoolTimer> timers;
  std::vector<std::weak_ptr<PoolStrandState>> strands;

  void Enqueue(const std::shared_ptr<PoolStrandState>& strand, std::shared_ptr<PoolTask> task) {
    strand->tasks.push_back(std::move(task));
    if (std::exchange(strand->scheduled, true)) return;
    ready.push_back(strand);
    CallOne();
  }

  void CallOne() {
    if (idle.empty()) return;
    PoolWorker& worker = *idle.back();
    idle.pop_back();
    worker.is_called = true;
    worker.called.notify_one();
  }

  void Work() {
    PoolWorker self;
    std::unique_lock lock(mutex);
    for (;;) {
      while (ready.empty() && !stopping) {
        self.is_called = false;
        idle.push_back(&self);
        self.called.wait(lock, [&self] { return self.is_called; });
      }
      if (ready.empty()) return;
      const std::shared_ptr<PoolStrandState> strand = std::move(ready.front());
      ready.pop_front();
      RunOne(lock, *strand);
      // One task per turn: a strand with a long queue does not starve the others. This thread takes the next one itself.
      strand->scheduled = !strand->tasks.empty();
      if (strand->scheduled) ready.push_back(strand);
    }
  }

  void RunOne(std::unique_lock<std::mutex>& lock, PoolStrandState& strand) {
    if (strand.tasks.empty()) return;
    const std::shared_ptr<PoolTask> next = std::move(strand.tasks.front());
    strand.tasks.pop_front();
    Task task = std::exchange(next->task, nullptr);
    if (!task) return;
    strand.running = true;
    strand.runner = std::this_thread::get_id();
    lock.unlock();
    const Instant begin = SystemClock().Monotonic();
    task();
    task = nullptr;
    strand.busy += (SystemClock().Monotonic() - begin).count();
    lock.lock();
    strand.running = false;
    strand.idle.notify_all();
  }

  void KeepTime() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      if (timers.empty()) {
        timer_changed.wait(lock);
        continue;
      }
      const Instant due = timers.begin()->first.first;
      if (SystemClock().Monotonic() < due) {
        timer_changed.wait_until(lock, due);
        continue;
      }
      auto node = timers.extract(timers.begin());
      node.mapped().strand->timers.erase(node.key());
      Enqueue(node.mapped().strand, std::move(node.mapped().task));
    }
  }

  void Close(PoolStrandState& strand) {
    std::deque<std::shared_ptr<PoolTask>> dropped;
    std::vector<PoolTimer> dropped_timers;
    std::unique_lock lock(mutex);
    strand.closed = true;
    dropped.swap(strand.tasks);
    for (const TimerKey& key : std::exchange(strand.timers, {})) {
      auto node = timers.extract(key);
      dropped_timers.push_back(std::move(node.mapped()));
    }
    if (strand.running && strand.runner == std::this_thread::get_id()) return;
    strand.idle.wait(lock, [&] { return !strand.running; });
    lock.unlock();
  }
};

class PoolStrand final : public Strand {
 public:
  PoolStrand(std::shared_ptr<PoolCore> core, std::shared_ptr<PoolStrandState> state)
      : core_(std::move(core)), state_(std::move(state)) {}
  ~PoolStrand() override { Close(); }

  void Post(Task task) override {
    auto pending = std::make_shared<PoolTask>(std::move(task));
    const std::lock_guard lock(core_->mutex);
    if (!state_->closed) core_->Enqueue(state_, std::move(pending));
  }

  Timer PostAfter(Duration delay, Task task) override {
    auto pending = std::make_shared<PoolTask>(std::move(task));
    const Instant now = SystemClock().Monotonic();
    const Duration room = Instant::max() - now;
    const Instant due = now + std::clamp(delay, Duration::zero(), room);
    const std::lock_guard lock(core_->mutex);
    if (state_->closed) return {};
    const TimerKey key(due, core_->sequence++);
    const auto inserted = core_->timers.emplace(key, PoolTimer{state_, pending}).first;
    state_->timers.insert(key);
    if (inserted == core_->timers.begin()) core_->timer_changed.notify_one();
    return Timer([weak = std::weak_ptr(core_), weak_task = std::weak_ptr(pending), key] {
      const auto core = weak.lock();
      const auto waiting = weak_task.lock();
      if (!core || !waiting) return;
      Task dropped;
      PoolTimer dropped_timer;
      const std::lock_guard cancel_lock(core->mutex);
      dropped = std::exchange(waiting->task, nullptr);
      if (auto node = core->timers.extract(key)) {
        node.mapped().strand->timers.erase(key);
        dropped_timer = std::move(node.mapped());
      }
    });
  }

  void Close() override { core_->Close(*state_); }
  const std::string& name() const override { return state_->name; }
  void Charge(Duration) override {}
  Duration busy() const override { return Duration(state_->busy); }

 private:
  const std::shared_ptr<PoolCore> core_;
  const std::shared_ptr<PoolStrandState> state_;
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) {
    threads_.emplace_back([core = core_] { core->KeepTime(); });
    for (int i = 0; i < threads; ++i) threads_.emplace_back([core = core_] { core->Work(); });
  }

  ~ThreadPool() override {
    std::vector<std::shared_ptr<PoolStrandState>> open;
    {
      const std::lock_guard lock(core_->mutex);
      core_->stopping = true;
      for (const auto& weak : core_->strands) {
        if (auto strand = weak.lock()) open.push_back(std::move(strand));
      }
    }
    for (const auto& strand : open) core_->Close(*strand);
    {
      const std::lock_guard lock(core_->mutex);
      while (!core_->idle.empty()) core_->CallOne();
    }
    core_->timer_changed.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::shared_ptr<Strand> NewStrand(std::string_view name) override {
    auto state = std::make_shared<PoolStrandState>();
    state->name = name;
    const std::lock_guard lock(core_->mutex);
    state->closed = core_->stopping;
    // Forget dead ones each time the list has doubled.
    if (core_->strands.size() >= strands_checked_ * 2) {
      std::erase_if(core_->strands, [](const auto& weak) { return weak.expired(); });
      strands_checked_ = std::max<size_t>(core_->strands.size(), 16);
    }
    core_->strands.push_back(state);
    return std::make_shared<PoolStrand>(core_, std::move(state));
  }

  Clock& clock() override { return SystemClock(); }

 private:
  const std::shared_ptr<PoolCore> core_ = std::make_shared<PoolCore>();
  size_t strands_checked_ = 16;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> NewThreadPool(int threads) {
  EVENKEEL_CHECK(threads > 0);
  return std::make_unique<ThreadPool>(threads);
}

}  // namespace evenkeel::base
