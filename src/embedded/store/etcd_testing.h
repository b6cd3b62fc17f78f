// For tests that start etcd.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace evenkeel::embedded::store {

/// A port of 127.0.0.1 that nobody had a moment ago.
inline int FreePort() {
  const int socket_file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(socket_file, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(socket_file, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(socket_file);
  return ntohs(address.sin_port);
}

}  // namespace evenkeel::embedded::store
