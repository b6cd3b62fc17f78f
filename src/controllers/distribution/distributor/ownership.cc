#include "controllers/distribution/distributor/ownership.h"

#include <utility>

#include "controllers/distribution/sharding/distribution_metrics.h"

namespace evenkeel::controllers::distribution {
namespace {

/// How often members that are let go are looked at, to be forgotten.
constexpr base::Duration kForgetPeriod = std::chrono::seconds(1);

/// Neither held nor about to be: nothing would be lost by forgetting it.
bool IsOver(const TenancyReport& report, const std::string& identity) {
  return report.desired.role == MemberRole::kNone && !report.acting && !report.lease.holding && report.lease.holder != identity;
}

}  // namespace

Ownership::Ownership(TenancyContext context, base::Random random, std::function<void()> changed)
    : context_(std::move(context)),
      random_(random),
      changed_(std::move(changed)),
      strand_(context_.executor.NewStrand("ownership/" + context_.identity)) {}

Ownership::~Ownership() {
  strand_->Close();
  limit_timer_.Cancel();
  forget_timer_.Cancel();
  tenancies_.clear();
  base::ReplaceGaugesOf(context_.metrics, metrics::kClusterOwner, {});
}

void Ownership::Follow(std::map<std::string, Wanted> wanted, std::string why, std::function<void()> applied) {
  strand_->Post([this, wanted = std::move(wanted), why = std::move(why), applied = std::move(applied)]() mutable {
    if (!handing_over_) Apply(std::move(wanted), why);
    if (applied) applied();
  });
}

void Ownership::Apply(std::map<std::string, Wanted> wanted, const std::string& why) {
  for (const auto& [server, tenancy] : tenancies_) {
    if (!wanted.contains(server)) tenancy->Want({}, why);
  }
  std::erase_if(reconnecting_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  for (auto& [server, want] : wanted) {
    const auto present = tenancies_.find(server);
    if (present == tenancies_.end()) {
      if (want.desired.role != MemberRole::kNone) Open(std::move(want));
    } else if (present->second->connection_hash() != want.cluster.connection_hash) {
      Reconnect(std::move(want));
    } else {
      present->second->Want(std::move(want));
    }
  }
  Forget();
  Changed();
}

void Ownership::Open(Wanted wanted) {
  const std::string server = wanted.cluster.server;
  auto tenancy = std::make_unique<Tenancy>(context_, std::move(wanted), random_.Fork(server),
                                           [this] { strand_->Post([this] { Changed(); }); });
  std::lock_guard lock(mutex_);
  tenancies_[server] = std::move(tenancy);
}

/// Another way to the same member: the old way ends first, so that this replica does not act twice.
void Ownership::Reconnect(Wanted wanted) {
  const std::string server = wanted.cluster.server;
  if (auto [entry, fresh] = reconnecting_.insert_or_assign(server, std::move(wanted)); !fresh) return;
  tenancies_.at(server)->Abandon([this, server] {
    strand_->Post([this, server] {
      std::unique_ptr<Tenancy> old;
      {
        std::lock_guard lock(mutex_);
        old = std::move(tenancies_.extract(server).mapped());
      }
      old.reset();
      auto next = reconnecting_.extract(server);
      if (next && next.mapped().desired.role != MemberRole::kNone) Open(std::move(next.mapped()));
    });
  });
}

/// Drops what has been let go. A Lease that could not be given up (the member cannot be reached) runs out by itself.
void Ownership::Forget() {
  std::vector<std::unique_ptr<Tenancy>> over;
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    for (auto entry = tenancies_.begin(); entry != tenancies_.end();) {
      const TenancyReport report = entry->second->report();
      if (report.desired.role == MemberRole::kNone && !reconnecting_.contains(entry->first)) {
        if (IsOver(report, context_.identity)) {
          over.push_back(std::move(entry->second));
          entry = tenancies_.erase(entry);
          continue;
        }
        more = true;
      }
      ++entry;
    }
  }
  if (more) forget_timer_ = strand_->PostAfter(kForgetPeriod, [this] { Forget(); });
}

void Ownership::Changed() {
  if (std::exchange(change_posted_, true)) return;
  strand_->Post([this] {
    change_posted_ = false;
    Forget();
    std::vector<std::pair<base::MetricLabels, double>> owners;
    for (const TenancyReport& report : Reports()) {
      if (report.acting) {
        owners.push_back({{{"cluster", report.cluster},
                           {"server", report.server},
                           {"owner", context_.options.host_name},
                           {"shard", std::to_string(report.shard)}},
                          1.0});
      }
    }
    base::ReplaceGaugesOf(context_.metrics, metrics::kClusterOwner, owners);
    if (handing_over_) CheckHandedOver();
    changed_();
  });
}

void Ownership::HandOver(bool wait, base::Duration limit, std::function<void()> done) {
  strand_->Post([this, wait, limit, done = std::move(done)]() mutable {
    handing_over_ = true;
    handed_over_ = std::move(done);
    reconnecting_.clear();
    if (wait) {
      limit_ = limit;
      LetGoOfAll(true);
      limit_timer_ = strand_->PostAfter(limit, [this] { LetGoWithin(*std::exchange(limit_, std::nullopt)); });
      CheckHandedOver();
    } else {
      LetGoWithin(limit);
    }
  });
}

void Ownership::StopWaiting() {
  strand_->Post([this] {
    if (limit_) LetGoWithin(*std::exchange(limit_, std::nullopt));
  });
}

void Ownership::LetGoWithin(base::Duration limit) {
  LetGoOfAll(false);
  limit_timer_ = strand_->PostAfter(limit, [this] {
    if (auto finish = std::exchange(handed_over_, nullptr)) finish();
  });
  CheckHandedOver();
}

void Ownership::LetGoOfAll(bool wait) {
  for (const auto& [server, tenancy] : tenancies_) {
    const int64_t epoch = tenancy->report().desired.epoch;
    tenancy->Want({.role = MemberRole::kNone, .epoch = epoch, .wait_for_successor = wait}, "this replica stops");
  }
}

void Ownership::CheckHandedOver() {
  for (const TenancyReport& report : Reports()) {
    if (!IsOver(report, context_.identity)) return;
  }
  if (auto finish = std::exchange(handed_over_, nullptr)) finish();
}

std::vector<TenancyReport> Ownership::Reports() const {
  std::vector<TenancyReport> reports;
  std::lock_guard lock(mutex_);
  for (const auto& [server, tenancy] : tenancies_) reports.push_back(tenancy->report());
  return reports;
}

std::vector<std::string> Ownership::Owned() const {
  std::vector<std::string> owned;
  std::lock_guard lock(mutex_);
  for (const auto& [server, tenancy] : tenancies_) {
    if (tenancy->acting()) owned.push_back(tenancy->report().cluster);
  }
  return owned;
}

std::vector<std::string> Ownership::Assigned() const {
  std::vector<std::string> assigned;
  for (const TenancyReport& report : Reports()) {
    if (report.desired.role == MemberRole::kOwner) assigned.push_back(report.cluster);
  }
  return assigned;
}

}  // namespace evenkeel::controllers::distribution
