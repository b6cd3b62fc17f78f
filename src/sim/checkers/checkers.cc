#include "sim/checkers/checkers.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include "client/client.h"
#include "sim/checkers/autoscaler_checkers.h"
#include "sim/checkers/balancer_checkers.h"
#include "sim/checkers/device_checkers.h"
#include "sim/checkers/instance_checkers.h"
#include "sim/checkers/plan_book.h"
#include "sim/checkers/rollout_checkers.h"
#include "sim/world/writer_controller.h"

namespace evenkeel::sim {

using base::Duration;
using base::Instant;

bool IsReplica(const std::string& user) { return !user.starts_with("system:"); }

std::string KindOf(const ApiWrite& write) {
  return fmt::format("{} {} {}", write.api == kHub ? "hub" : "member", write.record.verb, write.record.plural);
}

const std::vector<std::string>& CheckerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"one-writer", "no-orphan", "revisions", "no-older", "quiet", "writes"};
    std::ranges::copy(AutoscalerCheckerNames(), std::back_inserter(all));
    std::ranges::copy(InstanceCheckerNames(), std::back_inserter(all));
    std::ranges::copy(BalancerCheckerNames(), std::back_inserter(all));
    std::ranges::copy(DeviceCheckerNames(), std::back_inserter(all));
    std::ranges::copy(RolloutCheckerNames(), std::back_inserter(all));
    return all;
  }();
  return names;
}

void OneWriterChecker::OnWrite(const ApiWrite& write, const LeaseChange& change) {
  if (!write.took_effect || write.api == kHub) return;
  if (change.kind != LeaseChange::Kind::kNone) return CheckLease(write, change);
  const std::string& user = write.record.user.name;
  if (!IsReplica(user)) return;
  const Tenure& tenure = view().tenures().Of(write.api);
  const std::string what = fmt::format("{} {} by {} took effect on {}", write.record.verb, write.key, user, write.api);
  if (tenure.holder.empty()) {
    Violated(fmt::format("{}, whose Lease is free", what));
  } else if (tenure.user != user) {
    Violated(fmt::format("{}, whose Lease is held by {} since epoch {}", what, tenure.user, tenure.epoch));
  } else if (epochs_ && write.record.epoch != tenure.epoch) {
    Violated(fmt::format("{} with epoch {} instead of {}", what, write.record.epoch, tenure.epoch));
  }
}

void OneWriterChecker::CheckLease(const ApiWrite& write, const LeaseChange& change) {
  const std::string& member = write.api;
  const std::string& user = write.record.user.name;
  const Tenure& now = view().tenures().Of(member);
  if (change.kind == LeaseChange::Kind::kTaken) {
    int64_t& greatest = greatest_epoch_[member];
    if (now.epoch <= greatest) {
      Violated(fmt::format("{} took {} with epoch {}, but epoch {} has been there", user, member, now.epoch, greatest));
    }
    greatest = std::max(greatest, now.epoch);
    for (const ReplicaView& replica : view().Replicas()) {
      if (replica.user == user || !replica.owned.contains(member)) continue;
      Violated(fmt::format("{} took {} while the fence of {} is open", user, member, replica.user));
    }
  } else if (change.kind == LeaseChange::Kind::kRenewed || change.kind == LeaseChange::Kind::kReleased) {
    if (user != change.before.user) {
      Violated(fmt::format("{} {} the Lease of {}, which is held by {}", user,
                           change.kind == LeaseChange::Kind::kRenewed ? "renewed" : "freed", member, change.before.user));
    }
  } else if (change.kind == LeaseChange::Kind::kDeleted) {
    Violated(fmt::format("{} deleted the Lease of {}", user, member));
  }
}

void OneWriterChecker::OnSecond() {
  std::map<std::string, std::string> owners;
  for (const ReplicaView& replica : view().Replicas()) {
    for (const std::string& member : replica.owned) {
      const auto [other, first] = owners.emplace(member, replica.user);
      if (!first) Violated(fmt::format("{} has two open fences: {} and {}", member, other->second, replica.user));
    }
  }
}

Duration NoOrphanChecker::Bound() const { return 2 * (view().lease_duration() + view().lease_margin()); }

Duration NoOrphanChecker::PlanBound() const { return view().reassignment_bound(); }

Instant NoOrphanChecker::ExcusedUntil(const std::string& user, const std::string& member) const {
  const Condition condition = view().ConditionOf(user, member);
  if (!condition.gone) return condition.since;
  const std::string leader = view().Leader();
  Instant noticed = condition.since;
  if (user == leader) {
    noticed = std::max(noticed, view().UnrestUntil());
  } else if (!leader.empty()) {
    // Silence only counts for a leader that can see.
    const Condition leading = view().ConditionOf(leader, member);
    if (!leading.gone) noticed = std::max(noticed, leading.since);
  }
  return std::min(view().now(), noticed + PlanBound());
}

