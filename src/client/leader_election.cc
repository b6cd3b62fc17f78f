#include "client/leader_election.h"

#include <atomic>

#include "base/log.h"
#include "client/lease.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Duration;
using base::Instant;

constexpr double kCandidateJitter = 1.2;

}  // namespace

struct LeaderElector::State : std::enable_shared_from_this<LeaderElector::State> {
  State(Client& c, LeaderElectionOptions o, std::shared_ptr<base::Strand> s, base::Clock& k, base::Random r, Callbacks cb)
      : client(c), options(std::move(o)), strand(std::move(s)), clock(k), random(std::move(r)), callbacks(std::move(cb)) {}

  Client& client;
  const LeaderElectionOptions options;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  const Callbacks callbacks;

  bool started = false;
  bool stopped = false;
  bool leading = false;
  std::atomic<int64_t> leads_until{0};  ///< nanoseconds of the monotonic clock

  std::optional<Json> observed;  ///< the Lease as last seen
  Lease record;                  ///< the same, decoded
  Instant observed_at{};         ///< when we saw it change
  base::Timer attempt;
  base::Timer deadline;

  void Observe(const Json& lease) {
    Lease seen = Lease::Decode(lease);
    const bool changed = !observed || seen.holder != record.holder || seen.renew_time != record.renew_time ||
                         seen.acquire_time != record.acquire_time || seen.transitions != record.transitions ||
                         seen.duration != record.duration || seen.meta.uid != record.meta.uid;
    const bool new_holder = seen.holder != record.holder;
    observed = lease;
    record = std::move(seen);
    if (changed) observed_at = clock.Monotonic();
    if (new_holder && !record.holder.empty() && callbacks.new_leader) callbacks.new_leader(record.holder);
  }

  bool MineByRecord() const { return observed && record.holder == options.identity; }

  bool HeldByAnother() const {
    if (!observed || record.holder.empty() || MineByRecord()) return false;
    // The holder says how long its renewals last; a Lease without that is judged by our own setting.
    const Duration valid = record.duration > Duration::zero() ? record.duration : options.lease_duration;
    return clock.Monotonic() < observed_at + valid;
  }

  // Writes us into the Lease, if it is ours to have. An error or false: not now.
  Result<bool> TryAcquireOrRenew() {
    if (leading && observed) {
      auto written = WriteRecord();
      if (written || written.error().code() != Code::kConflict) return written;
      // Somebody else has written: see what.
    }
    auto present = client.Get(kube::resources::Leases(), options.ns, options.name);
    if (!present) {
      if (present.error().code() != Code::kNotFound) return std::unexpected(present.error());
      Json fresh = kube::NewObject(kube::resources::Leases(), options.ns, options.name);
      const base::Time now = clock.Now();
      Lease{{}, options.identity, options.lease_duration, now, now, 0}.WriteTo(fresh);
      EVENKEEL_ASSIGN(const Json created, client.Create(kube::resources::Leases(), fresh));
      Observe(created);
      return true;
    }
    Observe(*present);
    if (HeldByAnother()) return false;
    return WriteRecord();
  }

  Result<bool> WriteRecord() {
    Lease next = record;
    next.duration = options.lease_duration;
    next.renew_time = clock.Now();
    if (!MineByRecord()) {
      next.holder = options.identity;
      next.acquire_time = next.renew_time;
      ++next.transitions;
    }
    Json object = *observed;
    next.WriteTo(object);
    EVENKEEL_ASSIGN(const Json written, client.Update(kube::resources::Leases(), object));
    Observe(written);
    return true;
  }

  void Step() {
    // Others count lease_duration from when they see the renewal, which is not before this.
    const Instant begin = clock.Monotonic();
    const auto got = TryAcquireOrRenew();
    if (stopped) return;
    if (got && *got) return Renewed(begin);
    if (!got && got.error().code() != Code::kConflict && got.error().code() != Code::kAlreadyExists) {
      base::log::Warn("cannot acquire or renew the leader lease",
                      {{"lease", options.ns + "/" + options.name}, {"identity", options.identity}, {"error", got.error()}});
    }
    if (leading && (clock.Monotonic().time_since_epoch().count() >= leads_until || (observed && !MineByRecord()))) {
      StopLeading(MineByRecord() ? "not renewed in time" : "taken by " + record.holder);
    }
    if (!stopped) ScheduleStep();
  }

