#include "controllers/runtime/work_queue.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace evenkeel::controllers::runtime {

struct WorkQueue::State : std::enable_shared_from_this<WorkQueue::State> {
  // What is due at the same instant comes in the order in which it was asked for.
  using DelayKey = std::pair<base::Instant, uint64_t>;

  State(std::shared_ptr<base::Strand> s, base::Clock& c, std::function<void(const std::string&)> p, WorkQueueOptions o)
      : strand(std::move(s)), clock(c), process(std::move(p)), options(o) {}

  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  const std::function<void(const std::string& key)> process;
  const WorkQueueOptions options;

  bool started = false;
  bool stopped = false;
  bool turn_posted = false;
  uint64_t sequence = 0;
  std::deque<std::string> ready;
  std::set<std::string> ready_keys;
  std::map<DelayKey, std::string> delayed;
  std::map<std::string, DelayKey> delay_of;
  std::map<std::string, int> failures;
  base::Timer timer;
  base::Instant timer_due{};

  void Add(const std::string& key) {
    if (stopped || !ready_keys.insert(key).second) return;
    ready.push_back(key);
    PostTurn();
  }

  void PostTurn() {
    if (!started || ready.empty() || std::exchange(turn_posted, true)) return;
    strand->Post([self = shared_from_this()] { self->TakeTurn(); });
  }

  void TakeTurn() {
    turn_posted = false;
    if (stopped || ready.empty()) return;
    const std::string key = std::move(ready.front());
    ready.pop_front();
    ready_keys.erase(key);
    process(key);
    PostTurn();
  }

  void AddAfter(const std::string& key, base::Duration delay) {
    if (stopped) return;
    if (delay <= base::Duration::zero()) return Add(key);
    const DelayKey due(clock.Monotonic() + delay, sequence++);
    const auto present = delay_of.find(key);
    if (present != delay_of.end()) {
      if (present->second.first <= due.first) return;
      delayed.erase(present->second);
    }
    delayed.emplace(due, key);
    delay_of.insert_or_assign(key, due);
    SetTimer();
  }

  void SetTimer() {
    if (delayed.empty()) return timer.Cancel();
    const base::Instant due = delayed.begin()->first.first;
    if (timer_due == due) return;
    timer_due = due;
    timer = strand->PostAfter(due - clock.Monotonic(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->MoveDue();
    });
  }

  void MoveDue() {
    timer_due = {};
    const base::Instant now = clock.Monotonic();
    while (!delayed.empty() && delayed.begin()->first.first <= now) {
      const auto node = delayed.extract(delayed.begin());
      delay_of.erase(node.mapped());
      Add(node.mapped());
    }
    SetTimer();
  }

  base::Duration NextBackoff(const std::string& key) {
    const int exponent = failures[key]++;
    base::Duration delay = options.backoff_base;
    for (int i = 0; i < exponent && delay < options.backoff_max; ++i) delay *= 2;
    return std::min(delay, options.backoff_max);
  }

  void Stop() {
    stopped = true;
    timer.Cancel();
    ready.clear();
    ready_keys.clear();
    delayed.clear();
    delay_of.clear();
    failures.clear();
  }
};

WorkQueue::WorkQueue(std::shared_ptr<base::Strand> strand, base::Clock& clock,
                     std::function<void(const std::string& key)> process, WorkQueueOptions options)
    : state_(std::make_shared<State>(std::move(strand), clock, std::move(process), options)) {}

WorkQueue::~WorkQueue() { state_->Stop(); }

void WorkQueue::Start() {
  state_->started = true;
  state_->PostTurn();
}

void WorkQueue::Stop() { state_->Stop(); }

void WorkQueue::Add(const std::string& key) { state_->Add(key); }

void WorkQueue::AddAfter(const std::string& key, base::Duration delay) { state_->AddAfter(key, delay); }

base::Duration WorkQueue::AddRateLimited(const std::string& key) {
  if (state_->stopped) return base::Duration::zero();
  const base::Duration delay = state_->NextBackoff(key);
  state_->AddAfter(key, delay);
  return delay;
}

void WorkQueue::Forget(const std::string& key) { state_->failures.erase(key); }

int WorkQueue::Failures(const std::string& key) const {
  const auto found = state_->failures.find(key);
  return found == state_->failures.end() ? 0 : found->second;
}

size_t WorkQueue::size() const { return state_->ready.size(); }

}  // namespace evenkeel::controllers::runtime
