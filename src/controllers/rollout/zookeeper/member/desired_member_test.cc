#include "controllers/rollout/zookeeper/member/desired_member.h"

#include "controllers/rollout/zookeeper/member/picture_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::desired_member_test {
namespace {

using testing::ObjectOf;
using testing::SpecOf;

TEST(MemberSpec, HasDefaults) {
  const MemberSpec spec = SpecOf(2, {1, 11, 12}, 10);
  EXPECT_EQ(spec.image, "zookeeper:3.8");
  EXPECT_EQ(spec.IdOf(0), 11);
  EXPECT_EQ(spec.servers.size(), 3U);
  EXPECT_EQ(spec.config.at("tickTime"), "2000");
  EXPECT_EQ(spec.config.at("autopurge.snapRetainCount"), "3");
  EXPECT_EQ(spec.client_port, 2181);
  EXPECT_FALSE(spec.ephemeral);
  EXPECT_EQ(spec.revision, "r");
}

TEST(MemberSpec, PodsMayBeginAtAnOrdinal) {
  const MemberSpec spec = SpecOf(2, {1, 11, 12}, 10, R"({"spec": {"ordinalsStart": 10}})");
  EXPECT_EQ(spec.IdOf(10), 11);
}

TEST(MemberSpec, ImagesHaveTagsOrDigests) {
  EXPECT_EQ(SpecOf(0, {}, 0, R"({"spec": {"image": {"repository": "r/zk", "tag": "3.8.4"}}})").image, "r/zk:3.8.4");
  EXPECT_EQ(SpecOf(0, {}, 0, R"({"spec": {"image": {"tag": "sha256:ab"}}})").image, "zookeeper@sha256:ab");
}

TEST(MemberSpec, NoServersAreFine) { EXPECT_EQ(SpecOf(0, {}).replicas, 0); }

struct Case {
  std::string name, more, wrong;
};
class WrongMemberSpecTest : public ::testing::TestWithParam<Case> {};

TEST_P(WrongMemberSpecTest, SaysWhat) {
  const auto spec = DecodeMemberSpec(ObjectOf(3, {1, 2, 3}, 0, GetParam().more));
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().message(), GetParam().wrong);
  EXPECT_EQ(spec.error().code(), base::Code::kBadRequest);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, WrongMemberSpecTest,
    ::testing::Values(
        Case{"Replicas", R"({"spec": {"replicas": -1}})", "spec.replicas: not a whole number from 0 to 255"},
        Case{"FarOffset", R"({"spec": {"myidOffset": 9223372036854775807}})",
             "spec.myidOffset: not a whole number from 0 to 255"},
        Case{"FarOrdinals", R"({"spec": {"ordinalsStart": 9223372036854775807}})",
             "spec.ordinalsStart: not a whole number from 0 to 2147483647"},
        Case{"Leaving", R"({"spec": {"leaving": [0]}})", "spec.leaving[0]: not a whole number from 1 to 255"},
        Case{"Offset", R"({"spec": {"myidOffset": 253}})", "spec.myidOffset: the ids 254 to 256 are not from 1 to 255"},
        Case{"MissingLine", R"({"spec": {"replicas": 4}})", "spec.servers: there is no server.4, which is replica 3 here"},
        Case{"IllFormedLine", R"({"spec": {"servers": ["server.1=a"]}})", "spec.servers: \"server.1=a\": it names no host"},
        Case{"NoClientPort", R"({"spec": {"replicas": 1, "servers": ["server.1=a:1:2"]}})",
             "spec.servers: server.1 has no port for clients"},
        Case{"Port", R"({"spec": {"ports": {"client": 0}}})", "spec.ports.client: not a whole number from 1 to 65535"},
        Case{"RecoveryName", R"({"spec": {"recovery": {"request": "a b"}}})",
             "spec.recovery.request: letters, digits and -_.:+ only"},
        Case{"RecoveryList", R"({"spec": {"recovery": {"request": "a", "servers": []}}})", "spec.recovery.servers: empty"},
        Case{"RecoveryAbsent",
             R"({"spec": {"recovery": {"request": "a", "servers": ["server.1=a:1:2:participant;3"], "absent": [2]}}})",
             "spec.recovery.absent: not ids of spec.recovery.servers"},
        Case{"Abandoned", R"({"spec": {"abandoned": true}})", "spec.abandoned: is only for clusters with no replicas"},
        Case{"Storage", R"({"spec": {"storage": {"type": "tape"}}})",
             R"(spec.storage.type: "tape" is not persistent or ephemeral)"},
        Case{"ReservedKey", R"({"spec": {"config": {"extra": {"reconfigEnabled": "false"}}}})",
             "spec.config.extra.reconfigEnabled: is not for you to set"},
        Case{"OfItsOwn", R"({"spec": {"config": {"extra": {"tickTime": "soon"}}}})",
             "spec.config.extra.tickTime: has a field of its own, spec.config.tickTime"},
        Case{"TwoLines", R"({"spec": {"config": {"extra": {"a": "1\nserver.9=x:1:2"}}}})",
             "spec.config.extra.a: not one line of text"},
        Case{"NoKey", R"({"spec": {"config": {"extra": {"a=b": "1"}}}})", "spec.config.extra.a=b: not a key of zoo.cfg"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::desired_member_test
