#include "controllers/distribution/leases/owner_lease.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "client/fenced_client.h"
#include "client/informer.h"
#include "controllers/distribution/leases/owner_lease_record.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Code;
using base::Duration;
using base::Instant;
using base::Json;

// Lost races are tried again at once so often, then after a wait.
constexpr int kAttemptsAtOnce = 5;
// A replica that wants nothing of the member any more gives the Lease up or, after so many failures, leaves it to run out.
constexpr int kGiveUpAttempts = 5;
// Only people can mend a missing right.
constexpr Duration kForbiddenRetryMax = std::chrono::seconds(30);

std::string LeaseName() { return std::string(client::kOwnerLeaseNamespace) + "/" + client::kOwnerLease; }

std::string WholeSeconds(Duration duration) { return base::FormatDuration(std::chrono::floor<std::chrono::seconds>(duration)); }

bool IsMissingRight(const base::Error& error) {
  return error.code() == Code::kForbidden || error.code() == Code::kUnauthorized;
}

std::string NoRight(std::string_view verb, const base::Error& error) {
  return "no right to " + std::string(verb) + " leases in " + client::kOwnerLeaseNamespace +
         " (grant get, list, watch, create and update): " + error.message();
}

}  // namespace

struct OwnerLease::State : std::enable_shared_from_this<OwnerLease::State> {
  State(client::Client& c, OwnerLeaseOptions o, std::shared_ptr<base::Strand> s, base::Clock& k, base::Random r, Callbacks cb)
      : client(c), options(std::move(o)), strand(std::move(s)), clock(k), random(std::move(r)), callbacks(std::move(cb)) {}

  client::Client& client;
  const OwnerLeaseOptions options;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  const Callbacks callbacks;

  bool stopped = false;
  DesiredRole desired;
  OwnerLeaseState state;
  bool step_posted = false;
  bool change_posted = false;
  base::Timer timer;

  // The Lease as last seen.
  std::unique_ptr<client::Informer<kube::Object>> informer;
  bool known = false;                 ///< seen since it is followed
  std::optional<OwnerRecord> record;  ///< nullopt: absent
  std::string version;                ///< the newest seen
  int64_t greatest_epoch = 0;         ///< ever seen, or had

  SilenceClock silence{2 * options.renew_period + options.margin};
  Instant others_until{};    ///< a deleted Lease's holder may write until then
  std::string asked_tenure;  ///< the tenure that we have asked to end, and for which plan
  int64_t lost_plan = 0;     ///< the plan's epoch when our last tenure ended
  Instant ask_at{};          ///< not before, while that is still the plan

  std::shared_ptr<client::Fence> fence;  ///< set: we hold it
  Instant fence_end{};
  Instant renew_at{};
  bool taken_as_standby = false;
  std::shared_ptr<client::Fence> ended;  ///< of the tenure before
  bool awaiting_release = false;
  bool maybe_ours = false;  ///< a write that would make it ours failed, and may have taken effect

  Duration retry{};
  Instant retry_at{};
  int failures = 0;
  std::string last_error;
  std::optional<Code> logged;

  // Strand and callbacks.

