// Three members of etcd that are killed, stopped and left without a majority, and whether what clients saw can have happened.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "base/port_testing.h"
#include "embedded/store/etcd_store.h"
#include "embedded/store/linearizability_testing.h"

namespace evenkeel::embedded::store::etcd_linearizability_test {
namespace {

using std::chrono::milliseconds;

class EtcdMembers {
 public:
  static constexpr size_t kMembers = 3;

  explicit EtcdMembers(std::string directory) : directory_(std::move(directory)) {
    for (auto& member : members_) member = {base::testing::ReservedPort(), base::testing::ReservedPort(), 0};
    for (size_t i = 0; i < kMembers; ++i) Start(i);
  }
  ~EtcdMembers() {
    for (size_t i = 0; i < kMembers; ++i) Kill(i);
  }
  EtcdMembers(const EtcdMembers&) = delete;
  EtcdMembers& operator=(const EtcdMembers&) = delete;

  std::vector<std::string> endpoints() const {
    std::vector<std::string> all;
    for (const Member& member : members_) all.push_back("127.0.0.1:" + std::to_string(member.client_port));
    return all;
  }
  void Start(size_t i) {
    if (members_[i].process != 0) return;
    std::string cluster;
    for (size_t j = 0; j < kMembers; ++j)
      cluster += (j == 0 ? "m" : ",m") + std::to_string(j) + "=" + Url(members_[j].peer_port);
    const std::string name = "m" + std::to_string(i), data = directory_ + "/" + name, log = data + ".log";
    const std::string client = Url(members_[i].client_port), peer = Url(members_[i].peer_port);
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!freopen(log.c_str(), "a", stderr) || !freopen("/dev/null", "w", stdout)) _exit(127);
      execl(kProgram, "etcd", "--name", name.c_str(), "--data-dir", data.c_str(), "--listen-client-urls", client.c_str(),
            "--advertise-client-urls", client.c_str(), "--listen-peer-urls", peer.c_str(), "--initial-advertise-peer-urls",
            peer.c_str(), "--initial-cluster", cluster.c_str(), nullptr);
      _exit(127);
    }
    members_[i].process = process;
  }
  void Kill(size_t i) {
    if (members_[i].process == 0) return;
    kill(members_[i].process, SIGKILL);
    waitpid(members_[i].process, nullptr, 0);
    members_[i].process = 0;
  }
  /// A stopped member is one that nobody reaches and that reaches nobody; when it goes on, what was on its way arrives late.
  void Stop(size_t i) const { kill(members_[i].process, SIGSTOP); }
  void GoOn(size_t i) const { kill(members_[i].process, SIGCONT); }

  static bool IsHere() { return access(kProgram, X_OK) == 0; }

 private:
  static constexpr const char* kProgram = "/usr/bin/etcd";
  struct Member {
    int client_port = 0, peer_port = 0;
    pid_t process = 0;
  };
  static std::string Url(int port) { return "http://127.0.0.1:" + std::to_string(port); }
  const std::string directory_;
  std::array<Member, kMembers> members_;
};

/// One fault after the other, each got over before the next.
void Disturb(EtcdMembers& members, base::Random& random) {
  const auto rest = [](int64_t time) { std::this_thread::sleep_for(milliseconds(time)); };
  const size_t one = random.Below(EtcdMembers::kMembers), other = (one + 1) % EtcdMembers::kMembers;
  members.Kill(one);
  rest(1'500);
  members.Start(one);
  rest(1'000);
  members.Stop(other);
  rest(2'000);
  members.GoOn(other);
  rest(500);
  members.Kill(one);
  members.Kill(other);
  rest(1'500);
  members.Start(one);
  members.Start(other);
  rest(2'000);
}

TEST(EtcdLinearizabilityTest, HoldsThroughKillsPartitionsAndLossOfQuorum) {
  if (!EtcdMembers::IsHere()) GTEST_SKIP() << "no etcd binary: install the package etcd-server";
  std::string directory = (std::filesystem::temp_directory_path() / "evenkeel-etcd-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    EtcdMembers members(directory);
    EtcdOptions options;
    options.open_timeout = std::chrono::seconds(60);
    options.request_timeout = milliseconds(1'500);
    const auto store = OpenEtcdStore(members.endpoints(), options);
    ASSERT_TRUE(store) << store.error().message();
    std::vector<RegisterHistory> histories(3);
    RegisterClients clients(histories);
    std::atomic<bool> over = false;
    base::Random random(7);
    std::thread running([&] { clients.Run(**store, 1, [&] { return over.load(); }); });
    // Here, since a member ends with the thread that has started it. Whether a write is under way when members go is chance.
    constexpr int kMostDisturbances = 8;
    for (int i = 0; i < kMostDisturbances && clients.unknown_writes() == 0; ++i) Disturb(members, random);
    over = true;
    running.join();
    size_t writes = 0;
    for (int i = 0; i < 600 && !(*store)->Health(); ++i) std::this_thread::sleep_for(milliseconds(100));
    clients.ReadAll(**store);
    for (RegisterHistory& history : histories) {
      for (const RegisterOperation& each : history.operations()) {
        writes += each.kind == RegisterOperation::Kind::kCompareAndSet && each.outcome == RegisterOperation::Outcome::kDone;
      }
      EXPECT_TRUE(history.IsLinearizable());
    }
    EXPECT_GT(writes, 30u);
    EXPECT_GT(clients.unknown_writes(), 0u) << "nothing was under way when the members went";
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace evenkeel::embedded::store::etcd_linearizability_test
