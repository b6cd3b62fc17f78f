#include "client/lease.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Duration;
using base::Instant;

constexpr Duration kRenewRetryMin = std::chrono::milliseconds(200);

base::Time TimeField(const Json& object, std::string_view field) {
  const auto time = base::ParseTime(base::FindString(object, {"spec", field}));
  return time ? *time : base::Time{};
}

}  // namespace

Lease Lease::Decode(const Json& object) {
  Lease lease;
  lease.meta = kube::DecodeMeta(object);
  lease.holder = base::FindString(object, {"spec", "holderIdentity"});
  lease.duration =
      std::chrono::seconds(std::clamp<int64_t>(base::FindInt(object, {"spec", "leaseDurationSeconds"}), 0, 1 << 30));
  lease.acquire_time = TimeField(object, "acquireTime");
  lease.renew_time = TimeField(object, "renewTime");
  lease.transitions = base::FindInt(object, {"spec", "leaseTransitions"});
  return lease;
}

void Lease::WriteTo(Json& object) const {
  base::Ensure(object, {"spec", "holderIdentity"}) = holder;
  base::Ensure(object, {"spec", "leaseDurationSeconds"}) = std::chrono::ceil<std::chrono::seconds>(duration).count();
  base::Ensure(object, {"spec", "acquireTime"}) = base::FormatMicroTime(acquire_time);
  base::Ensure(object, {"spec", "renewTime"}) = base::FormatMicroTime(renew_time);
  base::Ensure(object, {"spec", "leaseTransitions"}) = transitions;
}

struct LeaseKeeper::State : std::enable_shared_from_this<LeaseKeeper::State> {
  State(Client& c, LeaseKeeperOptions o, std::shared_ptr<base::Strand> s, base::Clock& k, Callbacks cb)
      : client(c), options(std::move(o)), strand(std::move(s)), clock(k), callbacks(std::move(cb)) {}

  Client& client;
  const LeaseKeeperOptions options;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  const Callbacks callbacks;

  bool started = false;
  bool stopped = false;
  bool held = false;  ///< what the callbacks were last told
  bool told_lost = false;
  std::optional<Json> last;  ///< as last written: saves the read as long as nobody else writes
  base::Error last_error{Code::kUnavailable, "not renewed yet"};
  Duration retry = kRenewRetryMin;
  base::Timer renewal;
  base::Timer deadline;
  std::atomic<int64_t> held_until{0};  ///< nanoseconds of the monotonic clock

  Result<Json> Write() {
    if (last) {
      auto written = Renew(*last);
      if (written || (written.error().code() != Code::kConflict && written.error().code() != Code::kNotFound)) return written;
      last.reset();
    }
    auto present = client.Get(kube::resources::Leases(), options.ns, options.name);
    if (present) return Renew(*present);
    if (present.error().code() != Code::kNotFound) return present;
    Json fresh = kube::NewObject(kube::resources::Leases(), options.ns, options.name);
    const base::Time now = clock.Now();
    Lease{{}, options.identity, options.lease_duration, now, now, 0}.WriteTo(fresh);
    if (callbacks.edit) callbacks.edit(fresh);
    return client.Create(kube::resources::Leases(), fresh);
  }

  Result<Json> Renew(const Json& present) {
    Lease lease = Lease::Decode(present);
    if (lease.holder != options.identity) {
      if (!options.overrides_others && !lease.holder.empty()) {
        return base::Fail(Code::kForbidden, "lease " + lease.meta.Key() + " is held by " + lease.holder);
      }
      lease.holder = options.identity;
      lease.acquire_time = clock.Now();
      ++lease.transitions;
    }
    lease.duration = options.lease_duration;
    lease.renew_time = clock.Now();
    Json next = present;
    lease.WriteTo(next);
    if (callbacks.edit) callbacks.edit(next);
    return client.Update(kube::resources::Leases(), next);
  }

  void Step() {
    // Others count from when they see the renewal, which is not before this.
    const Instant begin = clock.Monotonic();
    auto written = Write();
    if (stopped) return;
    if (written) {
      last = *std::move(written);
      retry = kRenewRetryMin;
      held_until = (begin + options.failure_deadline).time_since_epoch().count();
      ArmDeadline(begin + options.failure_deadline);
      told_lost = false;
      if (!std::exchange(held, true) && callbacks.held) callbacks.held();
      if (!stopped) Schedule(options.renew_period - (clock.Monotonic() - begin));
      return;
    }
    last.reset();
    last_error = written.error();
    base::log::Warn("cannot renew a lease", {{"lease", options.ns + "/" + options.name}, {"error", last_error}});
    Schedule(retry);
    retry = std::min(retry * 2, options.renew_period);
  }

  void Schedule(Duration delay) {
    renewal = strand->PostAfter(std::max(delay, Duration::zero()), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->stopped) self->Step();
    });
  }

  void ArmDeadline(Instant due) {
    deadline = strand->PostAfter(due - clock.Monotonic(), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->stopped || std::exchange(self->told_lost, true)) return;
      self->held = false;
      if (self->callbacks.lost) self->callbacks.lost(self->last_error);
    });
  }

  void Stop() {
    stopped = true;
    held_until = 0;
    renewal.Cancel();
    deadline.Cancel();
  }
};

LeaseKeeper::LeaseKeeper(Client& client, LeaseKeeperOptions options, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                         Callbacks callbacks)
    : state_(std::make_shared<State>(client, std::move(options), std::move(strand), clock, std::move(callbacks))) {}

LeaseKeeper::~LeaseKeeper() { state_->Stop(); }

void LeaseKeeper::Start() {
  if (std::exchange(state_->started, true)) return;
  state_->ArmDeadline(state_->clock.Monotonic() + state_->options.failure_deadline);
  state_->Schedule(Duration::zero());
}

void LeaseKeeper::RenewNow() {
  state_->strand->Post([weak = std::weak_ptr(state_)] {
    if (const auto self = weak.lock(); self && self->started && !self->stopped) self->Step();
  });
}

void LeaseKeeper::Stop() { state_->Stop(); }

bool LeaseKeeper::holds() const { return state_->clock.Monotonic().time_since_epoch().count() < state_->held_until; }

}  // namespace evenkeel::client
