#include "balancing/model/service_groups.h"

#include <gtest/gtest.h>

#include <set>

#include "balancing/input/cluster_reader.h"
#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::service_groups_test {
namespace {

using testing::ClusterBuilder;
using Names = std::vector<std::vector<std::string>>;

Names NamesOf(const Cluster& cluster) {
  Names names;
  for (const ServiceGroup& group : GroupServices(cluster).groups) {
    names.emplace_back();
    for (const ServiceId id : group.services) names.back().push_back(cluster.services[id].name);
  }
  return names;
}

// One service per entry: its name and its metrics.
Cluster With(std::initializer_list<std::pair<std::string, std::vector<std::string>>> services) {
  ClusterBuilder builder;
  for (const auto& [name, metrics] : services) {
    const ServiceId id = builder.Service(name, {});
    for (const std::string& metric : metrics) {
      builder.cluster().services[id].metrics.push_back({.metric = builder.Metric(metric), .weight = 1});
    }
  }
  return std::move(builder.cluster());
}

TEST(ServiceGroupsTest, S7ServicesThatShareMetricsInAChainAreOneGroup) {
  const Cluster cluster = With({{"S1", {"M1", "M2"}}, {"S2", {"M2", "M3"}}, {"S3", {"M3", "M4"}}, {"S4", {"M99"}}});
  EXPECT_EQ(NamesOf(cluster), (Names{{"S1", "S2", "S3"}, {"S4"}}));
  const ServiceGroups groups = GroupServices(cluster);
  EXPECT_EQ(groups.group_of_service, (std::vector<uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(groups.group_of_metric, (std::vector<uint32_t>{0, 0, 0, 0, 1}));
  ASSERT_EQ(groups.groups[0].metrics.size(), 4u);
  EXPECT_EQ(cluster.metrics[groups.groups[0].metrics[3]].name, "M4");
}

TEST(ServiceGroupsTest, S8DroppingTheSharedMetricSplitsTheGroup) {
  EXPECT_EQ(NamesOf(With({{"S1", {"M1", "M2"}}, {"S2", {"M3"}}, {"S3", {"M3", "M4"}}, {"S4", {"M99"}}})),
            (Names{{"S1"}, {"S2", "S3"}, {"S4"}}));
}

TEST(ServiceGroupsTest, D1ServicesWithDefaultMetricsAreOneGroup) {
  const auto file = ReadCluster("services: [{name: d}, {name: c}, {name: a, kind: stateful}, {name: b}]", "s", {});
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(NamesOf(file->cluster), (Names{{"a", "b", "c", "d"}}));
}

TEST(ServiceGroupsTest, D2GroupsMergeAndSplitAsServicesComeAndGo) {
  const std::pair<std::string, std::vector<std::string>> one = {"1", {"M1", "M2"}}, two = {"2", {"M3", "M4"}},
                                                         three = {"3", {"M1", "M4"}};
  EXPECT_EQ(NamesOf(With({one, two})).size(), 2u);
  EXPECT_EQ(NamesOf(With({one, two, three})).size(), 1u);
  EXPECT_EQ(NamesOf(With({one, two})).size(), 2u);
  EXPECT_EQ(NamesOf(With({one})).size(), 1u);
  EXPECT_EQ(NamesOf(With({})).size(), 0u);
}

TEST(ServiceGroupsTest, D6AffinityConnectsTheMetricsOfParentAndChild) {
  Cluster cluster = With({{"S1", {"M1"}}, {"S2", {"M2"}}, {"S3", {"M1", "M2"}}, {"N", {"M3"}}});
  EXPECT_EQ(NamesOf(cluster), (Names{{"N"}, {"S1", "S2", "S3"}}));
  cluster.services[1].affinity_to = 3;
  EXPECT_EQ(NamesOf(cluster), (Names{{"N", "S1", "S2", "S3"}}));
}

TEST(ServiceGroupsTest, D7ChildrenOfOneParentAreOneGroupWhateverTheyReport) {
  Cluster cluster = With({{"A", {"M1"}}, {"B", {"M2"}}, {"C", {"M3"}}, {"D", {"M4"}}});
  for (const ServiceId child : {0u, 2u, 3u}) cluster.services[child].affinity_to = 1;
  EXPECT_EQ(NamesOf(cluster), (Names{{"A", "B", "C", "D"}}));
}

TEST(ServiceGroupsTest, D10AnApplicationConnectsItsServicesOnceItHasALimit) {
  Cluster cluster = With({{"1", {"MyMetric1"}}, {"2", {"MyMetric2"}}, {"3", {"MyMetric3"}}});
  cluster.applications.resize(1);
  cluster.applications[0].metrics = {{.metric = 0}};
  for (const ServiceId service : {0u, 1u}) cluster.services[service].application = 0;
  EXPECT_EQ(NamesOf(cluster).size(), 3u);
  cluster.applications[0].max_nodes = 2;
  EXPECT_EQ(NamesOf(cluster), (Names{{"1", "2"}, {"3"}}));
  cluster.applications[0].max_nodes = 0;
  for (int64_t ApplicationMetric::* limit :
       {&ApplicationMetric::total_capacity, &ApplicationMetric::max_node_capacity, &ApplicationMetric::node_reservation}) {
    cluster.applications[0].metrics[0].*limit = 10;
    EXPECT_EQ(NamesOf(cluster), (Names{{"1", "2"}, {"3"}}));
    cluster.applications[0].metrics[0].*limit = 0;
    EXPECT_EQ(NamesOf(cluster).size(), 3u);
  }
}

TEST(ServiceGroupsTest, AreOrderedByNameWhateverTheOrderOfTheInput) {
  const Cluster cluster = With({{"b", {"M2", "M9"}}, {"c", {"M5"}}, {"a", {"M9", "M1"}}});
  EXPECT_EQ(NamesOf(cluster), (Names{{"a", "b"}, {"c"}}));
  std::vector<std::string> metrics;
  const ServiceGroups groups = GroupServices(cluster);
  for (const MetricId metric : groups.groups[0].metrics) metrics.push_back(cluster.metrics[metric].name);
  EXPECT_EQ(metrics, (std::vector<std::string>{"M1", "M2", "M9"}));
}

// Services as vertices, connected when anything connects them; repeated until nothing changes.
std::set<std::set<ServiceId>> Components(const Cluster& cluster) {
  const auto connected = [&](const Service& a, const Service& b, ServiceId a_id, ServiceId b_id) {
    if (a.affinity_to == b_id || b.affinity_to == a_id) return true;
    if (a.application != kNoId && a.application == b.application && cluster.applications[a.application].max_nodes > 0) {
      return true;
    }
    for (const ServiceMetric& x : a.metrics) {
      for (const ServiceMetric& y : b.metrics) {
        if (x.metric == y.metric) return true;
      }
    }
    return false;
  };
  std::vector<ServiceId> label(cluster.services.size());
  for (ServiceId id = 0; id < label.size(); ++id) label[id] = id;
  for (bool changed = true; changed;) {
    changed = false;
    for (ServiceId a = 0; a < label.size(); ++a) {
      for (ServiceId b = 0; b < label.size(); ++b) {
        if (label[a] <= label[b] || !connected(cluster.services[a], cluster.services[b], a, b)) continue;
        label[a] = label[b];
        changed = true;
      }
    }
  }
  std::map<ServiceId, std::set<ServiceId>> components;
  for (ServiceId id = 0; id < label.size(); ++id) components[label[id]].insert(id);
  std::set<std::set<ServiceId>> all;
  for (const auto& [first, services] : components) all.insert(services);
  return all;
}

TEST(ServiceGroupsTest, AreTheConnectedComponentsOfAnyCluster) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Random random(seed);
    ClusterBuilder builder;
    Cluster& cluster = builder.cluster();
    cluster.applications.resize(2);
    cluster.applications[0].max_nodes = 3;
    const uint64_t services = random.Below(14);
    for (uint64_t i = 0; i < services; ++i) {
      const ServiceId id = builder.Service("s" + std::to_string(random.Next()), {});
      for (uint64_t j = 0; j <= random.Below(3); ++j) {
        const MetricId metric = builder.Metric("M" + std::to_string(random.Below(20)));
        cluster.services[id].metrics.push_back({.metric = metric, .weight = 1});
      }
      if (random.Chance(0.3)) cluster.services[id].application = static_cast<ApplicationId>(random.Below(2));
      if (id > 0 && random.Chance(0.2)) cluster.services[id].affinity_to = 0;
    }
    const ServiceGroups groups = GroupServices(cluster);
    std::set<std::set<ServiceId>> found;
    std::string last;
    for (const ServiceGroup& group : groups.groups) {
      found.insert({group.services.begin(), group.services.end()});
      ASSERT_LT(last, cluster.services[group.services[0]].name) << "seed " << seed;
      last = cluster.services[group.services[0]].name;
      for (const MetricId metric : group.metrics) {
        ASSERT_EQ(groups.group_of_metric[metric], static_cast<uint32_t>(&group - groups.groups.data()));
      }
    }
    ASSERT_EQ(found, Components(cluster)) << "seed " << seed;
  }
}

TEST(ServiceGroupsTest, MergedGroupsKeepTheLaterInstantsAndBeginAnew) {
  const Cluster apart = With({{"a", {"M1"}}, {"b", {"M2"}}}),
                together = With({{"a", {"M1"}}, {"b", {"M2"}}, {"c", {"M1", "M2"}}});
  std::vector<GroupPhase> phases = Regroup({}, apart, GroupServices(apart), 5);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].phase.last_state_change, 5) << "new services are a change";
  phases[0].phase.last_node_down = 7;
  phases[0].phase.last_balancing = 9;
  phases[0].phase.placement_with_move = true;
  phases[0].phase.slow_balancing = true;
  phases[0].phase.last_score = 0.5;
  phases[0].phase.last_balancing_of_node_type = {{"T", 3}};
  phases[1].phase.last_node_up = 8;
  phases[1].phase.last_load_change = 6;
  phases[1].phase.last_balancing = 4;
  phases = Regroup(phases, together, GroupServices(together), 20);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].services, (std::vector<std::string>{"a", "b", "c"}));
  PhaseState expected;
  expected.last_node_down = 7;
  expected.last_node_up = 8;
  expected.last_load_change = 6;
  expected.last_balancing = 9;
  expected.last_state_change = 20;
  expected.last_balancing_of_node_type = {{"T", 4}};
  EXPECT_EQ(phases[0].phase, expected);
}

TEST(ServiceGroupsTest, BothPartsOfASplitRememberWhatTheWholeDid) {
  const Cluster together = With({{"a", {"M1"}}, {"b", {"M1", "M2"}}, {"c", {"M2"}}}),
                apart = With({{"a", {"M1"}}, {"c", {"M2"}}});
  std::vector<GroupPhase> phases = Regroup({}, together, GroupServices(together), 1);
  phases[0].phase.last_balancing = 30;
  phases[0].phase.slow_balancing = true;
  const PhaseState whole = phases[0].phase;
  phases = Regroup(phases, apart, GroupServices(apart), 40);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].phase, whole);
  EXPECT_EQ(phases[1].phase, whole);
}

}  // namespace
}  // namespace evenkeel::balancing::service_groups_test
