#include "controllers/rollout/zookeeper/member/members_change.h"

#include "controllers/rollout/zookeeper/member/picture_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::members_change_test {
namespace {

using testing::LineOf;
using testing::Lines;
using testing::PictureOf;
using testing::Server;
using testing::SpecOf;

std::vector<Server> Modes(const std::string& text) {
  std::vector<Server> servers;
  for (const char mode : text) servers.push_back({mode, true});
  return servers;
}

MembersChange Next(const Picture& picture) {
  const Ensemble ensemble(picture);
  return NextMembersChange(picture, ensemble);
}

const std::vector<int64_t> kThree{1, 2, 3};
const std::set<int64_t> kFirstThree{1, 2, 3};
constexpr char kAbandoned[] = R"({"spec": {"abandoned": true}})";

TEST(MembersChange, AFirstDeploymentStartsAllAtOnce) {
  Picture picture = PictureOf(SpecOf(3, kThree), {}, {}, {}, 0);
  picture.set_replicas = std::nullopt;
  const MembersChange next = Next(picture);
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_FALSE(next.change);
  EXPECT_FALSE(next.waits_for.empty());
}

TEST(MembersChange, NothingToDo) {
  const MembersChange next = Next(PictureOf(SpecOf(3, kThree), Modes("LFF"), {}, kThree, 2));
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_FALSE(next.change);
  EXPECT_EQ(next.waits_for, "");
}

TEST(MembersChange, AServerElsewhereThatIsToGoAndDoesNotServeIsLetGoFromHere) {
  const std::vector<int64_t> all{1, 2, 3, 21};
  const MemberSpec wanted = SpecOf(3, kThree, 0, R"({"spec": {"leaving": [21]}})");
  for (const char mode : {'-', 'n'}) {
    Picture picture = PictureOf(wanted, Modes("LFF"), {{21, mode}}, all, 2);
    MembersChange next = Next(picture);
    ASSERT_TRUE(next.change) << mode;
    EXPECT_EQ(next.change->leaving, std::vector<int64_t>{21});
    EXPECT_EQ(next.change->from_version, "100000000");
    EXPECT_EQ(next.waits_for, "") << "the servers here are as they are wanted meanwhile";
    picture.newly_silent = {21};
    EXPECT_FALSE(Next(picture).change) << "it may only restart";
  }
  EXPECT_FALSE(Next(PictureOf(wanted, Modes("LFF"), {{21, 'F'}}, all, 3)).change) << "its own cluster lets it go";
  EXPECT_FALSE(Next(PictureOf(wanted, Modes("LFn"), {{21, '-'}}, all, 1)).change) << "another one is missed as well";
  EXPECT_FALSE(Next(PictureOf(wanted, Modes("LFF"), {}, kThree, 2)).change) << "it is gone";
  EXPECT_FALSE(Next(PictureOf(SpecOf(3, kThree), Modes("LFF"), {{21, '-'}}, all, 2)).change) << "nobody says that it is to go";
}

TEST(MembersChange, NewcomersComeOneByOne) {
  const MemberSpec wanted = SpecOf(5, {1, 2, 3, 4, 5});
  MembersChange next = Next(PictureOf(wanted, Modes("LFF"), {}, kThree, 2));
  EXPECT_EQ(next.set_replicas, 4) << "two newcomers are not started together";
  EXPECT_FALSE(next.change);
  next = Next(PictureOf(wanted, Modes("LFFn"), {}, kThree, 2));
  EXPECT_EQ(next.set_replicas, 4);
  EXPECT_FALSE(next.change) << "it has to serve first";
  next = Next(PictureOf(wanted, Modes("LFFF"), {}, kThree, 2));
  ASSERT_TRUE(next.change);
  EXPECT_EQ(next.change->joining, std::vector{LineOf(4)});
  EXPECT_TRUE(next.change->leaving.empty());
  EXPECT_EQ(next.change->from_version, "100000000");
  EXPECT_EQ(next.via->id, 4);
  next = Next(PictureOf(wanted, Modes("LFFF"), {}, {1, 2, 3, 4}, 3));
  EXPECT_EQ(next.set_replicas, 5);
  EXPECT_FALSE(next.change);
}

TEST(MembersChange, MembersComeBackAllAtOnce) {
  const MembersChange next =
      Next(PictureOf(SpecOf(2, {1, 2, 11, 12, 21}, 10), {}, {{1, 'L'}, {2, 'F'}, {21, 'F'}}, {1, 2, 11, 12, 21}, 2));
  EXPECT_EQ(next.set_replicas, 2);
  EXPECT_FALSE(next.change);
}

TEST(MembersChange, AServerIsLetGoBeforeItStops) {
  const MemberSpec wanted = SpecOf(3, kThree);
  MembersChange next = Next(PictureOf(wanted, Modes("LFFFF"), {}, {1, 2, 3, 4, 5}, 4));
  EXPECT_EQ(next.set_replicas, 5);
  ASSERT_TRUE(next.change);
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{5}) << "the highest id first, one at a time";
  EXPECT_NE(next.via->id, 5);
  next = Next(PictureOf(wanted, Modes("LFFFF"), {}, {1, 2, 3, 4}, 3));
  EXPECT_EQ(next.set_replicas, 4);
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{4});
  next = Next(PictureOf(wanted, Modes("LFFFF"), {}, kThree, 2));
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_FALSE(next.change);
}

