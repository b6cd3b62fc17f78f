#include "controllers/rollout/zookeeper/member/answer.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::zookeeper::member::answer_test {
namespace {

// As ZooKeeper 3.8.0 answers, shortened.
constexpr char kSrvrLeader[] =
    "Zookeeper version: 3.8.0, built on 2024-12-29 17:54 UTC\nLatency min/avg/max: 0/0.0/0\nReceived: 1\nSent: 0\n"
    "Connections: 1\nOutstanding: 0\nZxid: 0x100000000\nMode: leader\nNode count: 5\nProposal sizes last/min/max: -1/-1/-1\n";
constexpr char kMntrLeader[] =
    "zk_version\t3.8.0\nzk_server_state\tleader\nzk_peer_state\tleading - broadcast\nzk_synced_followers\t3\n"
    "zk_synced_non_voting_followers\t1\nzk_synced_observers\t0\nzk_learners\t3\nzk_quorum_size\t3\n";
constexpr char kConf[] =
    "clientPort=2181\nserverId=3\nmembership: \nserver.1=127.77.0.1:2888:3888:participant;127.77.0.1:2181\n"
    "server.2=127.77.0.2:2888:3888:participant;127.77.0.2:2181\nserver.3=127.77.0.3:2888:3888:participant;127.77.0.3:2181\n"
    "version=100000000";

TEST(Answer, OfALeaderHasItsSyncedVotersAndTheMembers) {
  const auto answer = ReadAnswer({kSrvrLeader, kMntrLeader, kConf});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->mode, Mode::kLeader);
  EXPECT_EQ(answer->zxid, "0x100000000");
  EXPECT_EQ(answer->synced_voters, 2) << "the third has no vote";
  EXPECT_EQ(answer->servers.size(), 3U);
  EXPECT_EQ(answer->config_version, "100000000");
}

TEST(Answer, OfAFollowerSaysNothingOfTheOthers) {
  const auto answer = ReadAnswer({"Zxid: 0x2\nMode: follower\n", "zk_server_state\tfollower\nzk_synced_followers\t2\n", kConf});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mode, Mode::kFollower);
  EXPECT_EQ(answer->synced_voters, -1);
  EXPECT_EQ(answer->servers.size(), 3U);
}

TEST(Answer, OfOneThatLooksForALeader) {
  const auto answer = ReadAnswer({"This ZooKeeper instance is not currently serving requests\n",
                                  "This ZooKeeper instance is not currently serving requests\n", ""});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mode, Mode::kNotServing);
  EXPECT_EQ(answer->zxid, "");
}

TEST(Answer, OfALeaderThatHasJustLostItsPlace) {
  const auto answer = ReadAnswer({kSrvrLeader, "zk_server_state\tfollower\nzk_synced_followers\t2\n", ""});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->synced_voters, -1);
  EXPECT_TRUE(answer->servers.empty());
}

TEST(Answer, MembersThatMakeNoSenseAreNotKnown) {
  for (const char* conf : {"server.1=a:1:2;3\n", "server.1=a:1\nversion=1", "server.1=a:1:2\nserver.1=a:1:2\nversion=1"}) {
    const auto answer = ReadAnswer({kSrvrLeader, kMntrLeader, conf});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->servers.empty()) << conf;
    EXPECT_EQ(answer->config_version, "");
  }
}

TEST(Answer, OfSomethingElseIsAnError) {
  EXPECT_EQ(ReadAnswer({"", "", ""}).error().code(), base::Code::kUnavailable);
  EXPECT_EQ(ReadAnswer({"HTTP/1.1 400 Bad Request\r\n\r\n", "", ""}).error().code(), base::Code::kUnavailable);
  EXPECT_EQ(ReadAnswer({"Mode: king\n", "", ""}).error().code(), base::Code::kUnavailable);
  EXPECT_EQ(ReadAnswer({"srvr is not executed because it is not in the whitelist.\n", "", ""}).error().code(),
            base::Code::kForbidden);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::answer_test
