// Pods that claim devices, in a snapshot.
#include <gtest/gtest.h>

#include "scheduling/cluster_mirror.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::scheduling::devices_test {
namespace {

using testing::ClaimMaker;
using testing::Cluster;
using testing::DeviceClassOf;
using testing::NodeMaker;
using testing::Parse;
using testing::PodMaker;
using testing::SliceMaker;
using testing::Text;
using testing::WithClaim;
using testing::WithOwnClaim;

/// Nodes a and b with two GPUs each.
class DevicesTest : public ::testing::Test {
 protected:
  DevicesTest() {
    for (const char* node : {"a", "b"}) {
      cluster_.Add(NodeMaker(node));
      Slice(SliceMaker(node).Devices(2));
    }
    snapshot_.UpsertDevices(DeviceKind::kDeviceClass, DeviceClassOf("gpu"));
  }

  void Slice(const SliceMaker& slice) { snapshot_.UpsertDevices(DeviceKind::kResourceSlice, slice.json); }
  void Claim(const ClaimMaker& claim) { snapshot_.UpsertDevices(DeviceKind::kResourceClaim, claim.json); }
  PodId Pod(const PodMaker& pod) { return snapshot_.UpsertPod(pod.json); }
  std::string Devices(PodId pod) { return Text(snapshot_.DevicesOf(pod)); }
  NodeId Node(std::string_view name) { return cluster_.Node(name); }

  Cluster cluster_;
  Snapshot& snapshot_ = cluster_.snapshot;
};

TEST_F(DevicesTest, APodGoesWhereItsClaimCanBeAllocated) {
  Claim(ClaimMaker("two", 2));
  Claim(ClaimMaker("used").On("a", {"gpu-1"}, {"other"}));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "two")), "b");
  const Fit fit = cluster_.Check(WithClaim(PodMaker("p"), "two"), "a");
  EXPECT_EQ(fit.filter, Filter::kDynamicResources);
  EXPECT_EQ(fit.reasons.at(0).text, "cannot allocate all claims");
  EXPECT_EQ(fit.reasons.at(0).detail,
            "claim default/two, request gpus of class gpu asks for 2 devices: of 2 there is 1 to be had; 1 in use "
            "(gpu.example.com/a/gpu-1)");
}

TEST_F(DevicesTest, WhatASelectorRefusesIsNamed) {
  Claim(ClaimMaker("big").Requests(
      R"([{"name":"r","exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":"'x' in device.attributes"}}]}}])"));
  EXPECT_EQ(cluster_.Check(WithClaim(PodMaker("p"), "big"), "a").reasons.at(0).detail,
            "claim default/big, request r of class gpu asks for 1 device: of 2 there are 0 to be had; 2 not selected by the "
            "request's 'x' in device.attributes (first gpu.example.com/a/gpu-0)");
}

TEST_F(DevicesTest, WhatIsMissingRejectsThePodBeforeAnyNode) {
  EXPECT_EQ(cluster_.Why(WithClaim(PodMaker("p"), "none"), "a"), "DynamicResources: could not find claim \"default/none\"");
  EXPECT_TRUE(cluster_.Check(WithClaim(PodMaker("p"), "none"), "a").anywhere);
  EXPECT_EQ(cluster_.Why(WithOwnClaim(PodMaker("p"), ""), "a"),
            "DynamicResources: pod \"default/p\": ResourceClaim not created yet");
  Claim(ClaimMaker("of-q").Of("q"));
  EXPECT_EQ(cluster_.Why(WithOwnClaim(PodMaker("p"), "of-q"), "a"),
            "DynamicResources: ResourceClaim default/of-q was not created for Pod default/p (Pod is not owner)");
  Claim(ClaimMaker("odd").Requests(R"([{"name":"r","exactly":{"deviceClassName":"unknown"}}])"));
  EXPECT_EQ(cluster_.Why(WithClaim(PodMaker("p"), "odd"), "a"),
            "DynamicResources: request r: device class unknown does not exist");
  snapshot_.RemoveDevices(DeviceKind::kDeviceClass, "gpu");
  Claim(ClaimMaker("one"));
  EXPECT_EQ(cluster_.Why(WithClaim(PodMaker("p"), "one"), "a"),
            "DynamicResources: request gpus: device class gpu does not exist");
}

TEST_F(DevicesTest, AClaimThatTheControllerDoesNotNeedIsPassedOver) {
  PodMaker pod = WithOwnClaim(PodMaker("p"), "");
  base::Ensure(pod.json, {"status", "resourceClaimStatuses"}) = Parse(R"([{"name":"c"}])");
  EXPECT_EQ(cluster_.Where(pod), "a b");
}