void NoOrphanChecker::OnSecond() {
  const Instant now = view().now();
  const std::vector<ReplicaView>& replicas = view().Replicas();
  std::set<std::string> owned;
  for (const ReplicaView& replica : replicas) owned.insert(replica.owned.begin(), replica.owned.end());
  std::erase_if(members_, [&](const auto& entry) { return !view().Registered().contains(entry.first); });
  for (const auto& [member, registered] : view().Registered()) {
    Orphan& orphan = members_.emplace(member, Orphan{registered, registered + PlanBound()}).first->second;
    if (owned.contains(member)) orphan.since = now;
    longest_ = std::max(longest_, now - orphan.since);
    if (now == orphan.since) continue;
    // Without plans everybody may be the one who is to see to it.
    const std::string planned = view().PlannedOwner(member), leader = view().Leader();
    std::set<std::string> responsible = {planned, leader};
    if (responsible == std::set<std::string>{""}) {
      for (const ReplicaView& replica : replicas) responsible.insert(replica.user);
    }
    responsible.erase("");
    if (responsible.empty()) orphan.excused = now;
    const bool claims = planned.empty() && leader.empty();
    for (const std::string& user : responsible) {
      // A claim is taken by a replica that has none: as long as one that is stopped counts as a replica, there is none.
      const bool waits = claims && view().ConditionOf(user, member).gone;
      orphan.excused = std::max(orphan.excused, waits ? now : ExcusedUntil(user, member));
    }
    // A plan that names nobody who is there has to be made anew, by a leader that can see.
    if (planned.empty() && !leader.empty()) {
      const Instant seeing = view().ConditionOf(leader, member).since;
      orphan.excused = std::max(orphan.excused, std::min(now, seeing + PlanBound()));
    }
    // Without plans nobody's silence has an end that others see: a claim has to run out first.
    const Duration claim = claims ? PlanBound() : Duration{};
    if (now - std::max(orphan.since, orphan.excused) <= Bound() + claim) continue;
    Violated(fmt::format("{} has had no owner for {}, although for {} nothing has been wrong with {}", member,
                         base::FormatDuration(now - orphan.since),
                         base::FormatDuration(now - std::max(orphan.since, orphan.excused)), fmt::join(responsible, " and ")));
    orphan.since = now;
  }
}

void RevisionsChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  embedded::store::Revision& last = last_[api];
  if (event.revision != last + 1 && last != 0) {
    Violated(fmt::format("{}: revision {} of {} came after {}", api, event.revision, event.current.key, last));
  }
  last = event.revision;
}

void NoOlderChecker::Delivered(const std::string& who, const std::string& object, const std::string& uid,
                               const std::string& version) {
  auto& [known_uid, newest] = newest_[who][object];
  if (known_uid == uid && client::IsOlderVersion(version, newest)) {
    Violated(fmt::format("{} was told of {} at version {} after {}", who, object, version, newest));
  }
  if (known_uid != uid || !client::IsOlderVersion(version, newest)) newest = version;
  known_uid = uid;
}

void NoOlderChecker::Forget(const std::string& who) { newest_.erase(who); }

void QuietChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!since_ || !write.took_effect || !IsReplica(write.record.user.name)) return;
  if (write.record.plural == "leases" || IsTestWorkload(write)) return;
  // What dead replicas left behind is removed minutes later.
  if (write.record.verb == "delete") return;
  ++writes_[KindOf(write)];
  const auto plan = PlanOf(write);
  const int64_t moved = plan ? MovesOf(*plan) : 0;
  if (moved == 0) return;
  if (!followed_) followed_ = view().now();
  moves_ += moved;
  ++plans_;
  if (view().now() - *followed_ <= kFollowing) following_writes_ = WritesFor(plans_, moves_);
}

int64_t QuietChecker::WritesFor(int64_t plans, int64_t moves) const {
  return moves * kWritesPerMove + plans * (1 + static_cast<int64_t>(view().Replicas().size()));
}

void QuietChecker::OnConverged() { since_ = view().now(); }

void QuietChecker::AtEnd() {
  if (!since_) return;
  const double minutes = std::chrono::duration<double, std::ratio<60>>(view().now() - *since_).count();
  if (minutes <= 0) return;
  int64_t total = 0;
  std::string list;
  for (const auto& [what, count] : writes_) {
    total += count;
    list += fmt::format("{}{} x {}", list.empty() ? "" : ", ", count, what);
  }
  // A plan, and everybody's report that it has been applied.
  double writes_max = kWritesPerMinuteMax * minutes + static_cast<double>(WritesFor(1, 0));
  const int64_t pace = view().moves_per_minute();
  if (pace < kFewMovesPerMinute && static_cast<double>(moves_) <= static_cast<double>(pace) * (minutes + 1)) {
    writes_max += static_cast<double>(WritesFor(plans_, moves_));
  } else {
    writes_max += static_cast<double>(following_writes_);
  }
  if (static_cast<double>(total) <= writes_max) return;
  Violated(fmt::format(
      "{} writes in {:.1f} min although nothing happened any more: {}; {} plans with {} moves, allowed {} per minute", total,
      minutes, list, plans_, moves_, pace));
}

void WritesChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!IsTestWorkload(write) || !write.took_effect) return;
  State& state = states_[write.api];
  const TestRecord record = DecodeTestRecord(write.value);
  if (record.counter != state.counter + 1) {
    Violated(fmt::format("the counter of {} went from {} to {}", write.api, state.counter, record.counter));
  }
  if (record.counter <= state.acknowledged) {
    Violated(
        fmt::format("{}: {} wrote {} over the acknowledged {}", write.api, record.author, record.counter, state.acknowledged));
  }
  const int64_t tenure = view().tenures().Of(write.api).number;
  if (!state.author.empty() && state.author != record.author && tenure == state.tenure) {
    Violated(
        fmt::format("{}: the author changed from {} to {} without a change of owner", write.api, state.author, record.author));
  }
  state.counter = record.counter;
  state.author = record.author;
  state.tenure = tenure;
  state.recent[record.counter] = record.author;
  if (state.recent.size() > 100) state.recent.erase(state.recent.begin());
}

void WritesChecker::Acknowledged(const std::string& member, const std::string& author, int64_t counter) {
  State& state = states_[member];
  const auto stored = state.recent.find(counter);
  if (stored == state.recent.end() || stored->second != author) {
    Violated(fmt::format("{}: {} was told that its {} is stored, but it is not", member, author, counter));
  }
  state.acknowledged = std::max(state.acknowledged, counter);
}

}  // namespace evenkeel::sim
