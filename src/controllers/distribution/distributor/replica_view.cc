#include "controllers/distribution/distributor/replica_view.h"

#include <algorithm>

#include "base/parse_number.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution {
namespace {

int64_t Number(std::string_view text) { return base::ParseNumber<int64_t>(text).value_or(0); }

}  // namespace

void ReplicaView::See(const std::string& name, const base::Json* lease, bool first_list) {
  if (lease == nullptr) {
    seen_.erase(name);
    return;
  }
  const client::Lease decoded = client::Lease::Decode(*lease);
  if (decoded.holder.empty()) return;
  const base::Instant now = clock_.Monotonic();
  const auto [entry, fresh] = seen_.try_emplace(name);
  Seen& seen = entry->second;
  const std::string host(base::FindString(*lease, {"metadata", "annotations", kHostAnnotation}));
  const bool leaving = base::FindString(*lease, {"metadata", "annotations", kLeavingAnnotation}) == "true";
  const bool settled = base::FindString(*lease, {"metadata", "annotations", kSettledAnnotation}) != "false";
  seen.replica = {.identity = decoded.holder, .host = host, .leaving = leaving, .settled = settled};
  seen.applied_epoch = Number(base::FindString(*lease, {"metadata", "annotations", kAppliedEpochAnnotation}));
  if (!fresh && seen.renew_time == decoded.renew_time) return;
  seen.renewed = !fresh || (sees() && !first_list);
  seen.renew_time = decoded.renew_time;
  seen.at = now;
  if (decoded.holder != self_) return;
  if (!sees()) sees_since_ = now;
  own_seen_ = now;
}

/// Renewals come every quarter of the duration: half of it without one is a gap.
bool ReplicaView::sees() const { return own_seen_ && clock_.Monotonic() - *own_seen_ <= duration_ / 2; }

bool ReplicaView::IsLive(const Seen& seen) const { return clock_.Monotonic() - std::max(seen.at, sees_since_) < duration_; }

bool ReplicaView::settled() const {
  return sees() && std::ranges::all_of(seen_, [&](const auto& entry) {
           const Seen& seen = entry.second;
           return !IsLive(seen) || seen.replica.identity == self_ || (seen.renewed && seen.at >= sees_since_);
         });
}

std::vector<LiveReplica> ReplicaView::Live() const {
  std::vector<LiveReplica> live;
  for (const auto& [name, seen] : seen_) {
    if (IsLive(seen)) live.push_back(seen.replica);
  }
  std::ranges::sort(live, {}, &LiveReplica::identity);
  return live;
}

std::vector<std::string> ReplicaView::GoneFor(base::Duration age) const {
  std::vector<std::string> names;
  for (const auto& [name, seen] : seen_) {
    const base::Duration silent = clock_.Monotonic() - std::max(seen.at, sees_since_);
    const base::Duration since_renewal = clock_.Now() - seen.renew_time;
    if (silent > duration_ && std::max(silent, since_renewal) > duration_ + age) names.push_back(name);
  }
  return names;
}

std::map<std::string, int64_t> ReplicaView::AppliedEpochs() const {
  std::map<std::string, int64_t> epochs;
  for (const auto& [name, seen] : seen_) {
    if (IsLive(seen)) epochs[seen.replica.identity] = seen.applied_epoch;
  }
  return epochs;
}

}  // namespace evenkeel::controllers::distribution