TEST_F(DevicesTest, AnAllocatedClaimPinsItsPods) {
  Claim(ClaimMaker("shared").On("b", {"gpu-0"}, {"first"}));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("second"), "shared")), "b");
  EXPECT_EQ(cluster_.Why(WithClaim(PodMaker("second"), "shared"), "a"),
            "DynamicResources: resourceclaim not available on the node");
}

TEST_F(DevicesTest, PlaceKeepsDevicesInFlightUntilTheApiTellsOfThem) {
  Claim(ClaimMaker("one").Of("p"));
  Claim(ClaimMaker("two", 2));
  const PodId pod = Pod(WithOwnClaim(PodMaker("p"), "one"));
  snapshot_.Place(pod, Node("a"));
  EXPECT_EQ(Devices(pod), "c: gpus=gpu.example.com/a/gpu-0");
  EXPECT_TRUE(snapshot_.DevicesOf(pod).claims.at(0).in_flight);
  EXPECT_TRUE(snapshot_.DevicesOf(pod).claims.at(0).to_reserve);
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "b");
  // An event about something else of the claim changes nothing.
  Claim(ClaimMaker("one").Of("p"));
  EXPECT_EQ(Devices(pod), "c: gpus=gpu.example.com/a/gpu-0");
  Claim(ClaimMaker("one").Of("p").On("a", {"gpu-0"}, {"p"}));
  EXPECT_FALSE(snapshot_.DevicesOf(pod).claims.at(0).in_flight);
  EXPECT_FALSE(snapshot_.DevicesOf(pod).claims.at(0).to_reserve);
  snapshot_.Unplace(pod);
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "b") << "the API says that they are allocated";
  Claim(ClaimMaker("one").Of("p"));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "a b");
}

TEST_F(DevicesTest, UnplaceGivesBackWhatIsInFlight) {
  Claim(ClaimMaker("shared"));
  Claim(ClaimMaker("two", 2));
  const PodId p = Pod(WithClaim(PodMaker("p"), "shared")), q = Pod(WithClaim(PodMaker("q"), "shared"));
  snapshot_.Place(p, Node("a"));
  snapshot_.Place(q, Node("a"));
  snapshot_.Unplace(p);
  EXPECT_EQ(Devices(q), "c: gpus=gpu.example.com/a/gpu-0");
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("r"), "two")), "b");
  snapshot_.RemovePod("default/q");
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("r"), "two")), "a b");
}

TEST_F(DevicesTest, InAForkAPodTakesItsDevicesAlong) {
  Claim(ClaimMaker("one").Of("p").On("a", {"gpu-0"}, {"p"}));
  Claim(ClaimMaker("two", 2));
  const PodId pod = Pod(WithOwnClaim(PodMaker("p"), "one").On("a"));
  {
    WhatIf what_if(snapshot_);
    EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "b");
    snapshot_.Unplace(pod);
    EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "a b");
    ASSERT_EQ(cluster_.Where(WithOwnClaim(PodMaker("p"), "one")), "a b");
    snapshot_.Place(pod, Node("b"));
    EXPECT_EQ(Devices(pod), "c: gpus=gpu.example.com/b/gpu-0");
    EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "a");
  }
  EXPECT_EQ(Devices(pod), "c: gpus=gpu.example.com/a/gpu-0");
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("q"), "two")), "b");
}

TEST_F(DevicesTest, AClaimThatOthersHaveReservedStaysWhereItIs) {
  Claim(ClaimMaker("shared").On("a", {"gpu-0"}, {"p", "q"}));
  const PodId p = Pod(WithClaim(PodMaker("p"), "shared").On("a")), q = Pod(WithClaim(PodMaker("q"), "shared").On("a"));
  WhatIf what_if(snapshot_);
  snapshot_.Unplace(p);
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "shared")), "a");
  snapshot_.Unplace(q);
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "shared")), "a b");
}

TEST_F(DevicesTest, CopiesHaveClaimsOfTheirOwn) {
  Claim(ClaimMaker("one").Of("p"));
  const ClassId pods = snapshot_.InternClass(WithOwnClaim(PodMaker("p"), "one").json);
  WhatIf what_if(snapshot_);
  std::vector<Placement> placements;
  EXPECT_EQ(snapshot_.PlaceUpTo(pods, 10, {}, placements), 4);
  EXPECT_EQ(placements, (std::vector<Placement>{{Node("a"), 2}, {Node("b"), 2}}));
  snapshot_.PlaceCopies(pods, Node("a"), -1);
  EXPECT_EQ(snapshot_.FindNode(pods), Node("a"));
}

