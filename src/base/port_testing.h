// Ports for servers of tests that are started by their number, or again on the same one.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace evenkeel::base::testing {

/// A port of 127.0.0.1 that no other test gets while this process lives, nor the system gives to whoever asks for any. Tests
/// end to end take theirs in the same way (tests/e2e/reservations.py): by a name that the kernel keeps for the process.
inline int ReservedPort() {
  constexpr int kFirst = 12'000, kCount = 9'000;
  static int next = getpid() * 37 % kCount;
  for (int tried = 0; tried < kCount; ++tried) {
    const int port = kFirst + next;
    next = (next + 1) % kCount;
    const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string name = "evenkeel-e2e-port-" + std::to_string(port);
    sockaddr_un reservation{};
    reservation.sun_family = AF_UNIX;
    // A first byte of 0: it is no file.
    name.copy(reservation.sun_path + 1, sizeof(reservation.sun_path) - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const bool is_ours = bind(held, reinterpret_cast<sockaddr*>(&reservation), size) == 0;
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_free = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(probe);
    // It stays open as long as the process lives.
    if (is_ours && is_free) return port;
    close(held);
  }
  ADD_FAILURE() << "no port is free";
  return 0;
}

}  // namespace evenkeel::base::testing
