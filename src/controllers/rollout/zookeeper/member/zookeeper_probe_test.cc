#include "controllers/rollout/zookeeper/member/zookeeper_probe.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

namespace evenkeel::controllers::rollout::zookeeper::member::zookeeper_probe_test {
namespace {

using base::Code;
using namespace std::chrono_literals;

/// A port on which the kernel takes connections and nobody answers.
class SilentServer {
 public:
  SilentServer() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int port() const { return port_; }

 private:
  int fd_ = -1, port_ = 0;
};

TEST(ZooKeeperProbe, ServersThatAreNotThereOrDoNotAnswerAreErrorsInTime) {
  SilentServer silent, gone;
  gone.Close();
  // In which a busy machine learns that nobody listens.
  const auto probe = NewZooKeeperProbe({.ask_timeout = 2s, .change_timeout = 200ms});
  const base::Instant begin = base::SystemClock().Monotonic();
  const auto answers =
      probe->Ask({{1, "127.0.0.1", silent.port()}, {2, "127.0.0.1", gone.port()}, {3, "127.0.0.1", silent.port()}});
  EXPECT_LT(base::SystemClock().Monotonic() - begin, 60s);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].error().code(), Code::kTimeout);
  EXPECT_EQ(answers[1].error().code(), Code::kUnavailable);
  EXPECT_TRUE(answers[1].error().message().starts_with("ask 127.0.0.1:")) << answers[1].error().message();
  EXPECT_EQ(answers[2].error().code(), Code::kTimeout);
  EXPECT_TRUE(probe->Ask({}).empty());
}

TEST(ZooKeeperProbe, AChangeThatNobodyAnswersMayHaveTakenEffect) {
  SilentServer silent;
  const auto probe = NewZooKeeperProbe({.ask_timeout = 200ms, .change_timeout = 200ms});
  const base::Instant begin = base::SystemClock().Monotonic();
  const auto changed = probe->Reconfigure({1, "127.0.0.1", silent.port()}, {{}, {3}, "100000000", "secret"});
  EXPECT_EQ(changed.error().code(), Code::kUnavailable);
  EXPECT_LT(base::SystemClock().Monotonic() - begin, 60s);
}

TEST(ZooKeeperProbe, AVersionIsANumber) {
  const auto probe = NewZooKeeperProbe();
  for (const char* version : {"", "x", "-1", "1 "}) {
    EXPECT_EQ(probe->Reconfigure({1, "127.0.0.1", 1}, {{}, {3}, version, "secret"}).error().code(), Code::kBadRequest)
        << version;
  }
}

TEST(ZooKeeperProbe, PasswordsAreRandom) {
  std::set<std::string> passwords;
  for (int i = 0; i < 10; ++i) passwords.insert(NewPassword());
  EXPECT_EQ(passwords.size(), 10U);
  EXPECT_EQ(passwords.begin()->size(), 40U);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::zookeeper_probe_test