TEST_F(DevicesTest, APodWithoutUidClaimsByTheTemplate) {
  PodMaker pod = WithOwnClaim(PodMaker("p"), "");
  base::Erase(pod.json, {"metadata", "uid"});
  EXPECT_EQ(cluster_.Why(pod, "a"), "DynamicResources: could not find resource claim template \"default/gpus\"");
  snapshot_.UpsertDevices(DeviceKind::kResourceClaimTemplate,
                          Parse(R"({"metadata":{"name":"gpus","namespace":"default"},"spec":{"spec":{"devices":{"requests":)"
                                R"([{"name":"r","exactly":{"deviceClassName":"gpu","count":2}}]}}}})"));
  const ClassId pods = snapshot_.InternClass(pod.json);
  std::vector<Placement> placements;
  WhatIf what_if(snapshot_);
  EXPECT_EQ(snapshot_.PlaceUpTo(pods, 10, {}, placements), 2);
}

TEST_F(DevicesTest, ANodeFromATemplateBringsItsSlices) {
  DeviceSelectors selectors;
  const NodeSlices slices{
      std::make_shared<const ResourceSlice>(DecodeResourceSlice(SliceMaker("of").Devices(8).json, selectors))};
  const TemplateId node = snapshot_.InternTemplate(kube::Node::Decode(NodeMaker("t").json), nullptr, SlicesOfNewNodes(slices));
  Claim(ClaimMaker("five", 5));
  const PodId pod = Pod(WithClaim(PodMaker("p"), "five"));
  EXPECT_EQ(snapshot_.FindNode(snapshot_.ClassOf(pod)), kNone);
  WhatIf what_if(snapshot_);
  const NodeId x = snapshot_.AddNode(node, "x");
  snapshot_.AddNode(node, "y");
  ASSERT_EQ(snapshot_.FindNode(snapshot_.ClassOf(pod)), x);
  snapshot_.Place(pod, x);
  const PlacedDevices placed = snapshot_.DevicesOf(pod);
  EXPECT_EQ(placed.claims.at(0).allocation->results.at(4).device.ToString(), "gpu.example.com/of-x/gpu-4");
  EXPECT_EQ(placed.claims.at(0).allocation->nodes->at(0).fields.at(0).values, std::vector<std::string>{"x"});
  Text(placed);
}

TEST_F(DevicesTest, PodsWithClaimsOfTheirOwnAreAlikeUntilOneIsAllocated) {
  for (const char* pod : {"p", "q", "r"}) Claim(ClaimMaker(std::string(pod) + "-gpus").Of(pod));
  const auto own = [&](const std::string& pod) { return Pod(WithOwnClaim(PodMaker(pod), pod + "-gpus")); };
  const std::vector<PodId> pods{own("p"), own("q"), own("r")};
  const auto likeness = [&](PodId pod) { return snapshot_.Likeness(snapshot_.ClassOf(pod)); };
  EXPECT_NE(snapshot_.ClassOf(pods[0]), snapshot_.ClassOf(pods[1]));
  EXPECT_EQ(likeness(pods[0]), likeness(pods[1]));
  EXPECT_TRUE(snapshot_.WantsDevices(snapshot_.ClassOf(pods[0])));
  Claim(ClaimMaker("r-gpus", 2).Of("r"));
  EXPECT_NE(likeness(pods[0]), likeness(pods[2])) << "it asks for more";
  EXPECT_NE(likeness(pods[0]), likeness(own("waits"))) << "there is no claim for it yet";
  EXPECT_NE(likeness(pods[0]), likeness(Pod(WithOwnClaim(PodMaker("s", "1"), "p-gpus"))));
  Claim(ClaimMaker("q-gpus").Of("q").On("b", {"gpu-0"}, {}));
  EXPECT_NE(likeness(pods[0]), likeness(pods[1])) << "it can go to one node only";
  Claim(ClaimMaker("named"));
  const PodId one = Pod(WithClaim(PodMaker("one"), "named")), two = Pod(WithClaim(PodMaker("two"), "named"));
  EXPECT_EQ(likeness(one), likeness(two));
}

