#include "client/http/http_resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/process/descriptors.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

struct Lookup {
  int error = 0;
  std::vector<SocketAddress> addresses;
};

Lookup LookUp(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  Lookup lookup;
  lookup.error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (lookup.error != 0) return lookup;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = lookup.addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  freeaddrinfo(list);
  return lookup;
}

struct PendingLookup {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Lookup lookup;
};

/// getaddrinfo cannot be told when to give up, so a name is looked up on a thread of its own, which is left behind if it is too
/// slow.
base::Result<Lookup> LookUpUntil(const std::string& host, const std::string& port, base::Instant deadline) {
  Lookup numeric = LookUp(host, port, AI_NUMERICHOST | AI_NUMERICSERV);
  if (numeric.error == 0) return numeric;
  auto pending = std::make_shared<PendingLookup>();
  std::thread([pending, host, port] {
    Lookup lookup = LookUp(host, port, AI_NUMERICSERV | AI_ADDRCONFIG);
    std::lock_guard lock(pending->mutex);
    pending->lookup = std::move(lookup);
    pending->done = true;
    pending->changed.notify_all();
  }).detach();
  std::unique_lock lock(pending->mutex);
  if (!pending->changed.wait_until(lock, deadline, [&] { return pending->done; })) {
    return Fail(Code::kTimeout, fmt::format("looking up {} took too long", host));
  }
  return std::move(pending->lookup);
}

base::Result<UniqueFd> ConnectTo(const SocketAddress& address, base::Instant deadline) {
  UniqueFd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) {
    if (errno == EMFILE || errno == ENFILE) base::NoteNoDescriptorLeft(base::SystemClock().Monotonic());
    return Fail(Code::kUnavailable, std::strerror(errno));
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    if (errno != EINPROGRESS) return Fail(Code::kUnavailable, std::strerror(errno));
    EVENKEEL_TRY(WaitForSocket(fd.get(), true, deadline, "connecting"));
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return Fail(Code::kUnavailable, std::strerror(error));
  }
  return fd;
}

}  // namespace

base::Status WaitForSocket(int fd, bool for_writing, base::Instant deadline, std::string_view doing) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::SystemClock().Monotonic());
    pollfd entry{fd, static_cast<short>(for_writing ? POLLOUT : POLLIN), 0};
    const int ready = left.count() > 0 ? poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 1'000'000))) : 0;
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Fail(Code::kUnavailable, std::string(doing) + ": " + std::strerror(errno));
    if (left.count() <= 0) return Fail(Code::kTimeout, std::string(doing) + ": timed out");
  }
}

base::Result<UniqueFd> ConnectSocket(const std::string& host, const std::string& port, base::Instant deadline) {
  EVENKEEL_ASSIGN(const Lookup lookup, LookUpUntil(host, port, deadline));
  if (lookup.error != 0)
    return Fail(Code::kUnavailable, fmt::format("cannot look up {}: {}", host, gai_strerror(lookup.error)));
  base::Error last(Code::kUnavailable, "the name has no address");
  for (size_t i = 0; i < lookup.addresses.size(); ++i) {
    // Each address gets its share of the time that is left, so that one that swallows packets does not use it all up.
    const base::Instant now = base::SystemClock().Monotonic();
    const auto share = (deadline - now) / static_cast<int64_t>(lookup.addresses.size() - i);
    base::Result<UniqueFd> fd = ConnectTo(lookup.addresses[i], now + share);
    if (fd) return fd;
    last = fd.error();
  }
  return Fail(std::move(last));
}

}  // namespace evenkeel::client
