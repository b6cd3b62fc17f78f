// Any JSON as slices, classes and claims: nothing that an API holds may upset the scheduler, and what is chosen is in range.
#include "base/result.h"
#include "scheduling/devices/device_catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  using namespace evenkeel::scheduling;
  const auto json = base::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!json) return 0;
  DeviceCatalog catalog;
  for (const base::Json& item : base::FindArray(*json, {"slices"})) catalog.Upsert(DeviceKind::kResourceSlice, item);
  for (const base::Json& item : base::FindArray(*json, {"classes"})) catalog.Upsert(DeviceKind::kDeviceClass, item);
  for (const base::Json& item : base::FindArray(*json, {"templates"})) catalog.Upsert(DeviceKind::kResourceClaimTemplate, item);
  std::vector<ResourceClaim> claims;
  for (const base::Json& item : base::FindArray(*json, {"claims"})) {
    catalog.Upsert(DeviceKind::kResourceClaim, item);
    claims.push_back(DecodeResourceClaim(item));
    if (claims.back().allocation != nullptr) claims.back().allocation->ToJson([] { return std::string("id"); });
  }
  const kube::Labels labels{{"zone", "a"}};
  const DeviceNode node{0, {labels, nullptr, "n"}, nullptr};
  std::vector<ClaimToAllocate> wanted;
  for (const ResourceClaim& claim : claims) wanted.push_back({claim.Key(), claim.spec.get()});
  const Allocated allocated = catalog.Allocate(node, wanted);
  EVENKEEL_CHECK(!allocated.ok() || allocated.claims.size() == wanted.size());
  for (const auto& claim : allocated.claims) EVENKEEL_CHECK(claim->results.size() <= 32);
  catalog.Explain(node, wanted);
  if (const base::Json* pod = base::Find(*json, {"pod"})) {
    const PodDevices devices = DecodePodDevices(*pod);
    const auto containers = DecodeContainerDevices(*pod);
    catalog.Resolve(&devices, containers, "default");
    MakeExtendedClaim(containers, [&](std::string_view resource) { return catalog.ClassOf(resource); });
    ClaimFromTemplate(*pod, "c", *json);
  }
  for (const base::Json& item : base::FindArray(*json, {"claims"}))
    catalog.Remove(DeviceKind::kResourceClaim, kube::KeyOf(item));
  return 0;
}
