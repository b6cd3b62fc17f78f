#include "sim/checkers/balancer_checkers.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include "embedded/cloud/node_group_definition.h"
#include "kube/object.h"
#include "sim/network/network.h"

namespace evenkeel::sim {
namespace {

using Member = MemberBook::Member;
using Movement = MemberBook::Movement;
using Pod = MemberBook::Pod;
using namespace std::chrono_literals;

constexpr std::string_view kPlans = "balancingplans";
/// A replacement that has not come by then is no longer one.
constexpr base::Duration kReplacementComes = 1min;
/// Energies are sums of doubles.
constexpr double kRounding = 1e-9;

std::optional<base::Json> Parsed(const embedded::store::Value& value) {
  if (value == nullptr) return std::nullopt;
  auto object = base::ParseJson(*value, "object");
  return object ? std::optional(*std::move(object)) : std::nullopt;
}

/// What of an object says how much load its member has to carry and with what; "" of one that says nothing.
std::string LoadOf(const Member& member, const std::string& key, const base::Json& object) {
  const auto name = [&](std::string_view plural) -> std::string {
    const size_t at = key.find(plural);
    return at == key.npos ? "" : key.substr(at + plural.size());
  };
  if (!name("/deployments/").empty() || !name("/jobs/").empty()) {
    return fmt::format("generation {}", base::FindInt(object, {"metadata", "generation"}));
  }
  if (const auto pod = member.pods.find(name("/pods/")); pod != member.pods.end()) {
    if (pod->second.owner.empty()) return pod->second.live ? "alone" : "";
    return pod->second.ended ? "ended" : "";
  }
  std::string node_name = name("/nodes/");
  if (node_name.empty()) node_name = name("/minions/");
  if (const auto node = member.nodes.find(node_name); node != member.nodes.end()) {
    return fmt::format("{} {} {} {}", node->second.milli_cores, node->second.bytes, node->second.pods, node->second.leaving);
  }
  return "";
}

/// Of an owner, `moved` among them even if it is about to go.
int64_t LivePods(const Member& member, const std::string& owner, const std::string& moved = "") {
  return std::ranges::count_if(member.pods,
                               [&](const auto& entry) {
                                 const Pod& pod = entry.second;
                                 return pod.owner == owner && (pod.live || pod.uid == moved);
                               }) +
         (!moved.empty() && std::ranges::none_of(member.pods, [&](const auto& entry) { return entry.second.uid == moved; }));
}

}  // namespace

const std::vector<std::string>& BalancerCheckerNames() {
  static const std::vector<std::string> names = {"room", "throttles", "no-way-back", "energy", "together"};
  return names;
}

void BalancerChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!write.took_effect || write.api == kHub || !IsReplica(write.record.user.name)) return;
  if (write.record.subresource != "eviction") return;
  const auto pod = Parsed(write.previous);
  if (!pod) return;
  const std::string_view uid = kube::UidOf(*pod);
  for (const auto& [name, plan] : book_.Of(write.api).plans) {
    if (!plan.executing) continue;
    const auto movement = std::ranges::find(plan.movements, uid, &Movement::pod_uid);
    // Once it has been given up, whoever evicts the pod does so for a reason of its own: the autoscaler of the same replica.
    if (movement == plan.movements.end() || movement->state == "Failed") continue;
    const kube::ResourceList requests = kube::CompactPod::Decode(*pod).Requests();
    const auto requested = [&](const char* resource) {
      const auto amount = requests.find(resource);
      return amount == requests.end() ? 0 : amount->second;
    };
    const Begun begun{.member = write.api,
                      .by = write.record.user.name,
                      .plan = name,
                      .pod = fmt::format("{}/{}", kube::NamespaceOf(*pod), kube::NameOf(*pod)),
                      .movement = *movement,
                      .milli_cores = requested("cpu"),
                      .bytes = requested("memory")};
    return OnMovement(begun);
  }
}

void RoomChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (event.current.key.find("/pods/") == std::string::npos || event.current.value == nullptr) return;
  const Member& member = book_.Of(api);
  const std::string key = event.current.key.substr(event.current.key.find("/pods/") + 6);
  const auto found = member.pods.find(key);
  if (found == member.pods.end() || found->second.node.empty()) return;
  const Pod& pod = found->second;
  if (!seen_.emplace(api + " " + pod.uid, pod.node).second) return;
  const auto node = member.nodes.find(pod.node);
  if (node == member.nodes.end()) return;
  int64_t milli_cores = 0, bytes = 0, pods = 0;
  for (const auto& [name, other] : member.pods) {
    if (other.node != pod.node || other.ended) continue;
    milli_cores += other.milli_cores;
    bytes += other.bytes;
    ++pods;
  }
  if (milli_cores <= node->second.milli_cores && bytes <= node->second.bytes && pods <= node->second.pods) return;
  Violated(fmt::format("pod {} came to node {} of {}, which holds {} mCPU, {} bytes, {} pods then, and has {}, {}, {}", key,
                       pod.node, api, milli_cores, bytes, pods, node->second.milli_cores, node->second.bytes,
                       node->second.pods));
}

void ThrottlesChecker::OnMovement(const Begun& begun) {
  ++movements_;
  std::deque<base::Instant>& recent = recent_[begun.member];
  const base::Instant now = view().now();
  while (!recent.empty() && recent.front() <= now - limits_.window) recent.pop_front();
  recent.push_back(now);
  if (static_cast<int64_t>(recent.size()) <= limits_.movements) return;
  Violated(fmt::format("{} moved pod {} of {}: {} movements within {}, the policy allows {}", begun.by, begun.pod, begun.member,
                       recent.size(), base::FormatDuration(limits_.window), limits_.movements));
}

void NoWayBackChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  const auto object = event.type == embedded::store::Event::Type::kDelete ? std::nullopt : Parsed(event.current.value);
  const std::string load = object ? LoadOf(book_.Of(api), event.current.key, *object) : "";
  std::string& before = load_[api + event.current.key];
  if (load != before) past_[api].clear();
  before = load;
  if (before.empty()) load_.erase(api + event.current.key);
}

void NoWayBackChecker::OnMovement(const Begun& begun) {
  std::vector<Past>& past = past_[begun.member];
  const base::Instant now = view().now();
  std::erase_if(past, [&](const Past& one) { return one.at <= now - kWindow; });
  for (const Past& one : past) {
    if (one.movement.owner != begun.movement.owner || one.movement.from != begun.movement.to) continue;
    Violated(
        fmt::format("{} moves pod {} of {} to node {}, {} after one of the same owner was moved away from there, and "
                    "nothing has changed since",
                    begun.by, begun.pod, begun.member, begun.movement.to, base::FormatDuration(now - one.at)));
  }
  past.push_back({now, begun.movement});
}

void EnergyChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!write.took_effect || write.record.plural != kPlans || write.previous != nullptr) return;
  const auto object = Parsed(write.value);
  if (!object) return;
  const MemberBook::BalancingPlan plan = MemberBook::DecodePlan(*object);
  const std::string_view phase = base::FindString(*object, {"spec", "phase"});
  if (!phase.ends_with("Balancing")) return;
  if (plan.energy_before > 0 && plan.energy_after <= plan.energy_before + kRounding) return;
  Violated(fmt::format("{} made plan {} of {}, which takes the energy from {} to {}", write.record.user.name, write.record.name,
                       write.api, plan.energy_before, plan.energy_after));
}

void TogetherChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  const size_t at = event.current.key.find("/pods/");
  if (at == event.current.key.npos || event.current.value == nullptr) return;
  const Member& member = book_.Of(api);
  const auto pod = member.pods.find(event.current.key.substr(at + 6));
  if (pod == member.pods.end() || pod->second.owner.empty()) return;
  const std::string& uid = pod->second.uid;
  std::vector<Owed>& moved = Moved(api);
  if (std::ranges::find(moved, uid, &Owed::replacement) != moved.end()) return;
  const auto owed = std::ranges::find_if(moved, [&](const Owed& one) {
    return one.replacement.empty() && one.owner == pod->second.owner && pod->second.since >= one.since;
  });
  if (owed != moved.end()) owed->replacement = uid;
}

void TogetherChecker::OnWrite(const ApiWrite& write, const LeaseChange& change) {
  BalancerChecker::OnWrite(write, change);
  if (!write.took_effect || write.api == kHub || !IsReplica(write.record.user.name)) return;
  if (write.record.plural == embedded::cloud::NodeGroups().plural) OnGroup(write);
}

void TogetherChecker::OnMovement(const Begun& begun) {
  const Member& member = book_.Of(begun.member);
  const auto node = member.nodes.find(begun.movement.to);
  if (node != member.nodes.end() && node->second.leaving) {
    Violated(fmt::format("{} moves pod {} of {} to node {}, which is about to be removed", begun.by, begun.pod, begun.member,
                         begun.movement.to));
  }
  const base::Instant now = view().now();
  const Condition mover = view().ConditionOf(begun.by, begun.member);
  const bool sees = !mover.gone && now - mover.since >= kKnownAfter;
  Owed owed{.owner = begun.movement.owner,
            .to = begun.movement.to,
            .since = now,
            .pods = LivePods(member, begun.movement.owner, begun.movement.pod_uid),
            .milli_cores = begun.milli_cores,
            .bytes = begun.bytes,
            .known = now - (sees ? kKnownAfter : kKnownLate)};
  owed.taken = IsTaken(member, owed);
  Moved(begun.member).push_back(std::move(owed));
}

bool TogetherChecker::IsTaken(const Member& member, const Owed& owed) const {
  const auto node = member.nodes.find(owed.to);
  if (node == member.nodes.end()) return false;
  const auto has_room = [&](base::Instant until) {
    int64_t milli_cores = owed.milli_cores, bytes = owed.bytes, pods = 1;
    for (const auto& [key, pod] : member.pods) {
      if (pod.node != owed.to || !pod.live || pod.placed > until) continue;
      milli_cores += pod.milli_cores;
      bytes += pod.bytes;
      ++pods;
    }
    return milli_cores <= node->second.milli_cores && bytes <= node->second.bytes && pods <= node->second.pods;
  };
  return !has_room(view().now()) && has_room(owed.known);
}

std::vector<TogetherChecker::Owed>& TogetherChecker::Moved(const std::string& member) {
  std::vector<Owed>& moved = moved_[member];
  std::erase_if(moved, [&](const Owed& owed) { return owed.since <= view().now() - kReplacementComes; });
  return moved;
}

void TogetherChecker::OnGroup(const ApiWrite& write) {
  const auto before = Parsed(write.previous), after = Parsed(write.value);
  if (!before || !after) return;
  if (MemberBook::DecodeGroup(*after).target <= MemberBook::DecodeGroup(*before).target) return;
  const Member& member = book_.Of(write.api);
  const std::vector<Owed>& moved = Moved(write.api);
  if (member.pending.empty()) return;
  for (const std::string& key : member.pending) {
    const Pod& pod = member.pods.at(key);
    const int64_t pods = LivePods(member, pod.owner);
    const bool replaces = std::ranges::any_of(moved, [&](const Owed& owed) {
      const auto node = member.nodes.find(owed.to);
      const bool has_place = node != member.nodes.end() && node->second.ready && !owed.taken && !IsTaken(member, owed);
      return has_place && owed.replacement == pod.uid && pods <= owed.pods;
    });
    if (!replaces) return;
  }
  Violated(fmt::format("{} made node group {} of {} grow for pods that were only moved: {}", write.record.user.name,
                       write.record.name, write.api, fmt::join(member.pending, ", ")));
}

}  // namespace evenkeel::sim
