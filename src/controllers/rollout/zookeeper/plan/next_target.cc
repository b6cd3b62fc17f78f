#include "controllers/rollout/zookeeper/plan/next_target.h"

#include <algorithm>
#include <set>

#include "controllers/rollout/zookeeper/plan/membership.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/quorum_tls.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindString;
using base::Json;

const Json* FindOverride(const EnsembleSpec& spec, const std::vector<const Json*>& children, const std::string& cluster) {
  const auto found = std::ranges::find_if(children, [&](const Json* child) {
    return FindString(*child, {"kind"}) == "OverridePolicy" && kube::NameOf(*child) == OverrideName(spec, cluster);
  });
  return found == children.end() ? nullptr : *found;
}

const Revision& Keep(EnsembleState& state, Revision revision) {
  return state.revisions.emplace(revision.name, std::move(revision)).first->second;
}

/// What the overrides of a record's clusters say, as far as they do.
Revision Observed(const EnsembleSpec& spec, const std::vector<const Json*>& children, const EnsembleState& state) {
  Json body = base::JsonObject{};
  Shares shares;
  for (const std::string& cluster : state.rollout.records.back().order) {
    if (!state.identities.contains(cluster)) continue;
    const auto placed = spec.shares.find(cluster);
    int64_t share = placed == spec.shares.end() ? 0 : placed->second;
    if (const Json* existing = FindOverride(spec, children, cluster)) {
      if (const Json* value = OverriddenBy(*existing, "/spec/replicas"); value != nullptr && value->is_int64()) {
        share = std::clamp<int64_t>(value->get_int64(), 0, spec.naming.stride);
      }
      if (const Json* value = OverriddenBy(*existing, "/spec"); value != nullptr && value->is_object()) body = Json(*value, {});
    }
    if (share > 0) shares[cluster] = share;
  }
  return MakeRevision(body, shares, ServerList(spec, state.identities, shares));
}

/// `before`: a recovery in it stays as long as the template does, so that its end restarts nobody; `always`: in any case.
Revision Render(const EnsembleSpec& spec, const EnsembleState& state, const Shares& shares, const Revision* before = nullptr,
                bool always = false) {
  std::vector<const Json*> in_force;
  for (const Revision* revision : state.InForce()) in_force.push_back(&revision->body);
  const Json wanted = StepQuorumTls(spec.body, in_force);
  Json body(wanted, {});
  if (before != nullptr && IsRecovery(*before)) {
    body.as_object()[kRecoveryField] = *base::Find(before->body, {kRecoveryField});
    if (!always && !base::Equal(body, before->body)) body = Json(wanted, {});
  }
  return MakeRevision(body, shares, ServerList(spec, state.identities, shares));
}

/// Whether any cluster has been given the list that a record brings, be it by an earlier one: records that follow each other
/// before the first of them is over bring the same list.
bool IsListOut(const EnsembleState& state, const Revision* base, const Revision& current) {
  if (base != nullptr && base->shares == current.shares) return false;
  return std::ranges::any_of(state.rollout.clusters, [&](const auto& item) {
    const Revision* given = state.Find(item.second.revision);
    return given != nullptr && given->shares == current.shares;
  });
}

/// A new template first, then one voter after the other.
NextRevision StepFrom(const EnsembleSpec& spec, const EnsembleState& state, const Revision* base) {
  if (base == nullptr) return {Render(spec, state, spec.shares), ""};
  Revision same_servers = Render(spec, state, base->shares, base);
  if (same_servers.name != base->name || base->shares == spec.shares) return {std::move(same_servers), base->name};
  return {Render(spec, state, NextShares(base->shares, spec.shares, state.identities), base), base->name};
}

/// Whether a record is about these clusters, and no others.
bool IsOrderOf(const Record& record, const Shares& shares) {
  const std::set<std::string> order(record.order.begin(), record.order.end());
  return order.size() == shares.size() &&
         std::ranges::all_of(shares, [&](const auto& item) { return order.contains(item.first); });
}

}  // namespace

Lists AdoptLastRecord(const EnsembleSpec& spec, const std::map<std::string, int64_t>& generations,
                      const std::vector<const Json*>& children, EnsembleState& state) {
  if (state.rollout.records.empty()) return {};
  Record& last = state.rollout.records.back();
  if (state.Find(last.revision) != nullptr) {
    return {state.Find(last.base_revision) == nullptr ? "" : last.base_revision, last.revision};
  }
  const bool first = state.rollout.records.size() == 1;
  Target present;
  present.generations = generations;
  if (!last.revision.empty() || Differs(last, present) || !IsOrderOf(last, spec.shares)) {
    const std::string observed = Keep(state, Observed(spec, children, state)).name;
    return {first && last.status != RecordStatus::kReady ? "" : observed, observed};
  }
  last.revision = Keep(state, Render(spec, state, spec.shares)).name;
  if (!first) last.base_revision = last.revision;
  for (const std::string& cluster : last.completed) {
    if (FindOverride(spec, children, cluster) == nullptr)
      state.rollout.clusters.emplace(cluster, ClusterRevision{.revision = last.revision, .previous = "", .confirmed = true});
  }
  for (const std::string& cluster : last.deploying) state.rollout.clusters.emplace(cluster, ClusterRevision{last.revision, ""});
  return {last.base_revision, last.revision};
}

NextRevision FindNextRevision(const EnsembleSpec& spec, const EnsembleState& state, const Lists& lists) {
  if (state.rollout.records.empty()) return StepFrom(spec, state, nullptr);
  const Record& last = state.rollout.records.back();
  const Revision* base = state.Find(lists.base);
  const Revision* current = state.Find(lists.current);
  EVENKEEL_CHECK(current != nullptr);
  // Whoever wrote a list without servers: nothing has been started by it.
  if (current->shares.empty()) return StepFrom(spec, state, nullptr);
  if (base != nullptr && base->shares.empty()) base = nullptr;
  if (last.status == RecordStatus::kReady || last.status == RecordStatus::kSuperseded) return StepFrom(spec, state, current);
  if (base == nullptr && IsRecovery(*current)) return {Render(spec, state, current->shares, current, true), ""};
  if (!last.Advanced() && !IsListOut(state, base, *current)) return StepFrom(spec, state, base);
  // Servers that have been started with a list know no other one until they have agreed on it.
  if (base == nullptr) return {Render(spec, state, current->shares), ""};
  if (base->shares != current->shares && spec.shares == base->shares) {
    return {Render(spec, state, base->shares, current), current->name};
  }
  return {Render(spec, state, current->shares, current), base->name};
}

}  // namespace evenkeel::controllers::rollout::zookeeper
