#include "controllers/rollout/zookeeper/member/member_plan.h"

#include "controllers/rollout/zookeeper/member/picture_testing.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member::member_plan_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;
using testing::ObjectOf;
using testing::PictureOf;
using testing::Server;
using testing::SpecOf;

const std::vector<int64_t> kThree{1, 2, 3}, kFive{1, 2, 11, 12, 21};
const std::vector<Server> kDone{{'L', true}, {'F', true}, {'F', true}};

std::string ConditionOf(const Json& status, std::string_view type) {
  const Json holder = base::JsonObject{{"status", status}};
  const Json* condition = kube::FindCondition(holder, type);
  return condition == nullptr
             ? ""
             : std::string(FindString(*condition, {"status"})) + " " + std::string(FindString(*condition, {"reason"}));
}

Json Report(const Picture& picture, const std::string& status = "{}") {
  Json object = ObjectOf(picture.spec.replicas, {});
  base::Ensure(object, {"status"}) = *base::ParseJson(status, "test");
  return ReportMember(object, picture, PlanMember(picture, {}), base::Time{});
}

TEST(MemberPlan, WhenAllIsDoneTheRevisionIsEchoed) {
  const Picture picture = PictureOf(SpecOf(3, kThree), kDone, {}, kThree, 2);
  const MemberPlan plan = PlanMember(picture, {});
  EXPECT_TRUE(plan.settled);
  EXPECT_FALSE(plan.replace);
  EXPECT_FALSE(plan.change);
  EXPECT_EQ(plan.message, "");
  const Json status = Report(picture);
  EXPECT_EQ(FindString(status, {"observedRevision"}), "r");
  EXPECT_EQ(base::ToText(status.at("settledServers")), "[1,2,3]");
  EXPECT_EQ(FindInt(status, {"observedGeneration"}), 7);
  EXPECT_EQ(FindInt(status, {"readyReplicas"}), 3);
  EXPECT_EQ(FindInt(status, {"updatedReplicas"}), 3);
  EXPECT_EQ(FindInt(status, {"leaderID"}), 1);
  EXPECT_EQ(ConditionOf(status, "Ready"), "True Ready");
  EXPECT_EQ(ConditionOf(status, "QuorumHealthy"), "True Healthy");
  EXPECT_EQ(ConditionOf(status, "Progressing"), "False Complete");
}

TEST(MemberPlan, AHoldIsEchoedAtOnce) {
  const MemberSpec spec = SpecOf(3, kThree, 0, R"({"spec": {"hold": true}})");
  const Picture picture = PictureOf(spec, {{'L', false}, {'F', false}, {'F', false}}, {}, kThree, 2);
  EXPECT_FALSE(PlanMember(picture, {}).replace);
  const Json status = Report(picture, R"({"observedRevision": "former", "settledServers": [1, 2, 3]})");
  EXPECT_EQ(FindString(status, {"observedRevision"}), "r");
  EXPECT_EQ(base::ToText(status.at("settledServers")), "[]") << "nothing has been carried out";
}

TEST(MemberPlan, UntilThenTheFormerRevisionStays) {
  const Picture picture = PictureOf(SpecOf(3, kThree), {{'L', false}, {'F', false}, {'F', true}}, {}, kThree, 2);
  const MemberPlan plan = PlanMember(picture, {});
  ASSERT_TRUE(plan.replace);
  EXPECT_EQ(plan.replace->name, "zk-1");
  const Json status = Report(picture, R"({"observedRevision": "former"})");
  EXPECT_EQ(FindString(status, {"observedRevision"}), "former");
  EXPECT_EQ(FindInt(status, {"updatedReplicas"}), 1);
  EXPECT_EQ(ConditionOf(status, "Progressing"), "True Replacing");
  EXPECT_EQ(ConditionOf(status, "Ready"), "False ServersNotReady");
}