TEST(MembersChange, TheLastServerOfAClusterGoes) {
  const MembersChange next =
      Next(PictureOf(SpecOf(0, {1, 2, 11}, 20), Modes("F"), {{1, 'L'}, {2, 'F'}, {11, 'F'}}, {1, 2, 11, 21}, 3));
  EXPECT_EQ(next.set_replicas, 1);
  ASSERT_TRUE(next.change);
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{21});
  EXPECT_EQ(next.via->id, 21) << "nobody else is here";
}

TEST(MembersChange, AllServersGoWithoutAsking) {
  const MembersChange next = Next(PictureOf(SpecOf(0, {}), Modes("LFF"), {}, kThree, 2));
  EXPECT_EQ(next.set_replicas, 0);
  EXPECT_FALSE(next.change);
}

TEST(MembersChange, OthersServersAreTheirOwnConcern) {
  // Another cluster's server is not in the list that is wanted here yet, and one that is wanted has not come.
  const MembersChange next = Next(PictureOf(SpecOf(2, {1, 2, 11, 12}), Modes("LF"), {{11, 'F'}, {21, 'F'}}, {1, 2, 11, 21}, 3));
  EXPECT_EQ(next.set_replicas, 2);
  EXPECT_FALSE(next.change);
  EXPECT_EQ(next.waits_for, "");
}

TEST(MembersChange, NothingChangesWhileNobodyLeads) {
  Picture picture = PictureOf(SpecOf(1, {1}), Modes("nnn"), {}, {}, 0);
  picture.formed = true;
  MembersChange next = Next(picture);
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_FALSE(next.waits_for.empty());
  picture.spec = SpecOf(5, {1, 2, 3, 4, 5});
  next = Next(picture);
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_FALSE(next.waits_for.empty());
}

TEST(MembersChange, WhoeverStandsInForALostServerIsLetGoOnceTheSurvivorsAreTogether) {
  const std::string recovery = R"({"spec": {"recovery": {"request": "flood", "absent": [21, 22], "servers": [)" +
                               Lines({1, 2, 11, 12, 21, 22}) + R"(]}}})";
  const MemberSpec wanted = SpecOf(2, {1, 2, 11, 12}, 0, recovery);
  MembersChange next = Next(PictureOf(wanted, Modes("LF"), {{11, 'F'}, {12, 'F'}}, {1, 2, 11, 12, 21, 22}, 3));
  ASSERT_TRUE(next.change) << "although two are missing";
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{21});
  EXPECT_EQ(next.waits_for, "") << "nothing here waits for that";
  next = Next(PictureOf(wanted, Modes("LF"), {{11, 'F'}, {12, 'F'}}, {1, 2, 11, 12, 22}, 3));
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{22});
  next = Next(PictureOf(wanted, Modes("LF"), {{11, 'F'}, {12, '-'}}, {1, 2, 11, 12, 22}, 2));
  EXPECT_FALSE(next.change) << "a survivor is missed";
  EXPECT_FALSE(Next(PictureOf(wanted, Modes("LF"), {{11, 'F'}, {12, 'F'}}, {1, 2, 11, 12}, 3)).change);
}

TEST(MembersChange, ServersThatWereGivenUpStopWhateverTheySay) {
  Picture picture = PictureOf(SpecOf(0, {31}, 0, kAbandoned), Modes("nnn"), {}, {}, 0);
  picture.formed = true;
  EXPECT_EQ(Next(picture).set_replicas, 0) << "without a leader nobody would let them go";
  picture = PictureOf(SpecOf(0, {31}, 0, kAbandoned), Modes("LFF"), {}, {1, 2, 3, 11, 21}, 2);
  MembersChange next = Next(picture);
  EXPECT_EQ(next.set_replicas, 0) << "and with a leader of their own they are another ensemble";
  EXPECT_FALSE(next.change);
  picture = PictureOf(picture.spec, Modes("FFF"), {{11, 'L'}}, {11, 21}, 1);
  EXPECT_EQ(Next(picture).set_replicas, 0) << "they follow without a vote";
}

TEST(MembersChange, ServersThatWereGivenUpAndAreCountedOnAreLetGoFirst) {
  Picture picture = PictureOf(SpecOf(0, {11}, 0, kAbandoned), Modes("FF"), {{11, 'L'}, {12, 'F'}}, {1, 2, 11, 12}, 3);
  MembersChange next = Next(picture);
  EXPECT_EQ(next.set_replicas, 2);
  ASSERT_TRUE(next.change);
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{2});
  next = Next(PictureOf(picture.spec, Modes("LF"), {{11, 'F'}}, {1, 2, 11}, 2));
  EXPECT_EQ(next.set_replicas, 2) << "also where their leader is here";
  EXPECT_EQ(next.change->leaving, std::vector<int64_t>{2});
}

TEST(MembersChange, WhoWasLetGoByOthersIsTakenInOnlyWithAnotherRevision) {
  Picture picture = PictureOf(SpecOf(3, {1, 2, 3, 11, 21}), Modes("FFF"), {{11, 'L'}, {21, 'F'}}, {11, 21}, 1);
  EXPECT_TRUE(Next(picture).change) << "they come for the first time";
  picture.settled = {2, 3};
  EXPECT_TRUE(Next(picture).change) << "it is new here";
  picture.settled = kFirstThree;
  const MembersChange next = Next(picture);
  EXPECT_FALSE(next.change);
  EXPECT_EQ(next.set_replicas, 3);
  EXPECT_EQ(next.waits_for.substr(0, 21), "server 1 was a member");
}

TEST(MembersChange, WhatBelongsToTheEnsembleIsMadeAnewWhenAllOfItIsGone) {
  Picture picture = PictureOf(SpecOf(3, kThree), {}, {}, {}, 0);
  picture.formed = true;
  EXPECT_EQ(Next(picture).set_replicas, 3);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::members_change_test
