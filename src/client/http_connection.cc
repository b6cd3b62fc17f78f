#include "client/http_connection.h"

#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/hash.h"
#include "client/http_resolve.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

constexpr size_t kErrorBodyMax = 1 << 20;

std::string WithScheme(const std::string& text, std::string_view scheme) {
  return text.find("://") == std::string::npos ? std::string(scheme) + text : text;
}

std::string HostForUrl(const boost::urls::url_view& url) {
  std::string host(url.encoded_host().data(), url.encoded_host().size());
  if (url.has_port()) host += ":" + std::string(url.port().data(), url.port().size());
  return host;
}

base::Status ParseProxy(const std::string& proxy_url, HttpEndpoint& endpoint) {
  const std::string text = WithScheme(proxy_url, "http://");
  auto url = boost::urls::parse_uri(text);
  // The text may hold a password, so it is not repeated.
  if (!url || url->host_address().empty()) return Fail(Code::kBadRequest, "proxy-url is not a URL");
  if (url->scheme() != "http") {
    return Fail(Code::kBadRequest, "proxy-url: only http:// proxies are supported; use one, or remove it to connect directly");
  }
  endpoint.proxy_host = url->host_address();
  endpoint.proxy_port = url->has_port() ? std::string(url->port().data(), url->port().size()) : "80";
  if (url->has_userinfo()) {
    endpoint.proxy_authorization = "Basic " + base::Base64Encode(std::string(url->user()) + ":" + std::string(url->password()));
  }
  return {};
}

}  // namespace

base::Result<HttpEndpoint> ParseEndpoint(const ConnectionConfig& config) {
  HttpEndpoint endpoint;
  const std::string text = WithScheme(config.server, "https://");
  auto url = boost::urls::parse_uri(text);
  if (!url || url->host_address().empty()) {
    return Fail(Code::kBadRequest, fmt::format("server is not a URL like https://HOST:PORT: \"{}\"",
                                               text.find('@') == std::string::npos ? config.server : "(not shown)"));
  }
  if (url->scheme() != "https" && url->scheme() != "http") {
    return Fail(Code::kBadRequest,
                fmt::format("server: only https:// and http:// are supported, not {}://", std::string(url->scheme())));
  }
  endpoint.tls = url->scheme() == "https";
  endpoint.host = url->host_address();
  endpoint.port = url->has_port() && !url->port().empty() ? std::string(url->port().data(), url->port().size())
                  : endpoint.tls                          ? "443"
                                                          : "80";
  if (url->port_number() == 0 && url->has_port() && !url->port().empty()) {
    return Fail(Code::kBadRequest, fmt::format("server: {} is not a port", endpoint.port));
  }
  endpoint.host_header = HostForUrl(*url);
  endpoint.path_prefix = std::string(url->encoded_path().data(), url->encoded_path().size());
  while (endpoint.path_prefix.ends_with('/')) endpoint.path_prefix.pop_back();
  endpoint.server_name = config.tls_server_name.empty() ? endpoint.host : config.tls_server_name;
  endpoint.description = (endpoint.tls ? "https://" : "http://") + endpoint.host_header + endpoint.path_prefix;
  if (!config.proxy_url.empty()) EVENKEEL_TRY(ParseProxy(config.proxy_url, endpoint));
  return endpoint;
}

base::Status HttpConnection::WaitFor(IoResult::Kind kind, base::Instant deadline, std::string_view doing) {
  return WaitForSocket(fd_.get(), kind == IoResult::Kind::kWantWrite, deadline, doing);
}

base::Result<std::unique_ptr<HttpConnection>> HttpConnection::Open(const HttpEndpoint& endpoint,
                                                                   std::shared_ptr<TlsContext> tls, base::Instant deadline) {
  const bool proxied = !endpoint.proxy_host.empty();
  const std::string doing =
      fmt::format("cannot connect to {}{}", endpoint.description, proxied ? " through the proxy " + endpoint.proxy_host : "");
  auto fd =
      ConnectSocket(proxied ? endpoint.proxy_host : endpoint.host, proxied ? endpoint.proxy_port : endpoint.port, deadline);
  if (!fd) return Fail(fd.error().Wrap(doing));
  std::unique_ptr<HttpConnection> connection(new HttpConnection());
  connection->fd_ = *std::move(fd);
  connection->transport_ = Transport(connection->fd_.get(), nullptr);
  if (proxied) {
    if (auto status = connection->PassProxy(endpoint, deadline); !status) return Fail(status.error().Wrap(doing));
  }
  if (!endpoint.tls) return connection;
  connection->tls_ = std::move(tls);
  connection->transport_ =
      Transport(connection->fd_.get(), connection->tls_->NewClientSession(connection->fd_.get(), endpoint.server_name));
  while (true) {
    const IoResult result = connection->transport_.Handshake();
    if (result.done()) return connection;
    if (!result.wants()) return Fail(Code::kUnavailable, doing + ": " + result.error);
    if (auto status = connection->WaitFor(result.kind, deadline, "TLS handshake"); !status)
      return Fail(status.error().Wrap(doing));
  }
}

