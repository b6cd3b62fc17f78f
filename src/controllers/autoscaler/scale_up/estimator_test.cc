#include "controllers/autoscaler/scale_up/estimator.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::estimator_test {
namespace {

using scheduling::PodId;
using scheduling::testing::kHost;
using scheduling::testing::kZone;
using scheduling::testing::PodMaker;
using testing::kMebibyte;
using testing::MakeNode;
using testing::MakePod;

struct Case {
  int64_t node_cpu, node_memory;  // milli, MiB
  int64_t limit = 0;
  int node_pods = 10;
};

class EstimatorTest : public ::testing::Test {
 protected:
  EstimatorTest() {
    kube::Node old = MakeNode("oldnode", 100, 100 * kMebibyte, {{kZone, "zone-jupiter"}});
    old.allocatable["pods"] = old.capacity["pods"] = 10;
    cluster.AddNode(old);
  }

  void Add(PodMaker pod, int count, const std::string& owner) {
    pod.Namespace("universe").Labels("app=estimatee");
    for (int i = 0; i < count; ++i) {
      base::Ensure(pod.json, {"metadata", "name"}) = owner + "-" + std::to_string(i);
      base::Ensure(pod.json, {"metadata", "uid"}) = owner + "-" + std::to_string(i);
      pods.push_back(cluster.AddPod(pod, owner));
    }
  }

  Estimate Run(const Case& what) {
    kube::Node node = MakeNode("template", what.node_cpu, what.node_memory * kMebibyte, {{kZone, "zone-mars"}});
    node.allocatable["pods"] = node.capacity["pods"] = what.node_pods;
    NodeTemplates templates(cluster.snapshot, cluster.options);
    templates.Set("group", node);
    groups = GroupPods(cluster.snapshot, cluster.pod_facts, pods);
    std::vector<Demand> demands;
    for (const PodGroup& group : groups.groups) demands.push_back({&group, static_cast<int64_t>(group.pods.size())});
    const NodeTemplate& made = *templates.Find("group");
    Estimate estimate = EstimateNodes(cluster.snapshot, made, FreshRoom(cluster.snapshot, made), demands, what.limit, time);
    EXPECT_EQ(cluster.snapshot.node_count(), 1u);
    return estimate;
  }

  void Expect(const Case& what, int64_t nodes, int64_t placed) {
    const Estimate estimate = Run(what);
    EXPECT_EQ(estimate.nodes, nodes);
    EXPECT_EQ(estimate.total_pods(), placed);
  }

  testing::ScaleUpCluster cluster;
  std::vector<PodId> pods;
  PodGroups groups;
  EstimateTime time;
};

TEST_F(EstimatorTest, V1CpuDecides) {
  Add(MakePod("p", 350, 1000), 10, "rs");
  Expect({1000, 2000}, 5, 10);
}

/// A second is over whenever somebody looks.
class HastyClock final : public base::Clock {
 public:
  base::Time Now() const override { return {}; }
  base::Instant Monotonic() const override { return base::Instant(std::chrono::seconds(++looks_)); }

