#include "controllers/distribution/distributor/tenancy.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/log.h"
#include "client/fenced_client.h"
#include "client/http/kubeconfig.h"
#include "controllers/distribution/sharding/distribution_events.h"
#include "controllers/distribution/sharding/distribution_metrics.h"

namespace evenkeel::controllers::distribution {
namespace {

/// Long enough that one list of a large cluster does not look like load.
constexpr base::Duration kMeasurePeriod = std::chrono::seconds(10);
/// One slow call or one long list is no load: a measurement counts a quarter.
constexpr int64_t kSmoothing = 4;
/// What is measured right after a member was won says more about the hand-over than about the member: until there are so many
/// measurements, it counts what it counted before. The first one is left out.
constexpr int kSettling = 3;

}  // namespace

Tenancy::Tenancy(const TenancyContext& context, Wanted wanted, base::Random random, std::function<void()> changed)
    : context_(context),
      server_(wanted.cluster.server),
      shown_server_(client::WithoutUserinfo(server_)),
      connection_hash_(wanted.cluster.connection_hash),
      random_(random),
      changed_(std::move(changed)),
      strand_(context.executor.NewStrand("fence/" + wanted.cluster.name)),
      wanted_(std::move(wanted)) {
  report_.server = server_;
  report_.cluster = wanted_.cluster.name;
  report_.shard = wanted_.shard;
  report_.desired = wanted_.desired;
  strand_->Post([this] { Connect(); });
}

Tenancy::~Tenancy() {
  {
    std::lock_guard lock(mutex_);
    if (fence_) fence_->Close();
  }
  strand_->Close();
  measure_timer_.Cancel();
  member_.reset();
  lease_.reset();
}

void Tenancy::Connect() {
  auto client = wanted_.cluster.connection ? context_.connector(*wanted_.cluster.connection, 0)
                                           : base::Fail(wanted_.cluster.connection.error());
  if (!client) {
    connect_error_ = client.error().message();
    return UpdateReport();
  }
  lease_client_ = *std::move(client);
  OwnerLeaseOptions options;
  options.identity = context_.identity;
  options.member = {.server = server_, .name = wanted_.cluster.name, .fleet = context_.options.fleet};
  options.duration = context_.options.lease_duration;
  options.renew_period = context_.options.lease_duration / 5;
  options.margin = context_.options.lease_margin;
  lease_ = std::make_unique<OwnerLease>(*lease_client_, options, strand_, context_.executor.clock(), random_.Fork("lease"),
                                        OwnerLease::Callbacks{
                                            .won = [this](std::shared_ptr<client::Fence> fence) { Won(fence); },
                                            .lost = [this](const std::string& why) { Lost(why); },
                                            .changed = [this] { UpdateReport(); },
                                        });
  lease_->SetDesired(wanted_.desired);
  UpdateReport();
}

void Tenancy::Want(Wanted wanted) {
  strand_->Post([this, wanted = std::move(wanted)]() mutable {
    wanted_ = std::move(wanted);
    if (lease_) lease_->SetDesired(wanted_.desired);
    UpdateReport();
  });
}

void Tenancy::Want(DesiredRole desired, std::string why) {
  strand_->Post([this, desired, why = std::move(why)]() mutable {
    wanted_.desired = desired;
    wanted_.why = std::move(why);
    if (lease_) lease_->SetDesired(desired);
    UpdateReport();
  });
}

void Tenancy::Abandon(std::function<void()> ended) {
  {
    // At once, even while the strand waits for a member that hangs.
    std::lock_guard lock(mutex_);
    if (fence_) fence_->Close();
  }
  strand_->Post([this, ended = std::move(ended)] {
    if (member_) Lost("its connection data changed");
    lease_.reset();
    ended();
  });
}

void Tenancy::Won(const std::shared_ptr<client::Fence>& fence) {
  const Cluster& cluster = wanted_.cluster;
  if (wanted_.desired.role == MemberRole::kStandby) wanted_.why = "its owner was silent, and this replica stands by for it";
  auto client = context_.connector(*cluster.connection, fence->epoch());
  if (!client) {
    connect_error_ = client.error().message();
    return UpdateReport();
  }
  connect_error_.clear();
  ReadIdentity(**client);
  member_ = std::make_unique<runtime::Member>(
      cluster.label(), *std::move(client), fence, context_.executor, random_.Fork("member"),
      [this] { strand_->Post([this] { UpdateReport(); }); }, context_.controllers);
  busy_before_ = {};
  measurements_ = 0;
  {
    std::lock_guard lock(mutex_);
    fence_ = fence;
  }
  base::log::Info("cluster won",
                  {{"cluster", cluster.name}, {"server", shown_server_}, {"epoch", fence->epoch()}, {"why", wanted_.why}});
  context_.events.Normal(cluster.reference, events::kOwnerChanged.reason,
                         fmt::format("replica {} (shard {}) now looks after cluster {}: {}", context_.options.host_name,
                                     wanted_.shard, cluster.name, wanted_.why));
  base::CounterOf(context_.metrics, metrics::kMoves).Add();
  measure_timer_ = strand_->PostAfter(kMeasurePeriod, [this] { Measure(); });
  UpdateReport();
}

void Tenancy::Lost(const std::string& reason) {
  const bool unwanted = wanted_.desired.role == MemberRole::kNone && !wanted_.desired.wait_for_successor;
  const std::string& why = unwanted ? wanted_.why : reason;
  measure_timer_.Cancel();
  member_.reset();
  {
    std::lock_guard lock(mutex_);
    fence_.reset();
  }
  base::log::Info("cluster let go", {{"cluster", wanted_.cluster.name}, {"server", shown_server_}, {"why", why}});
  context_.events.Normal(
      wanted_.cluster.reference, events::kOwnerReleased.reason,
      fmt::format("replica {} no longer looks after cluster {}: {}", context_.options.host_name, wanted_.cluster.name, why));
  if (lease_) lease_->Released();
  UpdateReport();
}

void Tenancy::Measure() {
  measure_timer_ = strand_->PostAfter(kMeasurePeriod, [this] { Measure(); });
  const base::Duration busy = member_->busy();
  const int64_t now = (busy - std::exchange(busy_before_, busy)) / (kMeasurePeriod / 1000);
  busy_permille_ = ++measurements_ <= 2 ? now : busy_permille_ + (now - busy_permille_) / kSmoothing;
  UpdateReport();
}

/// Records each change between reachable and not.
void Tenancy::RecordReachable(std::string_view error) {
  if (error.empty() == told_error_.empty()) return;
  told_error_ = error;
  const Cluster& cluster = wanted_.cluster;
  if (error.empty()) {
    base::log::Info("cluster can be reached again", {{"cluster", cluster.name}});
    context_.events.Normal(cluster.reference, events::kClusterReachable.reason,
                           "cluster " + cluster.name + " can be reached again");
    return;
  }
  base::log::Warn("cluster cannot be reached", {{"cluster", cluster.name}, {"server", shown_server_}, {"error", error}});
  const std::string_view then = connect_error_.empty() ? "is tried again" : "needs other connection data";
  context_.events.Warning(
      cluster.reference, events::kClusterUnreachable.reason,
      fmt::format("cluster {} at {} cannot be reached: {}: it {}", cluster.name, shown_server_, error, then));
}

/// For people: what fails is tried again when the member is won again.
void Tenancy::ReadIdentity(client::Client& client) {
  if (api_.empty()) api_ = ApiIdentity(client).value_or("");
}

/// Once for each other name under which the member is held.
void Tenancy::TellOther(const MemberName& other) {
  if (other == told_other_) return;
  told_other_ = other;
  if (other.empty()) return;
  ReadIdentity(*lease_client_);
  const Cluster& cluster = wanted_.cluster;
  const std::string message =
      fmt::format("cluster {} at {} is the same cluster as {}{} and is looked after under that name; remove one of the two",
                  cluster.name, shown_server_, other.Shown(context_.options.fleet), api_.empty() ? "" : " (uid " + api_ + ")");
  base::log::Warn("one cluster under two names", {{"cluster", cluster.name}, {"message", message}});
  context_.events.Warning(cluster.reference, events::kSameCluster.reason, message);
}

void Tenancy::UpdateReport() {
  TenancyReport now;
  now.server = server_;
  now.cluster = wanted_.cluster.name;
  now.shard = wanted_.shard;
  now.desired = wanted_.desired;
  if (lease_) now.lease = lease_->state();
  now.error = !connect_error_.empty() ? connect_error_ : now.lease.error;
  if (member_) {
    const runtime::MemberHealth health = member_->health();
    if (now.error.empty()) now.error = health.error;
    const bool reachable = now.error.empty();
    if (!reachable || (health.synced && measurements_ >= kSettling)) {
      now.load =
          MeasuredLoad{.nodes = health.nodes, .pods = health.pods, .busy_permille = busy_permille_, .reachable = reachable};
    }
  }
  now.api = api_;
  if (!now.error.empty()) now.unreachable_since = report_.unreachable_since.value_or(context_.executor.clock().Now());
  if (now.desired.role == MemberRole::kOwner) {
    RecordReachable(now.error);
    TellOther(now.lease.other);
  }
  bool changed;
  {
    std::lock_guard lock(mutex_);
    // The Lease says that it is held before what acts by it is there, and somebody may ask in between.
    now.acting = fence_ != nullptr && fence_->open();
    changed = now.acting != report_.acting || now.desired != report_.desired || now.error != report_.error ||
              now.lease.holding != report_.lease.holding || now.lease.holder != report_.lease.holder ||
              now.lease.epoch != report_.lease.epoch || now.lease.other != report_.lease.other || now.api != report_.api;
    report_ = std::move(now);
  }
  if (changed) changed_();
}

bool Tenancy::acting() const {
  std::lock_guard lock(mutex_);
  return fence_ != nullptr && fence_->open();
}

TenancyReport Tenancy::report() const {
  std::lock_guard lock(mutex_);
  TenancyReport report = report_;
  report.acting = fence_ != nullptr && fence_->open();
  return report;
}

}  // namespace evenkeel::controllers::distribution
