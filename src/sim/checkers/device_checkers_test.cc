#include "sim/checkers/device_checkers.h"

#include <spdlog/fmt/fmt.h>

#include "sim/checkers/member_checker_testing.h"
#include "sim/world/device_samples.h"

namespace evenkeel::sim::device_checkers_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::kMember;
using testing::kReplica;
using namespace std::chrono_literals;

/// A node with two devices, gpu-0 (small) and gpu-1 (large) in one slice, and a claim c for one of any model.
class DeviceCheckerTest : public testing::MemberCheckerTest {
 protected:
  DeviceCheckerTest() {
    Json node = JsonObject{};
    base::Ensure(node, {"status", "allocatable"}) = JsonObject{{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}};
    base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
    Told("nodes/n1", node);
    Slice(1, 2);
    fleet.time += 1h;
  }

  void Told(const std::string& key, const std::optional<Json>& object) {
    Store(key, object);
    embedded::store::Event event;
    event.type = object ? embedded::store::Event::Type::kPut : embedded::store::Event::Type::kDelete;
    event.current.key = "/registry/" + key;
    event.current.value = stored[key];
    devices.See(kMember, event, fleet.time);
    for (Checker* checker : checkers) checker->OnStored(kMember, event);
  }

  void Slice(int64_t generation, size_t count, bool tainted = false, int64_t of = 1) {
    JsonArray list;
    for (size_t i = 0; i < count; ++i) {
      Json device = JsonObject{{"name", fmt::format("gpu-{}", i)}};
      base::Ensure(device, {"attributes", "model", "string"}) = i == 0 ? "small" : "large";
      if (tainted) base::Ensure(device, {"taints"}) = JsonArray{JsonObject{{"key", "k"}, {"effect", "NoSchedule"}}};
      list.push_back(std::move(device));
    }
    const JsonObject pool{{"name", "n1"}, {"generation", generation}, {"resourceSliceCount", of}};
    Told("resourceslices/n1",
         JsonObject{{"metadata", JsonObject{{"name", "n1"}}},
                    {"spec",
                     JsonObject{{"driver", kDeviceDriver}, {"nodeName", "n1"}, {"pool", pool}, {"devices", std::move(list)}}}});
  }

  static Json Claim(const std::string& name, const std::string& device = "", const std::string& reserved = "",
                    bool admin = false) {
    Json claim = NewSharedClaim("default", name);
    base::Ensure(claim, {"metadata", "uid"}) = name;
    if (!device.empty()) {
      JsonObject result{{"driver", kDeviceDriver}, {"pool", "n1"}, {"device", device}, {"request", "devices"}};
      if (admin) result["adminAccess"] = true;
      base::Ensure(claim, {"status", "allocation", "devices", "results"}) = JsonArray{std::move(result)};
      const JsonObject field{{"key", "metadata.name"}, {"operator", "In"}, {"values", JsonArray{"n1"}}};
      base::Ensure(claim, {"status", "allocation", "nodeSelector", "nodeSelectorTerms"}) =
          JsonArray{JsonObject{{"matchFields", JsonArray{field}}}};
    }
    if (!reserved.empty()) {
      base::Ensure(claim, {"status", "reservedFor"}) =
          JsonArray{JsonObject{{"resource", "pods"}, {"name", reserved}, {"uid", reserved}}};
    }
    return claim;
  }
  void TellClaim(const Json& claim) {
    Told("resourceclaims/default/" + std::string(base::FindString(claim, {"metadata", "name"})), claim);
  }
  /// A pod that claims c.
  void TellPod(const std::string& name, const std::string& node, const std::string& phase = "Running") {
    Json pod = Pod(name);
    base::Ensure(pod, {"spec", "resourceClaims"}) = JsonArray{JsonObject{{"name", "devices"}, {"resourceClaimName", "c"}}};
    base::Ensure(pod, {"spec", "nodeName"}) = node;
    base::Ensure(pod, {"status", "phase"}) = phase;
    Told("pods/default/" + name, pod);
  }

  DeviceBook devices;
};

TEST_F(DeviceCheckerTest, ADeviceIsAllocatedOnce) {
  DevicesOnceChecker checker(&devices, &book, false);
  Attach(checker);
  TellClaim(Claim("c", "gpu-0"));
  TellClaim(Claim("other", "gpu-1"));
  TellClaim(Claim("admin", "gpu-0", "", true));
  EXPECT_TRUE(violations.empty()) << violations.front();
  TellClaim(Claim("more", "gpu-0"));
  EXPECT_EQ(Only(), "device gpu.example.com/n1/gpu-0 of member-1 is allocated to claims default/c and default/more");
  TellClaim(Claim("c"));
  TellClaim(Claim("more", "gpu-0"));
  EXPECT_TRUE(violations.empty()) << "given back";
}

