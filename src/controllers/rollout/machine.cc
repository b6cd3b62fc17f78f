#include "controllers/rollout/machine.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/reasons.h"

namespace evenkeel::controllers::rollout {
namespace {

const ClusterFacts& FactsOf(const Situation& situation, const std::string& cluster) {
  static const ClusterFacts kUnknown{.reachable = false, .waits_for = "nothing is known of it"};
  const auto found = situation.clusters.find(cluster);
  return found == situation.clusters.end() ? kUnknown : found->second;
}

/// The last record, or the one before it that it took the place of, if it has not begun itself: only that one says which
/// cluster is in the middle of a change.
const Record& LastBegun(const std::vector<Record>& records) {
  size_t i = records.size() - 1;
  while (i > 0 && !records[i].Advanced() && records[i - 1].status == RecordStatus::kSuperseded) --i;
  return records[i];
}

/// The order of a record that replaces another before its end: the cluster that was about to change first, since it is the one
/// that may be broken; then those that have the replaced revision, then those that do not. With another schedule its own order
/// counts, but for the first.
std::vector<std::string> SupersedingOrder(const std::vector<Record>& records, const Target& target) {
  const Record& record = LastBegun(records);
  std::vector<std::string> wishes = target.foremost;
  wishes.insert(wishes.end(), record.deploying.begin(), record.deploying.end());
  if (record.schedule_hash == target.schedule_hash) {
    // The cluster that a failed record went back to its base.
    const Record& last = records.back();
    if (last.status == RecordStatus::kFailed && !last.pending.empty()) wishes.push_back(last.pending.front());
    if (!target.order_is_given && record.Advanced()) {
      wishes.insert(wishes.end(), record.completed.begin(), record.completed.end());
      wishes.insert(wishes.end(), record.pending.begin(), record.pending.end());
    }
  }
  wishes.insert(wishes.end(), target.order.begin(), target.order.end());
  std::vector<std::string> order;
  for (std::string& cluster : wishes) {
    if (Contains(target.order, cluster) && !Contains(order, cluster)) order.push_back(std::move(cluster));
  }
  return order;
}

class Machine {
 public:
  Machine(State state, const Situation& situation) : state_(std::move(state)), situation_(situation) {}

  Step RunAnew() && {
    EVENKEEL_CHECK(situation_.policy.history_limit > 0 && situation_.target);
    if (!state_.records.empty() && !IsFinal(Last().status)) {
      Last().status = RecordStatus::kSuperseded;
      Last().last_transition = situation_.now;
    }
    Append(situation_.target->order);
    Step step = Took(Action::kAppended, reasons::kRecordAppended,
                     fmt::format("revision {} for {} clusters, whatever was under way", Last().revision, Last().order.size()));
    step.state = std::move(state_);
    return step;
  }

  Step Run() && {
    EVENKEEL_CHECK(situation_.policy.history_limit > 0);
    Step step = Next();
    if (step.action == Action::kNone && state_.records.size() > situation_.policy.history_limit) {
      Trim(0);
      step = Took(Action::kTrimmed, reasons::kHistoryTrimmed, "records beyond spec.revisionHistoryLimit are gone");
    }
    step.state = std::move(state_);
    return step;
  }

 private:
  Record& Last() { return state_.records.back(); }
  bool Paused() const { return situation_.policy.paused; }
  bool WantsElse() { return situation_.target && Differs(Last(), *situation_.target); }

  static Step Took(Action action, std::string_view reason, std::string message, std::string cluster = "") {
    return {action, std::string(reason), std::move(message), std::move(cluster), {}};
  }
  static Step Idle(std::string_view reason, std::string message, std::string cluster = "") {
    return Took(Action::kNone, reason, std::move(message), std::move(cluster));
  }

  Step Next() {
    if (state_.records.empty()) return Begin();
    switch (Last().status) {
      case RecordStatus::kReady:
      case RecordStatus::kSuperseded:
        if (WantsElse() || (Last().status == RecordStatus::kSuperseded && situation_.target)) return Begin();
        if (!situation_.target) return Idle(situation_.no_target_reason, situation_.no_target);
        return Idle(reasons::kUpToDate, "every cluster has what is wanted");
      case RecordStatus::kFailed:
        if (WantsElse() && !Paused()) return Supersede();
        return Idle(reasons::kFailed, Last().message);
      case RecordStatus::kPaused:
        return NextOfPaused();
      case RecordStatus::kRollingBack:
        return NextOfRollingBack();
      case RecordStatus::kDeploying:
        return NextOfDeploying();
    }
    EVENKEEL_CHECK(false);
  }

