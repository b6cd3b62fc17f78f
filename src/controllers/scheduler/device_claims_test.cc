#include "controllers/scheduler/device_claims.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "client/fake_client_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::scheduler::device_claims_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using scheduling::testing::ClaimMaker;
using scheduling::testing::PodMaker;

class DeviceClaimsTest : public ::testing::Test {
 protected:
  DeviceClaimsTest() {
    client.api().Put(Kind(), ClaimMaker("c").json);
    pod = PodOf("p");
  }
  static const kube::Resource& Kind() { return *kube::FindBuiltIn("resource.k8s.io", "v1", "resourceclaims"); }
  static kube::Pod PodOf(const std::string& name) {
    Json json = PodMaker(name, "1").json;
    base::Ensure(json, {"metadata", "uid"}) = name;
    return kube::Pod::Decode(json);
  }
  static scheduling::PlacedDevices Placed(bool in_flight = true) {
    auto allocation = std::make_shared<scheduling::ClaimAllocation>();
    scheduling::DeviceResult& result = allocation->results.emplace_back();
    result.request = "gpus";
    result.device = {"gpu.example.com", "n", "gpu-0"};
    scheduling::PlacedDevices placed;
    scheduling::PlacedClaim& claim = placed.claims.emplace_back();
    claim.pod_claim = claim.claim = "c";
    claim.allocation = std::move(allocation);
    claim.in_flight = in_flight;
    claim.to_reserve = true;
    return placed;
  }
  Json Claim() { return client.api().objects["resourceclaims"].at("default/c"); }
  std::string Consumers() {
    const Json claim = Claim();
    std::string names;
    for (const Json& consumer : FindArray(claim, {"status", "reservedFor"})) names += FindString(consumer, {"uid"});
    return names;
  }
  bool IsAllocated() {
    const Json claim = Claim();
    return base::Find(claim, {"status", "allocation"}) != nullptr;
  }

  base::VirtualExecutor executor{base::Time(std::chrono::hours(500'000))};
  client::FakeClient client;
  DeviceClaims devices{client, executor.clock(), base::Random(1)};
  scheduling::testing::Cluster cluster;  ///< as the scheduler sees it
  kube::Pod pod;
};

TEST_F(DeviceClaimsTest, AllocationAndReservationAreWrittenAtOnceBehindTheFinalizer) {
  std::vector<std::string> seen;
  client.before_write = [&](std::string_view, const Json& object) {
    seen.push_back(std::to_string(FindArray(object, {"metadata", "finalizers"}).size()) +
                   (base::Find(object, {"status", "allocation"}) != nullptr ? "a" : "") +
                   std::to_string(FindArray(object, {"status", "reservedFor"}).size()));
  };
  const auto written = devices.Write(pod, Placed(), cluster.snapshot);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(seen, (std::vector<std::string>{"10", "1a1"}));
  EXPECT_EQ(Consumers(), "p");
}

TEST_F(DeviceClaimsTest, OlderNewsOfAClaimDoNotFreeWhatHasBeenWritten) {
  using scheduling::DeviceKind;
  const Json before = Claim();
  cluster.Add(scheduling::testing::NodeMaker("n"));
  cluster.snapshot.UpsertDevices(DeviceKind::kDeviceClass, scheduling::testing::DeviceClassOf("gpu"));
  cluster.snapshot.UpsertDevices(DeviceKind::kResourceSlice, scheduling::testing::SliceMaker("n").Devices(1).json);
  for (const Json& claim : {before, ClaimMaker("d").json}) cluster.snapshot.UpsertDevices(DeviceKind::kResourceClaim, claim);
  const auto room = [&] { return cluster.Where(scheduling::testing::WithClaim(PodMaker("q", "1"), "d")); };
  /// As the mirror does it.
  const auto tell = [&](const Json& claim) {
    cluster.snapshot.UpsertDevices(DeviceKind::kResourceClaim, claim);
    devices.OnClaim("default/c", &claim, cluster.snapshot);
  };
  EXPECT_EQ(room(), "n");
  ASSERT_TRUE(devices.Write(pod, Placed(), cluster.snapshot));
  devices.TakeBack(pod);
  EXPECT_EQ(room(), "") << "the claim is still allocated";
  tell(before);
  EXPECT_EQ(room(), "") << "what is told is older";
  tell(Claim());
  EXPECT_EQ(room(), "");
  Json freed = Claim();
  base::Erase(freed, {"status", "allocation"});
  client.api().Put(Kind(), freed);
  tell(Claim());
  EXPECT_EQ(room(), "n");
}

TEST_F(DeviceClaimsTest, WhatIsNeverToldIsForgottenInTheEnd) {
  using scheduling::DeviceKind;
  cluster.Add(scheduling::testing::NodeMaker("n"));
  cluster.snapshot.UpsertDevices(DeviceKind::kDeviceClass, scheduling::testing::DeviceClassOf("gpu"));
  cluster.snapshot.UpsertDevices(DeviceKind::kResourceSlice, scheduling::testing::SliceMaker("n").Devices(1).json);
  cluster.snapshot.UpsertDevices(DeviceKind::kResourceClaim, ClaimMaker("d").json);
  ASSERT_TRUE(devices.Write(pod, Placed(), cluster.snapshot));
  const auto room = [&] { return cluster.Where(scheduling::testing::WithClaim(PodMaker("q", "1"), "d")); };
  executor.RunFor(std::chrono::minutes(9));
  EXPECT_TRUE(devices.Write(PodOf("x"), {}, cluster.snapshot));
  EXPECT_EQ(room(), "");
  executor.RunFor(std::chrono::minutes(2));
  EXPECT_TRUE(devices.Write(PodOf("x"), {}, cluster.snapshot));
  EXPECT_EQ(room(), "n");
}

TEST_F(DeviceClaimsTest, AnAllocationOfOtherDevicesIsSomebodyElses) {
  client.api().Put(Kind(), ClaimMaker("c").On("n", {"gpu-1"}, {"p"}).json);
  const auto written = devices.Write(pod, Placed(), cluster.snapshot);
  ASSERT_FALSE(written) << "the pod has it reserved, but it was put where gpu-0 is";
  EXPECT_NE(written.error().message().find("got allocated elsewhere in the meantime"), std::string::npos);
}

TEST_F(DeviceClaimsTest, APodWhoseClaimHasNoDevicesIsNotBound) {
  auto placed = Placed(false);
  placed.claims[0].allocation = nullptr;
  placed.claims[0].to_reserve = false;
  const auto written = devices.Write(pod, placed, cluster.snapshot);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find("devices for c can be had no more"), std::string::npos);
}

TEST_F(DeviceClaimsTest, ConflictsAreTriedAgain) {
  client.FailNext("update", base::Error(base::Code::kConflict, "somebody was faster"), 3);
  EXPECT_TRUE(devices.Write(pod, Placed(), cluster.snapshot));
  EXPECT_EQ(Consumers(), "p");
  client.FailNext("update", base::Error(base::Code::kConflict, "somebody was faster"), 50);
  EXPECT_FALSE(devices.Write(PodOf("q"), Placed(false), cluster.snapshot));
}

TEST_F(DeviceClaimsTest, WhatOthersHaveDoneIsNotOverwritten) {
  ASSERT_TRUE(devices.Write(pod, Placed(), cluster.snapshot));
  EXPECT_TRUE(devices.Write(pod, Placed(), cluster.snapshot)) << "its own, of an attempt whose answer was lost";
  const auto late = devices.Write(PodOf("q"), Placed(), cluster.snapshot);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message().find("claim default/c got allocated elsewhere in the meantime"), std::string::npos)
      << late.error().message();
  EXPECT_TRUE(devices.Write(PodOf("q"), Placed(false), cluster.snapshot));
  EXPECT_EQ(Consumers(), "pq");
  Json going = Claim();
  base::Ensure(going, {"metadata", "deletionTimestamp"}) = "2026-01-02T03:04:05Z";
  client.api().Put(Kind(), going);
  const auto gone = devices.Write(PodOf("r"), Placed(false), cluster.snapshot);
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message().find("claim default/c got deleted in the meantime"), std::string::npos);
}

