#include "cli/run.h"

#include <cstdlib>

#include "base/log.h"
#include "base/metrics.h"
#include "base/yaml.h"
#include "cli/hub.h"
#include "cli/signals.h"
#include "client/http_client.h"
#include "controllers/distribution/distributor.h"
#include "embedded/apiserver/http_server.h"

namespace evenkeel::cli {
namespace {

namespace apiserver = embedded::apiserver;
namespace distribution = controllers::distribution;

/// Strands of this process wait for networks: one per owned member, and the hub's. Members beyond this take turns.
constexpr int kThreads = 32;
/// Below the fence margin of the distribution's heartbeat, so that a hub that hangs is noticed in time.
constexpr base::Duration kHubTimeout = std::chrono::seconds(5);
constexpr base::Duration kMemberTimeout = std::chrono::seconds(30);

/// /healthz and /readyz say whether this replica holds its claim; /livez only that it runs.
class HealthHandler final : public apiserver::HttpHandler {
 public:
  HealthHandler(const distribution::Distributor& distributor, const base::MetricRegistry& metrics)
      : distributor_(distributor), metrics_(metrics) {}

  void Handle(apiserver::HttpRequest request, std::unique_ptr<apiserver::Responder> responder) override {
    apiserver::HttpResponse response;
    response.content_type = "text/plain; charset=utf-8";
    std::string body = "ok\n";
    if (request.path == "/metrics") {
      body = metrics_.Render();
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    } else if (request.path == "/healthz" || request.path == "/readyz") {
      if (auto health = distributor_.Health(); !health) {
        base::log::Error("Error serving health check request", {{"component", "healthcheck"}, {"error", health.error()}});
        response.status = 503;
        body = health.error().message() + "\n";
      }
    } else if (request.path != "/livez") {
      response.status = 404;
      body = "there are /healthz, /readyz, /livez and /metrics\n";
    }
    response.body.push_back(std::make_shared<const std::string>(std::move(body)));
    responder->Send(std::move(response));
  }

 private:
  const distribution::Distributor& distributor_;
  const base::MetricRegistry& metrics_;
};

std::string HostName() {
  for (const char* name : {"POD_NAME", "HOSTNAME"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  auto text = base::ReadFile("/etc/hostname");
  std::string host = text ? *text : "localhost";
  while (!host.empty() && std::isspace(static_cast<unsigned char>(host.back()))) host.pop_back();
  return host;
}

base::Result<distribution::Options> ReadOptions(const RunOptions& run) {
  distribution::Options options;
  options.ns = run.hub.ns;
  options.host_name = HostName();
  options.in_cluster = run.in_cluster;
  for (const std::string& warning :
       distribution::ReadEnvironment([](const char* name) { return std::getenv(name); }, options)) {
    base::log::Warn(warning);
  }
  if (run.dynamic) options.dynamic = true;
  if (!run.hub.controller_name.empty()) options.controller_name = run.hub.controller_name;
  if (!run.sharding_method.empty()) {
    EVENKEEL_ASSIGN(options.method, distribution::ParseMethod(run.sharding_method));
  }
  EVENKEEL_TRY(distribution::ApplyQuirks(run.quirks, options.quirks));
  return options;
}

base::Result<client::ConnectionConfig> HubConnection(const HubOptions& hub) {
  const std::string path = KubeconfigPath(hub);
  if (path.empty() && hub.context.empty()) {
    if (auto in_cluster = client::InClusterConfig()) return in_cluster;
  }
  return client::LoadKubeconfig({path, hub.context});
}

}  // namespace

base::Status Run(const RunOptions& run) {
  SignalWaiter signals;
  EVENKEEL_ASSIGN(distribution::Options options, ReadOptions(run));
  EVENKEEL_ASSIGN(client::ConnectionConfig connection, HubConnection(run.hub));
  client::HttpClientOptions hub_options;
  hub_options.request_timeout = hub_options.connect_timeout = kHubTimeout;
  hub_options.user_agent = "evenkeel/" + options.host_name;
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> hub, client::NewHttpClient(std::move(connection), hub_options));
  base::log::Info("controllers start", {{"host", options.host_name},
                                        {"hub", hub->Describe()},
                                        {"method", distribution::MethodName(options.method)},
                                        {"dynamic", options.dynamic}});

  const std::unique_ptr<base::Executor> executor = base::NewThreadPool(kThreads);
  base::MetricRegistry metrics;
  auto connect = [&](const client::ConnectionConfig& config) {
    client::HttpClientOptions member_options;
    member_options.request_timeout = kMemberTimeout;
    member_options.user_agent = hub_options.user_agent;
    return client::NewHttpClient(config, member_options);
  };
  distribution::Distributor distributor(*hub, *executor, base::Random(base::EntropySeed()), std::move(options), connect,
                                        metrics);
  HealthHandler health(distributor, metrics);
  apiserver::HttpServerOptions server_options;
  server_options.address = run.metrics_address;
  server_options.port = run.metrics_port;
  server_options.threads = 1;
  EVENKEEL_ASSIGN(const std::unique_ptr<apiserver::HttpServer> server, apiserver::HttpServer::Start(server_options, health));
  distributor.Start();
  const int signal = signals.Wait();
  base::log::Info("controllers stop: clusters are handed over", {{"signal", signal}});
  distributor.Stop();
  return {};
}

}  // namespace evenkeel::cli