TEST(MemberPlan, NothingIsReplacedBeforeTheStatefulSetKnowsWhatIsWanted) {
  Picture picture = PictureOf(SpecOf(3, kThree), {{'L'}, {'F'}, {'F'}}, {}, kThree, 2);
  picture.set_revision = "old";
  const MemberPlan plan = PlanMember(picture, {});
  EXPECT_FALSE(plan.replace);
  EXPECT_TRUE(plan.stateful_set);
}

TEST(MemberPlan, WhilePausedNothingIsWritten) {
  Picture picture =
      PictureOf(SpecOf(4, {1, 2, 3, 4}, 0, R"({"spec": {"paused": true}})"), {{'L'}, {'F'}, {'F'}}, {}, kThree, 2);
  const MemberPlan plan = PlanMember(picture, {});
  EXPECT_TRUE(plan.objects.empty());
  EXPECT_FALSE(plan.stateful_set);
  EXPECT_FALSE(plan.replace);
  EXPECT_FALSE(plan.change);
  EXPECT_EQ(ConditionOf(Report(picture), "Progressing"), "False Paused");
}

TEST(MemberPlan, InTheFirstDeploymentRunningIsEnough) {
  // Two of five, and nobody else yet: no quorum, but everything here is as the spec says.
  const Picture picture = PictureOf(SpecOf(2, kFive), {{'n', true}, {'n', true}}, {{11, '-'}}, {}, 0);
  const Json status = Report(picture);
  EXPECT_EQ(FindString(status, {"observedRevision"}), "r");
  EXPECT_EQ(FindInt(status, {"readyReplicas"}), 0);
  EXPECT_EQ(base::FindArray(status, {"members"}).size(), 2U) << "those that run are told, for the hub counts them";
  EXPECT_EQ(ConditionOf(status, "QuorumHealthy"), "False NotFormed");
  EXPECT_FALSE(base::FindBool(status, {"formed"}));
}

TEST(MemberPlan, AClusterWithoutServersEchoes) {
  Picture picture = PictureOf(SpecOf(0, {}), {}, {}, {}, 0);
  EXPECT_EQ(FindString(Report(picture), {"observedRevision"}), "r");
  picture.set_replicas = 1;
  EXPECT_EQ(FindString(Report(picture), {"observedRevision"}), "") << "a pod may still come";
}

TEST(MemberPlan, AQuorumThatWasThereIsRemembered) {
  Picture picture = PictureOf(SpecOf(3, kThree), kDone, {}, kThree, 2);
  EXPECT_TRUE(base::FindBool(Report(picture), {"formed"}));
  picture = PictureOf(SpecOf(3, kThree), {{'n', true}, {'n', true}, {'n', true}}, {}, {}, 0);
  picture.formed = true;
  const Json status = Report(picture, R"({"leaderID": 1, "formed": true})");
  EXPECT_TRUE(base::FindBool(status, {"formed"}));
  EXPECT_EQ(base::Find(status, {"leaderID"}), nullptr);
  EXPECT_EQ(ConditionOf(status, "QuorumHealthy"), "False QuorumLost");
}

TEST(MemberPlan, TheHubReadsTheStatusAsItIsMeant) {
  const Picture picture =
      PictureOf(SpecOf(2, kFive, 0), {{'F', true}, {'L', true}}, {{11, 'F'}, {12, 'F'}, {21, 'F'}}, kFive, 4);
  const Json binding = base::JsonObject{
      {"status",
       base::JsonObject{{"aggregatedStatus",
                         base::JsonArray{base::JsonObject{
                             {"clusterName", "m1"}, {"applied", true}, {"health", "Healthy"}, {"status", Report(picture)}}}}}}};
  FleetObjects objects;
  objects.binding = &binding;
  const FleetReading fleet = ReadFleet(objects, {"m1"});
  const MemberReading& member = fleet.Of("m1");
  EXPECT_EQ(member.observed_revision, "r");
  EXPECT_EQ(member.ready, 2);
  EXPECT_EQ(member.replicas, 2);
  EXPECT_EQ(ReadyIds(member, {1, 2}), (Ids{1, 2}));
  ASSERT_TRUE(FindLeader(fleet));
  EXPECT_EQ(FindLeader(fleet)->id, 2);
}