 private:
  mutable int looks_ = 0;
};

TEST_F(EstimatorTest, NoMoreNodesAreAddedWhenItsTimeIsOver) {
  Add(MakePod("p", 350, 1000), 10, "rs");
  const HastyClock clock;
  time = {&clock, std::chrono::seconds(3)};
  Expect({1000, 2000}, 2, 4);
  time.limit = {};
  Expect({1000, 2000}, 5, 10);
}

TEST_F(EstimatorTest, V1TheNumberOfPodsDecides) {
  Add(MakePod("p", 10, 100), 20, "rs");
  Expect({10000, 20000}, 2, 20);
}

TEST_F(EstimatorTest, V1HostPortsDecide) {
  Add(MakePod("p", 200, 1000).HostPort(5555), 8, "rs");
  Expect({1000, 5000}, 8, 8);
}

TEST_F(EstimatorTest, V1TheLimitOnNodesHolds) {
  Add(MakePod("p", 500, 1000), 20, "rs");
  Expect({1000, 5000, 5}, 5, 10);
}

TEST_F(EstimatorTest, V1LargePodsGoFirst) {
  Add(MakePod("p", 50, 1000), 10, "small");
  Add(MakePod("p", 500, 1000), 10, "large");
  const Estimate estimate = Run({1000, 5000, 5});
  EXPECT_EQ(estimate.nodes, 5);
  EXPECT_EQ(estimate.pods, (std::vector<int64_t>{0, 10}));
  EXPECT_EQ(estimate.order, (std::vector<uint32_t>{1, 0}));
}

TEST_F(EstimatorTest, V1HostSpreadWithSkewTwo) {
  Add(MakePod("p", 200, 200).Spread(2, kHost, "app=estimatee", R"({"minDomains":1})"), 8, "rs");
  Expect({1000, 5000}, 4, 8);
}

TEST_F(EstimatorTest, V1ZoneSpreadStopsAtTheSkew) {
  Add(MakePod("p", 20, 100).Spread(2, kZone, "app=estimatee", R"({"minDomains":1})"), 8, "rs");
  Expect({1000, 5000}, 1, 2);
}

TEST_F(EstimatorTest, V1HostSpreadOpensExistingNodes) {
  Add(MakePod("p", 20, 100).Spread(1, kHost, "app=estimatee", R"({"minDomains":3})"), 12, "rs");
  const Estimate estimate = Run({1000, 5000});
  EXPECT_EQ(estimate.nodes, 3);
  EXPECT_EQ(estimate.added, 2);
  EXPECT_EQ(estimate.total_pods(), 12);
}

TEST_F(EstimatorTest, V2ManyPodsOfTwoKinds) {
  Add(MakePod("p", 50, 100), 50'000, "small");
  Add(MakePod("p", 95, 190), 1'000, "large");
  Expect({1000, 5000, 3000, 100}, 2595, 51'000);
}

TEST_F(EstimatorTest, NoNodeIsAddedWhenNoneIsAllowed) {
  Add(MakePod("p", 200, 100), 3, "rs");
  Expect({1000, 5000, -1}, 0, 0);
}

TEST_F(EstimatorTest, EachAntiAffinePodGetsANode) {
  Add(MakePod("p", 200, 100).AntiAffinity(kHost, "app=estimatee"), 7, "rs");
  Expect({1000, 5000}, 7, 7);
}

TEST_F(EstimatorTest, LimitsCombineToTheSmallest) {
  EXPECT_EQ(CombineLimits({0, 0}), 0);
  EXPECT_EQ(CombineLimits({0, 7, 3}), 3);
  EXPECT_EQ(CombineLimits({5, -1, 3}), -1);
}

/// The rules pod by pod, for pods that need nothing but room.
int64_t PodByPod(std::vector<std::pair<int64_t, int64_t>> kinds, int64_t cpu, int64_t limit, std::vector<int64_t>& placed) {
  std::vector<int64_t> free;
  std::vector<size_t> order(kinds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return kinds[a].first > kinds[b].first; });
  placed.assign(kinds.size(), 0);
  size_t next = 0;
  bool may_add = true;
  for (const size_t kind : order) {
    auto& [size, left] = kinds[kind];
    const auto try_added = [&] {
      for (size_t i = 0; i < free.size(); ++i) {
        const size_t node = ((next < free.size() ? next : 0) + i) % free.size();
        if (free[node] < size) continue;
        free[node] -= size;
        next = node + 1;
        return true;
      }
      return false;
    };
    while (left > 0 && try_added()) {
      --left;
      ++placed[kind];
    }
    while (left > 0 && may_add) {
      if (free.empty() || free.back() < size) {
        if (limit > 0 && static_cast<int64_t>(free.size()) >= limit) {
          may_add = false;
          break;
        }
        free.push_back(cpu);
      }
      free.back() -= size;
      --left;
      ++placed[kind];
    }
  }
  return static_cast<int64_t>(free.size());
}

RC_GTEST_PROP(EstimatorProperties, ArithmeticPlacesWhatTriesPodByPodWould, ()) {
  testing::ScaleUpCluster cluster;
  for (const char* name : {"old-1", "old-2", "old-3"}) cluster.AddNode(MakeNode(name, 2000, kMebibyte));
  const auto kinds = *rc::gen::container<std::vector<std::pair<int64_t, int64_t>>>(
      rc::gen::pair(rc::gen::inRange<int64_t>(50, 1000), rc::gen::inRange<int64_t>(1, 30)));
  const int64_t limit = *rc::gen::inRange<int64_t>(0, 12);
  std::vector<PodId> pods;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    for (int64_t i = 0; i < kinds[kind].second; ++i) {
      const std::string name = "p" + std::to_string(kind) + "-" + std::to_string(i);
      pods.push_back(cluster.AddPod(MakePod(name, kinds[kind].first, -1), "owner" + std::to_string(kind)));
    }
  }
  const PodGroups groups = GroupPods(cluster.snapshot, cluster.pod_facts, pods);
  std::vector<Demand> demands;
  for (const PodGroup& group : groups.groups) demands.push_back({&group, static_cast<int64_t>(group.pods.size())});
  NodeTemplates templates(cluster.snapshot, cluster.options);
  templates.Set("group", MakeNode("template", 1000, kMebibyte));
  const NodeTemplate& made = *templates.Find("group");
  const Estimate estimate = EstimateNodes(cluster.snapshot, made, FreshRoom(cluster.snapshot, made), demands, limit);
  std::vector<int64_t> expected;
  RC_ASSERT(estimate.nodes == PodByPod(kinds, 1000, limit, expected));
  RC_ASSERT(estimate.pods == expected);
  RC_ASSERT(estimate.added == estimate.nodes);

  PodGroups tried = groups;
  demands.clear();
  for (PodGroup& group : tried.groups) {
    group.plain = false;
    demands.push_back({&group, static_cast<int64_t>(group.pods.size())});
  }
  const Estimate in_snapshot = EstimateNodes(cluster.snapshot, made, FreshRoom(cluster.snapshot, made), demands, limit);
  RC_ASSERT(in_snapshot.nodes == estimate.nodes);
  RC_ASSERT(in_snapshot.pods == estimate.pods);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::estimator_test