  void Kick() {
    if (std::exchange(step_posted, true)) return;
    strand->Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->stopped) return;
      self->step_posted = false;
      self->Step();
    });
  }

  void Schedule(Instant at) {
    timer = strand->PostAfter(std::max(at - clock.Monotonic(), Duration::zero()), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->stopped) self->Step();
    });
  }

  void Notify(std::function<void(State&)> what) {
    strand->Post([weak = weak_from_this(), what = std::move(what)] {
      if (const auto self = weak.lock(); self && !self->stopped) what(*self);
    });
  }

  void Refresh() {
    OwnerLeaseState next = state;
    next.holding = fence != nullptr;
    if (known) {
      next.epoch = record ? record->epoch : 0;
      next.holder = record && !IsAlias() ? record->lease.holder : "";
      next.other = IsElsewhere() ? record->member : MemberName();
      next.since = record ? record->lease.acquire_time : base::Time{};
    }
    next.error = last_error;
    next.waiting_for = Waiting();
    if (next == state) return;
    state = std::move(next);
    if (!callbacks.changed || std::exchange(change_posted, true)) return;
    Notify([](State& self) {
      self.change_posted = false;
      self.callbacks.changed();
    });
  }

  std::string Waiting() const {
    if (fence || desired.role == MemberRole::kNone || desired.role == MemberRole::kObserver) return "";
    if (!last_error.empty()) return last_error;
    if (awaiting_release) return "the work of the tenure before has not ended";
    if (!known) return "the Lease " + LeaseName() + " has not been read yet";
    const Duration silent = clock.Monotonic() - silence.since();
    const std::string waited = WholeSeconds(silent) + " of " + base::FormatDuration(Patience());
    if (!record) return "there is no Lease, for " + waited;
    if (NamesUs()) return "the tenure before has not been given up";
    if (record->free() && IsElsewhere()) return SameAs() + ", which is free, for " + waited;
    if (record->free()) return (IsOutbid() ? "free, but asked for by " + record->wanted_by : "free") + ", for " + waited;
    if (silent > 2 * options.renew_period) return record->lease.holder + " silent for " + waited;
    if (const auto error = informer ? informer->last_error() : std::nullopt; error && IsMissingRight(*error)) {
      return NoRight("list and watch", *error);
    }
    if (desired.role == MemberRole::kStandby) return "";
    if (IsElsewhere()) return SameAs() + ", which is held by " + record->lease.holder;
    return "held by " + record->lease.holder + (record->wanted_by == options.identity ? ", asked to hand over" : "");
  }

  // What is seen.

  void Follow() {
    if (informer) return;
    informer = std::make_unique<client::Informer<kube::Object>>(
        client, kube::resources::Leases(),
        client::InformerOptions{.ns = client::kOwnerLeaseNamespace,
                                .field_selector = std::string("metadata.name=") + client::kOwnerLease},
        strand, clock, random.Fork("informer"));
    informer->AddHandler([this](const auto& before, const auto& after) {
      if ((after ? after : before)->meta.name != client::kOwnerLease) return;
      if (after) {
        SeeEvent(*after);
      } else if (record && record->lease.meta.uid == before->meta.uid) {
        SeeAbsent();
      }
      Kick();
    });
    informer->Start();
  }

  void StopFollowing() {
    informer.reset();
    known = false;
    record.reset();
    maybe_ours = false;
    Succeeded();
  }

  void SeeEvent(const kube::Object& object) {
    // Events come late; the answers of our own calls may have been newer.
    if (client::IsOlderVersion(object.meta.resource_version, version)) return;
    if (record && record->lease.meta.uid == object.meta.uid && object.meta.resource_version == version) {
      return silence.Contact(clock.Monotonic());
    }
    See(*object.json);
  }

  // The answer to a read or a write is the newest there is, also when its version is older: then the server's data was restored
  // from a backup.
  void See(const Json& object) {
    record = OwnerRecord::Decode(object);
    version = record->lease.meta.resource_version;
    Seen();
  }

  void SeeAbsent() {
    if (record && !record->free() && !NamesUs()) others_until = clock.Monotonic() + Patience();
    record.reset();
    Seen();
  }

  void Seen() {
    known = true;
    // A new tenure: who lost the one before may have been paused, and the plan that says why may be on its way.
    if (record && record->epoch > greatest_epoch) ask_at = clock.Monotonic() + options.renew_period;
    if (record) greatest_epoch = std::max(greatest_epoch, record->epoch);
    silence.Seen(StampOf(record ? &*record : nullptr), clock.Monotonic());
    if (!fence || (NamesUs() && record->epoch == fence->epoch())) return;
    EndTenure(!record                         ? "the Lease was deleted"
              : !NamesUs() && !record->free() ? "taken by " + record->lease.holder
                                              : "the Lease was changed by somebody else");
  }

  bool NamesUs() const { return record && record->lease.holder == options.identity && !IsAlias(); }

  /// It is held, or was last, under another name than ours.
  bool IsElsewhere() const { return record && !record->member.IsSameAs(options.member); }
  /// This process holds it, but for a member that it knows under another name.
  bool IsAlias() const { return IsElsewhere() && record->lease.holder == options.identity; }
  std::string SameAs() const { return "it is the same cluster as " + record->member.Shown(options.member.fleet); }

  /// Somebody else has asked for it with a newer plan than ours.
  bool IsOutbid() const { return IsAskedFor() && record->wanted_epoch > desired.epoch; }
  bool IsAskedFor() const {
    return desired.epoch > 0 && record && !record->wanted_by.empty() && record->wanted_by != options.identity;
  }

  /// How long the Lease must be silent before it is taken.
  Duration Patience() const {
    const bool held = record && !record->free();
    const Duration patience = (held ? ValidityOf(*record, options.duration) : options.duration) + options.margin;
    return IsElsewhere() ? 2 * patience : patience;
  }

  // Calls.

  void Succeeded() {
    retry = options.retry_min;
    retry_at = {};
    failures = 0;
    last_error.clear();
    logged.reset();
  }

  void Fail(const base::Error& error, std::string_view verb) {
    silence.Unanswered();
    ++failures;
    last_error = IsMissingRight(error) ? NoRight(verb, error)
                                       : "cannot " + std::string(verb) + " the Lease " + LeaseName() + ": " + error.message();
    if (logged != error.code()) {
      logged = error.code();
      base::log::Warn("the Lease of a member's owner", {{"member", client.Describe()}, {"error", last_error}});
    }
    const Duration longest = IsMissingRight(error) && !fence ? kForbiddenRetryMax : options.renew_period;
    retry_at = clock.Monotonic() + retry;
    retry = std::min(retry * 2, longest);
    Schedule(retry_at);
  }

  bool Look() {
    auto got = client.Get(kube::resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
    if (!got && got.error().code() != Code::kNotFound) {
      Fail(got.error(), "get");
      return false;
    }
    if (got) {
      See(*got);
    } else {
      SeeAbsent();
    }
    maybe_ours = false;
    return true;
  }

  enum class Outcome { kWritten, kMoot, kFailed };

  /// Carries a write through lost races. `next` makes it from the Lease as last seen; nullopt: it is no longer called for.
  Outcome Write(const std::function<std::optional<Json>()>& next) {
    for (int attempt = 0; attempt < kAttemptsAtOnce; ++attempt) {
      const std::optional<Json> object = next();
      if (!object) return Outcome::kMoot;
      const bool fresh = !record;
      const auto written =
          fresh ? client.Create(kube::resources::Leases(), *object) : client.Update(kube::resources::Leases(), *object);
      if (written) {
        See(*written);
        return Outcome::kWritten;
      }
      const Code code = written.error().code();
      const bool raced = code == Code::kConflict || code == (fresh ? Code::kAlreadyExists : Code::kNotFound);
      if (!raced) {
        Fail(written.error(), fresh ? "create" : "update");
        return Outcome::kFailed;
      }
      if (!Look()) return Outcome::kFailed;
    }
    Fail(base::Error(Code::kConflict, "others write it all the time"), "update");
    return Outcome::kFailed;
  }

  // Holding.

  std::optional<std::string> ReasonToLetGo() const {
    const bool owner = desired.role == MemberRole::kOwner;
    const bool stays = owner || desired.wait_for_successor || (desired.role == MemberRole::kStandby && taken_as_standby);
    if (!stays) return "no longer to own the member";
    if (IsOutbid() || (!owner && IsAskedFor() && record->wanted_epoch == desired.epoch)) {
      return "handed over to " + record->wanted_by;
    }
    return std::nullopt;
  }

  void Hold() {
    if (clock.Monotonic() >= fence_end) {
      return EndTenure("not renewed for " + base::FormatDuration(options.duration) +
                       (last_error.empty() ? "" : ": " + last_error));
    }
    if (auto why = ReasonToLetGo()) return EndTenure(*std::move(why));
    if (clock.Monotonic() >= renew_at) Renew();
    if (fence) Schedule(std::min(renew_at, fence_end));
  }

  void Renew() {
    Instant begin{};
    const Outcome outcome = Write([&]() -> std::optional<Json> {
      begin = clock.Monotonic();
      if (!fence || begin >= fence_end || ReasonToLetGo()) return std::nullopt;
      return Renewed(*record, options.duration, clock.Now());
    });
    if (outcome == Outcome::kFailed) renew_at = retry_at;
    if (outcome != Outcome::kWritten || !fence) return Kick();
    Extend(begin);
  }

  // Others count from when they see the renewal, which is not before it was begun.
  void Extend(Instant begin) {
    fence_end = begin + options.duration;
    renew_at = begin + options.renew_period;
    fence->Extend(fence_end);
    Succeeded();
  }

  void EndTenure(std::string why) {
    fence->Close();
    ended = std::exchange(fence, nullptr);
    awaiting_release = true;
    lost_plan = desired.epoch;
    base::log::Info(
        "no longer owner of a member",
        {{"member", client.Describe()}, {"identity", options.identity}, {"epoch", ended->epoch()}, {"reason", why}});
    Notify([why = std::move(why)](State& self) {
      if (self.callbacks.lost) self.callbacks.lost(why);
    });
    Refresh();
    Kick();
  }

  // Wanting.

  enum class Move { kTake, kFree, kWait };
  struct Aim {
    Move move = Move::kWait;
    bool waited = false;  ///< it has been silent for long enough: to be confirmed by a read
    Instant due{};        ///< when kWait turns into kTake, if nothing is seen before
  };

  Aim Decide() const {
    const Instant now = clock.Monotonic();
    const bool owner = desired.role == MemberRole::kOwner && !IsOutbid();
    if (NamesUs()) return {owner ? Move::kTake : Move::kFree, false, now};
    if (owner && record && record->free() && !IsElsewhere()) return {Move::kTake, false, now};
    if (desired.role == MemberRole::kObserver) return {Move::kWait, false, Instant::max()};
    Instant due = silence.since() + Patience();
    if (!record) due = owner ? others_until : std::max(due, others_until);
    if (now < due) return {Move::kWait, false, due};
    return {Move::kTake, record.has_value(), now};
  }

  void Seek() {
    if (clock.Monotonic() < retry_at) return Schedule(retry_at);
    Follow();
    if (!known && !Look()) return;
    Aim aim = Decide();
    if (aim.move == Move::kTake && aim.waited) {
      if (!Look()) return;
      aim = Decide();
    }
    if (aim.move == Move::kTake) return Acquire();
    if (aim.move == Move::kFree) return GiveUp();
    if (!RequestHandOver()) return;
    if (clock.Monotonic() >= silence.last_contact() + 2 * options.renew_period && !Look()) return;
    Succeeded();
    const Instant next = std::min(Decide().due, silence.last_contact() + 2 * options.renew_period);
    Schedule(AsksLater() ? std::min(next, ask_at) : next);
  }

  void Acquire() {
    Instant begin{};
    int64_t epoch = 0;
    const Outcome outcome = Write([&]() -> std::optional<Json> {
      if (Decide().move != Move::kTake) return std::nullopt;
      begin = clock.Monotonic();
      epoch = std::max(desired.epoch, greatest_epoch + 1);
      return Acquired(record ? &*record : nullptr, options.identity, options.duration, epoch, clock.Now(), options.member);
    });
    maybe_ours = outcome == Outcome::kFailed;
    if (outcome == Outcome::kMoot) return Kick();
    if (outcome == Outcome::kFailed) return;
    if (clock.Monotonic() >= begin + options.duration) {
      return Fail(base::Error(Code::kTimeout, "the answer came when the tenure was over"), "update");
    }
    fence = std::make_shared<client::Fence>(clock, epoch);
    ended.reset();
    taken_as_standby = desired.role == MemberRole::kStandby;
    Extend(begin);
    base::log::Info("owner of a member", {{"member", client.Describe()}, {"identity", options.identity}, {"epoch", epoch}});
    Notify([fence = fence](State& self) {
      if (self.callbacks.won) self.callbacks.won(fence);
    });
    Schedule(renew_at);
  }

  void GiveUp() {
    if (ended && ended->MayStillTakeEffect(options.margin)) return Schedule(clock.Monotonic() + options.margin);
    const Outcome outcome = Write([&]() -> std::optional<Json> {
      if (Decide().move != Move::kFree) return std::nullopt;
      return Freed(*record);
    });
    if (outcome != Outcome::kFailed) Kick();
  }

  bool AsksLater() const { return desired.epoch <= lost_plan && clock.Monotonic() < ask_at; }

  /// False: failed, to be tried later.
  bool RequestHandOver() {
    std::string here;
    const Outcome outcome = Write([&]() -> std::optional<Json> {
      if (desired.role != MemberRole::kOwner || desired.epoch <= 0 || !record || record->free() || NamesUs() || IsOutbid()) {
        return std::nullopt;
      }
      if (IsElsewhere()) return std::nullopt;
      if (AsksLater()) return std::nullopt;
      here = record->lease.holder + " " + std::to_string(record->epoch) + " " + std::to_string(desired.epoch);
      const bool there = record->wanted_by == options.identity && record->wanted_epoch == desired.epoch;
      if (there || here == asked_tenure) return std::nullopt;
      return HandOverRequested(*record, options.identity, desired.epoch);
    });
    if (outcome == Outcome::kWritten) asked_tenure = here;
    return outcome != Outcome::kFailed;
  }

  // Wanting nothing, but perhaps still named by the Lease.
  void Retire() {
    if ((!maybe_ours && !NamesUs()) || failures >= kGiveUpAttempts) return StopFollowing();
    if (clock.Monotonic() < retry_at) return Schedule(retry_at);
    if (maybe_ours && !Look()) return;
    return NamesUs() ? GiveUp() : StopFollowing();
  }

  void Step() {
    timer.Cancel();
    if (fence) {
      Hold();
    } else if (!awaiting_release) {
      desired.role == MemberRole::kNone ? Retire() : Seek();
    }
    Refresh();
  }
};