TEST_F(DevicesTest, PodsThatAreAlikeFindPlacesTogether) {
  std::vector<PodId> pods;
  for (const char* pod : {"p", "q", "r", "s", "t"}) {
    Claim(ClaimMaker(std::string(pod) + "-gpus").Of(pod));
    pods.push_back(Pod(WithOwnClaim(PodMaker(pod), std::string(pod) + "-gpus")));
  }
  std::vector<Placement> placements;
  WhatIf what_if(snapshot_);
  EXPECT_EQ(snapshot_.PlaceUpTo(snapshot_.ClassOf(pods[0]), pods, {}, placements), 4);
  EXPECT_EQ(placements, (std::vector<Placement>{{Node("a"), 2}, {Node("b"), 2}}));
  EXPECT_EQ(Devices(pods[0]), "c: gpus=gpu.example.com/a/gpu-0");
  EXPECT_EQ(Devices(pods[3]), "c: gpus=gpu.example.com/b/gpu-1");
  EXPECT_EQ(snapshot_.FindNode(snapshot_.ClassOf(pods[4])), kNone);
  snapshot_.Unplace(pods[1]);
  EXPECT_EQ(snapshot_.FindNode(snapshot_.ClassOf(pods[4])), Node("a"));
}

TEST_F(DevicesTest, WhatPodsOnANodeHaveIsKnownOnceAllOfItIsAllocated) {
  const auto devices = [this]() -> std::string {
    const auto allocations = snapshot_.AllocationsOn(Node("a"));
    if (!allocations) return "unknown";
    std::string text;
    for (const auto& allocation : *allocations) {
      for (const DeviceResult& result : allocation->results) text += result.device.device + " ";
    }
    return text;
  };
  Pod(PodMaker("none").On("a"));
  EXPECT_EQ(devices(), "");
  Claim(ClaimMaker("shared").On("a", {"gpu-1"}, {"p", "q"}));
  Pod(WithClaim(PodMaker("p").On("a"), "shared"));
  Pod(WithClaim(PodMaker("q").On("a"), "shared"));
  EXPECT_EQ(devices(), "gpu-1 gpu-1 ");
  Claim(ClaimMaker("own"));
  const PodId pending = Pod(WithClaim(PodMaker("r"), "own"));
  {
    WhatIf what_if(snapshot_);
    snapshot_.Place(pending, Node("a"));
    EXPECT_EQ(devices(), "gpu-1 gpu-1 gpu-0 ");
  }
  Pod(WithClaim(PodMaker("r").On("a"), "own"));
  EXPECT_EQ(devices(), "unknown");
  snapshot_.RemoveDevices(DeviceKind::kResourceClaim, "default/own");
  EXPECT_EQ(devices(), "unknown");
}

TEST_F(DevicesTest, ExtendedResourcesAreServedByClaimsWhereNoPluginDoes) {
  snapshot_.UpsertDevices(DeviceKind::kDeviceClass, DeviceClassOf("gpu", testing::kGpuDriver, "example.com/gpu"));
  cluster_.Add(NodeMaker("c").Has("example.com/gpu", "1")).Add(NodeMaker("d"));
  const PodMaker pod = PodMaker("p").Request("example.com/gpu", "1");
  EXPECT_EQ(cluster_.Where(pod), "a b c");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Request("example.com/other", "1"), "a"),
            "NodeResourcesFit: Insufficient example.com/other");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Request("example.com/gpu", "2")), "a b");
  const PodId id = Pod(pod);
  snapshot_.Place(id, Node("a"));
  EXPECT_EQ(Devices(id), "<extended-resources>: container-0-request-0=gpu.example.com/a/gpu-0");
  EXPECT_EQ(snapshot_.DevicesOf(id).mappings.at(0).container, "c");
  EXPECT_EQ(cluster_.Where(PodMaker("q").Request("example.com/gpu", "2")), "b");
  // The scheduler has written the claim.
  ClaimMaker written("p-extended-resources-x");
  written.Of("p").On("a", {"gpu-0"}, {"p"});
  base::Ensure(written.json, {"metadata", "annotations", "resource.kubernetes.io/extended-resource-claim"}) = "true";
  Claim(written);
  EXPECT_EQ(cluster_.Where(PodMaker("q").Request("example.com/gpu", "2")), "b");
  snapshot_.RemoveDevices(DeviceKind::kResourceClaim, "default/p-extended-resources-x");
  EXPECT_EQ(cluster_.Where(PodMaker("q").Request("example.com/gpu", "2")), "a b") << "they are not counted twice";
}