TEST(MemberPlan, ANewcomerWithoutAVoteIsNotInSyncForTheHub) {
  const Picture picture =
      PictureOf(SpecOf(4, {1, 2, 3, 4}), {{'L', true}, {'F', true}, {'F', true}, {'F', true}}, {}, kThree, 2);
  const Json status = Report(picture);
  EXPECT_FALSE(base::FindBool(base::FindArray(status, {"members"})[3], {"synced"}));
  EXPECT_EQ(FindString(status, {"observedRevision"}), "");
  EXPECT_EQ(ConditionOf(status, "Progressing"), "True MembersChange");
}

TEST(MemberPlan, AsksPodsByTheirAddressAndOthersByTheirName) {
  Picture picture = PictureOf(SpecOf(2, kFive), {{'F'}, {'t'}}, {}, {}, 0);
  const auto known = *ParseServerLines({"server.31=h31:1:2;127.0.0.9:5"});
  const auto questions = Questions(picture, known);
  ASSERT_EQ(questions.size(), 5U) << "not one that is going";
  EXPECT_EQ(questions[0].endpoint, (Endpoint{1, "10.0.0.0", 2181}));
  EXPECT_EQ(questions[0].uid, "zk-0-uid");
  EXPECT_EQ(questions[1].endpoint, (Endpoint{11, "h11", 2181}));
  EXPECT_EQ(questions[1].uid, "");
  EXPECT_EQ(questions[4].endpoint, (Endpoint{31, "127.0.0.9", 5})) << "a member that is not wanted any more";
}

TEST(MemberPlan, WhoeverServesTellsWhomToAsk) {
  const auto told = [](const std::vector<int64_t>& ids, const std::string& version, Picture& picture, const std::string& uid) {
    for (const int64_t id : ids) picture.own[uid].servers.push_back(*ParseServerLine(testing::LineOf(id)));
    picture.own[uid].config_version = version;
  };
  Picture picture = PictureOf(SpecOf(3, {1, 2, 3, 11}), {{'F'}, {'F'}, {'n'}}, {{11, '-'}}, {}, 0);
  EXPECT_TRUE(Ensemble(picture).heard().empty());
  told({1, 2, 3, 11}, "f00000001", picture, "zk-0-uid");
  told({1, 2, 3, 21}, "1000000001", picture, "zk-1-uid");
  told({1, 2, 3, 31}, "2000000001", picture, "zk-2-uid");
  const auto heard = Ensemble(picture).heard();
  ASSERT_EQ(heard.size(), 4U);
  EXPECT_EQ(heard.back().id, 21) << "the newest of those who serve";
  EXPECT_TRUE(Ensemble(picture).servers().empty()) << "only a leader says what counts";
  EXPECT_EQ(Questions(picture, heard).back().endpoint, (Endpoint{21, "h21", 2181}));
  picture = PictureOf(SpecOf(3, kThree), {{'L'}, {'F'}, {'F'}}, {}, {1, 2, 3, 41}, 2);
  told(kThree, "2000000001", picture, "zk-1-uid");
  EXPECT_EQ(Ensemble(picture).heard().back().id, 41) << "a leader's word counts, whatever others have";
}

TEST(MemberPlan, AnInvalidSpecIsReported) {
  const Json status = ReportInvalid(ObjectOf(1, {}), kInvalidSpec, "spec.servers: x", base::Time{});
  EXPECT_EQ(ConditionOf(status, "Valid"), "False InvalidSpec");
  EXPECT_EQ(ConditionOf(status, "Ready"), "False InvalidSpec");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::member_plan_test
