#include "client/http/http_watch.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

/// The shared thread. Never destroyed: watches may be open until the process ends.
class WatchThread {
 public:
  static WatchThread& Shared() {
    static WatchThread* const shared = new WatchThread();
    return *shared;
  }
  boost::asio::io_context& context() { return context_; }
  bool here() const { return std::this_thread::get_id() == thread_id_; }
  std::vector<char>& scratch() { return scratch_; }

 private:
  WatchThread() {
    std::thread thread([this] { context_.run(); });
    thread_id_ = thread.get_id();
    thread.detach();
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{context_.get_executor()};
  std::vector<char> scratch_ = std::vector<char>(64 << 10);
  std::thread::id thread_id_;
};

/// Everything but Stop happens on the shared thread.
class WatchSession : public std::enable_shared_from_this<WatchSession> {
 public:
  WatchSession(std::unique_ptr<HttpConnection> connection, std::unique_ptr<HttpResponseReader> reader,
               base::Duration silence_max, size_t line_bytes_max, WatchHandler handler)
      : thread_(WatchThread::Shared()),
        connection_(std::move(connection)),
        reader_(std::move(reader)),
        silence_max_(silence_max),
        splitter_(line_bytes_max),
        descriptor_(thread_.context()),
        timer_(thread_.context()),
        handler_(std::move(handler)) {}

  void Start() {
    boost::asio::post(thread_.context(), [self = shared_from_this()] {
      if (self->ended_) return;
      self->descriptor_.assign(self->connection_->fd());
      self->last_byte_ = base::SystemClock().Monotonic();
      self->ArmTimer();
      if (self->Deliver(self->reader_->TakeBody())) self->Read();
    });
  }

  /// Any thread. Returns when no call of the handler runs or can follow.
  void Stop() {
    if (thread_.here()) {
      stopped_ = true;
      // Within the handler, Call cleans up after it.
      if (!calling_) End();
      return;
    }
    WatchHandler doomed;
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
      doomed.swap(handler_);
    }
    boost::asio::post(thread_.context(), [self = shared_from_this()] { self->End(); });
  }

 private:
  void Wait(bool for_writing) {
    descriptor_.async_wait(
        for_writing ? boost::asio::posix::stream_descriptor::wait_write : boost::asio::posix::stream_descriptor::wait_read,
        [self = shared_from_this()](const boost::system::error_code& error) {
          if (!error && !self->ended_) self->Read();
        });
  }

  void Read() {
    std::vector<char>& scratch = thread_.scratch();
    // A stream that never runs dry gives way to the others now and then.
    for (int turn = 0; turn < 64; ++turn) {
      const IoResult result = connection_->transport().Read(scratch.data(), scratch.size());
      if (result.wants()) return Wait(result.kind == IoResult::Kind::kWantWrite);
      if (!result.done())
        return Finish(
            base::Error(Code::kUnavailable, result.error.empty() ? "the watch ended" : "the watch broke off: " + result.error));
      last_byte_ = base::SystemClock().Monotonic();
      const HttpReadState state = reader_->Feed({scratch.data(), result.bytes});
      if (!Deliver(reader_->TakeBody())) return;
      if (state == HttpReadState::kDone) return Finish(base::Error(Code::kUnavailable, "the watch ended"));
      if (state != HttpReadState::kMore)
        return Finish(base::Error(Code::kUnavailable, "the watch broke off: " + reader_->error()));
      if (result.dry) return Wait(false);
    }
    boost::asio::post(thread_.context(), [self = shared_from_this()] {
      if (!self->ended_) self->Read();
    });
  }

  /// False when the watch has ended with it.
  bool Deliver(std::string_view data) {
    const bool whole = splitter_.Feed(data, [this](std::string_view line) {
      Result<WatchEvent> event = DecodeWatchLine(line);
      if (!event) {
        Finish(std::move(event).error());
        return false;
      }
      event->bytes = line.size();
      return Call(std::move(event));
    });
    if (!whole && splitter_.too_long())
      Finish(base::Error(Code::kTooLarge, "answers too much: an event of a watch is too large"));
    return !ended_;
  }

  /// False when the handler is not to be called any more.
  bool Call(Result<WatchEvent> event) {
    {
      std::lock_guard lock(mutex_);
      if (!stopped_) {
        calling_ = true;
        handler_(std::move(event));
        calling_ = false;
      }
    }
    if (stopped_) End();
    return !ended_;
  }

  void Finish(base::Error error) {
    if (ended_) return;
    // The descriptor goes first: whoever hears of the end may look at what the process has open.
    CloseConnection();
    if (Call(std::unexpected(std::move(error)))) End();
  }

