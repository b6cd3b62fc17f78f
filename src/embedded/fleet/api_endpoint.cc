#include "embedded/fleet/api_endpoint.h"

#include <openssl/rand.h>
#include <spdlog/fmt/fmt.h>

#include <array>

#include "base/yaml.h"
#include "embedded/apiserver/access_control.h"

namespace evenkeel::embedded::fleet {
namespace {

constexpr char kControllerUser[] = "evenkeel-controller";

/// 256 bits as hexadecimal digits. Not from base::Random, whose seed has 64 bits and also makes the names and uids that anybody
/// may see.
std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  EVENKEEL_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace

base::Result<Credentials> Credentials::LoadOrMake(const std::string& directory, base::Time now) {
  Credentials credentials;
  credentials.directory_ = directory;
  EVENKEEL_ASSIGN(credentials.authority_,
                  apiserver::LoadOrMake(directory, "ca", now, [&] { return apiserver::NewAuthority("evenkeel-ca", now); }));
  EVENKEEL_ASSIGN(credentials.admin_,
                  apiserver::LoadOrMake(
                      directory, "admin", now,
                      [&] { return apiserver::NewClientCertificate(credentials.authority_, "admin", {kMasters}, now); },
                      &credentials.authority_));
  const std::string path = directory + "/tokens.csv";
  auto text = base::ReadFile(path);
  if (text) {
    credentials.controller_token_ = text->substr(0, text->find(','));
    return credentials;
  }
  if (text.error().code() != base::Code::kNotFound) return base::Fail(text.error());
  credentials.controller_token_ = NewToken();
  EVENKEEL_TRY(base::WriteFile(
      path, fmt::format("{},{},{},{}\n", credentials.controller_token_, kControllerUser, kControllerUser, kMasters), 0600));
  return credentials;
}

base::Status Credentials::AddTo(apiserver::Authenticator& authenticator) const {
  return authenticator.AddTokenFile(directory_ + "/tokens.csv");
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

client::ConnectionConfig Credentials::ControllerConnection(const std::string& server) const {
  client::ConnectionConfig connection;
  connection.server = server;
  connection.ca_pem = authority_.certificate_pem;
  connection.token = controller_token_;
  return connection;
}

base::Result<std::unique_ptr<ApiEndpoint>> ApiEndpoint::Start(ApiEndpointOptions options, apiserver::Api& api,
                                                              const Credentials& credentials, base::Executor& executor) {
  std::unique_ptr<ApiEndpoint> endpoint(new ApiEndpoint(api, executor));
  const base::Time now = executor.clock().Now();
  // The address is part of the name, so that another address gets another certificate instead of a wrong one.
  EVENKEEL_ASSIGN(const apiserver::KeyPair pair,
                  apiserver::LoadOrMake(
                      credentials.directory(), options.name + "-" + options.address, now,
                      [&] {
                        return apiserver::NewServerCertificate(
                            credentials.authority(), options.name,
                            {"localhost", "kubernetes.default.svc", "127.0.0.1", options.address}, now);
                      },
                      &credentials.authority()));
  apiserver::Authenticator& authenticator = api.access().authenticator();
  EVENKEEL_TRY(credentials.AddTo(authenticator));
  if (!options.token_file.empty()) EVENKEEL_TRY(authenticator.AddTokenFile(options.token_file));
  endpoint->address_ = options.address;
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
  return endpoint;
}

std::string ApiEndpoint::url() const { return fmt::format("https://{}:{}", address_, port()); }

}  // namespace evenkeel::embedded::fleet
