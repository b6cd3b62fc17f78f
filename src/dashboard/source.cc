#include "dashboard/source.h"

#include <algorithm>
#include <atomic>

namespace evenkeel::dashboard {
namespace {

/// Before a cluster that cannot be connected to (its Secret is broken) is tried again.
constexpr base::Duration kConnectAgain = std::chrono::seconds(5);
/// Changes that come together are collected together.
constexpr base::Duration kSourceBreath = std::chrono::milliseconds(20);

/// Until the first collection.
constexpr base::Duration kSettlePoll = std::chrono::milliseconds(50);
/// A watch that is opened anew is no outage.
constexpr base::Duration kOutage = std::chrono::seconds(3);

}  // namespace

bool InformedSource::settled() const {
  return std::ranges::all_of(informers_, [](const Watched& each) {
    const client::ReflectorHealth health = each.health();
    return health.synced || health.last_error.has_value();
  });
}

std::string InformedSource::error() const {
  for (const Watched& each : informers_) {
    const client::ReflectorHealth health = each.health();
    if (!health.last_error || health.last_error->code() == base::Code::kNotFound) continue;
    const bool long_since = health.failing_since && context_.clock.Monotonic() - *health.failing_since >= kOutage;
    if (!health.synced || long_since) return each.what + ": " + health.last_error->message();
  }
  return "";
}

struct SourceRunner::State : std::enable_shared_from_this<State> {
  std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  const base::Random random;
  const Connect connect;
  const SourceFactory make;
  const Sink sink;
  std::atomic<bool> stopped = false;

  // On the strand.
  std::shared_ptr<client::Client> client;
  std::unique_ptr<Source> source;
  base::Timer collect, tick;
  bool due = false;
  base::Instant collected = base::Instant::min();
  Outage outage;

  State(base::Executor& executor, const std::string& name, base::Random r, Connect c, SourceFactory m, Sink s)
      : strand(executor.NewStrand(name)),
        clock(executor.clock()),
        random(std::move(r)),
        connect(std::move(c)),
        make(std::move(m)),
        sink(std::move(s)) {}

  void Begin() {
    if (stopped) return;
    auto connected = connect();
    if (!connected) {
      Note(connected.error().message());
      sink({}, outage);
      tick = strand->PostAfter(kConnectAgain, [self = shared_from_this()] { self->Begin(); });
      return;
    }
    client = *std::move(connected);
    source = make({*client, strand, clock, random, [this] { Changed(); }});
    Tick();
  }

  void Tick() {
    tick = strand->PostAfter(collected == base::Instant::min() ? kSettlePoll : source->tick(), [self = shared_from_this()] {
      if (self->stopped) return;
      self->Collect();
      self->Tick();
    });
  }

  void Changed() {
    if (due || stopped) return;
    due = true;
    const base::Instant now = clock.Monotonic();
    base::Duration wait = kSourceBreath;
    if (collected != base::Instant::min() && now - collected < kSourceGap)
      wait = std::max(wait, kSourceGap - (now - collected));
    collect = strand->PostAfter(wait, [self = shared_from_this()] {
      self->due = false;
      if (!self->stopped) self->Collect();
    });
  }

  void Collect() {
    if (!source->settled()) return;
    collected = clock.Monotonic();
    Note(source->error());
    sink(source->Collect(), outage);
  }

  void Note(std::string error) {
    if (error.empty()) {
      outage = {};
    } else {
      outage = {std::move(error), outage ? outage.since : clock.Now()};
    }
  }

  void End() {
    collect.Cancel();
    tick.Cancel();
    source.reset();
    client.reset();
  }
};

SourceRunner::SourceRunner(base::Executor& executor, const std::string& name, base::Random random, Connect connect,
                           SourceFactory make, Sink sink)
    : state_(std::make_shared<State>(executor, name, std::move(random), std::move(connect), std::move(make), std::move(sink))) {
  state_->strand->Post([state = state_] { state->Begin(); });
}

SourceRunner::~SourceRunner() {
  state_->stopped = true;
  state_->strand->Post([state = state_] { state->End(); });
}

void SourceRunner::Find(FindRequest request, std::function<void(std::optional<Found>)> done) {
  state_->strand->Post([state = state_, request = std::move(request), done = std::move(done)] {
    const bool can = !state->stopped && state->source != nullptr && state->source->settled() && !state->outage;
    done(can ? std::optional(state->source->Find(request)) : std::nullopt);
  });
}

const std::shared_ptr<base::Strand>& SourceRunner::strand() const { return state_->strand; }

}  // namespace evenkeel::dashboard
