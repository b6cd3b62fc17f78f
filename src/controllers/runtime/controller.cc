#include "controllers/runtime/controller.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/log.h"
#include "controllers/runtime/controller_metrics.h"

namespace evenkeel::controllers::runtime {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kWaitPollMin = 20ms;
constexpr base::Duration kWaitPollMax = 1s;
// From here on a key does not just have a bad moment: with the usual backoff it has failed for more than 0.1 s.
constexpr int kFailingAfter = 5;

// At a start everybody waits for others that start: for addresses that nobody listens on yet, for a leader's Lease to run out.
constexpr base::Duration kUsualOutage = 30s;

/// Whether the one who was asked is not there, and not of another opinion.
bool IsAway(const base::Error& error) {
  return error.code() == base::Code::kUnavailable || error.code() == base::Code::kTimeout;
}

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

struct Controller::State : std::enable_shared_from_this<Controller::State> {
  State(std::string n, std::shared_ptr<base::Strand> s, base::Clock& c, Reconcile r, ControllerOptions o)
      : name(std::move(n)),
        strand(std::move(s)),
        clock(c),
        reconcile(std::move(r)),
        queue(strand, clock, [this](const std::string& key) { Process(key); }, o.queue) {
    if (o.metrics == nullptr) return;
    const auto results = [&](const char* result) {
      return base::CounterOf(*o.metrics, kReconcileTotal, {{"controller", name}, {"result", result}});
    };
    succeeded = results("success");
    failed = results("error");
    conflicted = results("conflict");
    duration = base::HistogramOf(*o.metrics, kReconcileDuration, {{"controller", name}});
    depth = base::GaugeOf(*o.metrics, kWorkQueueDepth, {{"controller", name}});
  }

  const std::string name;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  const Reconcile reconcile;
  WorkQueue queue;
  std::vector<std::function<bool()>> conditions;
  size_t conditions_met = 0;
  base::Duration poll = kWaitPollMin;
  base::Timer poll_timer;
  bool started = false;
  bool running = false;
  bool stopped = false;
  ControllerStats stats;
  std::set<std::string> conflicts_in_a_row;
  std::set<std::string> told;                       // those that the log says keep failing
  std::map<std::string, base::Instant> away_since;  // when a key's failures began
  base::Counter succeeded, failed, conflicted;
  base::Histogram duration;
  base::Gauge depth;

  void Wait() {
    if (stopped) return;
    while (conditions_met < conditions.size() && conditions[conditions_met]()) ++conditions_met;
    if (conditions_met == conditions.size()) {
      running = true;
      return queue.Start();
    }
    poll_timer = strand->PostAfter(poll, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Wait();
    });
    poll = std::min(poll * 2, kWaitPollMax);
  }

  void Process(const std::string& key) {
    const base::Instant begin = clock.Monotonic();
    auto result = reconcile(key);
    const base::Duration took = clock.Monotonic() - begin;
    ++stats.reconciles;
    stats.total_duration += took;
    duration.Observe(std::chrono::duration<double>(took).count());
    depth.Set(static_cast<double>(queue.size()));
    if (stopped) return;
    if (result) {
      Succeeded(key, *result);
    } else if (result.error().code() == base::Code::kConflict) {
      Conflicted(key, result.error());
    } else {
      Failed(key, result.error());
    }
  }

  void Succeeded(const std::string& key, const ReconcileResult& result) {
    succeeded.Add();
    away_since.erase(key);
    if (told.erase(key) > 0) {
      base::log::Info("key recovered", {{"controller", name}, {"key", key}, {"failures", queue.Failures(key)}});
    }
    conflicts_in_a_row.erase(key);
    queue.Forget(key);
    if (result.requeue_after) queue.AddAfter(key, *result.requeue_after);
  }

  // The first conflict is tried again at once: it is somebody else's write that is on its way to our cache. When that did not
  // help, the cache is behind, and asking again in a tight loop would not make it faster.
  void Conflicted(const std::string& key, const base::Error& error) {
    ++stats.conflicts;
    conflicted.Add();
    base::log::Debug("write conflict", {{"controller", name}, {"key", key}, {"error", error}});
    if (conflicts_in_a_row.insert(key).second) {
      queue.Add(key);
    } else {
      queue.AddRateLimited(key);
    }
  }

  void Failed(const std::string& key, const base::Error& error) {
    ++stats.errors;
    stats.last_error = key + ": " + error.message();
    failed.Add();
    conflicts_in_a_row.erase(key);
    const base::Duration wait = queue.AddRateLimited(key);
    const int failures = queue.Failures(key);
    const std::string again_in = base::FormatDuration(wait);
    const base::Instant now = clock.Monotonic();
    const base::Instant since = away_since.try_emplace(key, now).first->second;
    const bool usual = IsAway(error) && now - since < kUsualOutage;
    if (usual) {
      base::log::Debug("reconcile failed", {{"controller", name}, {"key", key}, {"failures", failures}, {"error", error}});
    } else if (failures >= kFailingAfter && told.insert(key).second) {
      base::log::Error("key keeps failing",
                       {{"controller", name}, {"key", key}, {"failures", failures}, {"again_in", again_in}, {"error", error}});
    } else if (IsPowerOfTwo(failures)) {
      base::log::Warn("reconcile failed",
                      {{"controller", name}, {"key", key}, {"failures", failures}, {"again_in", again_in}, {"error", error}});
    }
  }

  void Stop() {
    stopped = true;
    running = false;
    poll_timer.Cancel();
    queue.Stop();
  }
};

Controller::Controller(std::string name, std::shared_ptr<base::Strand> strand, base::Clock& clock, Reconcile reconcile,
                       ControllerOptions options)
    : state_(std::make_shared<State>(std::move(name), std::move(strand), clock, std::move(reconcile), options)) {}

Controller::~Controller() { state_->Stop(); }

void Controller::WaitFor(std::function<bool()> condition) { state_->conditions.push_back(std::move(condition)); }

void Controller::Start() {
  if (!std::exchange(state_->started, true)) state_->Wait();
}

void Controller::Stop() { state_->Stop(); }

void Controller::Enqueue(const std::string& key) {
  state_->queue.Add(key);
  state_->depth.Set(static_cast<double>(state_->queue.size()));
}

void Controller::EnqueueAfter(const std::string& key, base::Duration delay) { state_->queue.AddAfter(key, delay); }

bool Controller::running() const { return state_->running; }

const std::string& Controller::name() const { return state_->name; }

const std::shared_ptr<base::Strand>& Controller::strand() const { return state_->strand; }

const ControllerStats& Controller::stats() const { return state_->stats; }

}  // namespace evenkeel::controllers::runtime
