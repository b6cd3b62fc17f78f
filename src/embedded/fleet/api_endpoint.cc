#include "embedded/fleet/api_endpoint.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <thread>

#include "base/input/yaml.h"
#include "base/log.h"
#include "embedded/apiserver/access/access_control.h"

namespace evenkeel::embedded::fleet {
namespace {

/// Twice as many as cores, so that what is slow does not keep the others waiting; more where they wait for a network.
int RequestWorkers(const apiserver::Api& api) {
  constexpr int kBlockingWorkers = 16;
  if (api.options().store->reads_block()) return kBlockingWorkers;
  return std::clamp(2 * static_cast<int>(std::thread::hardware_concurrency()), 4, kBlockingWorkers);
}

}  // namespace

base::Result<Credentials> Credentials::LoadOrMake(const std::string& directory, base::Time now) {
  Credentials credentials;
  credentials.directory_ = directory;
  EVENKEEL_ASSIGN(credentials.authority_,
                  apiserver::LoadOrMake(directory, "ca", now, [&] { return apiserver::NewAuthority("evenkeel-ca", now); }));
  EVENKEEL_TRY(credentials.Renew(now));
  return credentials;
}

base::Result<bool> Credentials::Renew(base::Time now) {
  const auto make = [&] { return apiserver::NewClientCertificate(authority_, "admin", {kMasters}, now); };
  EVENKEEL_ASSIGN(apiserver::KeyPair admin, apiserver::LoadOrMake(directory_, "admin", now, make, &authority_));
  const bool renewed = admin.certificate_pem != admin_.certificate_pem;
  admin_ = std::move(admin);
  return renewed;
}

base::Result<access::TokenKey> Credentials::AccountKey(const std::string& cluster) const {
  return access::TokenKey::LoadOrMake(directory_ + "/" + cluster + "-accounts.key");
}

client::ConnectionConfig Credentials::AdminConnection(const std::string& server) const {
  client::ConnectionConfig connection;
  connection.server = server;
  connection.ca_pem = authority_.certificate_pem;
  connection.client_certificate_pem = admin_.certificate_pem;
  connection.client_key_pem = admin_.private_key_pem;
  return connection;
}

client::ConnectionConfig Credentials::TokenConnection(const std::string& server, const std::string& token) const {
  client::ConnectionConfig connection;
  connection.server = server;
  connection.ca_pem = authority_.certificate_pem;
  connection.token = token;
  return connection;
}

ApiEndpoint::ApiEndpoint(apiserver::Api& api, base::Executor& executor)
    : workers_(base::NewThreadPool(RequestWorkers(api))),
      handler_(api, {.executor = &executor, .workers = workers_.get(), .queue = {.workers = RequestWorkers(api)}}),
      free_memory_(executor) {}

base::Result<std::unique_ptr<ApiEndpoint>> ApiEndpoint::Start(ApiEndpointOptions options, apiserver::Api& api,
                                                              const Credentials& credentials, base::Executor& executor) {
  std::unique_ptr<ApiEndpoint> endpoint(new ApiEndpoint(api, executor));
  endpoint->name_ = options.name;
  endpoint->address_ = options.address;
  EVENKEEL_ASSIGN(const apiserver::KeyPair pair, endpoint->LoadOrMakeCertificate(credentials, executor.clock().Now()));
  endpoint->certificate_pem_ = pair.certificate_pem;
  apiserver::Authenticator& authenticator = api.access().authenticator();
  if (!options.token_file.empty()) EVENKEEL_TRY(authenticator.AddTokenFile(options.token_file));
  endpoint->authenticating_ = std::make_unique<apiserver::AuthenticatingHandler>(authenticator, endpoint->handler_);
  apiserver::HttpServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.threads = options.threads;
  server.certificate_pem = pair.certificate_pem;
  server.private_key_pem = pair.private_key_pem;
  server.client_ca_pem = credentials.authority().certificate_pem;
  auto started = apiserver::HttpServer::Start(server, *endpoint->authenticating_);
  if (!started && options.fallback_port >= 0) {
    server.port = options.fallback_port;
    started = apiserver::HttpServer::Start(server, *endpoint->authenticating_);
  }
  if (!started) return base::Fail(started.error().Wrap(options.name));
  endpoint->server_ = *std::move(started);
  // Another server may have a store that is beyond a network, too.
  const auto store = api.options().store->reads_block() ? apiserver::KubernetesService::Store::kShared
                                                        : apiserver::KubernetesService::Store::kOwn;
  endpoint->service_ = std::make_unique<apiserver::KubernetesService>(api, executor, options.address, endpoint->port(), store);
  return endpoint;
}

base::Result<apiserver::KeyPair> ApiEndpoint::LoadOrMakeCertificate(const Credentials& credentials, base::Time now) const {
  const auto make = [&] {
    return apiserver::NewServerCertificate(credentials.authority(), name_,
                                           {"localhost", "kubernetes.default.svc", "127.0.0.1", address_}, now);
  };
  // The address is part of the name, so that another address gets another certificate instead of a wrong one.
  return apiserver::LoadOrMake(credentials.directory(), name_ + "-" + address_, now, make, &credentials.authority());
}

base::Status ApiEndpoint::Renew(const Credentials& credentials, base::Time now) {
  EVENKEEL_ASSIGN(const apiserver::KeyPair pair, LoadOrMakeCertificate(credentials, now));
  if (pair.certificate_pem == certificate_pem_) return {};
  EVENKEEL_TRY(server_->UseCertificate(pair.certificate_pem, pair.private_key_pem));
  certificate_pem_ = pair.certificate_pem;
  base::log::Info("renewed the certificate of the API", {{"cluster", name_}});
  return {};
}

CertificateRenewal::CertificateRenewal(base::Executor& executor, std::function<base::Status(base::Time now)> renew)
    : clock_(executor.clock()), renew_(std::move(renew)), strand_(executor.NewStrand("certificate-renewal")) {
  strand_->Post([this] { Wait(); });
}

void CertificateRenewal::Wait() {
  timer_ = strand_->PostAfter(std::chrono::hours(1), [this] {
    const base::Status renewed = renew_(clock_.Now());
    if (!renewed) base::log::Error("cannot renew certificates", {{"error", renewed.error().message()}});
    Wait();
  });
}

std::string ApiEndpoint::url() const { return fmt::format("https://{}:{}", address_, port()); }

}  // namespace evenkeel::embedded::fleet