TEST_F(DevicesTest, ClaimsForExtendedResourcesAreKnownByTheirPod) {
  const auto made = [](std::string_view name) {
    ClaimMaker claim(name);
    claim.Of("p");
    base::Ensure(claim.json, {"metadata", "annotations", kExtendedClaimAnnotation}) = "true";
    return claim;
  };
  const PodId p = Pod(PodMaker("p")), q = Pod(PodMaker("q"));
  Claim(ClaimMaker("of-template").Of("p"));
  EXPECT_EQ(snapshot_.ExtendedClaimOf(p), "");
  Claim(made("one"));
  EXPECT_EQ(snapshot_.ExtendedClaimOf(p), "one") << "it need not be allocated";
  Claim(made("two").On("a", {"gpu-0"}, {"p"}));
  EXPECT_EQ(snapshot_.ExtendedClaimOf(q), "");
  snapshot_.RemoveDevices(DeviceKind::kResourceClaim, "default/one");
  EXPECT_EQ(snapshot_.ExtendedClaimOf(p), "two");
  snapshot_.RemoveDevices(DeviceKind::kResourceClaim, "default/two");
  EXPECT_EQ(snapshot_.ExtendedClaimOf(p), "");
}

TEST_F(DevicesTest, ANodeHasTheSlicesThatNameIt) {
  Slice(SliceMaker("a").Named("wide").Pool("wide").Everywhere().Devices(1));
  Slice(SliceMaker("a").Named("nics").Pool("nics").Devices(1));
  const uint64_t version = snapshot_.slices_version();
  std::string names;
  for (const auto& slice : snapshot_.SlicesFor(Node("a"))) names += slice->name + " ";
  EXPECT_EQ(names, "a-gpu.example.com nics ");
  snapshot_.RemoveDevices(DeviceKind::kResourceSlice, "nics");
  EXPECT_EQ(snapshot_.SlicesFor(Node("a")).size(), 1U);
  EXPECT_NE(snapshot_.slices_version(), version);
  const NodeSlices a = snapshot_.SlicesFor(Node("a")), b = snapshot_.SlicesFor(Node("b"));
  EXPECT_TRUE(SameDevices(&a, &b));
  EXPECT_FALSE(SameDevices(&a, nullptr));
  Slice(SliceMaker("b").Devices(2, R"({"attributes":{"model":{"string":"x"}}})"));
  const NodeSlices other = snapshot_.SlicesFor(Node("b"));
  EXPECT_FALSE(SameDevices(&a, &other));
}

TEST_F(DevicesTest, TheFailureMessageIsUpstreams) {
  Claim(ClaimMaker("three", 3));
  const ClassId pod = snapshot_.InternClass(WithClaim(PodMaker("p"), "three").json);
  EXPECT_EQ(snapshot_.FailureMessage(pod), "0/2 nodes are available: 2 cannot allocate all claims.");
}

TEST(DevicesOfMirrorTest, WhatIsAboutDevicesGoesIntoTheSnapshot) {
  ClusterMirror mirror;
  mirror.Upsert("Node", NodeMaker("a").json);
  mirror.Upsert("DeviceClass", DeviceClassOf("gpu"));
  mirror.Upsert("ResourceSlice", SliceMaker("a").Devices(1).json);
  mirror.Upsert("ResourceClaim", ClaimMaker("one").json);
  Snapshot& snapshot = mirror.snapshot();
  const ClassId pod = snapshot.InternClass(WithClaim(PodMaker("p"), "one").json);
  EXPECT_TRUE(snapshot.Fits(pod, snapshot.FindNodeByName("a")));
  mirror.Remove("ResourceSlice", "a-gpu.example.com");
  EXPECT_FALSE(snapshot.Fits(pod, snapshot.FindNodeByName("a")));
  mirror.Remove("ResourceClaim", "default/one");
  EXPECT_TRUE(snapshot.Check(pod, snapshot.FindNodeByName("a")).anywhere);
}

TEST_F(DevicesTest, SlicesAndNodesMayComeInAnyOrder) {
  Claim(ClaimMaker("three", 3));
  Slice(SliceMaker("c").Devices(3));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "three")), "");
  cluster_.Add(NodeMaker("c"));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "three")), "c");
  Slice(SliceMaker("c").Devices(3).Pool("c", 2, 2));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "three")), "") << "the pool is being renewed";
  Slice(SliceMaker("c").Devices(3).Pool("c", 2, 1));
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "three")), "c");
  snapshot_.RemoveDevices(DeviceKind::kResourceSlice, "c-gpu.example.com");
  EXPECT_EQ(cluster_.Where(WithClaim(PodMaker("p"), "three")), "");
}

}  // namespace
}  // namespace evenkeel::scheduling::devices_test
