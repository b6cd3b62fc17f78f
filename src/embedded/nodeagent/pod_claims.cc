#include "embedded/nodeagent/pod_claims.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "kube/object.h"
#include "scheduling/devices/pod_devices.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Fail;
using base::FindString;
using base::Json;

base::Status CheckClaim(client::Client& client, const kube::Pod& pod, const std::string& name, bool made_for_it) {
  const auto claim = client.Get(kube::resources::ResourceClaims(), pod.meta.ns, name);
  if (!claim) return Fail(claim.error().code(), fmt::format("fetch ResourceClaim {}: {}", name, claim.error().message()));
  const kube::ObjectMeta meta = kube::DecodeMeta(*claim);
  const kube::OwnerReference* owner = meta.Controller();
  if (made_for_it && (owner == nullptr || owner->uid != pod.meta.uid)) {
    return Fail(Code::kForbidden,
                fmt::format("ResourceClaim {} was not created for Pod {} (Pod is not owner)", meta.Key(), pod.meta.Key()));
  }
  const bool reserved = std::ranges::any_of(base::FindArray(*claim, {"status", "reservedFor"}), [&](const Json& consumer) {
    return FindString(consumer, {"uid"}) == pod.meta.uid;
  });
  if (reserved) return {};
  return Fail(Code::kForbidden, fmt::format("pod {} ({}) is not allowed to use ResourceClaim {} ({})", pod.meta.name,
                                            pod.meta.uid, name, meta.uid));
}

}  // namespace

base::Status CheckDeviceClaims(client::Client& client, const kube::Pod& pod) {
  const scheduling::PodDevices devices = scheduling::DecodePodDevices(*pod.json);
  for (const scheduling::PodDeviceClaim& claim : devices.claims) {
    if (claim.not_needed) continue;
    if (claim.claim.empty()) {
      return Fail(Code::kNotFound, fmt::format("pod \"{}\": ResourceClaim not created yet", pod.meta.Key()));
    }
    EVENKEEL_TRY(CheckClaim(client, pod, claim.claim, !claim.template_name.empty()));
  }
  return devices.extended_claim.empty() ? base::Status{} : CheckClaim(client, pod, devices.extended_claim, true);
}

}  // namespace evenkeel::embedded::nodeagent
