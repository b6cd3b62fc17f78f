// Through which proxy a server is reached: as a configuration says, else as the environment does for Go's programs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::client {

/// Taken apart; an empty host: none.
struct HttpProxy {
  std::string host, port;
  std::string user, password;
  bool socks5 = false;  ///< else HTTP's CONNECT
};

/// http:// and socks5://; kBadRequest for others. The error never repeats the URL, which may hold a password.
base::Result<HttpProxy> ParseProxyUrl(const std::string& url);

/// HTTPS_PROXY, HTTP_PROXY and NO_PROXY; of each the upper case goes before the lower.
struct ProxyEnvironment {
  std::string for_https, for_http, not_for;

  /// Read once.
  static const ProxyEnvironment& OfProcess();
  /// The proxy's URL for a server; "": none. Never one for this machine itself. Source:
  /// net@0.56:http/httpproxy/proxy.go.
  std::string UrlFor(bool tls, const std::string& host, const std::string& port) const;
};

/// What a SOCKS5 proxy is asked, byte by byte. Source: RFC 1928, RFC 1929.
std::string Socks5Greeting(const HttpProxy& proxy);
std::string Socks5Login(const HttpProxy& proxy);
/// A name is left to the proxy to resolve. kBadRequest: the name or the port is none that SOCKS5 can say.
base::Result<std::string> Socks5Request(const std::string& host, const std::string& port);
/// "connection refused" for the number that a proxy refuses with.
std::string_view Socks5Failure(unsigned char code);

}  // namespace evenkeel::client
