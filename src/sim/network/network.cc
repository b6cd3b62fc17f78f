#include "sim/network/network.h"

#include <spdlog/fmt/fmt.h>

#include "sim/network/network_parts.h"

namespace evenkeel::sim {
namespace {

using base::Code;
using base::Duration;
using base::Error;
using base::Instant;

/// A delayed request waits in some queue for so long at most.
constexpr Duration kDelayMax = std::chrono::minutes(1);
/// A connection to a machine that vanished is found out to be dead after so long at most.
constexpr Duration kSilenceMax = std::chrono::seconds(10);
/// Of the watches that a partition has held up, how many turn out to be dead.
constexpr double kBrokenByPartition = 0.5;

Error Refused(const std::string& api) { return Error(Code::kUnavailable, "dial " + api + ": connection refused"); }
Error Reset(const std::string& api) { return Error(Code::kUnavailable, api + ": connection reset by peer"); }

Error ErrorBefore(uint64_t which) {
  switch (which % 3) {
    case 0:
      return Error(Code::kTooManyRequests, "the server has received too many requests and has asked us to try again later");
    case 1:
      return Error(Code::kInternal, "an error on the server has prevented the request from succeeding");
    default:
      return Error(Code::kUnavailable, "the server is currently unable to handle the request");
  }
}

Error ErrorAfter(uint64_t which) {
  if (which % 2 == 0) return Error(Code::kInternal, "etcdserver: request timed out, possibly due to connection lost");
  return Error(Code::kUnavailable, "apiserver is shutting down");
}

}  // namespace

Network::Network(base::VirtualExecutor& executor, base::Random random)
    : executor_(executor), random_(random), strand_(executor.NewStrand("network")) {}

Network::~Network() { strand_->Close(); }

void Network::Attach(const std::string& api, ClientMaker maker) {
  Port& port = ports_[api];
  port.maker = std::move(maker);
  ++port.starts;
  port.up_since = Now();
}

void Network::Detach(const std::string& api, bool silent) {
  Port& port = ports_[api];
  port.maker = nullptr;
  port.silent = silent;
  port.down_at = Now();
  for (const auto& [ends, link] : links_) {
    if (ends.second != api) continue;
    const auto streams = link->streams;
    for (const auto& [id, stream] : streams) {
      stream->Break(Reset(api), silent ? link->random.Between(Duration::zero(), kSilenceMax) : Duration::zero());
    }
  }
}

Link& Network::LinkOf(const std::string& host, const std::string& api) {
  std::unique_ptr<Link>& link = links_[{host, api}];
  if (!link) link = std::make_unique<Link>(Link{host, api, random_.Fork(host + " " + api)});
  return *link;
}

void Network::Partition(const std::string& host, const std::string& api, Cut cut) {
  Link& link = LinkOf(host, api);
  const bool was_silent = link.answers_cut;
  link.requests_cut = cut != Cut::kAnswers;
  link.answers_cut = cut != Cut::kRequests;
  link.Disturbed(Now());
  if (was_silent && !link.answers_cut) BringWhatWaits(link);
}

void Network::BringWhatWaits(Link& link) {
  const auto streams = link.streams;
  for (const auto& [id, stream] : streams) {
    if (link.random.Chance(kBrokenByPartition)) stream->Break(Reset(link.api));
    stream->Flush();
  }
}

void Network::Heal(const std::string& host, const std::string& api) {
  Link& link = LinkOf(host, api);
  const bool was_silent = link.answers_cut;
  if (!link.works()) link.Disturbed(Now());
  link.requests_cut = link.answers_cut = false;
  link.event_delay = Duration::zero();
  if (was_silent) BringWhatWaits(link);
}

void Network::SlowDown(const std::string& api, Duration by) {
  Port& port = ports_[api];
  if (port.slow > Duration::zero()) port.slow_until = Now();
  port.slow = by;
}

void Network::DelayEvents(const std::string& host, const std::string& api, Duration by) {
  Link& link = LinkOf(host, api);
  link.event_delay = by;
  link.Disturbed(Now());
}

void Network::BreakWatches(const std::string& host, const std::string& api, Code code) {
  Link& link = LinkOf(host, api);
  link.Disturbed(Now());
  const auto streams = link.streams;
  for (const auto& [id, stream] : streams) {
    stream->Break(code == Code::kExpired ? Error(code, "too old resource version") : Reset(api));
  }
}

void Network::TakeAway(const std::string& plural, bool away) {
  if (away) away_.insert(plural);
  if (!away) away_.erase(plural);
}

bool Network::IsAway(const std::string& api, const std::string& host, const std::string& plural) const {
  return api == kHub && host != kHub && away_.contains(plural);
}

void Network::HealAll() {
  away_.clear();
  for (const auto& [ends, link] : links_) Heal(ends.first, ends.second);
  for (const auto& [api, port] : ports_) SlowDown(api, Duration::zero());
}

bool Network::IsCut(const std::string& host, const std::string& api) const {
  const auto link = links_.find({host, api});
  return link != links_.end() && (link->second->requests_cut || link->second->answers_cut);
}

Instant Network::UndisturbedSince(const std::string& host, const std::string& api) const {
  const auto link = links_.find({host, api});
  if (link == links_.end()) return {};
  return link->second->works() ? link->second->disturbed_at : Now();
}

Instant Network::HealthySince(const std::string& api) const {
  const auto found = ports_.find(api);
  if (found == ports_.end() || !found->second.maker || found->second.slow > Duration::zero()) return Now();
  return std::max(found->second.up_since, found->second.slow_until);
}

void Network::Disturb(Link& link, const std::string& kind, const std::string& detail) {
  link.Disturbed(Now());
  if (on_fault) on_fault(kind, link.host + " to " + link.api, detail);
}

bool Network::IsDirect(const Link& link, const Port& port) const {
  return conditions_.perfect() && link.works() && port.maker != nullptr && port.slow == Duration::zero();
}

Duration Network::DrawLatency(Link& link) const {
  if (conditions_.latency_max == Duration::zero()) return {};
  return link.random.Between(conditions_.latency_min, conditions_.latency_max);
}

client::Client& Network::ClientFor(Sender& sender) {
  const Port& port = ports_.at(sender.api);
  if (!sender.client || sender.starts != port.starts) {
    sender.client = port.maker(sender.options.user, sender.options.epoch);
    sender.starts = port.starts;
  }
  return *sender.client;
}

Fate Network::DrawFate(Link& link, const Exchange& exchange, Duration timeout) {
  Fate fate;
  if (conditions_.perfect()) return fate;
  base::Random& random = link.random;
  const auto& now = conditions_;
  fate.there = DrawLatency(link);
  fate.back = DrawLatency(link);
  if (now.service_max > Duration::zero()) fate.service = random.Between(now.service_min, now.service_max);
  fate.which = random.Next();
  fate.late = fate.which & 1024;
  // One number decides among the faults, so that a call meets one of them at most.
  double dice = random.Unit();
  auto strikes = [&dice](double probability) {
    dice -= probability;
    return dice < 0 && dice >= -probability;
  };
  fate.lost_request = strikes(now.lost_request);
  fate.lost_answer = strikes(now.lost_answer);
  fate.error_before = strikes(now.error_before);
  fate.error_after = strikes(now.error_after);
  if (!exchange.write()) return fate;
  fate.conflict = exchange.versioned() && strikes(now.conflict);
  fate.delayed = strikes(now.delayed);
  fate.stall = strikes(now.stall);
  if (fate.delayed) fate.there += timeout + random.Between(Duration::zero(), kDelayMax);
  return fate;
}

base::Status Network::Carry(Process& process, const std::shared_ptr<Sender>& sender,
                            const std::shared_ptr<Exchange>& exchange) {
  const std::string& api = sender->api;
  if (!process.alive()) return base::Fail(Refused(api));
  Link& link = sender->link;
  const Duration timeout = sender->options.timeout;
  const Fate fate = DrawFate(link, *exchange, timeout);
  if (fate.stall && on_stall) {
    Disturb(link, "stall");
    on_stall(process);
  }
  if (!process.WaitWhilePaused()) return base::Fail(Refused(api));
  const Port& port = ports_[api];
  if (IsDirect(link, port)) {
    exchange->CarryOut(ClientFor(*sender));
    return {};
  }
  if (conditions_.perfect() && port.maker == nullptr && !port.silent) return base::Fail(Refused(api));

  exchange->caller.emplace(process);
  exchange->timeout = strand_->PostAfter(timeout, [exchange, api, timeout] {
    exchange->ConcludeWith(Error(Code::kTimeout, fmt::format("{}: no answer within {}", api, base::FormatDuration(timeout))));
  });
  if (link.requests_cut) {
    link.Disturbed(Now());
  } else if (fate.lost_request) {
    Disturb(link, "lost-request");
  } else {
    if (fate.delayed) Disturb(link, "delayed-request", base::FormatDuration(fate.there));
    exchange->step = strand_->PostAfter(fate.there + (fate.late ? fate.service + port.slow : Duration::zero()),
                                        [this, sender, exchange, fate] { Arrive(sender, exchange, fate); });
  }
  const bool lives = exchange->caller->Block();
  exchange->concluded = true;
  if (lives) return {};
  // A watch that was opened meanwhile must not refer to the process any longer.
  exchange->Fail(Refused(api));
  return base::Fail(Refused(api));
}

void Network::Arrive(const std::shared_ptr<Sender>& sender, const std::shared_ptr<Exchange>& exchange, const Fate& fate) {
  const Port& port = ports_[sender->api];
  Link& link = sender->link;
  if (link.requests_cut) {
    link.Disturbed(Now());
    return;
  }
  // Nobody is there to read what it would say.
  if (exchange->concluded && !exchange->write()) return;
  const Duration service = fate.service + port.slow;
  exchange->begun = fate.late ? Now() - service : Now();
  exchange->left = exchange->begun + service;
  const bool was_down = port.maker == nullptr || (port.down_at > exchange->begun && port.starts > 0);
  if (was_down) {
    if (port.maker == nullptr && port.silent) return;
    const Error error = exchange->begun < port.down_at ? Reset(sender->api) : Refused(sender->api);
    exchange->step = strand_->PostAfter(fate.back, [exchange, error] { exchange->ConcludeWith(error); });
    return;
  }
  CarryOut(*sender, *exchange, fate);
  exchange->step = strand_->PostAfter(exchange->left - Now() + fate.back,
                                      [this, sender, exchange, fate] { Answer(*sender, *exchange, fate); });
}

void Network::CarryOut(Sender& sender, Exchange& exchange, const Fate& fate) {
  Link& link = sender.link;
  if (fate.error_before) {
    const Error error = ErrorBefore(fate.which);
    Disturb(link, "error-before", error.message());
    return exchange.Fail(error);
  }
  if (fate.conflict) {
    Disturb(link, "conflict");
    return exchange.Fail(
        Error(Code::kConflict, "the object has been modified; please apply your changes to the latest version"));
  }
  exchange.CarryOut(ClientFor(sender));
  // Who has given up waiting keeps the time-out that it was told.
  if (!fate.error_after || exchange.concluded) return;
  const Error error = ErrorAfter(fate.which);
  Disturb(link, "error-after", error.message());
  exchange.Fail(error);
}

void Network::Answer(const Sender& sender, Exchange& exchange, const Fate& fate) {
  Link& link = sender.link;
  if (exchange.concluded) return;
  if (link.answers_cut) {
    link.Disturbed(Now());
    return;
  }
  if (fate.lost_answer) return Disturb(link, "lost-answer");
  const Port& port = ports_[sender.api];
  const bool crashed_before = port.down_at > exchange.begun && port.down_at <= exchange.left;
  if (!crashed_before) return exchange.Conclude();
  Disturb(link, "answer-lost-in-crash");
  if (!port.silent) exchange.ConcludeWith(Reset(sender.api));
}

}  // namespace evenkeel::sim
