#include "client/http/http_connection.h"

#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/hash.h"
#include "base/utf8.h"
#include "client/http/http_resolve.h"

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

/// "https//host" and "https:host": a colon or a slash got lost.
bool LacksPartOfScheme(std::string_view text) {
  for (const std::string_view scheme : {"https", "http"}) {
    if (!text.starts_with(scheme)) continue;
    const std::string_view rest = text.substr(scheme.size());
    const bool port = rest.size() > 1 && rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9';
    return rest.starts_with('/') || (rest.starts_with(':') && !port);
  }
  return false;
}

}  // namespace

base::Result<HttpEndpoint> ParseEndpoint(const ConnectionConfig& config, const ProxyEnvironment& environment) {
  HttpEndpoint endpoint;
  const std::string text = WithScheme(config.server, "https://");
  auto url = boost::urls::parse_uri(text);
  if (!url || url->host_address().empty() || (text != config.server && LacksPartOfScheme(config.server))) {
    return Fail(Code::kBadRequest,
                fmt::format("server is not a URL like https://HOST:PORT: \"{}\"",
                            text.find('@') == std::string::npos ? base::OneLine(config.server) : "(not shown)"));
  }
  const bool https = url->scheme_id() == boost::urls::scheme::https;
  if (!https && url->scheme_id() != boost::urls::scheme::http) {
    return Fail(Code::kBadRequest,
                fmt::format("server: only https:// and http:// are supported, not {}://", std::string(url->scheme())));
  }
  endpoint.tls = https;
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
  const std::string proxy =
      config.proxy_url.empty() ? environment.UrlFor(endpoint.tls, endpoint.host, endpoint.port) : config.proxy_url;
  if (!proxy.empty()) {
    EVENKEEL_ASSIGN(endpoint.proxy, ParseProxyUrl(proxy));
  }
  return endpoint;
}

base::Status HttpConnection::WaitFor(IoResult::Kind kind, base::Instant deadline, std::string_view doing) {
  return WaitForSocket(fd_.get(), kind == IoResult::Kind::kWantWrite, deadline, doing);
}

base::Result<std::unique_ptr<HttpConnection>> HttpConnection::Open(const HttpEndpoint& endpoint,
                                                                   std::shared_ptr<TlsContext> tls, base::Instant deadline) {
  const bool proxied = !endpoint.proxy.host.empty();
  const std::string doing =
      fmt::format("cannot connect to {}{}", endpoint.description, proxied ? " through the proxy " + endpoint.proxy.host : "");
  auto fd =
      ConnectSocket(proxied ? endpoint.proxy.host : endpoint.host, proxied ? endpoint.proxy.port : endpoint.port, deadline);
  if (!fd) return Fail(fd.error().Wrap(doing));
  std::unique_ptr<HttpConnection> connection(new HttpConnection());
  connection->fd_ = *std::move(fd);
  connection->transport_ = Transport(connection->fd_.get(), nullptr);
  if (proxied) {
    const base::Status status =
        endpoint.proxy.socks5 ? connection->PassSocks5(endpoint, deadline) : connection->PassProxy(endpoint, deadline);
    if (!status) return Fail(status.error().Wrap(doing));
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
  if (const HttpProxy& proxy = endpoint.proxy; !proxy.user.empty() || !proxy.password.empty()) {
    head += fmt::format("Proxy-Authorization: Basic {}\r\n", base::Base64Encode(proxy.user + ":" + proxy.password));
  }
  head += "\r\n";
  Exchange exchange;
  EVENKEEL_TRY(WriteAll({head}, deadline, exchange));
  // Byte by byte: what follows the answer's header belongs to the tunnel.
  std::string answer;
  while (!answer.ends_with("\r\n\r\n")) {
    const auto byte = answer.size() > (16 << 10) ? Fail(Code::kUnavailable, "") : ReadFromProxy(1, deadline);
    if (!byte && byte.error().code() == Code::kTimeout) return Fail(byte.error());
    if (!byte) return Fail(Code::kUnavailable, "the proxy did not answer with HTTP");
    answer += *byte;
  }
  const std::string line = answer.substr(0, answer.find('\r'));
  if (line.starts_with("HTTP/1.") && line.size() > 9 && line[9] == '2') return {};
  return Fail(Code::kUnavailable, "the proxy refused: " + line);
}

base::Result<std::string> HttpConnection::ReadFromProxy(size_t bytes, base::Instant deadline) {
  std::string read;
  while (read.size() < bytes) {
    char buffer[256];
    const IoResult result = transport_.Read(buffer, std::min(sizeof buffer, bytes - read.size()));
    if (result.wants()) {
      EVENKEEL_TRY(WaitFor(result.kind, deadline, "waiting for the proxy"));
    } else if (!result.done()) {
      return Fail(Code::kUnavailable, "the proxy closed the connection");
    } else {
      read.append(buffer, result.bytes);
    }
  }
  return read;
}

base::Status HttpConnection::PassSocks5(const HttpEndpoint& endpoint, base::Instant deadline) {
  Exchange exchange;
  EVENKEEL_ASSIGN(const std::string request, Socks5Request(endpoint.host, endpoint.port));
  EVENKEEL_TRY(WriteAll({Socks5Greeting(endpoint.proxy)}, deadline, exchange));
  EVENKEEL_ASSIGN(const std::string method, ReadFromProxy(2, deadline));
  if (method[0] != '\x05') return Fail(Code::kUnavailable, "the proxy did not answer with SOCKS5");
  if (method[1] == '\x02' && !endpoint.proxy.user.empty()) {
    const std::string login = Socks5Login(endpoint.proxy);
    EVENKEEL_TRY(WriteAll({login}, deadline, exchange));
    EVENKEEL_ASSIGN(const std::string verdict, ReadFromProxy(2, deadline));
    if (verdict[1] != '\0') return Fail(Code::kUnavailable, "the proxy refused user and password");
  } else if (method[1] != '\0') {
    return Fail(Code::kUnavailable, "the proxy wants another login than proxy-url gives");
  }
  EVENKEEL_TRY(WriteAll({request}, deadline, exchange));
  EVENKEEL_ASSIGN(const std::string answer, ReadFromProxy(4, deadline));
  if (answer[1] != '\0') {
    return Fail(Code::kUnavailable, fmt::format("the proxy refused: {}", Socks5Failure(static_cast<unsigned char>(answer[1]))));
  }
  // The address that it speaks from, and its port: nobody wants to know.
  size_t rest = answer[3] == '\x01' ? 4 : 16;
  if (answer[3] == '\x03') {
    EVENKEEL_ASSIGN(const std::string length, ReadFromProxy(1, deadline));
    rest = static_cast<unsigned char>(length[0]);
  }
  EVENKEEL_TRY(ReadFromProxy(rest + 2, deadline));
  return {};
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
