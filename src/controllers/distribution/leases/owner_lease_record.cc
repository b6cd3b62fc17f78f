#include "controllers/distribution/leases/owner_lease_record.h"

#include "base/parse_number.h"
#include "client/fenced_client.h"
#include "controllers/distribution/leases/owner_lease.h"

namespace evenkeel::controllers::distribution {
namespace {

constexpr base::Duration kLongestValidity = std::chrono::hours(1);
// Beyond it a greater epoch could not be told any more.
constexpr int64_t kGreatestEpoch = int64_t{1} << 62;

int64_t EpochIn(const kube::Labels& annotations, const char* key) {
  const auto found = annotations.find(key);
  if (found == annotations.end()) return 0;
  const int64_t value = base::ParseNumber<int64_t>(found->second).value_or(0);
  return value >= 0 && value <= kGreatestEpoch ? value : 0;
}

std::string TextIn(const kube::Labels& annotations, const char* key) {
  const auto found = annotations.find(key);
  return found == annotations.end() ? "" : found->second;
}

void Annotate(base::Json& object, const char* key, const std::string& value) {
  base::Ensure(object, {"metadata", "annotations", key}) = value;
}

}  // namespace

OwnerRecord OwnerRecord::Decode(const base::Json& object) {
  OwnerRecord record;
  record.json = base::Json(object, {});
  record.lease = client::Lease::Decode(object);
  const kube::Labels& annotations = record.lease.meta.annotations;
  record.epoch = EpochIn(annotations, client::kEpochAnnotation);
  record.wanted_epoch = EpochIn(annotations, kWantedEpochAnnotation);
  record.wanted_by = TextIn(annotations, kWantedByAnnotation);
  record.member = {.server = TextIn(annotations, kMemberAnnotation),
                   .name = TextIn(annotations, kMemberNameAnnotation),
                   .fleet = TextIn(annotations, kFleetAnnotation)};
  return record;
}

RenewalStamp StampOf(const OwnerRecord* record) {
  if (record == nullptr) return {};
  const client::Lease& lease = record->lease;
  return {lease.meta.uid, lease.holder, lease.renew_time, lease.transitions, record->epoch};
}

void SilenceClock::Seen(const RenewalStamp& stamp, base::Instant now) {
  Contact(now);
  if (stamp == stamp_) return;
  stamp_ = stamp;
  since_ = now;
}

void SilenceClock::Contact(base::Instant now) {
  if (unanswered_ || now - last_contact_ > longest_gap_) since_ = now;
  unanswered_ = false;
  last_contact_ = now;
}

base::Duration ValidityOf(const OwnerRecord& record, base::Duration fallback) {
  const base::Duration stated = record.lease.duration;
  return stated > base::Duration::zero() && stated <= kLongestValidity ? stated : fallback;
}

base::Json Acquired(const OwnerRecord* present, const std::string& holder, base::Duration duration, int64_t epoch,
                    base::Time now, const MemberName& member) {
  base::Json object = present != nullptr
                          ? base::Json(present->json, {})
                          : kube::NewObject(kube::resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  client::Lease lease;
  lease.holder = holder;
  lease.duration = duration;
  lease.acquire_time = lease.renew_time = now;
  lease.transitions = present != nullptr ? present->lease.transitions + 1 : 0;
  lease.WriteTo(object);
  Annotate(object, client::kEpochAnnotation, std::to_string(epoch));
  for (const auto& [key, value] : {std::pair(kMemberAnnotation, member.server), std::pair(kMemberNameAnnotation, member.name),
                                   std::pair(kFleetAnnotation, member.fleet)}) {
    base::Erase(object, {"metadata", "annotations", key});
    if (!value.empty()) Annotate(object, key, value);
  }
  base::Erase(object, {"metadata", "annotations", kWantedByAnnotation});
  base::Erase(object, {"metadata", "annotations", kWantedEpochAnnotation});
  return object;
}

base::Json Renewed(const OwnerRecord& present, base::Duration duration, base::Time now) {
  const auto on_the_wire = std::chrono::floor<std::chrono::microseconds>(now);
  client::Lease lease = present.lease;
  lease.duration = duration;
  lease.renew_time = on_the_wire == present.lease.renew_time ? on_the_wire + std::chrono::microseconds(1) : on_the_wire;
  base::Json object(present.json, {});
  lease.WriteTo(object);
  return object;
}

base::Json Freed(const OwnerRecord& present) {
  base::Json object(present.json, {});
  base::Ensure(object, {"spec", "holderIdentity"}) = "";
  return object;
}

base::Json HandOverRequested(const OwnerRecord& present, const std::string& identity, int64_t epoch) {
  base::Json object(present.json, {});
  Annotate(object, kWantedByAnnotation, identity);
  Annotate(object, kWantedEpochAnnotation, std::to_string(epoch));
  return object;
}

}  // namespace evenkeel::controllers::distribution
