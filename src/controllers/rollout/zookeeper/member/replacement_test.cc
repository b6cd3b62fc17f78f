#include "controllers/rollout/zookeeper/member/replacement.h"

#include "controllers/rollout/zookeeper/member/picture_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::replacement_test {
namespace {

using testing::PictureOf;
using testing::Server;
using testing::SpecOf;

/// "old" servers in small words, those that have been replaced with a "+" after them: "L F F+".
std::vector<Server> Servers(const std::string& text) {
  std::vector<Server> servers;
  for (const char c : text) {
    if (c == '+') servers.back().updated = true;
    if (c != '+' && c != ' ') servers.push_back({c, false});
  }
  return servers;
}

struct Case {
  std::string name, here;
  std::map<int64_t, char> others;
  std::vector<int64_t> members;
  int64_t synced = 0;
  std::string pod;  ///< "": nobody
  std::string why;  ///< part of it
  std::vector<int64_t> observers = {};
  std::string spec = "{}";
  bool formed = false;
  std::set<int64_t> newly_silent = {};
};

class ReplacementTest : public ::testing::TestWithParam<Case> {};

TEST_P(ReplacementTest, Next) {
  const Case& test = GetParam();
  const auto here = Servers(test.here);
  std::vector<int64_t> list;
  for (int64_t id = 1; id <= static_cast<int64_t>(here.size() + test.others.size()); ++id) list.push_back(id);
  Picture picture = PictureOf(SpecOf(static_cast<int64_t>(here.size()), list, 0, test.spec), here, test.others, test.members,
                              test.synced, test.observers);
  picture.formed = test.formed;
  picture.newly_silent = test.newly_silent;
  const Ensemble ensemble(picture);
  const Replacement next = NextReplacement(picture, ensemble, MakingOf(picture));
  EXPECT_EQ(next.pod ? next.pod->name : "", test.pod) << next.why;
  EXPECT_NE(next.why.find(test.why), std::string::npos) << next.why;
}

const std::vector<int64_t> kThree{1, 2, 3}, kFive{1, 2, 3, 4, 5};

INSTANTIATE_TEST_SUITE_P(
    Order, ReplacementTest,
    ::testing::Values(Case{"NothingToDo", "L+F+F+", {}, kThree, 2, "", ""},
                      Case{"FollowersHighestFirst", "F L F", {}, kThree, 2, "zk-2", "it follows"},
                      Case{"TheNextOne", "F L F+", {}, kThree, 2, "zk-0", "it follows"},
                      Case{"TheLeaderLast", "F+L F+", {}, kThree, 2, "zk-1", "it leads"},
                      Case{"AnotherLeadsNow", "L+F F+", {}, kThree, 2, "zk-1", "it follows"},
                      Case{"UnreadyFirst", "n L F", {}, kThree, 1, "zk-0", "does not serve"},
                      Case{"OneWithoutAnAnswerFirst", "- L F", {}, kThree, 1, "zk-0", "does not serve"},
                      Case{"ObserversBeforeFollowers", "O L F F", {}, {1, 2, 3, 4}, 2, "zk-0", "no vote", {1}}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Gate, ReplacementTest,
    ::testing::Values(
        Case{"TheReplacedOneIsNotBack", "F L n+", {}, kThree, 1, "", "zk-2 has been replaced and does not serve"},
        Case{"TheReplacedOneIsNotInSync", "F L F+", {}, kThree, 1, "", "2 of 3 voters are in sync"},
        Case{"TheReplacedOneIsStillGoing", "F L t", {}, kThree, 2, "", "zk-2 is being replaced"},
        Case{"AVoterElsewhereIsDown", "F L F", {{4, 'F'}, {5, 'n'}}, kFive, 4, "", "server 5 does not serve"},
        Case{"AVoterElsewhereIsOutOfSync", "F L F", {{4, 'F'}, {5, '-'}}, kFive, 3, "", "4 of 5 voters"},
        Case{"TheLeaderVouchesForOneOutOfReach", "F L F", {{4, '-'}, {5, '-'}}, kFive, 4, "zk-2", "follows"},
        Case{"ButNotForOneThatHasJustFallenSilent",
             "F L F",
             {{4, 'F'}, {5, '-'}},
             kFive,
             4,
             "",
             "may not know yet",
             {},
             "{}",
             true,
             {5}},
        Case{"TheLeaderIsElsewhere", "F F", {{3, 'L'}, {4, 'F'}, {5, 'F'}}, kFive, 4, "zk-1", "follows"},
        Case{"TheLeaderIsOutOfReach", "F F", {{3, '-'}, {4, 'F'}, {5, 'F'}}, kFive, 4, "", "no single leader"},
        Case{"TwoLeaders", "L L F", {}, kThree, 2, "", "no single leader"},
        Case{"TheLeaderDoesNotSay", "F L F", {}, kThree, -1, "", "does not say"},
        Case{"AnUnreadyOneMissesNobodyButItself", "F L n", {{4, 'n'}, {5, 'F'}}, kFive, 2, "zk-2", "does not serve"},
        // An observer takes no vote with it, but one that is down means that something is wrong.
        Case{"NotWhileOneIsDown", "F L F+", {{4, 'F'}, {5, '-'}}, kFive, 3, "", "in sync"}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Silent, ReplacementTest,
    ::testing::Values(
        // Server 3 of another cluster is gone: with one more there is no majority.
        Case{"OneThatIsReadyIsNotTakenForDead", "s L", {{3, '-'}}, kThree, 1, "", "2 of 3 voters are in sync"},
        Case{"NorTheLeader", "F s", {{3, '-'}}, kThree, 1, "", "no single leader"},
        Case{"NorOneThatWasHeardOfAMomentAgo", "h L", {{3, '-'}}, kThree, 1, "", "2 of 3 voters are in sync"},
        Case{"NorOneWhoseLeaderHasJustGone", "l l", {{3, '-'}}, kThree, 0, "", "no single leader", {}, "{}", true},
        Case{"ButOneThatSaysSoForLong", "r L", {{3, '-'}}, kThree, 1, "zk-0", "does not serve"},
        Case{"ItGoesAllTheSameWhereNobodyIsMissed", "s L F", {}, kThree, 2, "zk-0", "may serve"},
        Case{"BeforeOthersForTheyWaitForIt", "s L F F+", {{5, 'F'}}, kFive, 4, "zk-0", "may serve"},
        Case{"ALeaderWhoHasNoticedThatItIsGoneHasItWaitedFor", "s L F", {}, kThree, 1, "", "2 of 3 voters are in sync"},
        Case{"OneThatIsDeadGoesBeforeIt", "s L -", {}, kThree, 1, "zk-2", "does not serve"},
        Case{"TwoAtOnce", "s L s", {}, kThree, 2, "", "server 1 does not serve"},
        Case{"NothingIsToGoThen", "s+L F", {}, kThree, 2, "", "zk-0 has been replaced and does not serve"},
        Case{"BeforeThereWasAQuorum", "s n", {{3, '-'}}, {}, 0, "zk-1", "does not serve"},
        Case{"OnHold", "s L F", {}, kThree, 2, "", "spec.hold is set", {}, R"({"spec": {"hold": true}})"}),
    [](const auto& tested) { return tested.param.name; });

const std::string kHold = R"({"spec": {"hold": true}})";

INSTANTIATE_TEST_SUITE_P(
    Hold, ReplacementTest,
    ::testing::Values(Case{"NothingThatServesStops", "F L F", {}, kThree, 2, "", "spec.hold is set", {}, kHold},
                      Case{"WhatIsDownIsMended", "F L n", {}, kThree, 1, "zk-2", "does not serve", {}, kHold}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WithoutAQuorum, ReplacementTest,
    ::testing::Values(
        Case{"BeforeThereWasOneNothingIsGated", "n n", {{3, '-'}}, {}, 0, "zk-1", "does not serve"},
        Case{"ButOneByOne", "n -+", {{3, '-'}}, {}, 0, "", "does not answer yet"},
        Case{"ThatAnswersIsEnough", "n n+", {{3, '-'}}, {}, 0, "zk-0", "does not serve"},
        Case{"AfterItWasLost", "- n+n", {}, {}, 0, "zk-2", "does not serve", {}, "{}", true},
        Case{"AfterItWasLostVolumesThatGoAreKept",
             "n n n",
             {},
             {},
             0,
             "",
             "nobody leads",
             {},
             R"({"spec": {"storage": {"type": "ephemeral"}}})",
             true},
        Case{"NothingIsThereToLoseYet", "n n n", {}, {}, 0, "zk-2", "", {}, R"({"spec": {"storage": {"type": "ephemeral"}}})"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Replacement, AnAnswerOfTheFormerPodDoesNotCount) {
  Picture picture = PictureOf(SpecOf(3, kThree), Servers("F L F+"), {}, kThree, 2);
  // zk-2 was made anew; what is known is what its predecessor, which has not stopped yet, answered.
  picture.own.erase("zk-2-uid");
  picture.own["zk-2-former"].mode = Mode::kFollower;
  const Ensemble ensemble(picture);
  const auto next = NextReplacement(picture, ensemble, MakingOf(picture));
  EXPECT_FALSE(next.pod);
  EXPECT_EQ(next.why, "pod zk-2 has been replaced and does not serve yet");
}

TEST(Replacement, AMissingPodIsWaitedFor) {
  Picture picture = PictureOf(SpecOf(3, kThree), Servers("F L"), {}, kThree, 2);
  picture.set_replicas = 3;
  const Ensemble ensemble(picture);
  EXPECT_EQ(NextReplacement(picture, ensemble, MakingOf(picture)).why, "a pod has to be made");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::replacement_test
