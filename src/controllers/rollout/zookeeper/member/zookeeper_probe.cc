#include "controllers/rollout/zookeeper/member/zookeeper_probe.h"

#include <openssl/rand.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "client/http/http_resolve.h"
#include "controllers/rollout/zookeeper/member/answer.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Code;
using base::Fail;

/// "mntr" of an ensemble of many clients is some tens of kilobytes.
constexpr size_t kAnswerMax = 1 << 20;
constexpr std::array<std::string_view, 3> kWords{"srvr", "mntr", "conf"};

/// One word on its way to one server and back.
struct Exchange {
  client::UniqueFd fd;
  std::string text;
  bool ended = false;
  std::optional<base::Error> error;
};

Exchange Begin(const Endpoint& server, std::string_view word, base::Instant deadline) {
  Exchange exchange;
  auto fd = client::ConnectSocket(server.host, std::to_string(server.port), deadline);
  if (!fd) {
    exchange.error = fd.error();
    return exchange;
  }
  exchange.fd = *std::move(fd);
  // Four bytes fit into the buffer of a socket that has just been opened.
  if (send(exchange.fd.get(), word.data(), word.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(word.size())) {
    exchange.error = base::Error(Code::kUnavailable, "the connection was closed at once");
  }
  return exchange;
}

void Receive(Exchange& exchange) {
  std::array<char, 16384> buffer;
  const ssize_t size = recv(exchange.fd.get(), buffer.data(), buffer.size(), 0);
  if (size > 0) {
    exchange.text.append(buffer.data(), static_cast<size_t>(size));
    if (exchange.text.size() > kAnswerMax) exchange.error = base::Error(Code::kTooLarge, "the answer does not end");
  } else if (size == 0 || errno == ECONNRESET) {
    exchange.ended = true;
  } else if (errno != EINTR && errno != EAGAIN) {
    exchange.error = base::Error(Code::kUnavailable, "the connection broke");
  }
}

void Finish(std::vector<Exchange>& exchanges, base::Instant deadline) {
  while (true) {
    std::vector<pollfd> entries;
    std::vector<Exchange*> waiting;
    for (Exchange& exchange : exchanges) {
      if (exchange.ended || exchange.error) continue;
      entries.push_back({exchange.fd.get(), POLLIN, 0});
      waiting.push_back(&exchange);
    }
    if (waiting.empty()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::SystemClock().Monotonic());
    const int ready = left.count() > 0 ? poll(entries.data(), entries.size(), static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      for (Exchange* exchange : waiting) exchange->error = base::Error(Code::kTimeout, "no answer in time");
      return;
    }
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (entries[i].revents != 0) Receive(*waiting[i]);
    }
  }
}

/// One session with a server, for one request. Callbacks come on the library's threads.
class Session {
 public:
  ~Session() {
    // Ends those threads; afterwards nobody calls back.
    if (handle_ != nullptr) zookeeper_close(handle_);
  }

  base::Status Open(const Endpoint& server, base::Duration timeout, base::Instant deadline) {
    const std::string host = server.host.contains(':') ? "[" + server.host + "]" : server.host;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    handle_ = zookeeper_init2(fmt::format("{}:{}", host, server.port).c_str(), &Session::OnEvent,
                              static_cast<int>(milliseconds.count()), nullptr, this, 0, [](const char*) {});
    if (handle_ == nullptr) return Fail(Code::kUnavailable, fmt::format("cannot connect to {}:{}", server.host, server.port));
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [this] { return connected_; })) {
      return Fail(Code::kUnavailable, fmt::format("no session with {}:{} in time", server.host, server.port));
    }
    return {};
  }

  /// ZooKeeper's code; nullopt: no answer in time.
  std::optional<int> LogIn(const std::string& password, base::Instant deadline) {
    const std::string who = "super:" + password;
    const int sent = zoo_add_auth(
        handle_, "digest", who.data(), static_cast<int>(who.size()),
        [](int code, const void* session) { static_cast<Session*>(const_cast<void*>(session))->OnDone(code); }, this);
    return sent == ZOK ? Wait(deadline) : sent;
  }

  std::optional<int> Reconfigure(const std::string& joining, const std::string& leaving, int64_t version,
                                 base::Instant deadline) {
    const int sent = zoo_areconfig(
        handle_, joining.empty() ? nullptr : joining.c_str(), leaving.empty() ? nullptr : leaving.c_str(), nullptr, version,
        [](int code, const char*, int, const Stat*, const void* session) {
          static_cast<Session*>(const_cast<void*>(session))->OnDone(code);
        },
        this);
    return sent == ZOK ? Wait(deadline) : sent;
  }

 private:
  static void OnEvent(zhandle_t*, int type, int state, const char*, void* context) {
    auto* session = static_cast<Session*>(context);
    if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
    const std::lock_guard lock(session->mutex_);
    session->connected_ = true;
    session->changed_.notify_all();
  }

  void OnDone(int code) {
    const std::lock_guard lock(mutex_);
    code_ = code;
    changed_.notify_all();
  }

  std::optional<int> Wait(base::Instant deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return code_.has_value(); });
    return std::exchange(code_, std::nullopt);
  }

  zhandle_t* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  std::optional<int> code_;
};