  /// Room for `more` records within the limit.
  void Trim(size_t more) {
    const size_t keep = situation_.policy.history_limit - more;
    if (state_.records.size() <= keep) return;
    state_.records.erase(state_.records.begin(), state_.records.end() - static_cast<std::ptrdiff_t>(keep));
  }

  void Append(std::vector<std::string> order) {
    const Target& target = *situation_.target;
    EVENKEEL_CHECK(!order.empty());
    Trim(1);
    Record record;
    record.observed_generations = target.generations;
    record.order = std::move(order);
    record.pending = record.order;
    record.last_transition = situation_.now;
    record.started = situation_.now;
    record.revision = target.revision;
    record.base_revision = target.base_revision;
    record.spec_hash = target.spec_hash;
    record.schedule_hash = target.schedule_hash;
    record.uid = target.uid;
    state_.records.push_back(std::move(record));
  }

  Step Begin() {
    if (Paused()) return Idle(kPausedByUser, "spec.rollout.paused is set");
    if (!situation_.target) return Idle(situation_.no_target_reason, situation_.no_target);
    Append(situation_.target->order);
    return Took(Action::kAppended, reasons::kRecordAppended,
                fmt::format("revision {} for {} clusters", Last().revision, Last().order.size()));
  }

  Step Supersede() {
    std::vector<std::string> order = SupersedingOrder(state_.records, *situation_.target);
    Last().status = RecordStatus::kSuperseded;
    Last().last_transition = situation_.now;
    const std::string before = Last().revision;
    Append(std::move(order));
    return Took(Action::kSuperseded, reasons::kRecordSuperseded,
                fmt::format("revision {} takes the place of {}", Last().revision, before.empty() ? "the one before" : before));
  }

  Step Pause(std::string_view reason, std::string message, std::string cluster = "") {
    Last().status = RecordStatus::kPaused;
    Last().reason = reason;
    Last().message = message;
    Last().last_transition = situation_.now;
    return Took(Action::kPaused, reason, std::move(message), std::move(cluster));
  }

  Step PauseByUser() { return Pause(kPausedByUser, "spec.rollout.paused is set"); }

  Step Resume(std::string message) {
    Last().status = RecordStatus::kDeploying;
    Last().reason.clear();
    Last().message.clear();
    Last().last_transition = situation_.now;
    Last().progressed.reset();
    return Took(Action::kResumed, reasons::kRecordResumed, std::move(message));
  }

  Step NextOfPaused() {
    const bool by_user = Last().reason == kPausedByUser;
    if (Paused()) return by_user ? Idle(kPausedByUser, Last().message) : PauseByUser();
    if (WantsElse()) return Supersede();
    if (by_user) return Resume("spec.rollout.paused is no longer set");
    if (Last().deploying.empty()) return Resume("no cluster is deploying");
    const std::string cluster = Last().deploying.front();
    const ClusterFacts& facts = FactsOf(situation_, cluster);
    if (Last().reason == kClusterUnreachable && facts.reachable) return Resume(cluster + " can be reached again");
    if (facts.reachable && facts.ready) return Resume(cluster + " is ready after all");
    if (Last().reason == kDeadlineExceeded && facts.reachable) {
      if (const std::string* mends = FindMendingBehind(facts)) return LetMend(std::string(*mends));
    }
    return Idle(Last().reason.empty() ? kDeadlineExceeded : std::string_view(Last().reason), Last().message, cluster);
  }

  Step NextOfRollingBack() {
    if (WantsElse() && !Paused()) return Supersede();
    const std::string cluster = Last().deploying.front();
    const ClusterFacts& facts = FactsOf(situation_, cluster);
    if (!facts.reachable || !facts.ready) return Idle(reasons::kWaitingForRollback, cluster + ": " + facts.waits_for, cluster);
    Record& record = Last();
    record.deploying.clear();
    record.pending.insert(record.pending.begin(), cluster);
    std::ranges::sort(record.pending, {}, [&](const std::string& name) { return std::ranges::find(record.order, name); });
    record.status = RecordStatus::kFailed;
    record.last_transition = situation_.now;
    Confirm(cluster);
    return Took(Action::kFailed, reasons::kRolledBack, cluster + " is back at the revision before", cluster);
  }

