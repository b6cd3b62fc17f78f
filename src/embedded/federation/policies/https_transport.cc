// effect: waits for sockets, whose deadlines are counted on the system's clock.
#include <spdlog/fmt/fmt.h>

#include "base/hash.h"
#include "client/http/http_connection.h"
#include "embedded/federation/policies/interpreter.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Fail;
using base::FindInt;
using base::FindString;
using base::Json;

constexpr size_t kAnswerBytesMax = 8u << 20;
constexpr int64_t kTimeoutDefault = 10;

/// The hook's URL without its path, and the path.
struct HookAddress {
  std::string server, path;
};

base::Result<HookAddress> AddressOf(const Json& config) {
  std::string url(FindString(config, {"url"}));
  if (url.empty()) {
    const std::string_view name = FindString(config, {"service", "name"}), ns = FindString(config, {"service", "namespace"});
    if (name.empty() || ns.empty()) return Fail(base::Code::kBadRequest, "clientConfig has neither a url nor a service");
    std::string path(FindString(config, {"service", "path"}));
    if (!path.starts_with('/')) path.insert(0, "/");
    url = fmt::format("https://{}.{}.svc:{}{}", name, ns, FindInt(config, {"service", "port"}, 443), path);
  }
  if (!url.starts_with("https://")) return Fail(base::Code::kBadRequest, "clientConfig.url must begin with https://: " + url);
  const size_t slash = url.find('/', std::string_view("https://").size());
  HookAddress address{url.substr(0, slash), slash == std::string::npos ? "/" : url.substr(slash)};
  for (const char c : address.path) {
    if (c <= ' ' || c == 0x7f) return Fail(base::Code::kBadRequest, "clientConfig names a path that cannot be sent");
  }
  return address;
}

base::Result<Json> Post(const Json& webhook, const Json& context) {
  const Json* config = base::Find(webhook, {"clientConfig"});
  if (config == nullptr) return Fail(base::Code::kBadRequest, "clientConfig is missing");
  EVENKEEL_ASSIGN(const HookAddress address, AddressOf(*config));
  std::string ca;
  if (!base::Base64Decode(FindString(*config, {"caBundle"}), ca))
    return Fail(base::Code::kBadRequest, "clientConfig.caBundle is no base64");
  client::ConnectionConfig connection;
  connection.server = address.server;
  EVENKEEL_ASSIGN(const client::HttpEndpoint endpoint, client::ParseEndpoint(connection));
  EVENKEEL_ASSIGN(auto tls, client::TlsContext::ForClient(ca, true, "", ""));
  const base::Instant deadline =
      base::SystemClock().Monotonic() + std::chrono::seconds(FindInt(webhook, {"timeoutSeconds"}, kTimeoutDefault));
  EVENKEEL_ASSIGN(auto open, client::HttpConnection::Open(endpoint, std::move(tls), deadline));
  const std::string body = base::ToText(context);
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: evenkeel\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n",
      address.path, endpoint.host_header, body.size());
  client::HttpResponseReader reader(kAnswerBytesMax);
  client::HttpConnection::Exchange exchange;
  EVENKEEL_TRY(open->Send(head, body, reader, false, deadline, exchange));
  const std::string answer = reader.TakeBody();
  if (reader.status() != 200)
    return Fail(base::Code::kUnavailable, fmt::format("{} answered {}", endpoint.description, reader.status()));
  return base::ParseJson(answer, endpoint.description);
}

}  // namespace

HookTransport NewHttpsTransport() { return Post; }

}  // namespace evenkeel::embedded::federation