  void Renewed(Instant begin) {
    const Instant until = begin + options.renew_deadline;
    leads_until = until.time_since_epoch().count();
    deadline = strand->PostAfter(until - clock.Monotonic(), [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->stopped) self->StopLeading("not renewed in time");
    });
    if (!std::exchange(leading, true)) {
      base::log::Info("became leader", {{"lease", options.ns + "/" + options.name}, {"identity", options.identity}});
      if (callbacks.started_leading) callbacks.started_leading();
    }
    if (!stopped) ScheduleStep();
  }

  void StopLeading(const std::string& why) {
    deadline.Cancel();
    leads_until = 0;
    if (!std::exchange(leading, false)) return;
    const base::log::Fields fields = {
        {"lease", options.ns + "/" + options.name}, {"identity", options.identity}, {"reason", why}};
    stopped ? base::log::Info("stopped leading", fields) : base::log::Warn("stopped leading", fields);
    if (callbacks.stopped_leading) callbacks.stopped_leading();
  }

  void ScheduleStep() {
    Duration wait = options.retry_period;
    // Candidates spread out so that they do not all ask at the moment when a lease runs out.
    if (!leading) wait += Duration(static_cast<int64_t>(random.Unit() * kCandidateJitter * static_cast<double>(wait.count())));
    attempt = strand->PostAfter(wait, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->stopped) self->Step();
    });
  }

  void Stop() {
    if (std::exchange(stopped, true)) return;
    attempt.Cancel();
    // What led must have ended before the Lease is free.
    const bool led = leading;
    StopLeading("stopping");
    if (led && options.release_on_stop && MineByRecord()) Release();
  }

  void Release() {
    Lease next = record;
    next.holder.clear();
    next.duration = std::chrono::seconds(1);
    next.renew_time = next.acquire_time = clock.Now();
    Json object = *observed;
    next.WriteTo(object);
    const auto written = client.Update(kube::resources::Leases(), object);
    if (written) {
      Observe(*written);
    } else {
      base::log::Warn("cannot give the leader lease up; it runs out by itself",
                      {{"lease", options.ns + "/" + options.name}, {"error", written.error()}});
    }
  }
};

LeaderElector::LeaderElector(Client& client, LeaderElectionOptions options, std::shared_ptr<base::Strand> strand,
                             base::Clock& clock, base::Random random, Callbacks callbacks)
    : state_(std::make_shared<State>(client, std::move(options), std::move(strand), clock, std::move(random),
                                     std::move(callbacks))) {
  const LeaderElectionOptions& o = state_->options;
  EVENKEEL_CHECK(!o.identity.empty());
  EVENKEEL_CHECK(o.lease_duration > o.renew_deadline);
  EVENKEEL_CHECK(o.retry_period > Duration::zero());
  EVENKEEL_CHECK(std::chrono::duration<double>(o.renew_deadline) >
                 kCandidateJitter * std::chrono::duration<double>(o.retry_period));
}

LeaderElector::~LeaderElector() {
  state_->stopped = true;
  state_->leads_until = 0;
  state_->attempt.Cancel();
  state_->deadline.Cancel();
}

void LeaderElector::Start() {
  if (std::exchange(state_->started, true)) return;
  state_->strand->Post([state = state_] {
    if (!state->stopped) state->Step();
  });
}

void LeaderElector::Stop() { state_->Stop(); }

bool LeaderElector::is_leader() const { return state_->clock.Monotonic().time_since_epoch().count() < state_->leads_until; }

const std::string& LeaderElector::leader() const { return state_->record.holder; }

}  // namespace evenkeel::client
