#include "embedded/store/etcd_watch.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "embedded/store/version_index.h"

namespace evenkeel::embedded::store {

/// Deletes itself when gRPC is done with it.
class EtcdWatcher::Stream : public grpc::ClientBidiReactor<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> {
 public:
  Stream(std::shared_ptr<EtcdWatcher> owner, const std::string& prefix, Revision start) : owner_(std::move(owner)) {
    auto* create = request_.mutable_create_request();
    const std::string end = PrefixEnd(prefix);
    create->set_key(prefix.empty() ? std::string(1, '\0') : prefix);
    create->set_range_end(end.empty() ? std::string(1, '\0') : end);
    create->set_start_revision(start);
    create->set_progress_notify(true);
    create->set_prev_kv(true);
  }

  grpc::ClientContext* context() { return &context_; }

  void Begin(etcdserverpb::Watch::Stub& stub) {
    stub.async()->Watch(&context_, this);
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (!owner_->OnResponse(response_)) {
      context_.TryCancel();
      return;
    }
    StartRead(&response_);
  }

  void OnDone(const grpc::Status&) override {
    const std::shared_ptr<EtcdWatcher> owner = owner_;
    // Somebody may be about to cancel through the context.
    owner->OnContextEnd();
    // Before the owner hears that it is over: the context holds the channel, which must not be destroyed last here, on a thread
    // of gRPC that its destructor would join.
    delete this;
    owner->OnStreamEnd();
  }

 private:
  const std::shared_ptr<EtcdWatcher> owner_;
  grpc::ClientContext context_;
  etcdserverpb::WatchRequest request_;
  etcdserverpb::WatchResponse response_;
};

EtcdWatcher::EtcdWatcher(etcdserverpb::Watch::Stub& stub, std::string prefix, size_t strip, Revision after, bool reconnects,
                         WatchHandler handler)
    : stub_(stub),
      prefix_(std::move(prefix)),
      strip_(strip),
      reconnects_(reconnects),
      handler_(std::move(handler)),
      next_(after + 1) {}

void EtcdWatcher::Start() { OpenStream(); }

void EtcdWatcher::OpenStream() {
  std::unique_lock lock(mutex_);
  if (closed_ || end_) {
    lock.unlock();
    return Finish();
  }
  auto* stream = new Stream(shared_from_this(), prefix_, next_);
  context_ = stream->context();
  lock.unlock();
  stream->Begin(stub_);
}

void EtcdWatcher::CancelLocked() {
  if (context_) context_->TryCancel();
  if (pause_) pause_->Cancel();
}

bool EtcdWatcher::OnResponse(const etcdserverpb::WatchResponse& response) {
  std::vector<Event> batch;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || end_) return false;
    failures_ = 0;
    if (response.compact_revision() > 0) {
      end_ = std::make_unique<base::Error>(base::Code::kExpired, "revision " + std::to_string(next_ - 1) +
                                                                     " has been compacted in etcd: the oldest is " +
                                                                     std::to_string(response.compact_revision()));
    } else if (response.canceled()) {
      end_ = std::make_unique<base::Error>(base::Code::kUnavailable, "etcd ended the watch: " + response.cancel_reason());
    }
    if (end_) return false;
    if (response.created()) return true;
    for (const auto& change : response.events()) {
      Event event;
      event.revision = change.kv().mod_revision();
      event.current.key = change.kv().key().substr(strip_);
      event.current.mod_revision = event.revision;
      if (change.type() == etcdserverpb::Event::DELETE) {
        event.type = Event::Type::kDelete;
      } else {
        event.current.create_revision = change.kv().create_revision();
        event.current.value = std::make_shared<const std::string>(change.kv().value());
      }
      if (change.has_prev_kv()) event.previous = std::make_shared<const std::string>(change.prev_kv().value());
      next_ = event.revision + 1;
      batch.push_back(std::move(event));
    }
    if (batch.empty()) {
      Event progress;
      progress.type = Event::Type::kProgress;
      progress.revision = response.header().revision();
      next_ = std::max(next_, progress.revision + 1);
      batch.push_back(std::move(progress));
    }
  }
  Call(std::move(batch), nullptr);
  return true;
}

void EtcdWatcher::Call(std::vector<Event> batch, const base::Error* error) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    calling_ = true;
    caller_ = std::this_thread::get_id();
  }
  handler_(std::move(batch), error);
  std::lock_guard lock(mutex_);
  calling_ = false;
  caller_ = {};
  changed_.notify_all();
}

void EtcdWatcher::OnContextEnd() {
  std::lock_guard lock(mutex_);
  context_ = nullptr;
}

void EtcdWatcher::OnStreamEnd() {
  {
    std::lock_guard lock(mutex_);
    if (!closed_ && !end_ && reconnects_) return Pause();
    if (!closed_ && !end_) end_ = std::make_unique<base::Error>(base::Code::kUnavailable, "the link to etcd is broken");
  }
  Finish();
}

// With the lock held. The next stream begins behind the last event that was delivered.
void EtcdWatcher::Pause() {
  const auto length = std::min(std::chrono::milliseconds(50) * (1 << std::min(failures_, 7)), std::chrono::milliseconds(5'000));
  ++failures_;
  pause_ = std::make_unique<grpc::Alarm>();
  const auto end = std::chrono::system_clock::now() + length;  // effect: gRPC takes absolute times
  pause_->Set(end, [self = shared_from_this()](bool) { self->OnPauseEnd(); });
}

void EtcdWatcher::OnPauseEnd() {
  {
    std::unique_ptr<grpc::Alarm> over;
    std::lock_guard lock(mutex_);
    over = std::move(pause_);
  }
  // The alarm is gone by now: were it the last that uses gRPC, the library would be shut down beside the end of the process.
  OpenStream();
}

void EtcdWatcher::Finish() {
  const base::Error* error = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (end_) error = end_.get();  // set once
  }
  if (error) Call({}, error);
  WatchHandler handler;
  std::lock_guard lock(mutex_);
  handler = std::exchange(handler_, nullptr);
  finished_ = true;
  changed_.notify_all();
}

void EtcdWatcher::End(base::Error error) {
  std::lock_guard lock(mutex_);
  if (!end_) end_ = std::make_unique<base::Error>(std::move(error));
  CancelLocked();
}

void EtcdWatcher::WaitUntilFinished() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_; });
}

void EtcdWatcher::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  CancelLocked();
  if (calling_ && caller_ == std::this_thread::get_id()) return;
  // Not for the end of the stream: that may need the very thread that this is called from.
  changed_.wait(lock, [this] { return !calling_; });
}

}  // namespace evenkeel::embedded::store
