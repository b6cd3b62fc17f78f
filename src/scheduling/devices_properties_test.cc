// Random clusters with devices: nobody gets what another one has, and a snapshot that has lived through events and forks
// answers as one that was made anew.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::scheduling::devices_properties_test {
namespace {

using testing::ClaimMaker;
using testing::DeviceClassOf;
using testing::Json;
using testing::JsonArray;
using testing::JsonObject;
using testing::NodeMaker;
using testing::Parse;
using testing::PodMaker;
using testing::SliceMaker;
using testing::Text;

constexpr int kNodes = 4, kPods = 14;

std::string Named(const char* prefix, int number) { return prefix + std::to_string(number); }

/// What was told, and a snapshot that has heard it.
class DeviceWorld {
 public:
  explicit DeviceWorld(uint64_t seed) : random_(seed) {
    Tell(DeviceKind::kDeviceClass, DeviceClassOf("gpu"));
    Tell(DeviceKind::kDeviceClass, Parse(R"({"metadata":{"name":"any"},"spec":{}})"));
    for (int i = 0; i < kNodes; ++i) {
      NodeMaker node(Named("n", i));
      node.Zone(Named("z", i % 2));
      nodes_[Named("n", i)] = node.json;
      snapshot.UpsertNode(node.json);
      Renew(i);
    }
    for (int i = 0; i < kPods; ++i) Arrive(i);
  }

  int Below(int bound) { return static_cast<int>(random_.Below(static_cast<uint64_t>(bound))); }
  template <size_t N>
  std::string Pick(const char* const (&values)[N]) {
    return values[random_.Below(N)];
  }

  /// One thing happens.
  void Step() {
    const int pod = Below(kPods);
    switch (Below(8)) {
      case 0:
        Renew(Below(kNodes));
        break;
      case 1:
        Leave(pod);
        Arrive(pod);
        break;
      default:
        Schedule(pod);
    }
  }

  /// As a scheduler: a node, the devices, then what it writes comes back as events.
  void Schedule(int number) {
    const PodId pod = snapshot.FindPod(Named("default/p", number));
    if (pod == kNone || snapshot.NodeOf(pod) != kNone) return;
    const NodeId node = snapshot.FindNode(snapshot.ClassOf(pod));
    if (node == kNone) return;
    ++scheduled;
    snapshot.Place(pod, node);
    const PlacedDevices placed = snapshot.DevicesOf(pod);
    for (const PlacedClaim& claim : placed.claims) ASSERT_NE(claim.allocation, nullptr) << "it was said to fit";
    CheckUse();
    for (const PlacedClaim& claim : placed.claims) {
      Json& json = claims_["default/" + claim.claim];
      base::Ensure(json, {"status", "allocation"}) = claim.allocation->ToJson([] { return std::string("share"); });
      Json& reserved = base::Ensure(json, {"status", "reservedFor"});
      if (!reserved.is_array()) reserved = JsonArray{};
      reserved.as_array().push_back(
          JsonObject{{"resource", "pods"}, {"name", Named("p", number)}, {"uid", Named("p", number)}});
      snapshot.UpsertDevices(DeviceKind::kResourceClaim, json);
    }
    Json& json = pods_[Named("default/p", number)];
    base::Ensure(json, {"spec", "nodeName"}) = snapshot.NodeName(node);
    snapshot.UpsertPod(json);
    CheckUse();
  }

  /// No device is given twice, and no counter or capacity overdrawn.
  void CheckUse() {
    for (const NodeId node : snapshot.order()) {
      for (const NodePool& pool : snapshot.PoolsOn(node).pools) {
        std::map<std::string, double> counters;
        for (const auto* devices : {&pool.devices, &pool.elsewhere}) {
          for (const PooledDevice& device : *devices) {
            ASSERT_LE(device.use->claims, 1) << pool.name.ToString() << "/" << device.device->name;
            ASSERT_GE(device.use->claims, 0);
            for (const auto& [name, amount] : device.use->consumed) {
              const auto capacity = device.device->capacity.find(name);
              if (capacity != device.device->capacity.end()) ASSERT_LE(amount, capacity->second.value);
            }
            if (device.use->claims == 0 && device.use->shares == 0) continue;
            for (const CounterSet& set : device.device->consumes) {
              for (const auto& [name, amount] : set.counters) counters[set.name + name] += amount.ApproximateValue();
            }
          }
        }
        for (const CounterSet* set : pool.counters) {
          for (const auto& [name, amount] : set->counters) ASSERT_LE(counters[set->name + name], amount.ApproximateValue());
        }
      }
    }
  }

