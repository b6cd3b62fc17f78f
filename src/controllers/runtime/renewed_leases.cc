#include "controllers/runtime/renewed_leases.h"

#include <algorithm>

#include "client/lease.h"

namespace evenkeel::controllers::runtime {
namespace {

constexpr base::Duration kGap = std::chrono::seconds(5);
/// What leader election takes where a Lease does not say, and the longest that is believed.
constexpr base::Duration kUsualDuration = std::chrono::seconds(15), kDurationMax = std::chrono::minutes(10);
/// By how much clocks may differ.
constexpr base::Duration kSkewMax = std::chrono::minutes(5);

}  // namespace

base::Status RenewedLeases::Read() {
  const base::Instant now = clock_.Monotonic();
  std::map<std::string, Seen> seen;
  for (const std::string& name : names_) {
    client::ListOptions options;
    options.field_selector = "metadata.name=" + name;
    EVENKEEL_ASSIGN(const client::ListPage page, client::ListAll(client_, kube::resources::Leases(), options));
    for (const base::Json& object : page.items) {
      const client::Lease lease = client::Lease::Decode(object);
      if (lease.meta.name != name || lease.holder.empty()) continue;
      const std::string key = lease.meta.Key(), version = base::FormatMicroTime(lease.renew_time) + " " + lease.holder;
      const auto before = seen_.find(key);
      const base::Duration duration =
          std::min(lease.duration > base::Duration::zero() ? lease.duration : kUsualDuration, kDurationMax);
      if (before == seen_.end()) {
        const bool old = lease.renew_time + duration + kSkewMax < clock_.Now();
        seen[key] = {version, lease.holder, duration, old ? now - duration - base::Duration(1) : now};
      } else if (before->second.version == version) {
        seen[key] = before->second;
      } else {
        seen[key] = {version, lease.holder, duration, now, true};
      }
    }
  }
  seen_ = std::move(seen);
  return {};
}

base::Result<RenewedLeases::Found> RenewedLeases::Look() {
  const base::Instant now = clock_.Monotonic();
  if (!looked_ || now - looked_at_ >= kGap) {
    EVENKEEL_TRY(Read());
    looked_ = true;
    looked_at_ = now;
  }
  const auto renewed =
      std::ranges::find_if(seen_, [&](const auto& entry) { return now - entry.second.changed <= entry.second.duration; });
  if (renewed == seen_.end()) return Found{};
  return Found{"Lease " + renewed->first + " of " + renewed->second.holder.substr(0, 200), renewed->second.renewed};
}

}  // namespace evenkeel::controllers::runtime
