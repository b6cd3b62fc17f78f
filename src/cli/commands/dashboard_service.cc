#include "cli/commands/dashboard_service.h"

#include <spdlog/fmt/fmt.h>

#include "dashboard/page_assets.h"
#include "dashboard/token.h"

namespace evenkeel::cli {
namespace {

namespace apiserver = embedded::apiserver;

/// Strands that wait for members' APIs: beyond this number, members that hang hold up others' parts of a view.
constexpr int kSourceThreads = 64;
constexpr size_t kRequestBytesMax = 16 << 10;
/// The largest document (a member of 5,000 nodes) is a few megabytes.
constexpr size_t kDashboardStreamBytesMax = 32 << 20;

}  // namespace

base::Result<std::unique_ptr<DashboardService>> DashboardService::Start(
    const DashboardRunOptions& options, std::unique_ptr<client::Client> hub, std::string hub_name,
    controllers::distribution::Options distribution, controllers::autoscaler::Options autoscaler, Connect connect) {
  std::unique_ptr<DashboardService> service(new DashboardService());
  dashboard::ServerOptions server;
  EVENKEEL_ASSIGN(server.token, dashboard::ReadOrMakeToken(options.token_file));
  if (!options.read_token_file.empty()) {
    EVENKEEL_ASSIGN(server.read_token, dashboard::ReadOrMakeToken(options.read_token_file));
  }
  server.host_names = options.host_names;
  server.version = options.version;
  server.fleet = hub_name;
  server.page = dashboard::PageAssets();
  service->token_ = server.token;
  service->address_ = options.address;
  service->hub_ = std::move(hub);
  service->executor_ = base::NewThreadPool(1);
  service->sources_ = base::NewThreadPool(kSourceThreads);
  service->feed_ = std::make_unique<dashboard::Feed>(dashboard::FeedContext{.hub = *service->hub_,
                                                                            .hub_name = std::move(hub_name),
                                                                            .executor = *service->executor_,
                                                                            .sources = *service->sources_,
                                                                            .random = base::Random(base::EntropySeed()),
                                                                            .distribution = std::move(distribution),
                                                                            .autoscaler = std::move(autoscaler),
                                                                            .connect = std::move(connect)});
  service->server_ = std::make_unique<dashboard::Server>(*service->feed_, std::move(server));
  apiserver::HttpServerOptions http;
  http.address = options.address;
  http.port = options.port;
  http.threads = 1;
  http.body_bytes_max = http.header_bytes_max = kRequestBytesMax;
  http.connections_max = 2 * dashboard::kStreamsMax;
  http.stream_bytes_max = kDashboardStreamBytesMax;
  auto started = apiserver::HttpServer::Start(http, *service->server_);
  if (!started && options.fallback_port >= 0) {
    http.port = options.fallback_port;
    started = apiserver::HttpServer::Start(http, *service->server_);
  }
  if (!started) return base::Fail(started.error().Wrap("dashboard"));
  service->http_ = *std::move(started);
  return service;
}

std::string DashboardService::url() const {
  const bool v6 = address_.contains(':');
  return fmt::format("http://{}{}{}:{}/", v6 ? "[" : "", address_, v6 ? "]" : "", port());
}

std::string DashboardService::login_url() const { return url() + dashboard::LoginPath(token_); }

}  // namespace evenkeel::cli
