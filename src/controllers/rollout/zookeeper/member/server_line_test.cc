#include "controllers/rollout/zookeeper/member/server_line.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::zookeeper::member::server_line_test {
namespace {

struct Case {
  std::string name, line;
  ServerLine wanted;
};
class ServerLineTest : public ::testing::TestWithParam<Case> {};

TEST_P(ServerLineTest, IsRead) {
  const auto line = ParseServerLine(GetParam().line);
  ASSERT_TRUE(line) << line.error().message();
  ServerLine wanted = GetParam().wanted;
  wanted.text = line->text;
  EXPECT_EQ(*line, wanted) << line->host << " " << line->client_host << " " << line->client_port;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, ServerLineTest,
    ::testing::Values(
        Case{"AsTheHubWrites",
             "server.11=zk-0.c2.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181",
             {11, "zk-0.c2.zk-headless.data.svc.clusterset.local", 2888, 3888, false, "", 2181, ""}},
        Case{"ClientAddress",
             "server.1=127.7.0.1:2888:3888:participant;127.7.0.1:2181",
             {1, "127.7.0.1", 2888, 3888, false, "127.7.0.1", 2181, ""}},
        Case{"Observer", "server.3=h:1:2:observer;0.0.0.0:5", {3, "h", 1, 2, true, "0.0.0.0", 5, ""}},
        Case{"WithoutRole", "server.3=h:1:2;5", {3, "h", 1, 2, false, "", 5, ""}},
        Case{"WithoutClientPort", "server.3=h:1:2", {3, "h", 1, 2, false, "", 0, ""}},
        Case{"Sixth", "server.3=[fd00::1]:1:2:participant;[fd00::2]:5", {3, "fd00::1", 1, 2, false, "fd00::2", 5, ""}},
        Case{"SeveralAddresses", "server.3=a:1:2|b:3:4:observer;5", {3, "a", 1, 2, true, "", 5, ""}},
        Case{"Spaces", "  server.3=h:1:2;5\r", {3, "h", 1, 2, false, "", 5, ""}}),
    [](const auto& tested) { return tested.param.name; });

TEST(ServerLine, SaysWhatIsWrong) {
  for (const char* line : {"", "server.1", "server.=h:1:2", "server.0=h:1:2", "server.256=h:1:2", "server.1=h", "server.1=h:1",
                           "server.1=h:1:x", "server.1=h:1:70000", "server.1=:1:2", "server.1=h:1:2:leader", "server.1=h:1:2;",
                           "server.1=h:1:2;x", "server.1=[::1:1:2", "group.1=1:2"}) {
    const auto read = ParseServerLine(line);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().code(), base::Code::kBadRequest);
  }
  EXPECT_EQ(ParseServerLines({"server.2=a:1:2;3", "server.2=b:1:2;3"}).error().message(),
            "\"server.2=b:1:2;3\": 2 is the id of another server, too");
}

TEST(ServerLine, ListsAreSortedById) {
  const auto servers = *ParseServerLines({"server.12=a:1:2;3", "server.2=b:1:2:observer;3"});
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[0].id, 2);
  EXPECT_EQ(VotersOf(servers), (std::set<int64_t>{12}));
  EXPECT_EQ(FindServer(servers, 12)->host, "a");
  EXPECT_EQ(FindServer(servers, 1), nullptr);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::server_line_test
