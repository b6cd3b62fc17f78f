#include "client/http/http_proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <cstdlib>
#include <cstring>

#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Result;

/// An address in the order of the network; IPv4 has four bytes, IPv6 sixteen, a name none.
std::string AddressBytes(const std::string& host) {
  char bytes[16];
  if (inet_pton(AF_INET, host.c_str(), bytes) == 1) return {bytes, 4};
  if (inet_pton(AF_INET6, host.c_str(), bytes) != 1) return "";
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xFF\xFF", 12);
  const std::string six(bytes, 16);
  return six.starts_with(kMapped) ? six.substr(kMapped.size()) : six;
}

bool IsLoopback(const std::string& host, const std::string& address) {
  if (host == "localhost") return true;
  return address.size() == 4 ? address[0] == 127 : address == std::string(15, '\0') + '\x01';
}

bool InNetwork(const std::string& address, const std::string& network, std::string_view length_text) {
  const std::string prefix = AddressBytes(network);
  const auto length = base::ParseNumber<size_t>(length_text);
  if (!length || *length > prefix.size() * 8 || prefix.empty() || prefix.size() != address.size()) return false;
  for (size_t bit = 0; bit < *length; ++bit) {
    const auto of = [bit](const std::string& bytes) {
      return (static_cast<unsigned char>(bytes[bit / 8]) >> (7 - bit % 8)) & 1U;
    };
    if (of(prefix) != of(address)) return false;
  }
  return true;
}

/// "host:port", "[v6]:port" or without a port.
std::pair<std::string, std::string> SplitPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string::npos) return {text, ""};
    return {text.substr(1, end - 1), colon != std::string::npos && colon > end ? text.substr(colon + 1) : ""};
  }
  if (colon == std::string::npos || text.find(':') != colon) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// Whether one item of NO_PROXY names the server.
bool NamesServer(std::string item, const std::string& host, const std::string& address, const std::string& port) {
  item = base::Lower(item);
  if (item == "*") return true;
  if (const size_t slash = item.find('/'); slash != std::string::npos) {
    return InNetwork(address, item.substr(0, slash), std::string_view(item).substr(slash + 1));
  }
  auto [name, only_port] = SplitPort(item);
  if (!only_port.empty() && only_port != port) return false;
  if (const std::string bytes = AddressBytes(name); !bytes.empty()) return bytes == address;
  if (name.starts_with("*.")) name.erase(0, 1);
  if (name.empty()) return false;
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || host.ends_with("." + name);
}

}  // namespace

Result<HttpProxy> ParseProxyUrl(const std::string& url_text) {
  const std::string text = url_text.find("://") == std::string::npos ? "http://" + url_text : url_text;
  const auto url = boost::urls::parse_uri(text);
  if (!url || url->host_address().empty()) return Fail(Code::kBadRequest, "proxy-url is not a URL");
  HttpProxy proxy;
  const std::string scheme = base::Lower(url->scheme());
  proxy.socks5 = scheme == "socks5";
  if (!proxy.socks5 && scheme != "http") {
    return Fail(Code::kBadRequest,
                "proxy-url: only http:// and socks5:// proxies are supported; use one, or remove it to connect directly");
  }
  proxy.host = url->host_address();
  const std::string default_port = proxy.socks5 ? "1080" : "80";
  proxy.port = url->has_port() && !url->port().empty() ? std::string(url->port().data(), url->port().size()) : default_port;
  if (url->has_userinfo()) {
    proxy.user = url->user();
    proxy.password = url->password();
  }
  if (proxy.socks5 && (proxy.user.size() > 255 || proxy.password.size() > 255)) {
    return Fail(Code::kBadRequest, "proxy-url: a user or password of more than 255 bytes cannot be told to a SOCKS5 proxy");
  }
  return proxy;
}

const ProxyEnvironment& ProxyEnvironment::OfProcess() {
  static const ProxyEnvironment* const read = [] {
    const auto get = [](const char* upper, const char* lower) -> std::string {
      for (const char* name : {upper, lower}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
      }
      return "";
    };
    return new ProxyEnvironment{.for_https = get("HTTPS_PROXY", "https_proxy"),
                                .for_http = get("HTTP_PROXY", "http_proxy"),
                                .not_for = get("NO_PROXY", "no_proxy")};
  }();
  return *read;
}

std::string ProxyEnvironment::UrlFor(bool tls, const std::string& server_host, const std::string& port) const {
  const std::string& proxy = tls ? for_https : for_http;
  if (proxy.empty()) return "";
  const std::string host = base::Lower(server_host);
  const std::string address = AddressBytes(host);
  if (IsLoopback(host, address)) return "";
  std::string_view rest = not_for;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty() && NamesServer(std::string(item), host, address, port)) return "";
  }
  return proxy;
}

std::string Socks5Greeting(const HttpProxy& proxy) {
  return proxy.user.empty() ? std::string("\x05\x01\x00", 3) : std::string("\x05\x02\x00\x02", 4);
}

std::string Socks5Login(const HttpProxy& proxy) {
  return std::string(1, '\x01') + static_cast<char>(proxy.user.size()) + proxy.user + static_cast<char>(proxy.password.size()) +
         proxy.password;
}

Result<std::string> Socks5Request(const std::string& host, const std::string& port) {
  const auto number = base::ParseNumber<uint16_t>(port);
  if (!number || host.size() > 255) {
    return Fail(Code::kBadRequest, "server: its host or port is too long for a SOCKS5 proxy");
  }
  std::string request("\x05\x01\x00", 3);
  if (const std::string address = AddressBytes(host); !address.empty()) {
    request += address.size() == 4 ? '\x01' : '\x04';
    request += address;
  } else {
    request += '\x03';
    request += static_cast<char>(host.size());
    request += host;
  }
  request += static_cast<char>(*number >> 8);
  request += static_cast<char>(*number & 255);
  return request;
}

std::string_view Socks5Failure(unsigned char code) {
  constexpr std::array<std::string_view, 9> kFailures = {
      "succeeded",          "general failure", "not allowed by its rules", "network unreachable",          "host unreachable",
      "connection refused", "time is over",    "command not supported",    "kind of address not supported"};
  return code < kFailures.size() ? kFailures[code] : "unknown reason";
}

}  // namespace evenkeel::client
