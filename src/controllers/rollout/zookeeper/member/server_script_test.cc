#include "controllers/rollout/zookeeper/member/server_script.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "controllers/rollout/zookeeper/member/picture_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::server_script_test {
namespace {

namespace fs = std::filesystem;

/// A pod's files, and the server's start in it: what it is started from is printed instead of starting it.
class ServerScriptTest : public ::testing::Test {
 protected:
  ServerScriptTest() : root_(fs::path(::testing::TempDir()) / fmt::format("server-script-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_.string() + kConfigPath);
    fs::create_directories(root_.string() + kDataPath);
    GiveScript("{}");
    Give("zoo.cfg", "tickTime=2000\n");
    Give("zoo.cfg.dynamic", "given 11 12\nserver.11=\nserver.12=\n");
    Write(root_ / "start", "#!/bin/bash\nsed -n 's/^dynamicConfigFile=//p' \"$1\"\n");
    fs::permissions(root_ / "start", fs::perms::owner_all);
  }
  ~ServerScriptTest() override { fs::remove_all(root_); }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void GiveScript(const std::string& more) { Give("server.sh", ServerScript(testing::SpecOf(2, {11, 12}, 10, more))); }
  void GiveSecret(const std::string& peer, const std::string& key) {
    const fs::path secret = fs::path(root_.string() + kSecretsPath) / peer;
    fs::create_directories(secret);
    fs::create_directories(root_.string() + kKeysPath);
    Write(secret / "tls.key", key);
    Write(secret / "tls.crt", "certificate of " + peer + "\n");
  }
  void Give(const std::string& name, const std::string& text) { Write(root_.string() + kConfigPath + "/" + name, text); }
  /// As ZooKeeper writes what was agreed on.
  void Agree(const std::string& version, const std::string& list) {
    Write(Conf() / ("zoo.cfg.dynamic." + version), list);
    Write(Conf() / "zoo.cfg", "dynamicConfigFile=/elsewhere/zoo.cfg.dynamic." + version + "\n");
  }
  fs::path Conf() const { return fs::path(root_.string() + kDataPath) / "conf"; }
  /// The name of the list that pod zk-1 (server 12) is started from.
  std::string Start() {
    EXPECT_EQ(Run(), 0) << Read(root_ / "err");
    const std::string out = Read(root_ / "out");
    return fs::path(out.substr(0, out.find('\n'))).filename();
  }

  int Run() const {
    const std::string command = fmt::format(
        "EVENKEEL_POD_ROOT={0} POD_NAME=zk-1 ZOOKEEPER_COMMAND={0}/start bash {0}{1}/server.sh start > {0}/out 2> {0}/err",
        root_.string(), kConfigPath);
    return std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  }

  const fs::path root_;
};

TEST_F(ServerScriptTest, StartsFromTheGivenListAndThenFromWhatWasAgreedOn) {
  EXPECT_EQ(Start(), "zoo.cfg.dynamic");
  EXPECT_EQ(Read(Conf() / "zoo.cfg.dynamic").substr(0, 11), "given 11 12");
  Agree("100000000", "server.11=\nserver.12=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.100000000");
  Agree("200000005", "server.11=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic") << "it does not belong to it any more";
}

TEST_F(ServerScriptTest, AnEmptyDiskHasNoVoteInAnEnsembleThatThereIs) {
  const auto config = [&] {
    Start();
    return Read(Conf() / "zoo.cfg");
  };
  EXPECT_FALSE(config().contains("db.autocreate")) << "all of them begin with empty disks";
  Give("formed", "");
  EXPECT_TRUE(config().starts_with("db.autocreate=false\n"));
  const fs::path data = root_.string() + kDataPath;
  fs::create_directories(data / "version-2");
  Write(data / "version-2" / "currentEpoch", "1");
  EXPECT_TRUE(config().starts_with("db.autocreate=false\n")) << "it has joined, but has nothing yet";
  Write(data / "version-2" / "snapshot.100000003", "");
  EXPECT_FALSE(config().contains("db.autocreate"));
}

TEST_F(ServerScriptTest, AVolumeOfAnotherServerOrEnsembleBeginsWithTheGivenList) {
  Give("ensemble", "one\n");
  Start();
  Agree("100000000", "server.1=\nserver.11=\nserver.12=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.100000000");
  Write(Conf() / "zoo.cfg.dynamic.next", "something that was under way");
  Give("ensemble", "another\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic");
  EXPECT_FALSE(fs::exists(Conf() / "zoo.cfg.dynamic.next"));
  Agree("200000000", "server.11=\nserver.12=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.200000000") << "it is of this one now";
  Write(fs::path(root_.string() + kDataPath) / "myid", "2\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic") << "of server 2";
  Agree("300000000", "server.11=\nserver.12=\n");
  fs::remove(Conf() / "ensemble");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.300000000") << "it was made before anybody said which one it is";
}

TEST_F(ServerScriptTest, ARecoveryIsTheNextVersionOnce) {
  Start();
  Agree("10000000f", "server.1=\nserver.2=\nserver.11=\nserver.12=\n");
  Write(Conf() / "zoo.cfg.dynamic.next", "something that was under way");
  Give("recovery.request", "flood\n");
  Give("recovery.servers", "recovered\nserver.11=\nserver.12=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.100000010");
  EXPECT_EQ(Read(Conf() / "zoo.cfg.dynamic.100000010").substr(0, 9), "recovered");
  EXPECT_FALSE(fs::exists(Conf() / "zoo.cfg.dynamic.next"));
  Agree("300000001", "server.11=\nserver.12=\nserver.21=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.300000001") << "each request once";
  Give("recovery.request", "fire\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.300000002");
}

TEST_F(ServerScriptTest, ARecoveryIsOnlyForThoseInItThatKnowOfAnEnsemble) {
  Give("recovery.request", "flood\n");
  Give("recovery.servers", "server.11=\nserver.12=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic") << "an empty volume";
  Agree("100000000", "server.11=\nserver.12=\nserver.21=\n");
  Give("recovery.servers", "server.11=\nserver.21=\n");
  EXPECT_EQ(Start(), "zoo.cfg.dynamic.100000000");
}

TEST_F(ServerScriptTest, KeysAndCertificatesAreWhereZooKeeperFindsThem) {
  GiveScript(R"({"spec": {"tls": {"quorumSecret": "q", "clientSecret": "c"}}})");
  Give("zoo.cfg.dynamic", "server.12=127.9.0.12:2888:3888:participant;127.9.0.12:2181\n");
  GiveSecret("quorum", "-----BEGIN PRIVATE KEY-----\n");
  GiveSecret("client", "-----BEGIN PRIVATE KEY-----");
  Start();
  const std::string config = Read(Conf() / "zoo.cfg"), root = root_.string();
  const std::string quorum = root + kKeysPath + "/quorum.pem", client = root + kKeysPath + "/client.pem";
  for (const std::string& line :
       {"ssl.quorum.keyStore.location=" + quorum, std::string("ssl.quorum.keyStore.type=PEM"),
        "ssl.quorum.trustStore.location=" + root + kSecretsPath + "/quorum/ca.crt", "ssl.keyStore.location=" + client,
        "ssl.trustStore.location=" + root + kSecretsPath + "/client/ca.crt", std::string("ssl.trustStore.type=PEM"),
        std::string("secureClientPortAddress=127.9.0.12")}) {
    EXPECT_TRUE(config.contains("\n" + line + "\n")) << line << " in " << config;
  }
  EXPECT_EQ(Read(client), "-----BEGIN PRIVATE KEY-----\ncertificate of client\n");
  EXPECT_EQ(fs::status(quorum).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ServerScriptTest, AKeyOfAnotherKindIsNotTried) {
  GiveScript(R"({"spec": {"tls": {"quorumSecret": "q"}}})");
  GiveSecret("quorum", "-----BEGIN RSA PRIVATE KEY-----\n");
  EXPECT_NE(Run(), 0);
  EXPECT_TRUE(Read(root_ / "err").contains("tls.key in the Secret for TLS (quorum) is no PKCS#8 key"));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::server_script_test