  Step NextOfDeploying() {
    if (Paused()) return PauseByUser();
    if (WantsElse()) return Supersede();
    if (!Last().deploying.empty()) return NextOfCluster();
    if (!Last().pending.empty()) return StartNext();
    if (!situation_.unhealthy.empty()) return Idle(reasons::kWaitingForQuorum, situation_.unhealthy);
    Last().status = RecordStatus::kReady;
    Last().last_transition = situation_.now;
    Last().progressed.reset();
    Last().progress.clear();
    Last().advance.clear();
    return Took(Action::kFinished, reasons::kRecordReady, fmt::format("all {} clusters are completed", Last().order.size()));
  }

  Step NextOfCluster() {
    Record& record = Last();
    const std::string cluster = record.deploying.front();
    const ClusterFacts& facts = FactsOf(situation_, cluster);
    if (!facts.reachable) return Pause(kClusterUnreachable, cluster + " cannot be reached", cluster);
    if (facts.ready) {
      record.deploying.clear();
      record.completed.push_back(cluster);
      record.last_transition = situation_.now;
      Confirm(cluster);
      return Took(Action::kCompleted, reasons::kClusterCompleted, cluster + " is ready", cluster);
    }
    // A record that never noted a mark is one of another program: its deadline counts from its last transition. One that did
    // not count was written before marks were counted.
    const bool further = record.advance.empty() ? record.progress != facts.progress : record.advance < facts.advance;
    if (!record.progress.empty() && further) {
      record.progress = facts.progress;
      record.advance = facts.advance;
      record.progressed = situation_.now;
      return Took(Action::kProgressed, reasons::kClusterProgressed, cluster + ": " + facts.progress, cluster);
    }
    const base::Time noted = std::max(record.last_transition, record.progressed.value_or(record.last_transition));
    if (noted > situation_.now) {
      record.last_transition = situation_.now;
      record.progressed = situation_.now;
      return Took(Action::kProgressed, reasons::kClusterProgressed,
                  cluster + ": its deadline counts from now, as its times lie in the future", cluster);
    }
    const base::Time since = std::max(noted, situation_.watched_since);
    if (situation_.now - since >= situation_.policy.progress_deadline) return PastDeadline(cluster, facts);
    return Idle(reasons::kWaitingForCluster, cluster + ": " + facts.waits_for, cluster);
  }

  Step PastDeadline(const std::string& cluster, const ClusterFacts& facts) {
    if (const std::string* mends = FindMendingBehind(facts)) return LetMend(std::string(*mends));
    std::string message = fmt::format("{} is not ready within {}: {}", cluster,
                                      base::FormatDuration(situation_.policy.progress_deadline), facts.waits_for);
    const auto found = state_.clusters.find(cluster);
    const bool can = facts.can_roll_back && found != state_.clusters.end() && !found->second.previous.empty();
    if (situation_.policy.on_failure != OnFailure::kRollback || !can)
      return Pause(kDeadlineExceeded, std::move(message), cluster);
    found->second.Give(std::string(found->second.previous));
    Last().status = RecordStatus::kRollingBack;
    Last().reason = kDeadlineExceeded;
    Last().message = message;
    Last().last_transition = situation_.now;
    return Took(Action::kRollingBack, reasons::kRollingBack, std::move(message), cluster);
  }

  void Confirm(const std::string& cluster) {
    if (const auto found = state_.clusters.find(cluster); found != state_.clusters.end()) found->second.confirmed = true;
  }

  Step Postpone() {
    Record& record = Last();
    const std::string cluster = record.pending.front();
    for (std::vector<std::string>* names : {&record.pending, &record.order}) {
      std::erase(*names, cluster);
      names->push_back(cluster);
    }
    record.last_transition = situation_.now;
    return Took(Action::kPostponed, reasons::kClusterPostponed, cluster + " cannot be reached, so the others go before it",
                cluster);
  }

  /// A pending cluster whose turn may be what opens the gates of the others.
  const std::string* FindMending() const {
    const std::vector<std::string>& pending = state_.records.back().pending;
    const auto found = std::ranges::find_if(pending, [this](const std::string& cluster) {
      const ClusterFacts& facts = FactsOf(situation_, cluster);
      return facts.can_mend && facts.reachable && facts.gate.empty();
    });
    return found == pending.end() ? nullptr : &*found;
  }