OwnerLease::OwnerLease(client::Client& client, OwnerLeaseOptions options, std::shared_ptr<base::Strand> strand,
                       base::Clock& clock, base::Random random, Callbacks callbacks)
    : state_(std::make_shared<State>(client, std::move(options), std::move(strand), clock, std::move(random),
                                     std::move(callbacks))) {
  const OwnerLeaseOptions& o = state_->options;
  EVENKEEL_CHECK(!o.identity.empty());
  EVENKEEL_CHECK(o.retry_min > Duration::zero() && o.retry_min <= o.renew_period && o.renew_period < o.duration);
  EVENKEEL_CHECK(o.margin > Duration::zero());
  state_->retry = o.retry_min;
}

OwnerLease::~OwnerLease() {
  state_->stopped = true;
  if (state_->fence) state_->fence->Close();
  state_->timer.Cancel();
  state_->informer.reset();
}

void OwnerLease::SetDesired(const DesiredRole& desired) {
  if (desired == state_->desired) return;
  // What failed for the old role may be tried at once for the new one.
  if (desired.role != state_->desired.role) state_->Succeeded();
  if (desired.role == MemberRole::kOwner) state_->taken_as_standby = false;
  state_->desired = desired;
  state_->Kick();
}

void OwnerLease::Released() {
  if (!std::exchange(state_->awaiting_release, false)) return;
  state_->Succeeded();
  state_->Kick();
}

const OwnerLeaseState& OwnerLease::state() const { return state_->state; }

}  // namespace evenkeel::controllers::distribution
