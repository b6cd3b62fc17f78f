#include "embedded/apiserver/http/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/process/descriptors.h"
#include "embedded/apiserver/http/http_server_connection.h"
#include "embedded/apiserver/http/http_server_worker.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

thread_local const ServerWorker* current_worker = nullptr;

std::string RemoteName(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    return fmt::format("{}:{}", host, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
  return fmt::format("[{}]:{}", host, ntohs(v6.sin6_port));
}

base::Result<client::UniqueFd> Listen(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Fail(Code::kBadRequest, fmt::format("cannot listen on {}:{}: not an IP address and port", address, port));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  client::UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  // Watches come by the thousand after a restart, so the queue is as long as the kernel lets it be.
  if (fd.get() >= 0 && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 && listen(fd.get(), SOMAXCONN) == 0) {
    return fd;
  }
  const int error = errno;
  std::string advice;
  if (error == EADDRINUSE) advice = "; stop the program that uses the port or choose another one";
  if (error == EACCES) advice = "; choose a port from 1024 on";
  return Fail(Code::kUnavailable, fmt::format("cannot listen on {}:{}: {}{}", address, port, std::strerror(error), advice));
}

/// Takes connections on the first worker's thread and hands them to all workers in turn.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(client::UniqueFd fd, std::vector<std::shared_ptr<ServerWorker>> workers, std::shared_ptr<ServerShared> shared)
      : workers_(std::move(workers)),
        shared_(std::move(shared)),
        descriptor_(workers_[0]->context(), fd.release()),
        retry_(workers_[0]->context()) {}

  void Wait() {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                             if (!error) self->Accept();
                           });
  }

  void Close() {
    boost::system::error_code ignored;
    static_cast<void>(descriptor_.close(ignored));
    retry_.cancel();
    workers_.clear();
  }

 private:
  void Accept() {
    for (int i = 0; i < 64; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      client::UniqueFd fd(
          accept4(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.get() < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN) break;
        return BackOff(errno);
      }
      Place(std::move(fd), RemoteName(address));
    }
    Wait();
  }

  void Place(client::UniqueFd fd, std::string remote) {
    if (shared_->connections.load() >= shared_->options.connections_max) {
      return MakeRoom(0, std::nullopt, std::move(fd), std::move(remote));
    }
    Hand(*workers_[next_++ % workers_.size()], std::move(fd), std::move(remote));
  }

  /// Asks one thread after the other since when its quietest stranger's connection has been so, and closes the quietest of all.
  void MakeRoom(size_t index, std::optional<std::pair<base::Instant, size_t>> quietest, client::UniqueFd fd,
                std::string remote) {
    if (workers_.empty()) return;
    if (index == workers_.size() && !quietest) return Reject(fd);
    if (index == workers_.size()) {
      ServerWorker& worker = *workers_[quietest->second];
      worker.Post([&worker] { worker.CloseQuietestStranger(); });
      return Hand(worker, std::move(fd), std::move(remote));
    }
    ServerWorker* worker = workers_[index].get();
    worker->Post([self = shared_from_this(), worker, first = workers_[0], index, quietest, fd = std::move(fd),
                  remote = std::move(remote)]() mutable {
      const auto since = worker->QuietestStranger();
      if (since && (!quietest || *since < quietest->first)) quietest = std::pair(*since, index);
      first->Post([self = std::move(self), index, quietest, fd = std::move(fd), remote = std::move(remote)]() mutable {
        self->MakeRoom(index + 1, quietest, std::move(fd), std::move(remote));
      });
    });
  }

  void Reject(const client::UniqueFd& fd) {
    ++shared_->rejected;
    if (shared_->tls() != nullptr) return;
    constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
    send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
  }

  void Hand(ServerWorker& worker, client::UniqueFd fd, std::string remote) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A watch may be silent for minutes; only these probes tell that its client's machine is gone.
    const int idle_seconds = 30, interval_seconds = 10, probes = 3;
    setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
    setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
    setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    // Counted here, so that a burst cannot pass the limit before the workers come to see it.
    worker.Post([&worker, fd = std::move(fd), remote = std::move(remote), count = ConnectionCount(shared_)]() mutable {
      worker.Adopt(std::move(fd), std::move(remote), std::move(count));
    });
  }

  void BackOff(int error) {
    base::log::Warn("cannot accept connections, will try again", {{"error", std::strerror(error)}});
    if (error == EMFILE || error == ENFILE) {
      base::NoteNoDescriptorLeft(base::SystemClock().Monotonic());
      for (const auto& worker : workers_) worker->Post([worker = worker.get()] { worker->CloseQuietestStranger(); });
    }
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->Wait();
    });
  }

  std::vector<std::shared_ptr<ServerWorker>> workers_;
  std::shared_ptr<ServerShared> shared_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer retry_;
  size_t next_ = 0;
};