base::Status StatusOf(std::optional<int> code) {
  if (!code) return Fail(Code::kUnavailable, "ZooKeeper has not answered in time");
  const std::string text = zerror(*code);
  switch (*code) {
    case ZOK:
      return {};
    case ZBADVERSION:
    case ZRECONFIGINPROGRESS:
      return Fail(Code::kConflict, text);
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZRECONFIGDISABLED:
      return Fail(Code::kForbidden, text);
    case ZBADARGUMENTS:
      return Fail(Code::kBadRequest, text);
    default:
      return Fail(Code::kUnavailable, text);
  }
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

class ZooKeeperProbe final : public Probe {
 public:
  explicit ZooKeeperProbe(ZooKeeperProbeOptions options) : options_(options) {}

  std::vector<base::Result<Answer>> Ask(const std::vector<Endpoint>& servers) override {
    const base::Instant begin = base::SystemClock().Monotonic();
    // The last quarter is for answers.
    const base::Instant connected = begin + options_.ask_timeout * 3 / 4;
    std::vector<Exchange> exchanges;
    for (size_t i = 0; i < servers.size(); ++i) {
      const base::Instant now = base::SystemClock().Monotonic();
      const base::Instant deadline = now + (connected - now) / static_cast<int64_t>(servers.size() - i);
      for (const std::string_view word : kWords) {
        const bool hopeless = word != kWords.front() && exchanges[i * kWords.size()].error;
        exchanges.push_back(hopeless ? Exchange{} : Begin(servers[i], word, deadline));
        if (hopeless) exchanges.back().ended = true;
      }
    }
    Finish(exchanges, begin + options_.ask_timeout);
    std::vector<base::Result<Answer>> answers;
    for (size_t i = 0; i < servers.size(); ++i) {
      Exchange* words = &exchanges[i * kWords.size()];
      if (words[0].error) {
        answers.push_back(Fail(words[0].error->Wrap(fmt::format("ask {}:{}", servers[i].host, servers[i].port))));
      } else {
        answers.push_back(ReadAnswer({words[0].text, words[1].text, words[2].text}));
      }
    }
    return answers;
  }

  base::Status Reconfigure(const Endpoint& via, const Reconfiguration& change) override {
    const base::Instant deadline = base::SystemClock().Monotonic() + options_.change_timeout;
    const std::string& from = change.from_version;
    int64_t version = -1;
    if (std::from_chars(from.data(), from.data() + from.size(), version, 16).ptr != from.data() + from.size() || version < 0) {
      return Fail(Code::kBadRequest, "\"" + from + "\" is no version of the members");
    }
    std::vector<std::string> leaving;
    for (const int64_t id : change.leaving) leaving.push_back(std::to_string(id));
    Session session;
    // A session lives a little longer than it is needed, and its server forgets it when it is closed.
    EVENKEEL_TRY(session.Open(via, options_.change_timeout * 4, deadline));
    EVENKEEL_TRY(StatusOf(session.LogIn(change.password, deadline)));
    return StatusOf(session.Reconfigure(Join(change.joining), Join(leaving), version, deadline));
  }

 private:
  const ZooKeeperProbeOptions options_;
};

}  // namespace

std::unique_ptr<Probe> NewZooKeeperProbe(ZooKeeperProbeOptions options) { return std::make_unique<ZooKeeperProbe>(options); }

std::string NewPassword() {
  std::array<unsigned char, 20> bytes{};
  EVENKEEL_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
