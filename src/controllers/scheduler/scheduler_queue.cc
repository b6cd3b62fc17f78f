#include "controllers/scheduler/scheduler_queue.h"

#include <algorithm>

namespace evenkeel::controllers::scheduler {

void SchedulerQueue::Withdraw(const std::string& key, Entry& entry) {
  if (entry.state == State::kActive) active_.erase({-entry.priority, entry.sequence, key});
  if (entry.state == State::kDelayed || entry.state == State::kParked) timed_.erase({entry.due, key});
  if (entry.state == State::kParked) {
    const auto found = parked_.find(entry.parked_as);
    found->second.erase(key);
    if (found->second.empty()) parked_.erase(found);
  }
  entry.state = State::kTaken;
}

void SchedulerQueue::Activate(const std::string& key, Entry& entry) {
  Withdraw(key, entry);
  entry.state = State::kActive;
  entry.sequence = ++sequence_;
  active_.emplace(-entry.priority, entry.sequence, key);
}

void SchedulerQueue::Delay(const std::string& key, Entry& entry, base::Instant due) {
  Withdraw(key, entry);
  entry.state = State::kDelayed;
  entry.due = due;
  timed_.emplace(due, key);
}

void SchedulerQueue::AfterBackoff(const std::string& key, Entry& entry, int failures, base::Instant now) {
  const int doublings = std::clamp(failures - 1, 0, 10);
  const base::Instant due = entry.last_attempt + std::min<base::Duration>(kBackoff * (int64_t{1} << doublings), kBackoffMax);
  if (failures <= 0 || due <= now) {
    Activate(key, entry);
  } else {
    Delay(key, entry, due);
  }
}

void SchedulerQueue::Add(const std::string& key, int64_t priority, base::Instant now) {
  const auto [found, added] = entries_.try_emplace(key);
  Entry& entry = found->second;
  const bool moved = entry.priority != priority;
  if (!added && entry.state == State::kActive && !moved) return;
  Withdraw(key, entry);
  entry.priority = priority;
  AfterBackoff(key, entry, entry.attempts - 1, now);
}

void SchedulerQueue::Remove(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Withdraw(key, found->second);
  entries_.erase(found);
}

std::optional<std::string> SchedulerQueue::Pop(base::Instant now) {
  while (!timed_.empty() && timed_.begin()->first <= now) {
    const std::string key = timed_.begin()->second;
    Activate(key, entries_.at(key));
  }
  if (active_.empty()) return std::nullopt;
  const std::string key = std::get<std::string>(*active_.begin());
  Entry& entry = entries_.at(key);
  Withdraw(key, entry);
  ++entry.attempts;
  entry.last_attempt = now;
  return key;
}

void SchedulerQueue::Park(const std::string& key, scheduling::ClassId pod_class, base::Instant now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  Delay(key, entry, now + kLeftover);
  entry.state = State::kParked;
  entry.parked_as = pod_class;
  parked_[pod_class].insert(key);
}

void SchedulerQueue::Retry(const std::string& key, base::Instant now) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) AfterBackoff(key, found->second, found->second.attempts, now);
}

void SchedulerQueue::Hold(const std::string& key, base::Instant until) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) Delay(key, found->second, until);
}

void SchedulerQueue::TriggerNow(const std::string& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) Activate(key, found->second);
}

void SchedulerQueue::Wake(scheduling::ClassId pod_class, base::Instant now) {
  const auto found = parked_.find(pod_class);
  if (found == parked_.end()) return;
  // In the order in which they came here, as far as their priorities are the same.
  std::vector<std::pair<uint64_t, std::string>> keys;
  for (const std::string& key : found->second) keys.emplace_back(entries_.at(key).sequence, key);
  std::sort(keys.begin(), keys.end());
  for (const auto& [sequence, key] : keys) {
    Entry& entry = entries_.at(key);
    AfterBackoff(key, entry, entry.attempts - 1, now);
  }
}

std::optional<base::Instant> SchedulerQueue::NextDue(base::Instant now) const {
  if (!active_.empty()) return now;
  if (timed_.empty()) return std::nullopt;
  return timed_.begin()->first;
}

}  // namespace evenkeel::controllers::scheduler
