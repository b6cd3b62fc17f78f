#include "embedded/nodeagent/network_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace evenkeel::embedded::nodeagent {
namespace {

constexpr size_t kHeaderMax = 16 << 10;

// A connected socket with one deadline over all that is done with it.
class ProbeSocket {
 public:
  explicit ProbeSocket(base::Duration timeout) : deadline_(base::SystemClock().Monotonic() + timeout) {}
  ~ProbeSocket() {
    if (file_ >= 0) close(file_);
  }
  ProbeSocket(const ProbeSocket&) = delete;
  ProbeSocket& operator=(const ProbeSocket&) = delete;

  /// Empty when connected, otherwise why not.
  std::string Connect(const std::string& host, int port) {
    const std::string target = fmt::format("dial tcp {}:{}: ", host, port);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return target + "no such host";
    file_ = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int connected = file_ < 0 ? -1 : connect(file_, found->ai_addr, found->ai_addrlen);
    const int error = errno;
    freeaddrinfo(found);
    if (connected == 0) return "";
    if (file_ < 0 || error != EINPROGRESS) return target + "connect: " + std::strerror(error);
    if (!Wait(POLLOUT)) return target + "i/o timeout";
    int result = 0;
    socklen_t size = sizeof result;
    getsockopt(file_, SOL_SOCKET, SO_ERROR, &result, &size);
    return result == 0 ? "" : target + "connect: " + std::strerror(result);
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else if (errno != EINTR && (errno != EAGAIN || !Wait(POLLOUT))) {
        return false;
      }
    }
    return true;
  }

  /// The first line of the answer, without its end; nullopt when it does not come in time.
  std::optional<std::string> ReadLine() {
    std::string text;
    char buffer[1024];
    while (text.size() < kHeaderMax) {
      if (const size_t end = text.find("\r\n"); end != std::string::npos) return text.substr(0, end);
      const ssize_t got = recv(file_, buffer, sizeof buffer, 0);
      if (got == 0) return std::nullopt;
      if (got > 0) {
        text.append(buffer, static_cast<size_t>(got));
      } else if (errno != EINTR && (errno != EAGAIN || !Wait(POLLIN))) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  bool Wait(short events) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - base::SystemClock().Monotonic());
      if (left.count() <= 0) return false;
      pollfd entry{file_, events, 0};
      const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  const base::Instant deadline_;
  int file_ = -1;
};

}  // namespace

ProbeResult ProbeTcp(const ProbeAction& action, base::Duration timeout) {
  ProbeSocket socket(timeout);
  std::string problem = socket.Connect(action.host, action.port);
  return {problem.empty(), std::move(problem)};
}

ProbeResult ProbeHttp(const ProbeAction& action, base::Duration timeout) {
  if (action.scheme != "HTTP")
    return {false, fmt::format("probes of scheme {} are not supported for local processes", action.scheme)};
  const std::string url = fmt::format("http://{}:{}{}", action.host, action.port, action.path);
  ProbeSocket socket(timeout);
  if (const std::string problem = socket.Connect(action.host, action.port); !problem.empty()) {
    return {false, fmt::format("Get \"{}\": {}", url, problem)};
  }
  std::string host = fmt::format("{}:{}", action.host, action.port);
  std::string headers;
  bool has_agent = false, has_accept = false;
  for (const auto& [name, value] : action.headers) {
    // A line break would end the header: such a value cannot be sent.
    if ((name + value).find_first_of("\r\n") != std::string::npos) return {false, "a header of the probe has a line break"};
    if (strcasecmp(name.c_str(), "host") == 0) {
      host = value;
      continue;
    }
    has_agent |= strcasecmp(name.c_str(), "user-agent") == 0;
    has_accept |= strcasecmp(name.c_str(), "accept") == 0;
    headers += fmt::format("{}: {}\r\n", name, value);
  }
  if (!has_agent) headers += "User-Agent: kube-probe/evenkeel\r\n";
  if (!has_accept) headers += "Accept: */*\r\n";
  if (action.path.find_first_of(" \r\n") != std::string::npos)
    return {false, "the path of the probe has a space or a line break"};
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}Connection: close\r\n\r\n", action.path, host, headers);
  std::optional<std::string> line;
  if (socket.Send(request)) line = socket.ReadLine();
  if (!line) return {false, fmt::format("Get \"{}\": no answer within {}", url, base::FormatDuration(timeout))};
  int status = 0;
  if (line->starts_with("HTTP/1.") && line->size() >= 12) std::from_chars(line->data() + 9, line->data() + 12, status);
  if (status >= 200 && status < 400) return {true, ""};
  return {false, status == 0 ? fmt::format("Get \"{}\": the answer is not HTTP", url)
                             : fmt::format("HTTP probe failed with statuscode: {}", status)};
}

}  // namespace evenkeel::embedded::nodeagent
