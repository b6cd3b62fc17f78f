#include "cli/clusters/cloud_provider.h"

#include <cstdlib>

#include "controllers/distribution/sharding/cluster.h"
#include "embedded/cloud/cloud_provider.h"
#include "providers/cluster_api.h"
#include "providers/external_grpc.h"
#include "providers/kwok.h"

namespace evenkeel::cli {
namespace {

using controllers::autoscaler::Options;
using Made = base::Result<std::unique_ptr<providers::Provider>>;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

base::Result<ProviderMaker> ClusterApi(const Options& options, const client::HttpClientOptions& connection, base::Clock& clock,
                                       Rivals rivals) {
  EVENKEEL_ASSIGN(auto settings, providers::ClusterApiOptions::From(Variable, options.node_group_auto_discovery));
  settings.rivals = std::move(rivals);
  if (options.cloud_config.empty()) {
    return [settings, &clock](client::Client& member, const Guard&) -> Made {
      return providers::NewClusterApiProvider(std::shared_ptr<client::Client>(std::shared_ptr<void>(), &member), settings,
                                              clock);
    };
  }
  const auto config = client::LoadKubeconfig({options.cloud_config, ""});
  if (!config) return base::Fail(config.error().Wrap("--cloud-config"));
  return [settings, connection, config = *config, &clock](client::Client&, const Guard& guard) -> Made {
    EVENKEEL_ASSIGN(std::unique_ptr<client::Client> management, client::NewHttpClient(config, connection));
    return providers::NewClusterApiProvider(guard(std::move(management)), settings, clock);
  };
}

providers::NodeGroupOptions Defaults(const Options& options) {
  providers::NodeGroupOptions defaults;
  defaults.scale_down_utilization_threshold = options.scale_down_utilization_threshold;
  defaults.scale_down_gpu_utilization_threshold = options.scale_down_gpu_utilization_threshold;
  defaults.scale_down_unneeded_time = options.scale_down_unneeded_time;
  defaults.scale_down_unready_time = options.scale_down_unready_time;
  defaults.max_node_provision_time = options.max_node_provision_time;
  defaults.max_node_startup_time = options.max_node_startup_time;
  defaults.zero_or_max_node_scaling = false;
  defaults.allow_non_atomic_scale_up_to_max = false;
  defaults.ignore_daemonsets_utilization = options.ignore_daemonsets_utilization;
  return defaults;
}

base::Result<providers::ExternalGrpcConfig> ReadGrpcConfig(const Options& options) {
  if (options.cloud_config.empty()) {
    return base::Fail(base::Code::kBadRequest, "--cloud-config is required with --cloud-provider=externalgrpc");
  }
  return providers::ReadExternalGrpcConfig(options.cloud_config);
}

base::Result<ProviderMaker> ExternalGrpc(const Options& options, base::Clock& clock, const Rivals& rivals) {
  EVENKEEL_ASSIGN(const auto config, ReadGrpcConfig(options));
  const auto names = [rivals] {
    std::vector<std::string> members;
    for (Rival& rival : rivals ? rivals() : std::vector<Rival>()) members.push_back(std::move(rival.member));
    return members;
  };
  const bool prices = options.consolidate || std::ranges::find(options.expander, "price") != options.expander.end();
  return [config, defaults = Defaults(options), &clock, names, prices](client::Client&, const Guard&) -> Made {
    return providers::NewExternalGrpcProvider(config, defaults, clock, names, prices);
  };
}

}  // namespace

base::Result<SharedProvider> IdentityOf(const Options& options, const std::string& server) {
  SharedProvider shared;
  if (options.cloud_provider == "externalgrpc") {
    EVENKEEL_ASSIGN(const auto config, ReadGrpcConfig(options));
    shared.name = "externalgrpc " + config.address;
  } else if (options.cloud_provider == "clusterapi") {
    EVENKEEL_ASSIGN(auto settings, providers::ClusterApiOptions::From(Variable, options.node_group_auto_discovery));
    shared.name = "clusterapi " + server;
    if (!options.cloud_config.empty()) {
      const auto config = client::LoadKubeconfig({options.cloud_config, ""});
      if (!config) return base::Fail(config.error().Wrap("--cloud-config"));
      shared.name = "clusterapi " + config->server;
    }
    shared.discovery = std::move(settings.discovery);
  }
  shared.name = controllers::distribution::TrimSlashes(shared.name);
  return shared;
}

base::Result<ProviderMaker> MakeProviderMaker(const Options& options, const client::HttpClientOptions& connection,
                                              base::Clock& clock, const base::Random& random, Rivals rivals) {
  const std::string& name = options.cloud_provider;
  if (name == "embedded") {
    return [](client::Client& member, const Guard&) -> Made { return embedded::cloud::NewCloudProvider(member); };
  }
  if (name == "kwok") {
    const auto settings = providers::KwokOptions::From(Variable, options.ns);
    return [settings, random](client::Client& member, const Guard&) -> Made {
      return providers::NewKwokProvider(member, settings, random.Fork(member.Describe()));
    };
  }
  if (name == "clusterapi") return ClusterApi(options, connection, clock, std::move(rivals));
  if (name == "externalgrpc") return ExternalGrpc(options, clock, rivals);
  return base::Fail(base::Code::kBadRequest,
                    "--cloud-provider: \"" + name + "\" is none of embedded, kwok, clusterapi and externalgrpc");
}

}  // namespace evenkeel::cli
