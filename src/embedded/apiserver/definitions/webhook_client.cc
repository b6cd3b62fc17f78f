#include "embedded/apiserver/definitions/webhook_client.h"

#include <spdlog/fmt/fmt.h>

#include "base/hash.h"
#include "client/http/http_connection.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::FindString;

constexpr size_t kAnswerMax = 3u << 20;

}  // namespace

base::Result<std::string> PostToWebhook(const WebhookPost& post) {
  client::ConnectionConfig config;
  config.server = post.url;
  EVENKEEL_ASSIGN(client::HttpEndpoint endpoint, client::ParseEndpoint(config));
  if (!endpoint.tls) return Fail(Code::kBadRequest, "its address does not begin with https://");
  if (const size_t colon = post.address.rfind(':'); colon != post.address.npos) {
    endpoint.host = post.address.substr(0, colon);
    endpoint.port = post.address.substr(colon + 1);
    endpoint.proxy = {};
  }
  EVENKEEL_ASSIGN(const auto tls, client::TlsContext::ForClient(post.ca_pem, true, "", ""));
  const base::Instant deadline = base::SystemClock().Monotonic() + post.timeout;
  EVENKEEL_ASSIGN(const auto connection, client::HttpConnection::Open(endpoint, tls, deadline));
  const std::string path = endpoint.path_prefix.empty() ? "/" : endpoint.path_prefix;
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: evenkeel\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n",
      path, endpoint.host_header, post.body.size());
  client::HttpResponseReader reader(kAnswerMax);
  client::HttpConnection::Exchange exchange;
  EVENKEEL_TRY(connection->Send(head, post.body, reader, false, deadline, exchange));
  if (reader.status() == 200) return reader.TakeBody();
  return Fail(Code::kInternal, fmt::format("{} answers {} {}", endpoint.description, reader.status(),
                                           client::HttpReasonPhrase(reader.status())));
}

WebhookAddress WebhookAddressOf(const base::Json& client_config) {
  WebhookAddress at;
  at.url = FindString(client_config, {"url"});
  if (const base::Json* service = base::Find(client_config, {"service"}); service != nullptr && service->is_object()) {
    at.service_ns = FindString(*service, {"namespace"});
    at.service_name = FindString(*service, {"name"});
    at.service_port = base::FindInt(*service, {"port"}, at.service_port);
    at.url =
        fmt::format("https://{}.{}.svc:{}{}", at.service_name, at.service_ns, at.service_port, FindString(*service, {"path"}));
  }
  if (!base::Base64Decode(FindString(client_config, {"caBundle"}), at.ca_pem)) at.ca_pem = "not base64";
  return at;
}

}  // namespace evenkeel::embedded::apiserver