TEST_F(DeviceCheckerTest, APodIsBoundOnceItsClaimsAreItsOwn) {
  DevicesClaimedChecker checker(&devices, &book, false);
  Attach(checker);
  TellPod("a", "");
  EXPECT_TRUE(violations.empty()) << "it waits";
  TellPod("a", "n1");
  EXPECT_EQ(Only(), "pod default/a of member-1 was bound on node n1, and there is no claim c");
  TellClaim(Claim("c"));
  TellPod("b", "n1");
  EXPECT_NE(Only().find("claim c is not allocated"), std::string::npos);
  TellClaim(Claim("c", "gpu-0", "b"));
  TellPod("d", "n1");
  EXPECT_NE(Only().find("claim c is not reserved for it"), std::string::npos);
  TellClaim(Claim("c", "gpu-0", "e"));
  TellPod("e", "n2");
  EXPECT_NE(Only().find("node n2 does not reach claim c"), std::string::npos);
  TellClaim(Claim("c", "gpu-0", "f"));
  TellPod("f", "n1");
  checker.OnSecond();
  EXPECT_TRUE(violations.empty()) << violations.front();
  TellClaim(Claim("c", "gpu-0", "g"));
  checker.OnSecond();
  EXPECT_NE(Only().find("pod default/f of member-1 lives on node n1, and claim c is not reserved for it"), std::string::npos);
}

TEST_F(DeviceCheckerTest, OnlyDevicesThatAreThereAreAllocated) {
  DevicesPublishedChecker checker(&devices, &book, false);
  Attach(checker);
  const auto allocate = [&](const std::string& device) {
    Write(kReplica, "resourceclaims", "default", "c", Claim("c"));
    Write(kReplica, "resourceclaims", "default", "c", Claim("c", device));
  };
  allocate("gpu-1");
  EXPECT_TRUE(violations.empty()) << violations.front();
  allocate("gpu-7");
  EXPECT_NE(Only().find("allocated device gpu.example.com/n1/gpu-7 of member-1 to claim default/c, which never was there"),
            std::string::npos);
  Slice(2, 1);
  fleet.time += 9s;
  allocate("gpu-1");
  EXPECT_TRUE(violations.empty()) << "it cannot know yet";
  fleet.time += 2s;
  allocate("gpu-1");
  EXPECT_NE(Only().find("which could not be had since 11s"), std::string::npos);
  fleet.condition.since = fleet.time - 5s;
  allocate("gpu-1");
  EXPECT_TRUE(violations.empty()) << "it was cut off until five seconds ago";
  fleet.condition.since = {};
  Slice(3, 2, true);
  fleet.time += 1min;
  allocate("gpu-0");
  EXPECT_NE(Only().find("could not be had since 1m0s"), std::string::npos) << "it is tainted";
}

TEST_F(DeviceCheckerTest, ReservationsOfPodsThatHaveEndedGo) {
  DevicesFreedChecker checker(&devices, &book, false);
  Attach(checker);
  const auto wait = [&](base::Duration duration) {
    for (base::Duration passed{}; passed < duration; passed += 1s) {
      fleet.time += 1s;
      checker.OnSecond();
    }
  };
  TellPod("a", "n1");
  TellClaim(Claim("c", "gpu-0", "a"));
  wait(5min);
  EXPECT_TRUE(violations.empty()) << "it runs";
  TellPod("a", "n1", "Succeeded");
  wait(60s);
  fleet.healthy_since = fleet.time;
  wait(60s);
  EXPECT_TRUE(violations.empty()) << "the API was down";
  wait(2s);
  EXPECT_NE(Only().find("the reservation of claim default/c of member-1 for pod a, which has ended, is still there"),
            std::string::npos);
  TellClaim(Claim("c"));
  wait(5min);
  EXPECT_TRUE(violations.empty());
}

TEST_F(DeviceCheckerTest, WhoCanHaveDevicesGetsThem) {
  DevicesPlacedChecker checker(&devices, &book, false);
  Attach(checker);
  const auto waits_too_long = [&] {
    for (base::Duration passed{}; passed <= checker.Bound() + 1s; passed += 1s) {
      fleet.time += 1s;
      checker.OnSecond();
    }
    const bool violated = !violations.empty();
    violations.clear();
    return violated;
  };
  TellClaim(Claim("c"));
  TellPod("a", "");
  EXPECT_FALSE(waits_too_long()) << "faults go on";
  checker.OnHealed();
  EXPECT_TRUE(waits_too_long());
  EXPECT_FALSE(waits_too_long()) << "told once";
  TellPod("b", "");
  TellClaim(Claim("x", "gpu-0", "x"));
  TellClaim(Claim("y", "gpu-1", "y"));
  EXPECT_FALSE(waits_too_long()) << "others have all";
  TellClaim(Claim("y"));
  EXPECT_TRUE(waits_too_long());
  TellPod("d", "");
  Slice(2, 2, true);
  EXPECT_FALSE(waits_too_long()) << "they are tainted";
  Slice(3, 2, false, 2);
  EXPECT_FALSE(waits_too_long()) << "the pool is not complete";
  Slice(4, 2);
  TellClaim(Claim("c", "gpu-1", "b"));
  EXPECT_TRUE(waits_too_long()) << "it may share what another one has";
}

}  // namespace
}  // namespace evenkeel::sim::device_checkers_test
