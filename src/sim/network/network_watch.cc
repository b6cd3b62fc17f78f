#include "sim/network/network_parts.h"

namespace evenkeel::sim {

WatchStream::WatchStream(Network& network, Process& process, Link& link, client::WatchHandler handler)
    : network_(network), process_(process), link_(link), id_(network.next_stream_++), handler_(std::move(handler)) {}

WatchStream::~WatchStream() { Close(); }

void WatchStream::Open(std::unique_ptr<client::Watch> source) {
  source_ = std::move(source);
  // Not before: whoever asked may be gone by the time the request arrives, and nobody would close it.
  link_.streams[id_] = this;
}

void WatchStream::Push(base::Result<client::WatchEvent> event) {
  if (broken_ || closed_) return;
  const base::Instant now = network_.Now();
  const bool at_once = network_.conditions_.perfect() && link_.works() && waiting_.empty() && !process_.paused();
  base::Instant due = at_once ? now : now + link_.event_delay + network_.DrawLatency(link_);
  if (!waiting_.empty()) due = std::max(due, waiting_.back().due);
  // Also when the delay itself is over by then.
  if (link_.event_delay > base::Duration::zero()) link_.Disturbed(due);
  broken_ = !event;
  waiting_.push_back({due, std::move(event)});
  if (at_once) return Deliver();
  if (waiting_.size() == 1) Schedule();
}

void WatchStream::Break(base::Error error, base::Duration notice) {
  if (broken_ || closed_) return;
  source_.reset();
  broken_ = true;
  waiting_.clear();
  waiting_.push_back({network_.Now() + notice + network_.DrawLatency(link_), base::Fail(std::move(error))});
  if (notice > base::Duration::zero()) link_.Disturbed(waiting_.back().due);
  Schedule();
}

void WatchStream::Close() {
  if (std::exchange(closed_, true)) return;
  link_.streams.erase(id_);
  source_.reset();
  timer_.Cancel();
  waiting_.clear();
}

void WatchStream::Flush() {
  if (!waiting_.empty()) Schedule();
}

void WatchStream::Schedule() {
  timer_ = network_.strand_->PostAfter(waiting_.front().due - network_.Now(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Deliver();
  });
}

void WatchStream::Deliver() {
  const base::Instant now = network_.Now();
  // Heal brings what waits for it.
  while (!closed_ && !link_.answers_cut && !waiting_.empty() && waiting_.front().due <= now) {
    base::Result<client::WatchEvent> event = std::move(waiting_.front().event);
    waiting_.pop_front();
    process_.Deliver([self = shared_from_this(), arrived = std::move(event)]() mutable {
      if (!self->closed_) self->handler_(std::move(arrived));
    });
  }
  if (!closed_ && !link_.answers_cut && !waiting_.empty()) Schedule();
}

}  // namespace evenkeel::sim