  /// The same objects told to another snapshot, in another order.
  void FeedShuffled(Snapshot& other) {
    std::vector<std::function<void()>> events;
    for (const auto& [key, json] : nodes_) events.push_back([&] { other.UpsertNode(json); });
    for (const auto& [key, json] : pods_) events.push_back([&] { other.UpsertPod(json); });
    for (const auto& [key, json] : claims_) events.push_back([&] { other.UpsertDevices(DeviceKind::kResourceClaim, json); });
    for (const auto& [key, json] : slices_) events.push_back([&] { other.UpsertDevices(DeviceKind::kResourceSlice, json); });
    for (const auto& [key, json] : classes_) events.push_back([&] { other.UpsertDevices(DeviceKind::kDeviceClass, json); });
    for (size_t i = events.size(); i > 1; --i) std::swap(events[i - 1], events[random_.Below(i)]);
    for (const auto& event : events) event();
  }

  /// What each node says of each pod, and what each pod has or would get.
  static std::string Answers(Snapshot& of) {
    std::string text;
    for (int i = 0; i < kPods; ++i) {
      const PodId pod = of.FindPod(Named("default/p", i));
      if (pod == kNone) continue;
      const ClassId pod_class = of.ClassOf(pod);
      text += Named("\np", i) + " [" + Text(of.DevicesOf(pod)) + "]";
      for (const NodeId node : of.order()) {
        const Fit fit = of.Check(pod_class, node);
        EXPECT_EQ(fit.fits(), of.Fits(pod_class, node));
        text += " " + of.NodeName(node) + ":" + (fit.fits() ? Text(of.DevicesFor(pod_class, node)) : fit.reasons.at(0).text);
      }
    }
    return text;
  }

  /// Tries things in a fork, at random.
  void Try() {
    for (int i = Below(12); i > 0; --i) {
      const PodId pod = snapshot.FindPod(Named("default/p", Below(kPods)));
      const NodeId node = snapshot.FindNodeByName(Named("n", Below(kNodes)));
      if (pod == kNone) continue;
      const ClassId pod_class = snapshot.ClassOf(pod);
      switch (Below(4)) {
        case 0:
          snapshot.Unplace(pod);
          break;
        case 1: {
          const NodeId fits = snapshot.FindNode(pod_class);
          if (snapshot.NodeOf(pod) == kNone && fits != kNone) snapshot.Place(pod, fits);
          break;
        }
        case 2:
          if (snapshot.NodeOf(pod) == kNone) snapshot.Place(pod, node);
          break;
        default: {
          std::vector<Placement> placements;
          snapshot.PlaceUpTo(pod_class, 1 + Below(3), {}, placements);
          if (!placements.empty() && Below(2) == 0) snapshot.PlaceCopies(pod_class, placements[0].node, -1);
        }
      }
      CheckUse();
    }
  }

  Snapshot snapshot;
  int scheduled = 0;  ///< pods that were placed

 private:
  void Tell(DeviceKind kind, const Json& json) {
    const std::string key = kube::KeyOf(json);
    (kind == DeviceKind::kResourceSlice ? slices_ : kind == DeviceKind::kDeviceClass ? classes_ : claims_)[key] = json;
    snapshot.UpsertDevices(kind, json);
  }

  std::string RandomDevice() {
    std::string more =
        R"({"attributes":{"model":{"string":")" + Pick({"a", "b"}) + R"("},"numa":{"int":)" + Pick({"0", "1"}) + "}}";
    if (Below(6) == 0) more += R"(,"taints":[{"key":"broken","effect":"NoSchedule"}])";
    if (Below(5) == 0) more += R"(,"allowMultipleAllocations":true,"capacity":{"memory":{"value":"8Gi"}})";
    return more + "}";
  }