class HttpServerBody final : public HttpServer {
 public:
  HttpServerBody(std::shared_ptr<ServerShared> shared, client::UniqueFd fd) : shared_(std::move(shared)) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(bound).sin_port);
    for (int i = 0; i < std::max(1, shared_->options.threads); ++i) workers_.push_back(std::make_shared<ServerWorker>(shared_));
    auto acceptor = std::make_shared<Acceptor>(std::move(fd), workers_, shared_);
    workers_[0]->OnStop([acceptor] { acceptor->Close(); });
    workers_[0]->Post([acceptor] { acceptor->Wait(); });
    acceptor.reset();
    for (const auto& worker : workers_) threads_.emplace_back([worker = worker.get()] { worker->Run(); });
  }

  ~HttpServerBody() override {
    for (const auto& worker : workers_) worker->Stop();
    for (std::thread& thread : threads_) thread.join();
  }

  int port() const override { return port_; }
  base::Status UseCertificate(const std::string& certificate_pem, const std::string& private_key_pem) override {
    if (shared_->tls() == nullptr) return Fail(base::Code::kBadRequest, "a server without TLS has no certificate");
    EVENKEEL_ASSIGN(auto tls, client::TlsContext::ForServer(certificate_pem, private_key_pem, shared_->options.client_ca_pem));
    shared_->UseTls(std::move(tls));
    return {};
  }
  HttpServerStats stats() const override { return {shared_->connections, shared_->requests, shared_->rejected}; }

 private:
  std::shared_ptr<ServerShared> shared_;
  std::vector<std::shared_ptr<ServerWorker>> workers_;
  std::vector<std::thread> threads_;
  int port_ = 0;
};

}  // namespace

ServerWorker::ServerWorker(std::shared_ptr<ServerShared> shared) : shared_(std::move(shared)), scratch_(64 << 10) {}

bool ServerWorker::here() const { return current_worker == this; }

base::Instant ServerWorker::now() const { return base::SystemClock().Monotonic(); }

void ServerWorker::Run() {
  current_worker = this;
  Tick();
  context_.run();
  current_worker = nullptr;
}

bool ServerWorker::Post(std::move_only_function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    mailbox_.push_back(std::move(task));
    if (woken_) return true;
    woken_ = true;
  }
  boost::asio::post(context_, [this] { DrainMailbox(); });
  return true;
}

void ServerWorker::DrainMailbox() {
  std::vector<std::move_only_function<void()>> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(mailbox_);
    woken_ = false;
  }
  for (auto& task : tasks) task();
}

void ServerWorker::Stop() {
  Post([this] {
    std::vector<std::move_only_function<void()>> rest;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      rest.swap(mailbox_);
    }
    stopped_ = true;
    for (const auto& callback : std::exchange(on_stop_, {})) callback();
    timer_.cancel();
    const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
    for (const auto& connection : all) connection->Close();
    for (auto& task : rest) task();
  });
}

void ServerWorker::Adopt(client::UniqueFd fd, std::string remote, ConnectionCount count) {
  if (stopped_) return;
  auto connection = std::make_shared<ServerConnection>(shared_from_this(), std::move(fd), std::move(remote), std::move(count));
  connections_.insert(connection);
  connection->Start();
}

std::shared_ptr<ServerConnection> ServerWorker::FindQuietestStranger() const {
  std::shared_ptr<ServerConnection> quietest;
  for (const auto& connection : connections_) {
    if (connection->is_strangers() && (quietest == nullptr || connection->active() < quietest->active())) quietest = connection;
  }
  return quietest;
}

std::optional<base::Instant> ServerWorker::QuietestStranger() const {
  const auto quietest = FindQuietestStranger();
  return quietest == nullptr ? std::nullopt : std::optional(quietest->active());
}

void ServerWorker::CloseQuietestStranger() {
  if (const auto quietest = FindQuietestStranger()) quietest->Close();
}

void ServerWorker::Forget(const std::shared_ptr<ServerConnection>& connection) { connections_.erase(connection); }

base::Duration ServerWorker::TickPeriod() const {
  const HttpServerOptions& options = shared_->options;
  const base::Duration shortest =
      std::min({options.handshake_timeout, options.request_timeout, options.idle_timeout, options.write_timeout});
  return std::clamp<base::Duration>(shortest / 4, 10ms, 1s);
}

void ServerWorker::Tick() {
  if (stopped_) return;
  const base::Instant at = now();
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->CheckDeadline(at);
  timer_.expires_after(TickPeriod());
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) Tick();
  });
}

base::Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, HttpHandler& handler) {
  auto shared = std::make_shared<ServerShared>();
  if (!options.certificate_pem.empty()) {
    auto tls = client::TlsContext::ForServer(options.certificate_pem, options.private_key_pem, options.client_ca_pem);
    if (!tls) return Fail(tls.error().Wrap(fmt::format("cannot listen on {}:{}", options.address, options.port)));
    shared->UseTls(*std::move(tls));
  }
  EVENKEEL_ASSIGN(client::UniqueFd fd, Listen(options.address, options.port));
  shared->options = std::move(options);
  shared->handler = &handler;
  return std::make_unique<HttpServerBody>(std::move(shared), std::move(fd));
}

}  // namespace evenkeel::embedded::apiserver
