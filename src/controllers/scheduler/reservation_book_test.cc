#include "controllers/scheduler/reservation_book.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::scheduler::reservation_book_test {
namespace {

using scheduling::kCpu;
using scheduling::NodeId;
using scheduling::testing::NodeMaker;
using scheduling::testing::PodMaker;

constexpr base::Time kNow{std::chrono::hours(500'000)};

kube::Pod PodOf(int number, const std::string& owner, const std::string& node) {
  PodMaker maker("p" + std::to_string(number), std::to_string(100 * (1 + number % 5)) + "m");
  base::Ensure(maker.json, {"metadata", "ownerReferences"}) =
      base::JsonArray{base::JsonObject{{"kind", "ReplicaSet"}, {"name", owner}, {"uid", owner}, {"controller", true}}};
  if (!node.empty()) maker.On(node);
  return kube::Pod::Decode(maker.json);
}

/// Whatever happens in whatever order: what is held is given back, no more and no less.
TEST(ReservationBookTest, HoldsNothingInTheEnd) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    base::Random random(seed);
    const auto any = [&](int below) { return static_cast<int>(random.Below(static_cast<uint64_t>(below))); };
    scheduling::Snapshot snapshot;
    ReservationBook book(snapshot);
    std::vector<std::string> nodes{"n0", "n1", "n2", "n3"};
    for (const std::string& node : nodes) snapshot.UpsertNode(NodeMaker(node).json);
    std::map<std::string, kube::Pod> pods;
    base::Time now = kNow;
    const auto plan = [&] {
      std::vector<scheduling::Reservation> reservations;
      for (int action = 0; action < 4; ++action) {
        if (any(3) == 0) continue;
        const std::string pod = "default/p" + std::to_string(any(8));
        reservations.push_back({static_cast<size_t>(action), nodes[any(4)], nodes[any(4)], pod, "",
                                "rs" + std::to_string(any(2)), now + std::chrono::seconds(any(60)), ""});
      }
      return reservations;
    };
    for (int step = 0; step < 60; ++step) {
      const std::string key = "default/p" + std::to_string(any(8));
      const auto known = pods.find(key);
      switch (any(7)) {
        case 0: {
          if (known != pods.end()) break;
          const kube::Pod pod = PodOf(key.back() - '0', "rs" + std::to_string(any(2)), any(2) == 0 ? nodes[any(4)] : "");
          pods[key] = pod;
          const scheduling::PodId id = snapshot.UpsertPod(*pod.json);
          if (pod.node_name.empty()) book.Adopt(pod, id);
          break;
        }
        case 1:
          if (known == pods.end()) break;
          book.GiveBack(key);
          snapshot.RemovePod(key);
          pods.erase(known);
          break;
        case 2:
          book.Update("plan" + std::to_string(any(2)), plan(), now);
          break;
        case 3: {
          const scheduling::PodId id = snapshot.FindPod(key);
          if (known == pods.end() || snapshot.NodeOf(id) != scheduling::kNone) break;
          const NodeId node = snapshot.FindNodeByName(nodes[any(4)]);
          if (node == scheduling::kNone || !snapshot.Present(node)) break;
          {
            scheduling::WhatIf fork(snapshot);
            book.Lift(book.For(known->second), any(2));
          }
          snapshot.Place(id, node);
          book.Take(known->second, node);
          break;
        }
        case 4:
          now += std::chrono::seconds(any(20));
          book.Expire(now);
          break;
        case 5: {
          const std::string node = nodes[any(4)];
          if (any(2) == 0) {
            snapshot.RemoveNode(node);
          } else {
            snapshot.UpsertNode(NodeMaker(node).json);
            book.Settle();
          }
          break;
        }
        default: {
          const scheduling::PodId id = snapshot.FindPod(key);
          if (known == pods.end() || !known->second.node_name.empty() || snapshot.NodeOf(id) == scheduling::kNone) break;
          snapshot.Unplace(id);
          book.GiveBack(key);
        }
      }
    }
    book.Update("plan0", {}, now);
    book.Update("plan1", {}, now);
    EXPECT_TRUE(book.empty());
    for (const std::string& name : nodes) {
      snapshot.UpsertNode(NodeMaker(name).json);
      const NodeId node = snapshot.FindNodeByName(name);
      EXPECT_TRUE(snapshot.CopiesOn(node).empty()) << seed;
      int64_t used = 0;
      for (const scheduling::PodId pod : snapshot.PodsOn(node)) {
        for (const auto& amount : snapshot.Requests(snapshot.ClassOf(pod))) used += amount.resource == kCpu ? amount.amount : 0;
      }
      EXPECT_EQ(snapshot.Free(node, kCpu), snapshot.Allocatable(node, kCpu) - used) << seed;
    }
  }
}

TEST(ReservationBookTest, SaysWhichNodesHaveRoomAgain) {
  scheduling::Snapshot snapshot;
  ReservationBook book(snapshot);
  for (const char* node : {"n1", "n2", "n3"}) snapshot.UpsertNode(NodeMaker(node).json);
  snapshot.UpsertPod(*PodOf(1, "rs", "n1").json);
  const NodeId target = snapshot.FindNodeByName("n2");
  const scheduling::Reservation reservation{0, "n1", "n2", "default/p1", "", "rs", kNow + std::chrono::seconds(60), ""};
  EXPECT_TRUE(book.Update("plan", {reservation}, kNow).empty());
  EXPECT_EQ(snapshot.Free(target, kCpu), 4000 - 200);
  scheduling::Reservation longer = reservation;
  longer.until += std::chrono::seconds(60);
  EXPECT_TRUE(book.Update("plan", {longer}, kNow).empty());
  EXPECT_EQ(book.NextEnd(), longer.until);
  scheduling::Reservation elsewhere = longer;
  elsewhere.to = "n3";
  EXPECT_EQ(book.Update("plan", {elsewhere}, kNow), ReservationBook::Nodes{target});
  EXPECT_EQ(snapshot.Free(target, kCpu), 4000);
  EXPECT_EQ(book.Expire(elsewhere.until - std::chrono::seconds(1)), ReservationBook::Nodes{});
  EXPECT_EQ(book.Expire(elsewhere.until), ReservationBook::Nodes{snapshot.FindNodeByName("n3")});
  EXPECT_TRUE(book.empty());
  EXPECT_TRUE(book.Update("plan", {elsewhere}, elsewhere.until).empty());
  EXPECT_TRUE(book.empty());
}

}  // namespace
}  // namespace evenkeel::controllers::scheduler::reservation_book_test
