// The time of a loop. Rules compare it with instants of their own; each comparison notes when its answer will be another one,
// so that whoever asked knows for how long all of them hold. It cannot be had without a comparison by mistake: `Read` is for
// words and for noting when something was.
#pragma once

#include <algorithm>
#include <memory>

#include "base/time.h"

namespace evenkeel::controllers::autoscaler {

class LoopTime {
 public:
  LoopTime() = default;
  LoopTime(base::Time now) : now_(now) {}  // NOLINT(google-explicit-constructor): a time that nobody asks how long it holds
  static LoopTime Noting(base::Time now) {
    LoopTime time(now);
    time.holds_until_ = std::make_shared<base::Time>(base::Time::max());
    return time;
  }

  base::Time Read() const { return now_; }
  /// The same time, noting anew: for a part whose answers are kept by themselves. `Join` tells the whole of them.
  LoopTime Part() const { return Noting(now_); }
  void Join(base::Time part_holds_until) const { Note(part_holds_until); }
  /// All answers so far are the same at any later time before this one; max(): for ever, or nobody notes.
  base::Time HoldsUntil() const { return holds_until_ == nullptr ? base::Time::max() : *holds_until_; }

  friend bool operator<(base::Time time, const LoopTime& now) { return now.Note(time), time < now.now_; }
  friend bool operator<=(base::Time time, const LoopTime& now) { return now.Note(time), time <= now.now_; }
  friend bool operator>(base::Time time, const LoopTime& now) { return !(time <= now); }
  friend bool operator>=(base::Time time, const LoopTime& now) { return !(time < now); }
  /// Less than `duration` ago.
  bool Within(base::Time since, base::Duration duration) const { return NoteSum(since, duration), now_ - since < duration; }
  bool WithinOrAt(base::Time since, base::Duration duration) const {
    return NoteSum(since, duration), now_ - since <= duration;
  }

 private:
  /// A sum that is too large to be a time is never reached.
  void NoteSum(base::Time since, base::Duration duration) const {
    if (duration <= base::Duration::zero() || since <= base::Time::max() - duration) Note(since + duration);
  }
  void Note(base::Time time) const {
    if (time >= now_ && holds_until_ != nullptr) *holds_until_ = std::min(*holds_until_, time);
  }

  base::Time now_{};
  std::shared_ptr<base::Time> holds_until_;
};

/// At which times kept answers can be given again.
struct Holding {
  base::Time from = base::Time::max(), until{};

  Holding() = default;
  explicit Holding(const LoopTime& part) : from(part.Read()), until(part.HoldsUntil()) {}
  /// Notes for the asker how long that is so.
  bool At(const LoopTime& now) const {
    if (now.Read() < from || now.Read() >= until) return false;
    now.Join(until);
    return true;
  }
};

}  // namespace evenkeel::controllers::autoscaler
