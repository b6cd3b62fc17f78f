#include "cli/commands/dashboard_service.h"

#include <spdlog/fmt/fmt.h>

#include "base/input/file.h"
#include "base/log.h"
#include "dashboard/access/token.h"
#include "dashboard/page_assets.h"
#include "embedded/apiserver/access/certificates.h"

namespace evenkeel::cli {
namespace {

namespace apiserver = embedded::apiserver;

/// Strands that wait for members' APIs: beyond this number, members that hang hold up others' parts of a view.
constexpr int kSourceThreads = 64;
/// How often the files of the certificate are looked at.
constexpr base::Duration kTlsFilesLook = std::chrono::seconds(30);
constexpr size_t kRequestBytesMax = 16 << 10;
/// The largest document (a member of 5,000 nodes) is a few megabytes.
constexpr size_t kDashboardStreamBytesMax = 32 << 20;

/// Empty where there are no files.
base::Result<apiserver::KeyPair> ReadCertificate(const std::string& certificate_file, const std::string& key_file) {
  apiserver::KeyPair certificate;
  if (certificate_file.empty() != key_file.empty()) {
    return base::Fail(base::Code::kBadRequest, "--dashboard-tls-cert-file and --dashboard-tls-key-file go together");
  }
  if (certificate_file.empty()) return certificate;
  EVENKEEL_ASSIGN(certificate.certificate_pem, base::ReadFile(certificate_file));
  EVENKEEL_ASSIGN(certificate.private_key_pem, base::ReadFile(key_file));
  return certificate;
}

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
  server.gate = dashboard::NewHubGate(*hub);
  server.now = [] { return base::SystemClock().Now(); };
  server.host_names = options.host_names;
  server.version = options.version;
  server.fleet = hub_name;
  server.page = dashboard::PageAssets();
  EVENKEEL_ASSIGN(apiserver::KeyPair certificate, ReadCertificate(options.certificate_file, options.key_file));
  server.encrypted = !certificate.certificate_pem.empty();
  service->certificate_file_ = options.certificate_file;
  service->key_file_ = options.key_file;
  service->certificate_pem_ = certificate.certificate_pem;
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
  if (!options.history_file.empty()) {
    service->history_ = std::make_shared<dashboard::HistoryFile>(options.history_file);
    service->recorder_ = std::make_unique<dashboard::Recorder>(*service->feed_, *service->history_, *service->sources_);
  }
  server.history = service->history_;
  service->server_ = std::make_unique<dashboard::Server>(*service->feed_, std::move(server));
  apiserver::HttpServerOptions http;
  http.address = options.address;
  http.port = options.port;
  http.threads = 1;
  http.certificate_pem = std::move(certificate.certificate_pem);
  http.private_key_pem = std::move(certificate.private_key_pem);
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
  if (!service->certificate_pem_.empty()) {
    service->strand_ = service->executor_->NewStrand("dashboard-certificate");
    service->strand_->Post([raw = service.get()] { raw->LookAtCertificate(); });
  }
  return service;
}

DashboardService::~DashboardService() {
  if (strand_ != nullptr) strand_->Close();
}

void DashboardService::LookAtCertificate() {
  // What cannot be read or used may be half written: the one that is shown stays.
  if (const base::Status renewed = RenewCertificate(); !renewed) {
    base::log::Warn("cannot renew the certificate of the dashboard", {{"error", renewed.error()}});
  }
  certificate_timer_ = strand_->PostAfter(kTlsFilesLook, [this] { LookAtCertificate(); });
}

base::Status DashboardService::RenewCertificate() {
  EVENKEEL_ASSIGN(const apiserver::KeyPair certificate, ReadCertificate(certificate_file_, key_file_));
  if (certificate.certificate_pem == certificate_pem_) return {};
  EVENKEEL_TRY(http_->UseCertificate(certificate.certificate_pem, certificate.private_key_pem));
  certificate_pem_ = certificate.certificate_pem;
  base::log::Info("renewed the certificate of the dashboard", {{"file", certificate_file_}});
  return {};
}

std::string DashboardService::url() const {
  const bool v6 = address_.contains(':');
  return fmt::format("{}://{}{}{}:{}/", certificate_file_.empty() ? "http" : "https", v6 ? "[" : "", address_, v6 ? "]" : "",
                     port());
}

std::string DashboardService::login_url() const { return url() + dashboard::LoginPath(token_); }

}  // namespace evenkeel::cli