TEST_F(DeviceClaimsTest, OnlyThePodsReservationIsTakenBack) {
  ASSERT_TRUE(devices.Write(pod, Placed(), cluster.snapshot));
  ASSERT_TRUE(devices.Write(PodOf("q"), Placed(false), cluster.snapshot));
  devices.TakeBack(pod);
  EXPECT_EQ(Consumers(), "q");
  EXPECT_TRUE(IsAllocated());
  devices.Forget(PodOf("q").meta.Key());
  devices.TakeBack(PodOf("q"));
  EXPECT_EQ(Consumers(), "q") << "it is bound";
}

TEST_F(DeviceClaimsTest, AnAllocationThatOthersHaveReservedStays) {
  scheduling::Snapshot snapshot;
  snapshot.UpsertNode(kube::Node::Decode(scheduling::testing::NodeMaker("other", "1").json));
  Json json = scheduling::testing::WithClaim(PodMaker("p", "1"), "c").json;
  base::Ensure(json, {"metadata", "uid"}) = "p";
  const kube::Pod claiming = kube::Pod::Decode(json);
  EXPECT_FALSE(devices.GiveUpAllocation(claiming, snapshot)) << "there is none";
  client.api().Put(Kind(), ClaimMaker("c").On("n", {"gpu-0"}, {"p", "q"}).json);
  EXPECT_FALSE(devices.GiveUpAllocation(claiming, snapshot));
  EXPECT_TRUE(IsAllocated());
  client.api().Put(Kind(), ClaimMaker("c").On("n", {"gpu-0"}, {"p"}).json);
  EXPECT_TRUE(devices.GiveUpAllocation(claiming, snapshot));
  EXPECT_FALSE(IsAllocated());
  EXPECT_EQ(Consumers(), "");
  client.api().Put(Kind(), ClaimMaker("c").On("other", {"gpu-0"}, {}).json);
  EXPECT_FALSE(devices.GiveUpAllocation(claiming, snapshot)) << "it reaches every node";
}

TEST_F(DeviceClaimsTest, DevicesThatAreBoundOnConditionsAreGivenToNobody) {
  auto placed = Placed();
  auto allocation = std::make_shared<scheduling::ClaimAllocation>(*placed.claims[0].allocation);
  allocation->results[0].binding_conditions = {"ready"};
  placed.claims[0].allocation = allocation;
  EXPECT_FALSE(devices.Write(pod, placed, cluster.snapshot));
  EXPECT_FALSE(IsAllocated());
}

}  // namespace
}  // namespace evenkeel::controllers::scheduler::device_claims_test