base::Status HttpConnection::PassProxy(const HttpEndpoint& endpoint, base::Instant deadline) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  const std::string target = (is_v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + endpoint.port;
  std::string head = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target, target);
  if (!endpoint.proxy_authorization.empty()) head += fmt::format("Proxy-Authorization: {}\r\n", endpoint.proxy_authorization);
  head += "\r\n";
  Exchange exchange;
  EVENKEEL_TRY(WriteAll({head}, deadline, exchange));
  // Byte by byte: what follows the answer's header belongs to the tunnel.
  std::string answer;
  while (!answer.ends_with("\r\n\r\n")) {
    char byte;
    const IoResult result = transport_.Read(&byte, 1);
    if (result.wants()) {
      EVENKEEL_TRY(WaitFor(result.kind, deadline, "waiting for the proxy"));
    } else if (!result.done() || answer.size() > (16 << 10)) {
      return Fail(Code::kUnavailable, "the proxy did not answer with HTTP");
    } else {
      answer += byte;
    }
  }
  const std::string line = answer.substr(0, answer.find('\r'));
  if (line.starts_with("HTTP/1.") && line.size() > 9 && line[9] == '2') return {};
  return Fail(Code::kUnavailable, "the proxy refused: " + line);
}

base::Status HttpConnection::WriteAll(std::vector<std::string_view> parts, base::Instant deadline, Exchange& exchange) {
  while (!parts.empty()) {
    if (parts.front().empty()) {
      parts.erase(parts.begin());
      continue;
    }
    // A process that was paused on its way here must not send what others have long taken for dead.
    if (base::SystemClock().Monotonic() >= deadline) return Fail(Code::kTimeout, "sending the request: its time is over");
    const IoResult result = transport_.Write(parts);
    if (result.wants()) {
      EVENKEEL_TRY(WaitFor(result.kind, deadline, "sending the request"));
      continue;
    }
    if (!result.done()) return Fail(Code::kUnavailable, result.error.empty() ? "the connection was closed" : result.error);
    exchange.sent_any = true;
    size_t left = result.bytes;
    while (left > 0) {
      const size_t take = std::min(left, parts.front().size());
      parts.front().remove_prefix(take);
      left -= take;
      if (parts.front().empty()) parts.erase(parts.begin());
    }
  }
  return {};
}

base::Status HttpConnection::Send(std::string_view head, std::string_view body, HttpResponseReader& reader, bool header_only,
                                  base::Instant deadline, Exchange& exchange) {
  base::Status written = WriteAll({head, body}, deadline, exchange);
  if (!written && written.error().code() == Code::kTimeout) return written;
  // A server that refuses a request in the middle of its body answers and closes: the answer says more than the failed write.
  std::array<char, 16 << 10> buffer;  // a record of TLS; on the stack, since most threads read seldom
  while (true) {
    const IoResult result = transport_.Read(buffer.data(), buffer.size());
    if (result.wants()) {
      if (!written) return written;
      EVENKEEL_TRY(WaitFor(result.kind, deadline, "waiting for the answer"));
      continue;
    }
    if (result.kind == IoResult::Kind::kError) return written ? Fail(Code::kUnavailable, result.error) : written;
    HttpReadState state;
    if (result.kind == IoResult::Kind::kEof) {
      state = reader.Finish();
    } else {
      exchange.received_any = true;
      state = reader.Feed({buffer.data(), result.bytes});
    }
    if (state == HttpReadState::kDone) return {};
    if (state == HttpReadState::kMore && header_only && reader.header_done()) {
      // The reader of a stream has no bound; an error has one here.
      if (reader.status() == 200 || reader.body_size() > kErrorBodyMax) return {};
    }
    if (state == HttpReadState::kBodyTooLarge)
      return Fail(Code::kTooLarge, "answers too much: one answer is larger than allowed");
    if (state != HttpReadState::kMore) return written ? Fail(Code::kUnavailable, reader.error()) : written;
  }
}

bool HttpConnection::Alive() {
  char byte;
  return transport_.Read(&byte, 1).kind == IoResult::Kind::kWantRead;
}

}  // namespace evenkeel::client
