// What holds after any sequence of events, forks and reverts: the snapshot is the one that would be built from nothing, and its
// quick answers are those of asking every node.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "scheduling/world_testing.h"

namespace evenkeel::scheduling::snapshot_properties_test {
namespace {

using testing::NodeMaker;
using testing::Shake;
using testing::Told;
using testing::World;

/// Everything that can be asked, as text.
std::string Picture(Snapshot& snapshot, const std::vector<base::Json>& probes) {
  std::string text;
  for (const NodeId node : snapshot.order()) {
    if (node == kNone) continue;
    text += snapshot.NodeName(node) + ":";
    for (const char* name : {"cpu", "memory", "pods", "example.com/gpu"}) {
      const ResourceId resource = snapshot.FindResource(name);
      text += resource == kNone ? " 0" : " " + std::to_string(snapshot.Free(node, resource));
    }
    std::vector<std::string> pods;
    for (const PodId pod : snapshot.PodsOn(node)) pods.push_back(snapshot.PodKey(pod));
    std::sort(pods.begin(), pods.end());
    for (const std::string& pod : pods) text += " " + pod;
    text += "\n";
  }
  for (const base::Json& probe : probes) {
    const ClassId id = snapshot.InternClass(probe);
    text += snapshot.FailureMessage(id, 0) + " -> ";
    const NodeId found = snapshot.FindNode(id);
    text += (found == kNone ? "nowhere" : snapshot.NodeName(found)) + "\n";
    snapshot.ReleaseClass(id);
  }
  return text;
}

/// Changes at random, inside a fork.
void Wonder(World& world, Snapshot& snapshot, const std::vector<ClassId>& classes, TemplateId made, int& number) {
  std::vector<NodeId> nodes;
  for (const NodeId node : snapshot.order()) {
    if (node != kNone) nodes.push_back(node);
  }
  const NodeId node = nodes.empty() ? kNone : nodes[static_cast<size_t>(world.Below(static_cast<int>(nodes.size())))];
  const PodId pod = snapshot.FindPod(world.Pick({"default/p", "blue/p"}) + std::to_string(world.Below(40)));
  const ClassId id = classes[static_cast<size_t>(world.Below(static_cast<int>(classes.size())))];
  switch (world.Below(7)) {
    case 0:
      snapshot.AddNode(made, "new-" + std::to_string(number++));
      break;
    case 1:
      if (node != kNone) snapshot.DropNode(node);
      break;
    case 2:
      if (node != kNone) snapshot.AddTaint(node, {"dedicated", world.Pick({"a", "z"}), "NoSchedule"});
      break;
    case 3:
      if (node != kNone && pod != kNone && snapshot.NodeOf(pod) == kNone) snapshot.Place(pod, node);
      break;
    case 4:
      if (pod != kNone) snapshot.Unplace(pod);
      break;
    case 5:
      if (node != kNone) snapshot.PlaceCopies(id, node, 1 + world.Below(3));
      break;
    default: {
      std::vector<Placement> placements;
      snapshot.PlaceUpTo(id, world.Below(6), {}, placements);
    }
  }
}

/// The same as PlaceUpTo, one pod and one node after the other.
std::vector<NodeId> OneByOne(Snapshot& snapshot, ClassId id, int64_t pods, uint32_t start, NodeId hint, const NodeSet* only) {
  std::vector<NodeId> placed;
  for (int64_t i = 0; i < pods; ++i) {
    std::vector<NodeId> sequence;
    if (hint != kNone) sequence.push_back(hint);
    const auto order = snapshot.order();
    for (size_t step = 0; step < order.size(); ++step) sequence.push_back(order[(start + step) % order.size()]);
    const auto found = std::find_if(sequence.begin(), sequence.end(), [&](NodeId node) {
      return node != kNone && snapshot.Present(node) && (only == nullptr || only->Has(node)) && snapshot.Check(id, node).fits();
    });
    if (found == sequence.end()) return placed;
    snapshot.PlaceCopies(id, *found, 1);
    placed.push_back(*found);
  }
  return placed;
}

std::vector<base::Json> Probes(World& world) {
  std::vector<base::Json> probes;
  for (int i = 0; i < 8; ++i) probes.push_back(world.Pod("probe").json);
  return probes;
}

TEST(SnapshotPropertiesTest, IncrementalStateIsTheStateBuiltFromNothing) {
  rc::check([](uint64_t seed) {
    World world(seed);
    Snapshot snapshot;
    Told told;
    told.Feed(snapshot);
    const std::vector<base::Json> probes = Probes(world);
    const int steps = 20 + world.Below(120);
    for (int step = 0; step < steps; ++step) {
      Shake(world, snapshot, told);
      if (world.Below(30) != 0) continue;
      Snapshot fresh;
      told.Feed(fresh);
      RC_ASSERT(Picture(snapshot, probes) == Picture(fresh, probes));
    }
    Snapshot fresh;
    told.Feed(fresh);
    RC_ASSERT(Picture(snapshot, probes) == Picture(fresh, probes));
  });
}

TEST(SnapshotPropertiesTest, ForksThatAreTakenBackLeaveNothingBehind) {
  rc::check([](uint64_t seed) {
    World world(seed);
    Snapshot snapshot;
    Told told;
    told.Feed(snapshot);
    for (int step = 0; step < 80; ++step) Shake(world, snapshot, told);
    const std::vector<base::Json> probes = Probes(world);
    std::vector<ClassId> classes;
    for (const base::Json& probe : probes) classes.push_back(snapshot.InternClass(probe));
    const TemplateId made = snapshot.InternTemplate(kube::Node::Decode(NodeMaker("t").Zone("4").json));
    int number = 0;
    std::vector<std::string> before;
    for (int step = 0; step < 120; ++step) {
      if (before.size() < 4 && world.Below(6) == 0) {
        before.push_back(Picture(snapshot, probes));
        snapshot.Fork();
      } else if (!before.empty() && world.Below(12) == 0) {
        snapshot.Commit();
        before.pop_back();
        if (before.empty()) break;
      } else if (!before.empty() && world.Below(8) == 0) {
        snapshot.Revert();
        RC_ASSERT(Picture(snapshot, probes) == before.back());
        before.pop_back();
      } else if (!before.empty()) {
        Wonder(world, snapshot, classes, made, number);
      }
    }
    for (; !before.empty(); before.pop_back()) {
      snapshot.Revert();
      RC_ASSERT(Picture(snapshot, probes) == before.back());
    }
  });
}

/// What a scheduler does outside forks: places pods that wait and takes them back, keeps room and gives it up.
void Assume(World& world, Snapshot& snapshot, const std::vector<ClassId>& classes,
            std::map<std::pair<ClassId, NodeId>, int64_t>& kept) {
  std::vector<NodeId> nodes;
  for (const NodeId node : snapshot.order()) {
    if (node != kNone) nodes.push_back(node);
  }
  if (nodes.empty()) return;
  const NodeId node = nodes[static_cast<size_t>(world.Below(static_cast<int>(nodes.size())))];
  const PodId pod = snapshot.FindPod(world.Pick({"default/p", "blue/p"}) + std::to_string(world.Below(40)));
  if (world.Below(2) == 0) {
    if (pod != kNone && snapshot.NodeOf(pod) == kNone) snapshot.Place(pod, node);
  } else if (kept.empty() || world.Below(3) > 0) {
    const ClassId id = classes[static_cast<size_t>(world.Below(static_cast<int>(classes.size())))];
    snapshot.PlaceCopies(id, node, 1);
    ++kept[{id, node}];
  } else {
    const auto given_up = kept.begin();
    snapshot.PlaceCopies(given_up->first.first, given_up->first.second, -1);
    if (--given_up->second == 0) kept.erase(given_up);
  }
}

TEST(SnapshotPropertiesTest, WhatWasToldIsTheStateWithoutWhatASchedulerAssumes) {
  rc::check([](uint64_t seed) {
    World world(seed);
    Snapshot snapshot;
    Told told;
    told.Feed(snapshot);
    const std::vector<base::Json> probes = Probes(world);
    std::vector<ClassId> classes;
    for (const base::Json& probe : probes) classes.push_back(snapshot.InternClass(probe));
    std::map<std::pair<ClassId, NodeId>, int64_t> kept;
    const int steps = 20 + world.Below(60);
    for (int step = 0; step < steps; ++step) {
      world.Below(3) == 0 ? Assume(world, snapshot, classes, kept) : Shake(world, snapshot, told);
      if (world.Below(40) != 0 && step + 1 != steps) continue;
      Snapshot fresh;
      told.Feed(fresh);
      const std::string with_all = Picture(snapshot, probes);
      {
        const WhatIf as_told(snapshot, Layers::kTold);
        RC_ASSERT(Picture(snapshot, probes) == Picture(fresh, probes));
      }
      RC_ASSERT(Picture(snapshot, probes) == with_all);
    }
  });
}

TEST(SnapshotPropertiesTest, TheSearchAnswersAsAskingEveryNodeWould) {
  rc::check([](uint64_t seed) {
    World world(seed);
    Snapshot snapshot;
    Told told;
    told.Feed(snapshot);
    for (int step = 0; step < 60; ++step) Shake(world, snapshot, told);
    const int nodes = world.Below(3) == 0 ? 150 : 5;
    for (int i = 0; i < nodes; ++i) snapshot.UpsertNode(world.Node("m" + std::to_string(i)).json);
    for (int round = 0; round < 12; ++round) {
      const ClassId id = snapshot.InternClass(world.Pod("probe").json);
      const auto order = snapshot.order();
      const uint32_t start = order.empty() ? 0 : static_cast<uint32_t>(world.Below(static_cast<int>(order.size())));
      const NodeId hint = !order.empty() && world.Below(3) == 0 ? order[start / 2] : kNone;
      NodeSet some;
      for (const NodeId node : order) {
        if (world.Below(2) == 0) some.Add(node);
      }
      const NodeSet* only = world.Below(3) == 0 ? &some : nullptr;
      const int64_t pods = world.Below(60);
      for (const NodeId node : order) RC_ASSERT(snapshot.Fits(id, node) == snapshot.Check(id, node).fits());
      std::vector<NodeId> expected;
      {
        WhatIf what_if(snapshot);
        expected = OneByOne(snapshot, id, pods, start, hint, only);
      }
      if (pods > 0) {
        RC_ASSERT(snapshot.FindNode(id, {start, hint, only}) == (expected.empty() ? kNone : expected.front()));
      }
      std::vector<Placement> placements;
      const int64_t placed = snapshot.PlaceUpTo(id, pods, {start, hint, only}, placements);
      std::vector<NodeId> found;
      for (const Placement& placement : placements)
        found.insert(found.end(), static_cast<size_t>(placement.pods), placement.node);
      RC_ASSERT(found == expected);
      RC_ASSERT(placed == static_cast<int64_t>(expected.size()));
    }
  });
}

}  // namespace
}  // namespace evenkeel::scheduling::snapshot_properties_test
