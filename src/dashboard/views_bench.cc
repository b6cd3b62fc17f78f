// What one change costs while a large fleet is looked at: 200 members with 25 nodes each, and one member with 5,000 nodes.
#include <benchmark/benchmark.h>
#include <spdlog/fmt/fmt.h>

#include "dashboard/documents.h"
#include "dashboard/views.h"

namespace evenkeel::dashboard {
namespace {

constexpr int kMembers = 200;
constexpr int kNodes = 5000;

base::Json Row(int i) {
  return JsonObject{{"owner", fmt::format("evenkeel-{}", i % 3)},
                    {"wanted", fmt::format("evenkeel-{}", i % 3)},
                    {"hot", false},
                    {"skip", false},
                    {"detail", ""},
                    {"server", fmt::format("https://member-{}:6443", i)},
                    {"shard", i % 3},
                    {"epoch", 12},
                    {"weight", 20},
                    {"detail", ""}};
}

Update Rows() {
  Update update;
  for (int i = 0; i < kMembers; ++i) update.Set("rows", fmt::format("member-{}", i), Row(i));
  return update;
}

MemberTally::NodePointer Node(int i) {
  NodeRow row;
  row.name = fmt::format("node-{:05}", i);
  row.group = "general";
  row.state = "Ready";
  row.allocatable = {{"cpu", 4000}, {"memory", int64_t{16} << 30}, {"pods", 110}};
  return std::make_shared<const NodeRow>(std::move(row));
}

MemberTally::PodPointer Pod(int i, int node) {
  PodRow row;
  row.key = fmt::format("default/pod-{}", i);
  row.node = fmt::format("node-{:05}", node);
  row.running = true;
  row.requests = {{"cpu", 500}, {"memory", int64_t{1} << 30}, {"pods", 1}};
  return std::make_shared<const PodRow>(std::move(row));
}

/// A pod of one of 200 members comes or goes.
void BM_FleetMemberChanges(benchmark::State& state) {
  const auto view = *NewView("fleet", "hub");
  view->Apply(Topic::kFleet, "", Rows(), {});
  MemberTally tally;
  for (int i = 0; i < kNodes / kMembers; ++i) tally.Node(nullptr, Node(i));
  for (int i = 0; i < kMembers; ++i) {
    Update update;
    update.Set("summary", MemberSummary(tally));
    view->Apply(Topic::kSummary, fmt::format("member-{}", i), update, {});
  }
  view->document().TakePatch();
  int pods = 0;
  for (auto _ : state) {
    tally.Pod(nullptr, Pod(pods, pods % 25));
    ++pods;
    Update update;
    update.Set("summary", MemberSummary(tally));
    view->Apply(Topic::kSummary, "member-7", update, {});
    benchmark::DoNotOptimize(base::ToText(view->document().TakePatch()));
  }
}
BENCHMARK(BM_FleetMemberChanges)->Unit(benchmark::kMicrosecond);

/// A replica renews its Lease: everything is told again, and nothing differs.
void BM_FleetOwnershipIsTold(benchmark::State& state) {
  const auto view = *NewView("fleet", "hub");
  const Update rows = Rows();
  view->Apply(Topic::kFleet, "", rows, {});
  for (auto _ : state) {
    view->Apply(Topic::kFleet, "", rows, {});
    benchmark::DoNotOptimize(view->document().TakePatch());
  }
}
BENCHMARK(BM_FleetOwnershipIsTold)->Unit(benchmark::kMicrosecond);

/// A pod comes to one of 5,000 nodes of a member.
void BM_ClusterNodeChanges(benchmark::State& state) {
  const auto view = *NewView("cluster/member-1", "hub");
  MemberTally tally;
  Update all;
  for (int i = 0; i < kNodes; ++i) {
    const auto node = Node(i);
    tally.Node(nullptr, node);
    all.Set("nodes", node->name, NodeEntry(*node, tally.On(node->name), nullptr));
  }
  tally.TakeChangedNodes();
  view->Apply(Topic::kCluster, "member-1", all, {});
  view->document().TakePatch();
  int pods = 0;
  for (auto _ : state) {
    tally.Pod(nullptr, Pod(pods, pods % kNodes));
    ++pods;
    Update update;
    for (const std::string& name : tally.TakeChangedNodes()) {
      update.Set("nodes", name, NodeEntry(*tally.nodes().at(name), tally.On(name), nullptr));
    }
    update.Set("summary", MemberSummary(tally));
    view->Apply(Topic::kCluster, "member-1", update, {});
    benchmark::DoNotOptimize(base::ToText(view->document().TakePatch()));
  }
}
BENCHMARK(BM_ClusterNodeChanges)->Unit(benchmark::kMicrosecond);

/// The first document of that member, as text.
void BM_ClusterDocument(benchmark::State& state) {
  const auto view = *NewView("cluster/member-1", "hub");
  Update all;
  for (int i = 0; i < kNodes; ++i) all.Set("nodes", Node(i)->name, NodeEntry(*Node(i), {}, nullptr));
  view->Apply(Topic::kCluster, "member-1", all, {});
  size_t bytes = 0;
  for (auto _ : state) bytes = base::ToText(view->document().value()).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_ClusterDocument)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::dashboard
