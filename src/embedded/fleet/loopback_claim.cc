#include "embedded/fleet/loopback_claim.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace evenkeel::embedded::fleet {
namespace {

using base::Code;

/// False: somebody else has the name.
base::Result<bool> Bind(int socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name that begins with a zero is no file.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return true;
  if (errno == EADDRINUSE) return false;
  return base::Fail(Code::kInternal, "claim loopback addresses: " + std::string(std::strerror(errno)));
}

}  // namespace

base::Result<LoopbackClaim> LoopbackClaim::Take(int preferred) {
  // Close-on-exec: a child process must not keep the claim after this process has ended.
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) {
    return base::Fail(Code::kInternal, "claim loopback addresses: cannot open a socket: " + std::string(std::strerror(errno)));
  }
  LoopbackClaim claim(made, 0);
  const int first = preferred < kFirst || preferred >= kFirst + kCount ? 0 : preferred - kFirst;
  for (int i = 0; i < kCount; ++i) {
    const int octet = kFirst + (first + i) % kCount;
    EVENKEEL_ASSIGN(const bool taken, Bind(made, "evenkeel-loopback-" + std::to_string(octet)));
    if (!taken) continue;
    claim.octet_ = octet;
    return claim;
  }
  return base::Fail(Code::kUnavailable, "all ranges of loopback addresses are taken by other fleets on this machine: stop one");
}

LoopbackClaim::LoopbackClaim(LoopbackClaim&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), octet_(other.octet_) {}

LoopbackClaim& LoopbackClaim::operator=(LoopbackClaim&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(octet_, other.octet_);
  return *this;
}

LoopbackClaim::~LoopbackClaim() {
  if (socket_ >= 0) close(socket_);
}

}  // namespace evenkeel::embedded::fleet
