#include "sim/checkers/device_checkers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "sim/network/network.h"
#include "sim/world/device_samples.h"

namespace evenkeel::sim {
namespace {

using base::Duration;
using base::Instant;
using Claim = DeviceBook::Claim;
using DevicePod = DeviceBook::Pod;
using Devices = DeviceBook::Member;
using Given = DeviceBook::Result;
using Wanted = DeviceBook::Wanted;
using namespace std::chrono_literals;

/// How long a replica may take to read a member, and to hear what became of a binding without an answer.
constexpr Duration kTriedAgain = 3min;

bool IsExclusive(const Given& result) { return !result.admin && !result.shared; }

/// The names of all claims of the pod; "" of one that is missing.
std::vector<std::string> ClaimsOf(const DevicePod& pod) {
  std::vector<std::string> claims = pod.claims;
  if (pod.extended > 0) claims.push_back(pod.extended_claim);
  return claims;
}

/// Why the pod may not run on its node yet; "" where it may.
std::string Missing(const Devices& member, const DevicePod& pod) {
  for (const std::string& name : ClaimsOf(pod)) {
    if (name.empty()) return "one of its claims has not been made";
    const auto found = member.claims.find(pod.ns + "/" + name);
    if (found == member.claims.end()) return fmt::format("there is no claim {}", name);
    const Claim& claim = found->second;
    if (!claim.allocated) return fmt::format("claim {} is not allocated", name);
    if (!claim.reserved.contains(pod.uid)) return fmt::format("claim {} is not reserved for it", name);
    if (!claim.nodes.empty() && !claim.nodes.contains(pod.node))
      return fmt::format("node {} does not reach claim {}", pod.node, name);
  }
  return "";
}

/// Whether anybody but the pod has the claim's devices.
bool IsOthers(const Claim& claim, const DevicePod& pod) {
  return std::ranges::any_of(claim.reserved, [&](const auto& consumer) { return consumer.first != pod.uid; });
}

/// Devices that are in use, but by `own`, whose allocation may be given up.
std::set<std::string> InUse(const Devices& member, const std::string& own) {
  std::set<std::string> used;
  for (const auto& [key, claim] : member.claims) {
    if (key == own) continue;
    for (const Given& result : claim.results) {
      if (IsExclusive(result)) used.insert(result.ToString());
    }
  }
  return used;
}

/// Devices of the node that a pod could be given, by model: of pools whose slices are all there.
std::map<std::string, int64_t> FreeOn(const Devices& member, const std::string& node, const std::set<std::string>& used,
                                      const std::string& device_class) {
  std::map<std::string, int64_t> free;
  for (const auto& [name, slice] : member.slices) {
    if (slice.node != node) continue;
    const auto current = std::ranges::count_if(member.slices, [&](const auto& other) {
      return other.second.pool == slice.pool && other.second.generation == slice.generation;
    });
    if (current != slice.of) continue;
    for (const auto& [device, known] : slice.devices) {
      const Given result{.pool = slice.pool, .device = device};
      if (!member.Allocatable(slice.pool, device) || used.contains(result.ToString())) continue;
      if (ClassTakes(device_class, known.model)) ++free[known.model];
    }
  }
  return free;
}

bool CouldHave(const Devices& member, const std::string& node, const std::vector<Wanted>& wanted, const std::string& own) {
  const std::set<std::string> used = InUse(member, own);
  return std::ranges::any_of(wanted, [&](const Wanted& one) {
    const auto free = FreeOn(member, node, one.admin ? std::set<std::string>{} : used, one.device_class);
    int64_t all = 0, of_one_model = 0;
    for (const auto& [model, count] : free) {
      all += count;
      of_one_model = std::max(of_one_model, count);
    }
    return (one.one_model ? of_one_model : all) >= one.count;
  });
}

/// Whether the node could run the pod, but for devices.
bool HasRoom(const MemberBook::Member& member, const std::string& name, const MemberBook::Node& node,
             const MemberBook::Pod& pod) {
  if (!node.ready || node.cordoned || node.leaving) return false;
  int64_t milli_cores = pod.milli_cores, bytes = pod.bytes, pods = 1;
  for (const auto& [key, other] : member.pods) {
    if (other.node != name || other.ended) continue;
    milli_cores += other.milli_cores;
    bytes += other.bytes;
    ++pods;
  }
  return milli_cores <= node.milli_cores && bytes <= node.bytes && pods <= node.pods;
}

/// Whether a scheduler could bind the pod now.
bool CouldRun(const MemberBook::Member& member, const Devices& devices, const MemberBook::Pod& pod, const DevicePod& asks) {
  if (asks.gated || asks.claims.size() + (asks.extended > 0 ? 1 : 0) != 1) return false;
  std::vector<Wanted> wanted{{.device_class = kAnyDevice, .count = asks.extended}};
  std::string own = asks.extended_claim;
  if (asks.extended == 0) {
    own = asks.claims.front();
    // Its template is there, so the claim could be, too.
    if (own.empty()) return true;
    const auto claim = devices.claims.find(asks.ns + "/" + own);
    if (claim == devices.claims.end() || claim->second.deleting) return false;
    wanted = claim->second.wanted;
    if (claim->second.allocated && IsOthers(claim->second, asks)) {
      return std::ranges::any_of(claim->second.nodes, [&](const std::string& name) {
        const auto node = member.nodes.find(name);
        return node != member.nodes.end() && HasRoom(member, name, node->second, pod);
      });
    }
  }
  return std::ranges::any_of(member.nodes, [&](const auto& node) {
    return HasRoom(member, node.first, node.second, pod) && CouldHave(devices, node.first, wanted, asks.ns + "/" + own);
  });
}

}  // namespace

const std::vector<std::string>& DeviceCheckerNames() {
  static const std::vector<std::string> names = {"devices-once", "devices-claimed", "devices-published", "devices-freed",
                                                 "devices-placed"};
  return names;
}

void DevicesOnceChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  const std::string key = NameOfKey(event.current.key, "resourceclaims");
  const Devices& member = devices_.Of(api);
  const auto claim = member.claims.find(key);
  if (claim == member.claims.end()) return;
  for (const auto& [name, other] : member.claims) {
    if (name == key) continue;
    for (const Given& result : claim->second.results) {
      const bool both = IsExclusive(result) && std::ranges::any_of(other.results, [&](const Given& one) {
                          return IsExclusive(one) && one.ToString() == result.ToString();
                        });
      if (both) Violated(fmt::format("device {} of {} is allocated to claims {} and {}", result.ToString(), api, name, key));
    }
  }
}

