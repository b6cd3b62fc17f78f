#include "sim/checkers/instance_checkers.h"

#include "sim/checkers/member_checker_testing.h"

namespace evenkeel::sim::instance_checkers_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::kMember;
using testing::kReplica;

/// With a ready node n1 of group g, an hour old.
class InstanceCheckerTest : public testing::MemberCheckerTest {
 protected:
  InstanceCheckerTest() {
    Node("n1");
    Group({}, "system:member-1");
    fleet.time += 1h;
  }

  void Node(const std::string& name, bool leaving = false, bool ready = true) {
    Json node = JsonObject{{"spec", JsonObject{{"providerID", "embedded://g/" + name}}}};
    if (leaving) base::Ensure(node, {"spec", "taints"}) = JsonArray{JsonObject{{"key", "ToBeDeletedByClusterAutoscaler"}}};
    base::Ensure(node, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", ready ? "True" : "False"}}};
    Store("nodes/" + name, node);
  }
  void Group(const std::vector<std::string>& deleting, const std::string& user = kReplica, const JsonArray& instances = {}) {
    Json object = JsonObject{{"spec", JsonObject{{"minSize", 0}, {"maxSize", 3}, {"targetSize", 1}}}};
    base::Ensure(object, {"spec", "deleting"}) = JsonArray(deleting.begin(), deleting.end());
    base::Ensure(object, {"status", "instances"}) = instances;
    Write(user, "nodegroups", "", "g", object);
  }

  controllers::autoscaler::Options options;
};

TEST_F(InstanceCheckerTest, DrainedIsWhatWasMarkedBefore) {
  DrainedChecker checker(&book, &options);
  Attach(checker);
  Group({"embedded://g/n1"});
  EXPECT_NE(Only().find("removed node n1 of member-1, which is ready, without draining it"), std::string::npos);
  Group({});
  Node("n1", true);
  Group({"embedded://g/n1"});
  EXPECT_TRUE(violations.empty());
  Group({});
  Node("n1", false, false);
  Group({"embedded://g/n1"});
  EXPECT_TRUE(violations.empty()) << "a node that is not ready has nothing to be drained of";
  // One that nobody expected any more may go at once.
  Group({}, "system:member-1", JsonArray{JsonObject{{"id", "embedded://g/n2"}}});
  fleet.time += options.max_node_provision_time;
  Node("n2");
  Group({"embedded://g/n2"});
  EXPECT_TRUE(violations.empty());
}

TEST_F(InstanceCheckerTest, WhatHasFailedIsGivenBackInTime) {
  GivenBackChecker checker(&book, &options);
  Attach(checker);
  const auto instance = [](const char* id, const char* state, const char* error) {
    return JsonObject{{"id", id}, {"state", state}, {"errorClass", error}};
  };
  Group({}, "system:member-1",
        JsonArray{instance("a", "Creating", "Other"), instance("b", "Running", "Other"), instance("c", "Creating", "")});
  fleet.time += 10h;
  checker.OnSecond();
  EXPECT_TRUE(violations.empty()) << "there are faults";
  checker.OnHealed();
  fleet.time += checker.Bound();
  checker.OnSecond();
  EXPECT_TRUE(violations.empty());
  fleet.time += 1s;
  checker.OnSecond();
  checker.OnSecond();
  EXPECT_NE(Only().find("instance a of member-1 has failed"), std::string::npos) << "once, and only what has";
}

TEST_F(InstanceCheckerTest, OwnNodesAreThoseOfNoOtherMember) {
  OwnNodesChecker checker(&book);
  Attach(checker);
  const auto call = [&](const std::string& asker, const std::string& group, std::vector<std::string> ids) {
    checker.OnCall({.asker = asker, .owner = kMember, .group = group, .delta = 0, .ids = std::move(ids)});
  };
  call(kMember, "g", {"embedded://g/n1"});
  EXPECT_TRUE(violations.empty()) << "it is its own";
  call("member-2", "g", {"embedded://g/n0"});
  EXPECT_TRUE(violations.empty()) << "it is nobody's";
  call("member-2", "g", {"embedded://g/n0", "embedded://g/n1"});
  EXPECT_NE(Only().find("the autoscaler of member-2 deleted instance embedded://g/n1, which is node n1 of member-1"),
            std::string::npos);
  call(kMember, std::string(kClaimedGroup), {});
  EXPECT_NE(Only().find("changed group claimed"), std::string::npos);
  Node("n2");
  call("member-2", "g", {"embedded://g/n2"});
  EXPECT_TRUE(violations.empty()) << "it has come just now";
  fleet.registered.clear();
  call("member-2", "g", {"embedded://g/n1"});
  EXPECT_TRUE(violations.empty()) << "the cluster is in the fleet no more";
}

}  // namespace
}  // namespace evenkeel::sim::instance_checkers_test
