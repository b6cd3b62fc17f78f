// One I/O thread of the HTTP server, its connections and the mailbox through which other threads reach it. Only http_server*.cc
// include this.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/http/http_tls.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::embedded::apiserver {

class ServerConnection;

/// What all threads of one server share.
struct ServerShared {
  HttpServerOptions options;
  HttpHandler* handler = nullptr;
  std::atomic<int64_t> connections{0}, requests{0}, rejected{0};
  std::atomic<size_t> body_bytes{0};  ///< see BodyBudget

  /// Null: plain.
  std::shared_ptr<client::TlsContext> tls() {
    std::lock_guard lock(tls_mutex_);
    return tls_;
  }
  void UseTls(std::shared_ptr<client::TlsContext> tls) {
    std::lock_guard lock(tls_mutex_);
    tls_ = std::move(tls);
  }

 private:
  std::mutex tls_mutex_;
  std::shared_ptr<client::TlsContext> tls_;
};

/// What one connection has of HttpServerOptions::bodies_bytes_max.
class BodyBudget {
 public:
  explicit BodyBudget(ServerShared& shared) : shared_(shared) {}
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;
  ~BodyBudget() { Set(0); }

  /// False: then all of them together have more than there is.
  bool Set(size_t bytes) {
    const size_t before = std::exchange(bytes_, bytes);
    const size_t all = shared_.body_bytes += bytes - before;
    return bytes <= before || all <= shared_.options.bodies_bytes_max;
  }

 private:
  ServerShared& shared_;
  size_t bytes_ = 0;
};

/// One of ServerShared::connections, for as long as it lives.
class ConnectionCount {
 public:
  explicit ConnectionCount(std::shared_ptr<ServerShared> shared) : shared_(std::move(shared)) { ++shared_->connections; }
  ConnectionCount(ConnectionCount&& other) noexcept = default;
  ConnectionCount& operator=(ConnectionCount&& other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~ConnectionCount() {
    if (shared_ != nullptr) --shared_->connections;
  }

 private:
  std::shared_ptr<ServerShared> shared_;
};

/// Everything without a comment belongs to the worker's own thread.
class ServerWorker : public std::enable_shared_from_this<ServerWorker> {
 public:
  explicit ServerWorker(std::shared_ptr<ServerShared> shared);

  /// Runs until Stop. The body of the thread.
  void Run();
  /// Runs `task` on the worker's thread; false, and dropped, when that has stopped. Any thread; wakes the worker once per
  /// batch.
  bool Post(std::move_only_function<void()> task);
  /// Ends all connections, then Run. Any thread.
  void Stop();
  /// Whether the caller is the worker's thread.
  bool here() const;

  void Adopt(client::UniqueFd fd, std::string remote, ConnectionCount count);
  void Forget(const std::shared_ptr<ServerConnection>& connection);
  /// Since when the connection of a stranger (ServerConnection::is_strangers) that is quiet for longest has been so; nullopt:
  /// there is none on this thread.
  std::optional<base::Instant> QuietestStranger() const;
  void CloseQuietestStranger();

  boost::asio::io_context& context() { return context_; }
  ServerShared& shared() { return *shared_; }
  /// Reads of all connections go through one buffer, so that idle ones hold none.
  std::vector<char>& scratch() { return scratch_; }
  base::Instant now() const;
  /// Called when the worker stops, before its connections end: the acceptor's own cleanup.
  void OnStop(std::function<void()> callback) { on_stop_.push_back(std::move(callback)); }

 private:
  std::shared_ptr<ServerConnection> FindQuietestStranger() const;
  void DrainMailbox();
  void Tick();
  base::Duration TickPeriod() const;

  const std::shared_ptr<ServerShared> shared_;
  boost::asio::io_context context_{1};
  boost::asio::steady_timer timer_{context_};
  std::vector<char> scratch_;
  std::unordered_set<std::shared_ptr<ServerConnection>> connections_;
  std::vector<std::function<void()>> on_stop_;
  bool stopped_ = false;

  std::mutex mutex_;
  std::vector<std::move_only_function<void()>> mailbox_;  // guarded by mutex_
  bool woken_ = false;                                    // guarded by mutex_
  bool closed_ = false;                                   // guarded by mutex_
};

}  // namespace evenkeel::embedded::apiserver