  /// For a cluster that is deploying: its own servers are up, so it waits for others, and one that has been put behind it is
  /// down.
  const std::string* FindMendingBehind(const ClusterFacts& deploying) const {
    return deploying.can_wait && !deploying.can_mend ? FindMending() : nullptr;
  }

  /// The cluster that is deploying waits until the one that mends is done.
  Step LetMend(const std::string& mends) {
    Record& record = Last();
    const std::string cluster = record.deploying.front();
    record.deploying.clear();
    record.pending.insert(record.pending.begin(), cluster);
    record.status = RecordStatus::kDeploying;
    record.reason.clear();
    record.message.clear();
    record.progressed.reset();
    return BringForward(mends, FactsOf(situation_, cluster).waits_for);
  }

  Step BringForward(const std::string& cluster, const std::string& gate) {
    Record& record = Last();
    const std::string waiting = record.pending.front();
    for (std::vector<std::string>* names : {&record.pending, &record.order}) {
      std::erase(*names, cluster);
      names->insert(std::ranges::find(*names, waiting), cluster);
    }
    record.last_transition = situation_.now;
    return Took(Action::kBroughtForward, reasons::kClusterBroughtForward,
                fmt::format("{} goes before {}, which has to wait: {}", cluster, waiting, gate), cluster);
  }

  /// A record that was superseded may have left clusters on their way. Those whose turn comes later stay as they are until
  /// then. nullopt: there are none.
  std::optional<Step> HoldOthers(const std::string& next) {
    for (auto& [cluster, given] : state_.clusters) {
      const ClusterFacts& facts = FactsOf(situation_, cluster);
      if (cluster == next || !facts.in_flight || (!facts.reachable && situation_.policy.skip_unreachable)) continue;
      if (given.held)
        return Idle(reasons::kWaitingForCluster,
                    fmt::format("{} is next: {} is to stop before: {}", next, cluster, facts.waits_for), cluster);
      given.Hold();
      return Took(Action::kHeld, reasons::kClusterHeld, fmt::format("{} stays as it is until {} is done", cluster, next),
                  cluster);
    }
    return std::nullopt;
  }

  Step StartNext() {
    Record& record = Last();
    const std::string cluster = record.pending.front();
    const ClusterFacts& facts = FactsOf(situation_, cluster);
    if (!facts.reachable) {
      const bool others =
          std::ranges::any_of(record.pending, [&](const std::string& other) { return FactsOf(situation_, other).reachable; });
      if (situation_.policy.skip_unreachable && facts.can_wait && others) return Postpone();
      return Idle(kClusterUnreachable, cluster + " is next, but cannot be reached", cluster);
    }
    if (!facts.gate.empty()) {
      if (facts.can_wait) {
        if (const std::string* mends = FindMending()) return BringForward(std::string(*mends), facts.gate);
      }
      return Idle(facts.gate_reason, cluster + " is next: " + facts.gate, cluster);
    }
    if (facts.can_wait) {
      if (std::optional<Step> step = HoldOthers(cluster)) return *std::move(step);
    }
    record.pending.erase(record.pending.begin());
    record.deploying.push_back(cluster);
    record.last_transition = situation_.now;
    record.progressed.reset();
    record.progress = facts.progress;
    record.advance = facts.advance;
    ClusterRevision& given = state_.clusters.try_emplace(cluster, ClusterRevision{record.revision, ""}).first->second;
    given.Give(record.revision);
    return Took(Action::kStarted, reasons::kClusterStarted, fmt::format("{} gets revision {}", cluster, record.revision),
                cluster);
  }

  State state_;
  const Situation& situation_;
};

}  // namespace

void ClusterRevision::Give(const std::string& next) {
  if (revision == next && !held) return;
  std::string proven = confirmed ? revision : previous;
  *this = {next, proven == next ? "" : std::move(proven), turn % kMaxTurn + 1, false, false};
}

bool Differs(const Record& record, const Target& target) {
  if (!record.uid.empty() && !target.uid.empty() && record.uid != target.uid) return true;
  if (!record.revision.empty()) return record.revision != target.revision;
  return std::ranges::any_of(target.generations, [&](const auto& item) {
    const auto found = record.observed_generations.find(item.first);
    return found != record.observed_generations.end() && found->second != item.second;
  });
}

Step BeginAnew(State state, const Situation& situation) { return Machine(std::move(state), situation).RunAnew(); }

Step Advance(State state, const Situation& situation) { return Machine(std::move(state), situation).Run(); }

}  // namespace evenkeel::controllers::rollout
