#include "sim/checkers/autoscaler_checkers.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/cloud/node_group_definition.h"
#include "sim/network/network.h"

namespace evenkeel::sim {
namespace {

using base::Duration;
using Pod = MemberBook::Pod;
using namespace std::chrono_literals;

constexpr std::string_view kSystem = "kube-system";
/// An instance that the cloud has begun runs after this, at most.
constexpr Duration kSlack = 2min;
constexpr int64_t kGibibyte = int64_t{1} << 30;

MemberBook::Group Decoded(const embedded::store::Value& value) {
  if (value == nullptr) return {};
  const auto object = base::ParseJson(*value, "NodeGroup");
  return object ? MemberBook::DecodeGroup(*object) : MemberBook::Group{};
}

bool Covers(const MemberBook::Budget& budget, const Pod& pod) {
  return budget.ns == pod.ns && budget.selector.Matches(pod.labels);
}

/// Why the pod must not be evicted; "" when it may.
std::string Hindrance(const MemberBook::Member& member, const Pod& pod) {
  if (pod.daemon || pod.mirror || pod.safe_to_evict == "true") return "";
  if (pod.safe_to_evict == "false") return "is annotated as not safe to evict";
  if (!pod.controlled) return "has no controller";
  if (pod.local_storage) return "has local storage";
  const auto covers = [&](const auto& budget) { return Covers(budget.second, pod); };
  if (pod.ns == kSystem && std::ranges::none_of(member.budgets, covers)) return "is of kube-system and has no budget";
  return "";
}

struct Totals {
  int64_t nodes = 0, milli_cores = 0, bytes = 0;
  void Add(const MemberBook::Group& group, int64_t count) {
    nodes += count;
    milli_cores += count * group.milli_cores;
    bytes += count * group.bytes;
  }
};

Totals TotalsOf(const MemberBook::Member& member) {
  Totals totals;
  for (const auto& [name, group] : member.groups) totals.Add(group, group.target);
  return totals;
}

/// Which limit is broken; "" for none.
std::string Broken(const Totals& totals, const controllers::autoscaler::Options& options) {
  if (options.max_nodes_total > 0 && totals.nodes > options.max_nodes_total) {
    return fmt::format("{} nodes, --max-nodes-total is {}", totals.nodes, options.max_nodes_total);
  }
  if (totals.milli_cores > options.cores_total.max * 1000) {
    return fmt::format("{} cores, --cores-total ends at {}", totals.milli_cores / 1000, options.cores_total.max);
  }
  if (totals.bytes / kGibibyte > options.memory_total.max) {
    return fmt::format("{} GiB, --memory-total ends at {}", totals.bytes / kGibibyte, options.memory_total.max);
  }
  return "";
}

}  // namespace

const std::vector<std::string>& AutoscalerCheckerNames() {
  static const std::vector<std::string> names = {"undrainable", "budgets", "limits", "flapping", "schedulable"};
  return names;
}

void AutoscalerChecker::OnWrite(const ApiWrite& write, const LeaseChange&) {
  if (!write.took_effect || write.api == kHub || !IsReplica(write.record.user.name)) return;
  if (write.record.plural == kube::resources::Pods().plural) {
    if (write.record.verb == "delete" || write.record.subresource == "eviction") OnPodRemoval(write);
    return;
  }
  if (write.record.plural != embedded::cloud::NodeGroups().plural) return;
  GroupChange change{.member = write.api,
                     .group = write.record.name,
                     .by = write.record.user.name,
                     .before = Decoded(write.previous),
                     .after = Decoded(write.value),
                     .removed = {}};
  const MemberBook::Member& member = book_.Of(write.api);
  for (const auto& [name, node] : member.nodes) {
    const std::string& id = node.provider_id;
    if (change.after.deleting.contains(id) && !change.before.deleting.contains(id)) change.removed.push_back(name);
  }
  OnGroup(change);
}

std::vector<const Pod*> AutoscalerChecker::PodsOn(const MemberBook::Member& member, const std::string& node) {
  std::vector<const Pod*> pods;
  for (const auto& [key, pod] : member.pods) {
    if (pod.live && pod.node == node) pods.push_back(&pod);
  }
  return pods;
}

void UndrainableChecker::OnGroup(const GroupChange& change) {
  const MemberBook::Member& member = book_.Of(change.member);
  for (const std::string& node : change.removed) {
    for (const Pod* pod : PodsOn(member, node)) {
      const std::string why = Hindrance(member, *pod);
      if (why.empty()) continue;
      Violated(fmt::format("{} removed node {} of {} although pod {}/{} on it {}", change.by, node, change.member, pod->ns,
                           pod->name, why));
    }
  }
}

void BudgetsChecker::CheckBudgets(const MemberBook::Member& member, const Pod& pod, const std::string& what) {
  for (const auto& [name, budget] : member.budgets) {
    if (!Covers(budget, pod)) continue;
    int64_t ready = 0;
    for (const auto& [key, other] : member.pods)
      ready += other.live && other.ready && other.uid != pod.uid && Covers(budget, other);
    if (ready >= budget.min_available) continue;
    Violated(fmt::format("{}: budget {} asks for {} ready pods and {} are left", what, name, budget.min_available, ready));
  }
}

void BudgetsChecker::OnGroup(const GroupChange& change) {
  const MemberBook::Member& member = book_.Of(change.member);
  for (const std::string& node : change.removed) {
    for (const Pod* pod : PodsOn(member, node)) {
      if (!pod->ready || pod->daemon) continue;
      CheckBudgets(member, *pod,
                   fmt::format("{} removed node {} of {} with pod {}", change.by, node, change.member, pod->name));
    }
  }
}

void BudgetsChecker::OnPodRemoval(const ApiWrite& write) {
  const MemberBook::Member& member = book_.Of(write.api);
  if (write.previous == nullptr) return;
  MemberBook before;
  embedded::store::Event event;
  event.current.key = write.key;
  event.current.value = write.previous;
  before.See(write.api, event, view().now());
  for (const auto& [key, pod] : before.Of(write.api).pods) {
    // One that was not ready, or was ending anyway, counted for nothing.
    if (!pod.ready || !pod.live) continue;
    CheckBudgets(member, pod, fmt::format("{} evicted pod {} of {}", write.record.user.name, key, write.api));
  }
}

void LimitsChecker::OnGroup(const GroupChange& change) {
  if (change.after.target <= change.before.target) return;
  if (change.after.target > change.after.max) {
    Violated(fmt::format("{} set node group {} of {} to {} nodes, its maximum is {}", change.by, change.group, change.member,
                         change.after.target, change.after.max));
  }
  const std::string broken = Broken(TotalsOf(book_.Of(change.member)), options_);
  if (!broken.empty()) Violated(fmt::format("{} gave {} {}", change.by, change.member, broken));
}

void FlappingChecker::OnGroup(const GroupChange& change) {
  const MemberBook::Member& member = book_.Of(change.member);
  for (const std::string& node : change.removed) {
    const MemberBook::Node& known = member.nodes.at(node);
    const Duration age = view().now() - known.since;
    if (known.took >= options_.max_node_provision_time || age >= options_.scale_down_unneeded_time) continue;
    Violated(fmt::format("{} removed node {} of {} {} after it had come, --scale-down-unneeded-time is {}", change.by, node,
                         change.member, base::FormatDuration(age), base::FormatDuration(options_.scale_down_unneeded_time)));
  }
}

Duration SchedulableChecker::Bound() const {
  return 2 * (view().lease_duration() + view().lease_margin()) + options_.max_node_provision_time +
         options_.max_node_group_backoff_duration + kSlack;
}

bool SchedulableChecker::CouldHaveNode(const MemberBook::Member& member, const Pod& pod) const {
  const Totals now = TotalsOf(member);
  return std::ranges::any_of(member.groups, [&](const auto& entry) {
    const MemberBook::Group& group = entry.second;
    if (pod.milli_cores > group.milli_cores || pod.bytes > group.bytes) return false;
    if (group.target >= std::min(group.max, group.quota.value_or(group.max))) return false;
    Totals more = now;
    more.Add(group, 1);
    return Broken(more, options_).empty();
  });
}

void SchedulableChecker::OnSecond() {
  if (!healed_ || shared_) return;
  for (const auto& [api, member] : book_.all()) {
    if (!view().Registered().contains(api)) continue;
    for (const std::string& key : member.pending) {
      const Pod& pod = member.pods.at(key);
      const Duration waited = view().now() - std::max(pod.since, *healed_);
      if (waited <= Bound() || !CouldHaveNode(member, pod) || !told_.insert(api + " " + pod.uid).second) continue;
      Violated(
          fmt::format("pod {} of {} has waited for a node for {} without any fault", key, api, base::FormatDuration(waited)));
    }
  }
}

}  // namespace evenkeel::sim