  /// The driver on the node tells of other devices. Names stay, so that claims keep what they have.
  void Renew(int node) {
    const int generation = ++generation_;
    const bool counters = node % 2 == 0;
    SliceMaker slice(Named("n", node));
    slice.Pool(Named("n", node), generation, counters || Below(8) == 0 ? 2 : 1);
    for (int i = 0; i < 4; ++i) slice.Device(Named("gpu-", i), DeviceOf(node, i));
    if (counters) {
      for (const char* half : {"half-0", "half-1"}) {
        slice.Device(half, R"({"consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}}}]})");
      }
      slice.Device("whole", R"({"consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"2"}}}]})");
      SliceMaker sets(Named("n", node));
      sets.Named(Named("counters-", node)).Pool(Named("n", node), generation, 2);
      sets.Spec("sharedCounters", R"([{"name":"s","counters":{"m":{"value":"2"}}}])");
      Tell(DeviceKind::kResourceSlice, sets.json);
    }
    Tell(DeviceKind::kResourceSlice, slice.json);
  }

  const std::string& DeviceOf(int node, int number) {
    std::string& device = devices_[{node, number}];
    if (device.empty()) device = RandomDevice();
    return device;
  }

  void Arrive(int number) {
    const std::string pod = Named("p", number), claim = Named("c", number);
    const std::string requests = Pick({
        R"([{"name":"r","exactly":{"deviceClassName":"gpu"}}])",
        R"([{"name":"r","exactly":{"deviceClassName":"gpu","count":2}}])",
        R"([{"name":"r","exactly":{"deviceClassName":"any","count":3}},{"name":"s","exactly":{"deviceClassName":"gpu"}}])",
        R"([{"name":"r","exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":
            "has(device.attributes['gpu.example.com'].model) && device.attributes['gpu.example.com'].model == 'a'"}}]}}])",
        R"([{"name":"r","firstAvailable":[{"name":"two","deviceClassName":"gpu","count":2,"tolerations":[{"operator":"Exists"}]},
            {"name":"one","deviceClassName":"any"}]}])",
        R"([{"name":"r","exactly":{"deviceClassName":"gpu","adminAccess":true}}])",
        R"([{"name":"r","exactly":{"deviceClassName":"any","capacity":{"requests":{"memory":"3Gi"}}}}])",
        R"([{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"All","tolerations":[{"operator":"Exists"}]}}])",
    });
    ClaimMaker made(claim);
    made.Requests(requests);
    if (Below(4) == 0) {
      base::Ensure(made.json, {"spec", "devices", "constraints"}) = Parse(R"([{"matchAttribute":"gpu.example.com/numa"}])");
    }
    const bool own = number % 3 != 0;
    if (own) made.Of(pod);
    Tell(DeviceKind::kResourceClaim, made.json);
    PodMaker maker(pod, "100m");
    // Some share the claim of another pod.
    const std::string of = number % 6 == 3 ? "c0" : claim;
    const Json json = own ? testing::WithOwnClaim(maker, claim).json : testing::WithClaim(maker, of).json;
    pods_["default/" + pod] = json;
    snapshot.UpsertPod(json);
  }

  void Leave(int number) {
    const std::string pod = Named("default/p", number), claim = Named("default/c", number);
    pods_.erase(pod);
    claims_.erase(claim);
    // In either order: the pod may be seen to go before its claim, or after it.
    if (Below(2) == 0) snapshot.RemovePod(pod);
    snapshot.RemoveDevices(DeviceKind::kResourceClaim, claim);
    snapshot.RemovePod(pod);
  }

  base::Random random_;
  std::map<std::string, Json> nodes_, pods_, claims_, slices_, classes_;
  std::map<std::pair<int, int>, std::string> devices_;
  int generation_ = 0;
};

TEST(DevicesPropertiesTest, NobodyGetsWhatAnotherOneHas) {
  int scheduled = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    DeviceWorld world(seed);
    for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
      world.Step();
      world.CheckUse();
    }
    scheduled += world.scheduled;
  }
  EXPECT_GT(scheduled, 400) << "something happens";
}

TEST(DevicesPropertiesTest, ASnapshotThatHasLivedAnswersAsOneMadeAnewInAnyOrder) {
  for (uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    DeviceWorld world(seed);
    for (int i = 0; i < 40; ++i) world.Step();
    Snapshot anew;
    world.FeedShuffled(anew);
    EXPECT_EQ(DeviceWorld::Answers(world.snapshot), DeviceWorld::Answers(anew));
  }
}

TEST(DevicesPropertiesTest, ARevertedForkLeavesNothing) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    DeviceWorld world(seed);
    for (int i = 0; i < 25; ++i) world.Step();
    const std::string before = DeviceWorld::Answers(world.snapshot);
    {
      WhatIf outer(world.snapshot);
      world.Try();
      const std::string between = DeviceWorld::Answers(world.snapshot);
      changed += between == before ? 0 : 1;
      {
        WhatIf inner(world.snapshot);
        world.Try();
      }
      EXPECT_EQ(DeviceWorld::Answers(world.snapshot), between);
    }
    EXPECT_EQ(DeviceWorld::Answers(world.snapshot), before);
    world.CheckUse();
  }
  EXPECT_GT(changed, 40) << "something happens";
}

}  // namespace
}  // namespace evenkeel::scheduling::devices_properties_test