  void ArmTimer() {
    timer_.expires_at(std::chrono::steady_clock::time_point(last_byte_ + silence_max_));
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (cancelled || self->ended_) return;
      if (base::SystemClock().Monotonic() - self->last_byte_ < self->silence_max_) return self->ArmTimer();
      self->Finish(base::Error(Code::kUnavailable, "the watch has been silent for too long"));
    });
  }

  void CloseConnection() {
    if (descriptor_.is_open()) descriptor_.release();
    connection_.reset();
    boost::system::error_code ignored;
    timer_.cancel(ignored);
  }

  void End() {
    if (ended_) return;
    ended_ = true;
    CloseConnection();
    WatchHandler doomed;
    std::lock_guard lock(mutex_);
    doomed.swap(handler_);
  }

  WatchThread& thread_;
  std::unique_ptr<HttpConnection> connection_;
  std::unique_ptr<HttpResponseReader> reader_;
  const base::Duration silence_max_;
  LineSplitter splitter_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  base::Instant last_byte_{};
  bool calling_ = false;
  bool ended_ = false;
  std::mutex mutex_;  // held while the handler runs
  std::atomic<bool> stopped_{false};
  WatchHandler handler_;  // guarded by mutex_
};

class HttpWatch final : public Watch {
 public:
  explicit HttpWatch(std::shared_ptr<WatchSession> session) : session_(std::move(session)) {}
  ~HttpWatch() override { session_->Stop(); }

 private:
  std::shared_ptr<WatchSession> session_;
};

}  // namespace

bool LineSplitter::Feed(std::string_view data, const std::function<bool(std::string_view)>& visit) {
  while (!data.empty()) {
    const size_t end = data.find('\n');
    if (end == std::string_view::npos) {
      partial_.append(data);
      too_long_ = partial_.size() > line_bytes_max_;
      return !too_long_;
    }
    std::string joined;
    std::string_view line = data.substr(0, end);
    if (!partial_.empty()) {
      joined.swap(partial_);
      joined.append(line);
      line = joined;
    }
    data.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    too_long_ = line.size() > line_bytes_max_;
    if (too_long_) return false;
    if (!line.empty() && !visit(line)) return false;
  }
  return true;
}

std::optional<base::Error> DecodeStatusObject(const Json& value, int http_status) {
  if (base::FindString(value, {"kind"}) != "Status") return std::nullopt;
  const auto status = static_cast<int>(base::FindInt(value, {"code"}, http_status));
  const Code code = base::CodeFromWire(status, base::FindString(value, {"reason"}));
  base::ErrorDetails details;
  details.name = base::FindString(value, {"details", "name"});
  details.group = base::FindString(value, {"details", "group"});
  details.kind = base::FindString(value, {"details", "kind"});
  details.uid = base::FindString(value, {"details", "uid"});
  details.retry_after_seconds = static_cast<int>(base::FindInt(value, {"details", "retryAfterSeconds"}));
  for (const Json& cause : base::FindArray(value, {"details", "causes"})) {
    details.causes.push_back({std::string(base::FindString(cause, {"reason"})),
                              std::string(base::FindString(cause, {"message"})),
                              std::string(base::FindString(cause, {"field"}))});
  }
  std::string message(base::FindString(value, {"message"}));
  if (message.empty()) message = fmt::format("the server answered {} {}", status, base::FindString(value, {"reason"}));
  return base::Error(code, std::move(message), std::move(details));
}

Result<WatchEvent> DecodeWatchLine(std::string_view line) {
  EVENKEEL_ASSIGN(Json value, base::ParseJson(line, "watch event"));
  const std::string_view type = base::FindString(value, {"type"});
  Json* object = base::Find(value, {"object"});
  if (object == nullptr || !object->is_object()) return Fail(Code::kInternal, "a watch event without an object");
  if (type == "ERROR") {
    if (std::optional<base::Error> error = DecodeStatusObject(*object, 500)) return Fail(*std::move(error));
    return Fail(Code::kInternal, "the watch failed without saying why");
  }
  WatchEvent event;
  if (type == "ADDED") {
    event.type = WatchEvent::Type::kAdded;
  } else if (type == "MODIFIED") {
    event.type = WatchEvent::Type::kModified;
  } else if (type == "DELETED") {
    event.type = WatchEvent::Type::kDeleted;
  } else if (type == "BOOKMARK") {
    event.type = WatchEvent::Type::kBookmark;
  } else {
    return Fail(Code::kInternal, fmt::format("a watch event of unknown type \"{}\"", type));
  }
  event.object = std::move(*object);
  return event;
}

std::unique_ptr<Watch> StartHttpWatch(std::unique_ptr<HttpConnection> connection, std::unique_ptr<HttpResponseReader> reader,
                                      base::Duration silence_max, size_t line_bytes_max, WatchHandler handler) {
  auto session =
      std::make_shared<WatchSession>(std::move(connection), std::move(reader), silence_max, line_bytes_max, std::move(handler));
  session->Start();
  return std::make_unique<HttpWatch>(std::move(session));
}

}  // namespace evenkeel::client
