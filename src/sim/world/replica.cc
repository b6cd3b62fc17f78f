#include "sim/world/replica.h"

namespace evenkeel::sim {
namespace {

namespace distribution = controllers::distribution;

/// As in production: no request to the hub takes longer.
constexpr base::Duration kHubTimeoutMax = std::chrono::seconds(5);

}  // namespace

Replica::Replica(const ReplicaContext& context, ReplicaSettings settings, base::Random random)
    : context_(context),
      settings_(std::move(settings)),
      random_(random),
      process_(context.executor, context.fibers, settings_.user, settings_.clock) {}

Replica::~Replica() { Kill(); }

std::unique_ptr<client::Client> Replica::NewClient(const std::string& api, int64_t epoch) {
  const distribution::Options& options = settings_.options;
  NetworkClientOptions client{.host = options.host_name, .user = settings_.user, .epoch = epoch};
  // The contracts of both Leases: well below the time after which others take over.
  client.timeout =
      api == kHub ? std::min(kHubTimeoutMax, options.replica_lease_duration * 5 / 8) : options.lease_margin * 3 / 5;
  return context_.network.NewClient(process_, api, std::move(client));
}

void Replica::Start() {
  for (const auto& make : settings_.parts) parts_.push_back(make(*this));
  hub_ = NewClient(kHub);
  std::vector<controllers::runtime::MemberControllerFactory> controllers;
  if (settings_.controllers) controllers = settings_.controllers(*this);
  distributor_ = distribution::NewDistributor({
      .hub = *hub_,
      .executor = process_,
      .random = random_.Fork("distributor"),
      .options = settings_.options,
      .connector = [this](const client::ConnectionConfig& config,
                          int64_t epoch) -> base::Result<std::unique_ptr<client::Client>> {
        return NewClient(context_.api_of(config.server), settings_.states_epochs ? epoch : 0);
      },
      .metrics = metrics_,
      .member_controllers = std::move(controllers),
  });
  distributor_->Start();
}

void Replica::Stop(std::function<void()> done) {
  stopping_ = true;
  distributor_->Stop(std::move(done));
}

void Replica::Kill() {
  process_.Kill();
  distributor_.reset();
  parts_.clear();
  hub_.reset();
}

}  // namespace evenkeel::sim