void DevicesClaimedChecker::Check(const std::string& api, const std::string& key, const DevicePod& pod, std::string_view when) {
  const std::string missing = Missing(devices_.Of(api), pod);
  if (missing.empty() || !told_.insert(pod.uid).second) return;
  Violated(fmt::format("pod {} of {} {} on node {}, and {}", key, api, when, pod.node, missing));
}

void DevicesClaimedChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  const Devices& member = devices_.Of(api);
  const auto pod = member.pods.find(NameOfKey(event.current.key, "pods"));
  if (pod == member.pods.end() || pod->second.node.empty() || !bound_.insert(pod->second.uid).second) return;
  Check(api, pod->first, pod->second, "was bound");
}

void DevicesClaimedChecker::OnSecond() {
  for (const auto& [api, member] : devices_.all()) {
    for (const auto& [key, pod] : member.pods) {
      if (pod.live && !pod.node.empty()) Check(api, key, pod, "lives");
    }
  }
}

void DevicesPublishedChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!write.took_effect || write.api == kHub || !IsReplica(write.record.user.name)) return;
  if (write.record.plural != "resourceclaims" || write.value == nullptr || write.previous == nullptr) return;
  const auto before = base::ParseJson(*write.previous, write.key), after = base::ParseJson(*write.value, write.key);
  if (!before || !after || DeviceBook::DecodeClaim(*before).allocated) return;
  const Instant now = view().now();
  const Condition writer = view().ConditionOf(write.record.user.name, write.api);
  const bool fresh = !held_up_ && !writer.gone && now - writer.since >= kFresh;
  for (const Given& result : DeviceBook::DecodeClaim(*after).results) {
    if (result.admin) continue;
    const auto last = devices_.LastAllocatable(write.api, result, now);
    if (last && now - *last <= (fresh ? kFresh : kStale)) continue;
    Violated(
        fmt::format("{} allocated device {} of {} to claim {}/{}, which {}", write.record.user.name, result.ToString(),
                    write.api, write.record.ns, write.record.name,
                    last ? fmt::format("could not be had since {}", base::FormatDuration(now - *last)) : "never was there"));
  }
}

void DevicesFreedChecker::OnSecond() {
  const Instant now = view().now();
  std::map<std::string, Instant> ended;
  for (const auto& [api, member] : devices_.all()) {
    for (const auto& [key, claim] : member.claims) {
      for (const auto& [uid, name] : claim.reserved) {
        const auto pod = members_.Of(api).pods.find(key.substr(0, key.find('/') + 1) + name);
        const bool there = pod != members_.Of(api).pods.end() && pod->second.uid == uid && !pod->second.ended;
        if (there) continue;
        const std::string what = fmt::format("claim {} of {} for pod {}", key, api, name);
        const auto known = ended_.find(what);
        const Instant since = std::max(known == ended_.end() ? now : known->second, view().HealthySince(api));
        ended[what] = since;
        if (now - since <= kFreed) continue;
        Violated(fmt::format("the reservation of {}, which has ended, is still there after {}", what,
                             base::FormatDuration(now - since)));
        ended[what] = now;
      }
    }
  }
  ended_ = std::move(ended);
}

Duration DevicesPlacedChecker::Bound() const { return 2 * (view().lease_duration() + view().lease_margin()) + kTriedAgain; }

void DevicesPlacedChecker::OnSecond() {
  if (!healed_) return;
  const Instant now = view().now();
  std::map<std::string, Instant> could;
  for (const auto& [api, member] : members_.all()) {
    if (!view().Registered().contains(api)) continue;
    const Devices& devices = devices_.Of(api);
    for (const std::string& key : member.pending) {
      const auto asks = devices.pods.find(key);
      const MemberBook::Pod& pod = member.pods.at(key);
      if (asks == devices.pods.end() || !CouldRun(member, devices, pod, asks->second)) continue;
      const std::string id = api + " " + pod.uid;
      const auto before = could_.find(id);
      could[id] = before == could_.end() ? now : before->second;
      if (now - could[id] <= Bound() || !told_.insert(id).second) continue;
      Violated(fmt::format("pod {} of {} has waited for devices for {} that it could have", key, api,
                           base::FormatDuration(now - could[id])));
    }
  }
  could_ = std::move(could);
}

}  // namespace evenkeel::sim
