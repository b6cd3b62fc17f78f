// The pods that wait for a node, as kube-scheduler keeps them: the most important first, then the one that has waited longest;
// pods that fit nowhere are set aside until something happens that could help, and are not tried again before their back-off
// (1 s, doubling to 10 s) is over. The first help comes without one, because here a pod and what it waits for (a claim, a node)
// often come together. Pure: time is passed in.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "scheduling/ids.h"

namespace evenkeel::controllers::scheduler {

class SchedulerQueue {
 public:
  static constexpr base::Duration kBackoff = std::chrono::seconds(1);
  static constexpr base::Duration kBackoffMax = std::chrono::seconds(10);
  /// Those set aside are tried again after this time whatever happened.
  static constexpr base::Duration kLeftover = std::chrono::minutes(5);

  /// The pod is new, or has changed in a way that could help.
  void Add(const std::string& key, int64_t priority, base::Instant now);
  void Remove(const std::string& key);
  bool Contains(const std::string& key) const { return entries_.contains(key); }

  /// The pod to try now; it stays here, untouched, until one of the calls below. nullopt: none is due.
  std::optional<std::string> Pop(base::Instant now);
  /// It fits nowhere: aside until Wake of its class.
  void Park(const std::string& key, scheduling::ClassId pod_class, base::Instant now);
  /// It could not be tried or bound: again after its back-off.
  void Retry(const std::string& key, base::Instant now);
  /// It waits for something else, and comes up again at `until` or with TriggerNow.
  void Hold(const std::string& key, base::Instant until);
  void TriggerNow(const std::string& key);

  /// Those set aside, by class.
  const std::map<scheduling::ClassId, std::set<std::string>>& parked() const { return parked_; }
  void Wake(scheduling::ClassId pod_class, base::Instant now);

  /// When Pop can next have an answer; nullopt: not before another call.
  std::optional<base::Instant> NextDue(base::Instant now) const;

 private:
  enum class State { kTaken, kActive, kDelayed, kParked };
  struct Entry {
    int64_t priority = 0;
    uint64_t sequence = 0;
    int attempts = 0;
    base::Instant last_attempt{};
    State state = State::kTaken;
    base::Instant due{};  ///< when delayed or parked
    scheduling::ClassId parked_as = scheduling::kNone;
  };
  using Entries = std::map<std::string, Entry>;

  /// Takes it out of whatever it waits in.
  void Withdraw(const std::string& key, Entry& entry);
  void Activate(const std::string& key, Entry& entry);
  void Delay(const std::string& key, Entry& entry, base::Instant due);
  void AfterBackoff(const std::string& key, Entry& entry, int failures, base::Instant now);

  Entries entries_;
  std::set<std::tuple<int64_t, uint64_t, std::string>> active_;  // by -priority, sequence
  std::set<std::pair<base::Instant, std::string>> timed_;        // delayed and parked ones
  std::map<scheduling::ClassId, std::set<std::string>> parked_;
  uint64_t sequence_ = 0;
};

}  // namespace evenkeel::controllers::scheduler
