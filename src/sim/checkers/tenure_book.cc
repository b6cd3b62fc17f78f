#include "sim/checkers/tenure_book.h"

#include "base/parse_number.h"
#include "client/fenced_client.h"
#include "client/lease.h"

namespace evenkeel::sim {
namespace {

int64_t EpochOf(const base::Json& lease) {
  return base::ParseNumber<int64_t>(base::FindString(lease, {"metadata", "annotations", client::kEpochAnnotation})).value_or(0);
}

}  // namespace

const Tenure& TenureBook::Of(const std::string& member) const {
  static const Tenure kNone;
  const auto found = tenures_.find(member);
  return found == tenures_.end() ? kNone : found->second;
}

LeaseChange TenureBook::See(const ApiWrite& write, base::Instant now) {
  LeaseChange change;
  if (!write.took_effect || !write.Is("leases", client::kOwnerLeaseNamespace, client::kOwnerLease)) return change;
  Tenure& tenure = tenures_[write.api];
  change.before = tenure;
  base::Result<base::Json> object = base::Json();
  if (write.value != nullptr) object = base::ParseJson(*write.value, write.api);
  if (write.value == nullptr || !object) {
    change.kind = LeaseChange::Kind::kDeleted;
    tenure.holder.clear();
    return change;
  }
  const client::Lease lease = client::Lease::Decode(*object);
  const int64_t epoch = EpochOf(*object);
  if (lease.holder.empty()) {
    change.kind = tenure.holder.empty() ? LeaseChange::Kind::kAnnotated : LeaseChange::Kind::kReleased;
    tenure.holder.clear();
  } else if (lease.holder != tenure.holder || epoch != tenure.epoch || lease.transitions != tenure.transitions) {
    change.kind = LeaseChange::Kind::kTaken;
    tenure = {.holder = lease.holder,
              .user = write.record.user.name,
              .epoch = epoch,
              .number = tenure.number + 1,
              .since = now,
              .renewed = now,
              .duration = lease.duration,
              .transitions = lease.transitions,
              .renew_time = lease.renew_time};
  } else if (lease.renew_time != tenure.renew_time) {
    change.kind = LeaseChange::Kind::kRenewed;
    tenure.renewed = now;
    tenure.renew_time = lease.renew_time;
  } else {
    change.kind = LeaseChange::Kind::kAnnotated;
  }
  return change;
}

}  // namespace evenkeel::sim
