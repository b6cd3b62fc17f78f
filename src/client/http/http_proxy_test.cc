#include "client/http/http_proxy.h"

#include <gtest/gtest.h>

#include "client/http/http_connection.h"

namespace evenkeel::client::http_proxy_test {
namespace {

TEST(HttpProxyTest, TakesUrlsApart) {
  const HttpProxy http = ParseProxyUrl("http://user:p%40ss@proxy").value();
  EXPECT_EQ(http.host + ":" + http.port, "proxy:80");
  EXPECT_EQ(http.user + ":" + http.password, "user:p@ss");
  EXPECT_FALSE(http.socks5);
  EXPECT_EQ(ParseProxyUrl("proxy.example:3128")->port, "3128");
  const HttpProxy socks = ParseProxyUrl("SOCKS5://[::1]").value();
  EXPECT_TRUE(socks.socks5);
  EXPECT_EQ(socks.host + " " + socks.port, "::1 1080");
  for (const char* bad : {"https://p", "socks5h://p", "ftp://p", "http://", "http://hunter2@a b"}) {
    const auto refused = ParseProxyUrl(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message().find("hunter2"), std::string::npos);
  }
}

TEST(ProxyEnvironmentTest, ChoosesByTheServersScheme) {
  const ProxyEnvironment environment{.for_https = "http://one", .for_http = "http://two", .not_for = ""};
  EXPECT_EQ(environment.UrlFor(true, "203.0.113.9", "6443"), "http://one");
  EXPECT_EQ(environment.UrlFor(false, "example.com", "80"), "http://two");
  EXPECT_EQ((ProxyEnvironment{.for_https = "", .for_http = "http://two", .not_for = ""}.UrlFor(true, "x", "443")), "");
  for (const char* here : {"localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(environment.UrlFor(true, here, "6443"), "") << here;
  }
}

TEST(ProxyEnvironmentTest, LeavesOutWhatNoProxyNames) {
  const auto proxied = [](std::string_view no_proxy, const std::string& host, const std::string& port = "6443") {
    return !ProxyEnvironment{.for_https = "http://p", .for_http = "", .not_for = std::string(no_proxy)}
                .UrlFor(true, host, port)
                .empty();
  };
  EXPECT_FALSE(proxied("*", "a.example"));
  EXPECT_FALSE(proxied("x, 1.2.3.4 ,y", "1.2.3.4"));
  EXPECT_FALSE(proxied("1.2.3.4:6443", "1.2.3.4"));
  EXPECT_TRUE(proxied("1.2.3.4:80", "1.2.3.4"));
  EXPECT_FALSE(proxied("[2001:db8::1]:6443", "2001:db8::1"));
  EXPECT_FALSE(proxied("2001:DB8:0::1", "2001:db8::1"));
  EXPECT_FALSE(proxied("10.0.0.0/8", "10.96.0.1"));
  EXPECT_TRUE(proxied("10.0.0.0/8", "11.96.0.1"));
  EXPECT_TRUE(proxied("10.0.0.0/8", "cluster.example")) << "names are not resolved";
  EXPECT_FALSE(proxied("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_TRUE(proxied("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(proxied("10.0.0.0/x,10.0.0.0/33,/8", "10.0.0.1"));
  EXPECT_FALSE(proxied("foo.com", "foo.com"));
  EXPECT_FALSE(proxied("Foo.com", "BAR.foo.COM"));
  EXPECT_TRUE(proxied("foo.com", "barfoo.com"));
  for (const char* subdomains : {".foo.com", "*.foo.com"}) {
    EXPECT_FALSE(proxied(subdomains, "bar.foo.com")) << subdomains;
    EXPECT_TRUE(proxied(subdomains, "foo.com")) << subdomains;
  }
  EXPECT_FALSE(proxied("foo.com:6443", "foo.com"));
  EXPECT_TRUE(proxied("foo.com:443", "foo.com"));
  EXPECT_TRUE(proxied(",:6443,[,]", "foo.com"));
}

TEST(ProxyEnvironmentTest, GivesWayToTheConfiguration) {
  const ProxyEnvironment environment{.for_https = "http://env:1", .for_http = "", .not_for = "other.example"};
  ConnectionConfig config;
  config.server = "https://cluster.example:6443";
  EXPECT_EQ(ParseEndpoint(config, environment)->proxy.host, "env");
  config.proxy_url = "http://own:2";
  EXPECT_EQ(ParseEndpoint(config, environment)->proxy.host, "own");
  config.server = "https://other.example";
  EXPECT_EQ(ParseEndpoint(config, environment)->proxy.host, "own") << "NO_PROXY is the environment's";
  config.proxy_url = "";
  EXPECT_EQ(ParseEndpoint(config, environment)->proxy.host, "");
}

TEST(EndpointTest, ReadsSchemesInAnyCaseAndNamesThoseThatLackSomething) {
  ConnectionConfig config;
  config.server = "HTTPS://UPPER.Example.COM:443";
  EXPECT_TRUE(ParseEndpoint(config, {})->tls);
  config.server = "HTTP://h";
  EXPECT_FALSE(ParseEndpoint(config, {})->tls);
  config.server = "https-proxy.example:6443";
  EXPECT_EQ(ParseEndpoint(config, {})->host, "https-proxy.example");
  config.server = "https:6443";
  EXPECT_EQ(ParseEndpoint(config, {})->host, "https") << "a host may be called so";
  for (const char* bad : {"https//kubernetes.default.svc", "http:/h", "https:host", "https://h\n"}) {
    config.server = bad;
    const auto refused = ParseEndpoint(config, {});
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message().starts_with("server is not a URL like https://HOST:PORT: ")) << bad;
    EXPECT_EQ(refused.error().message().find('\n'), std::string::npos);
  }
}

TEST(Socks5Test, SpeaksAsItsRfcSays) {
  HttpProxy proxy;
  EXPECT_EQ(Socks5Greeting(proxy), std::string("\x05\x01\x00", 3));
  proxy.user = "ann";
  proxy.password = "pw";
  EXPECT_EQ(Socks5Greeting(proxy), std::string("\x05\x02\x00\x02", 4));
  EXPECT_EQ(Socks5Login(proxy),
            "\x01\x03"
            "ann\x02"
            "pw");
  EXPECT_EQ(Socks5Request("host", "6443").value(), std::string("\x05\x01\x00\x03\x04host\x19\x2b", 11));
  EXPECT_EQ(Socks5Request("1.2.3.4", "443").value(), std::string("\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb", 10));
  EXPECT_EQ(Socks5Request("::1", "443")->size(), 22U);
  EXPECT_FALSE(Socks5Request(std::string(256, 'a'), "443"));
  EXPECT_FALSE(Socks5Request("h", "99999"));
}

}  // namespace
}  // namespace evenkeel::client::http_proxy_test
