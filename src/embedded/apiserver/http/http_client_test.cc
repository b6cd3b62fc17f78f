#include "client/http/http_client.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/input/yaml.h"
#include "client/http/http_resolve.h"
#include "client/http/http_watch.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/http/http_testing.h"
#include "embedded/apiserver/requests/http_error.h"

namespace evenkeel::embedded::apiserver::http_client_test {
namespace {

using base::Code;
using base::Json;
using client::Client;
using client::NewHttpClient;
using client::WatchEvent;
using testing::Eventually;
using testing::LambdaHandler;
using testing::PlainClientConfig;
using testing::TestCertificates;
using testing::TextResponse;
using testing::TlsClientConfig;
using testing::TlsServerOptions;

kube::Resource PodsResource() {
  kube::Resource pods;
  pods.version = "v1";
  pods.kind = "Pod";
  pods.plural = "pods";
  return pods;
}

/// Answers {"said": "METHOD PATH?QUERY|content-type|authorization|BODY"}.
LambdaHandler SayingHandler() {
  return LambdaHandler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    const std::string said = request.method + " " + request.path + "?" + request.query + "|" + request.headers["content-type"] +
                             "|" + request.headers["authorization"] + "|" + request.body;
    responder->Send(TextResponse(200, base::ToText(base::JsonObject{{"said", said}})));
  });
}

std::string Said(const base::Result<Json>& answer) {
  return answer ? std::string(base::FindString(*answer, {"said"})) : "error: " + answer.error().message();
}

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) {
    char name[] = "/tmp/evenkeel-http-test-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(HttpClientTest, SendsEachVerbToItsPath) {
  LambdaHandler handler = SayingHandler();
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  client::ConnectionConfig config = TlsClientConfig(server->port());
  config.server += "/hub/?shard=1";
  config.token = "secret";
  auto client = NewHttpClient(config).value();
  const kube::Resource pods = PodsResource();
  Json pod{{"metadata", {{"name", "p"}, {"namespace", "n"}}}};
  EXPECT_EQ(Said(client->Get(pods, "n", "p")), "GET /hub/api/v1/namespaces/n/pods/p?||Bearer secret|");
  EXPECT_EQ(Said(client->Create(pods, pod, {.subresource = "", .field_manager = "me too", .dry_run = true})),
            "POST /hub/api/v1/namespaces/n/pods?fieldManager=me%20too&dryRun=All|application/json|Bearer secret|" +
                base::ToText(pod));
  EXPECT_EQ(Said(client->Update(pods, pod, {.subresource = "status", .field_manager = "", .dry_run = false})),
            "PUT /hub/api/v1/namespaces/n/pods/p/status?|application/json|Bearer secret|" + base::ToText(pod));
  EXPECT_EQ(Said(client->Patch(pods, "n", "p", client::PatchType::kStrategic, pod)),
            "PATCH /hub/api/v1/namespaces/n/pods/p?|application/strategic-merge-patch+json|Bearer secret|" + base::ToText(pod));
  client::PatchOptions apply;
  apply.field_manager = "me";
  apply.force = true;
  EXPECT_EQ(Said(client->Patch(pods, "n", "p", client::PatchType::kApply, pod, apply)),
            "PATCH /hub/api/v1/namespaces/n/pods/p?fieldManager=me&force=true|application/apply-patch+yaml|Bearer secret|" +
                base::ToText(pod));
  EXPECT_EQ(client->Patch(pods, "n", "p", client::PatchType::kApply, pod).error().code(), Code::kBadRequest);
  client::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.uid = "u";
  EXPECT_EQ(Said(client->Delete(pods, "n", "p", options)),
            "DELETE /hub/api/v1/namespaces/n/pods/p?|application/json|Bearer secret|"
            R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"}})");
  EXPECT_EQ(Said(client->Post(pods, "n", "p", "eviction", Json(base::JsonObject()))),
            "POST /hub/api/v1/namespaces/n/pods/p/eviction?|application/json|Bearer secret|{}");
  EXPECT_EQ(client->Describe(), fmt::format("https://127.0.0.1:{}/hub", server->port()));
}

TEST(HttpClientTest, AsksForInitialEventsOnlyWhereTheyAreKnown) {
  const std::vector<std::pair<std::string, bool>> versions{{R"({"major": "1", "minor": "26"})", false},
                                                           {R"({"major": "1", "minor": "27+"})", true},
                                                           {R"({"major": "1", "minor": "36"})", true},
                                                           {R"({"major": "2", "minor": "0"})", true},
                                                           {R"({"major": "1"})", false},
                                                           {"not JSON", false}};
  for (const auto& [answer, expected] : versions) {
    int asked = 0;
    LambdaHandler handler([&](HttpRequest request, std::unique_ptr<Responder> responder) {
      EXPECT_EQ(request.path, "/version");
      ++asked;
      responder->Send(TextResponse(200, answer));
    });
    auto server = HttpServer::Start({}, handler).value();
    auto client = NewHttpClient(PlainClientConfig(server->port())).value();
    EXPECT_EQ(client->StreamsLists(), expected) << answer;
    EXPECT_EQ(client->StreamsLists(), expected) << answer;
    EXPECT_EQ(asked, 1) << answer;
  }
}

TEST(HttpClientTest, ReusesItsConnections) {
  LambdaHandler handler = SayingHandler();
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  auto client = NewHttpClient(TlsClientConfig(server->port())).value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->GetRaw("/version"));
  EXPECT_EQ(server->stats().connections, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(client->GetRaw("/version"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(server->stats().connections, 8);
  EXPECT_EQ(server->stats().requests, 180);
}

TEST(HttpClientTest, FillsInWhatItemsOfAListLeaveOut) {
  LambdaHandler handler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    EXPECT_EQ(request.query, "labelSelector=a%3Db%2Cc&limit=2&continue=t%2F%3D&resourceVersion=0");
    responder->Send(TextResponse(
        200,
        R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":"more","remainingItemCount":5},"items":[{"metadata":{"name":"p"}}]})"));
  });
  auto server = HttpServer::Start({}, handler).value();
  auto client = NewHttpClient(PlainClientConfig(server->port())).value();
  client::ListOptions options;
  options.label_selector = "a=b,c";
  options.limit = 2;
  options.continue_token = "t/=";
  options.resource_version = "0";
  const client::ListPage page = client->List(PodsResource(), options).value();
  EXPECT_EQ(page.resource_version, "7");
  EXPECT_EQ(page.continue_token, "more");
  EXPECT_EQ(page.remaining, 5);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(base::FindString(page.items[0], {"kind"}), "Pod");
  EXPECT_EQ(base::FindString(page.items[0], {"apiVersion"}), "v1");
}

TEST(HttpClientTest, VerifiesWhoTheServerIs) {
  LambdaHandler handler = SayingHandler();
  const TestCertificates& certificates = TestCertificates::Get();
  const base::Time now = base::SystemClock().Now();
  auto expect_refused = [](const client::ConnectionConfig& config, std::string_view why) {
    const auto answer = NewHttpClient(config).value()->GetRaw("/version");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kUnavailable);
    EXPECT_NE(answer.error().message().find(why), std::string::npos) << answer.error().message();
  };
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  client::ConnectionConfig config = TlsClientConfig(server->port());
  config.ca_pem = NewAuthority("another", now)->certificate_pem;
  expect_refused(config, "certificate refused: ");
  config.insecure_skip_tls_verify = true;
  EXPECT_TRUE(NewHttpClient(config).value()->GetRaw("/version"));
  config = TlsClientConfig(server->port());
  config.tls_server_name = "elsewhere.example";
  expect_refused(config, "hostname mismatch");
  config.tls_server_name = "localhost";
  EXPECT_TRUE(NewHttpClient(config).value()->GetRaw("/version"));

  auto start_with = [&](const std::vector<std::string>& names, base::Time made) {
    const KeyPair pair = NewServerCertificate(certificates.authority, "x", names, made).value();
    HttpServerOptions options = TlsServerOptions();
    options.certificate_pem = pair.certificate_pem;
    options.private_key_pem = pair.private_key_pem;
    return HttpServer::Start(options, handler).value();
  };
  auto wrong_host = start_with({"10.1.2.3", "other"}, now);
  expect_refused(TlsClientConfig(wrong_host->port()), "IP address mismatch");
  auto expired = start_with({"127.0.0.1"}, now - base::Duration(400 * 24h));
  expect_refused(TlsClientConfig(expired->port()), "certificate has expired");
}

TEST(HttpClientTest, ShowsItsCertificateAndTokenToAuthentication) {
  LambdaHandler handler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    std::string text = request.user.name;
    for (const std::string& group : request.user.groups) text += "|" + group;
    responder->Send(TextResponse(200, text));
  });
  Authenticator authenticator;
  authenticator.AddToken("t0ken", {"bob", {"devs"}});
  AuthenticatingHandler authenticating(authenticator, handler);
  auto server = HttpServer::Start(TlsServerOptions(), authenticating).value();
  const TestCertificates& certificates = TestCertificates::Get();

  client::ConnectionConfig config = TlsClientConfig(server->port());
  EXPECT_EQ(NewHttpClient(config).value()->GetRaw("/healthz").value(), "system:anonymous|system:unauthenticated");
  config.token = "wrong";
  const auto refused = NewHttpClient(config).value()->GetRaw("/healthz");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnauthorized);
  EXPECT_EQ(refused.error().message(), "Unauthorized");
  config.token = "t0ken";
  EXPECT_EQ(NewHttpClient(config).value()->GetRaw("/api").value(), "bob|devs|system:authenticated");
  const TemporaryFile token_file("t0ken\n");
  config.token = "";
  config.token_file = token_file.path();
  EXPECT_EQ(NewHttpClient(config).value()->GetRaw("/api").value(), "bob|devs|system:authenticated");
  config.token_file = "/does/not/exist";
  EXPECT_EQ(NewHttpClient(config).value()->GetRaw("/api").error().code(), Code::kNotFound);

  config = TlsClientConfig(server->port());
  config.client_certificate_pem = certificates.alice.certificate_pem;
  config.client_key_pem = certificates.alice.private_key_pem;
  auto alice = NewHttpClient(config).value();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(alice->GetRaw("/api").value(), "alice|admins|a,b|system:authenticated");

  const base::Time now = base::SystemClock().Now();
  const KeyPair foreign = NewClientCertificate(NewAuthority("another", now).value(), "mallory", {"admins"}, now).value();
  config.client_certificate_pem = foreign.certificate_pem;
  config.client_key_pem = foreign.private_key_pem;
  const auto forged = NewHttpClient(config).value()->GetRaw("/healthz");
  ASSERT_FALSE(forged);
  EXPECT_EQ(forged.error().code(), Code::kUnavailable) << forged.error().message();
}

TEST(HttpClientTest, SendsBasicCredentials) {
  LambdaHandler handler = SayingHandler();
  auto server = HttpServer::Start({}, handler).value();
  client::ConnectionConfig config = PlainClientConfig(server->port());
  config.username = "Aladdin";
  config.password = "open sesame";
  EXPECT_EQ(Said(NewHttpClient(config).value()->Get(PodsResource(), "n", "p")),
            "GET /api/v1/namespaces/n/pods/p?||Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==|");
}

TEST(HttpClientTest, DecodesWhatTheServerRefuses) {
  LambdaHandler handler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    HttpResponse response;
    if (request.path == "/conflict") {
      response =
          TextResponse(409, R"({"kind":"Status","message":"no","reason":"Conflict","code":409,)"
                            R"("details":{"name":"p","kind":"pods","causes":[{"reason":"R","message":"M","field":"F"}]}})");
    } else if (request.path == "/busy") {
      response = StatusResponse(429, "TooManyRequests", "later");
      response.headers.emplace_back("Retry-After", "7");
    } else {
      response = TextResponse(502, "<html>\nproxy says no\n");
    }
    responder->Send(std::move(response));
  });
  auto server = HttpServer::Start({}, handler).value();
  auto client = NewHttpClient(PlainClientConfig(server->port())).value();
  const base::Error conflict = client->GetRaw("/conflict").error();
  EXPECT_EQ(conflict.code(), Code::kConflict);
  EXPECT_EQ(conflict.message(), "no");
  ASSERT_NE(conflict.details(), nullptr);
  EXPECT_EQ(conflict.details()->kind, "pods");
  ASSERT_EQ(conflict.details()->causes.size(), 1u);
  EXPECT_EQ(conflict.details()->causes[0].field, "F");
  const base::Error busy = client->GetRaw("/busy").error();
  EXPECT_EQ(busy.code(), Code::kTooManyRequests);
  EXPECT_EQ(busy.details()->retry_after_seconds, 7);
  const base::Error proxy = client->GetRaw("/other").error();
  EXPECT_EQ(proxy.code(), Code::kUnavailable);
  EXPECT_NE(proxy.message().find("502 Bad Gateway: <html> proxy says no"), std::string::npos) << proxy.message();
}

TEST(HttpClientTest, GivesUpAfterItsTimeout) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Responder>> kept;
  LambdaHandler handler([&](HttpRequest, std::unique_ptr<Responder> responder) {
    std::lock_guard lock(mutex);
    kept.push_back(std::move(responder));
  });
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  client::HttpClientOptions options;
  options.request_timeout = base::Duration(100ms);
  auto client = NewHttpClient(TlsClientConfig(server->port()), options).value();
  const auto before = std::chrono::steady_clock::now();
  const auto answer = client->GetRaw("/slow");
  EXPECT_LT(std::chrono::steady_clock::now() - before, 60s);
  EXPECT_EQ(answer.error().code(), Code::kTimeout) << answer.error().message();
  server.reset();
}

TEST(HttpClientTest, RefusesAnswersThatAreTooLarge) {
  LambdaHandler handler(
      [](HttpRequest, std::unique_ptr<Responder> responder) { responder->Send(TextResponse(200, std::string(100'000, 'x'))); });
  auto server = HttpServer::Start({}, handler).value();
  client::HttpClientOptions options;
  options.body_bytes_max = 10'000;
  EXPECT_EQ(NewHttpClient(PlainClientConfig(server->port()), options).value()->GetRaw("/").error().code(), Code::kTooLarge);
}

TEST(HttpClientTest, ReportsTheAnswerOfAServerThatRefusesABodyEarly) {
  LambdaHandler handler = SayingHandler();
  HttpServerOptions options = TlsServerOptions();
  options.body_bytes_max = 1000;
  auto server = HttpServer::Start(options, handler).value();
  auto client = NewHttpClient(TlsClientConfig(server->port())).value();
  const Json large{{"metadata", {{"name", "p"}, {"namespace", "n"}}}, {"data", std::string(8 << 20, 'x')}};
  const auto answer = client->Create(PodsResource(), large);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kTooLarge) << answer.error().message();
}

/// A server by hand, whose every step a test decides.
class ScriptedServer {
 public:
  ScriptedServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    socklen_t size = sizeof address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }
  client::UniqueFd Accept() { return client::UniqueFd(accept(listener_.get(), nullptr, nullptr)); }
  static std::string ReadHead(const client::UniqueFd& fd) {
    std::string text;
    char byte;
    while (!text.ends_with("\r\n\r\n") && recv(fd.get(), &byte, 1, 0) == 1) text += byte;
    return text;
  }
  static void Say(const client::UniqueFd& fd, std::string_view text) { send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL); }

 private:
  client::UniqueFd listener_;
  int port_ = 0;
};

constexpr std::string_view kEmptyAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

TEST(HttpClientTest, AsksAgainWhenAnIdleConnectionTurnsOutClosed) {
  ScriptedServer server;
  std::atomic<int> connections{0};
  std::thread script([&] {
    // The first connection dies with the second request in hand, unanswered; the next one answers.
    client::UniqueFd first = server.Accept();
    ++connections;
    ScriptedServer::ReadHead(first);
    ScriptedServer::Say(first, kEmptyAnswer);
    ScriptedServer::ReadHead(first);
    first = client::UniqueFd();
    client::UniqueFd second = server.Accept();
    ++connections;
    ScriptedServer::ReadHead(second);
    ScriptedServer::Say(second, kEmptyAnswer);
    ScriptedServer::ReadHead(second);
  });
  auto client = NewHttpClient(PlainClientConfig(server.port())).value();
  EXPECT_TRUE(client->GetRaw("/1"));
  EXPECT_TRUE(client->GetRaw("/2"));
  EXPECT_EQ(connections, 2);
  // A POST that may have been carried out is not repeated.
  const auto post = client->Post(PodsResource(), "n", "p", "binding", Json(base::JsonObject()));
  ASSERT_FALSE(post);
  EXPECT_EQ(post.error().code(), Code::kUnavailable) << post.error().message();
  script.join();
}

/// Passes bytes on both ways until one side ends.
void PassOn(const client::UniqueFd& inward, const client::UniqueFd& outward) {
  auto pump = [](int from, int to) {
    char data[4096];
    const auto deadline = base::SystemClock().Monotonic() + 60s;
    while (client::WaitForSocket(from, false, deadline, "proxy")) {
      const ssize_t size = recv(from, data, sizeof data, 0);
      if (size <= 0) break;
      send(to, data, static_cast<size_t>(size), MSG_NOSIGNAL);
    }
    shutdown(to, SHUT_WR);
  };
  std::thread back(pump, outward.get(), inward.get());
  pump(inward.get(), outward.get());
  back.join();
}

TEST(HttpClientTest, GoesThroughAProxy) {
  LambdaHandler handler = SayingHandler();
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  ScriptedServer proxy;
  std::string asked;
  std::thread script([&] {
    const client::UniqueFd refused = proxy.Accept();
    ScriptedServer::ReadHead(refused);
    ScriptedServer::Say(refused, "HTTP/1.1 403 Forbidden\r\n\r\n");
    const client::UniqueFd inward = proxy.Accept();
    asked = ScriptedServer::ReadHead(inward);
    auto outward =
        client::ConnectSocket("127.0.0.1", std::to_string(server->port()), base::SystemClock().Monotonic() + 60s).value();
    ScriptedServer::Say(inward, "HTTP/1.1 200 Connection established\r\n\r\n");
    PassOn(inward, outward);
  });
  client::ConnectionConfig config = TlsClientConfig(server->port());
  config.proxy_url = fmt::format("http://user:pass@127.0.0.1:{}", proxy.port());
  {
    auto client = NewHttpClient(config).value();
    const auto refused = client->GetRaw("/x");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("the proxy refused: HTTP/1.1 403 Forbidden"), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(refused.error().message().find("pass"), std::string::npos);
    EXPECT_TRUE(client->GetRaw("/x"));
  }
  script.join();
  EXPECT_NE(asked.find(fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", server->port())), std::string::npos) << asked;
  EXPECT_NE(asked.find("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), std::string::npos) << asked;
  config.proxy_url = "socks5h://127.0.0.1:1";
  EXPECT_EQ(NewHttpClient(config).error().code(), Code::kBadRequest);
}

std::string ReadBytes(const client::UniqueFd& from, size_t size) {
  std::string bytes(size, '\0');
  const auto deadline = base::SystemClock().Monotonic() + 60s;
  for (size_t at = 0; at < size;) {
    if (!client::WaitForSocket(from.get(), false, deadline, "proxy")) return "";
    const ssize_t got = recv(from.get(), bytes.data() + at, size - at, 0);
    if (got <= 0) return "";
    at += static_cast<size_t>(got);
  }
  return bytes;
}

TEST(HttpClientTest, GoesThroughASocks5Proxy) {
  LambdaHandler handler = SayingHandler();
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  ScriptedServer proxy;
  std::string greeting, login, request;
  std::thread script([&] {
    const client::UniqueFd refused = proxy.Accept();
    ReadBytes(refused, 4);
    ScriptedServer::Say(refused, "\x05\xff");
    const client::UniqueFd inward = proxy.Accept();
    greeting = ReadBytes(inward, 4);
    ScriptedServer::Say(inward, "\x05\x02");
    login = ReadBytes(inward, 11);
    ScriptedServer::Say(inward, std::string("\x01\x00", 2));
    request = ReadBytes(inward, 10);
    auto outward =
        client::ConnectSocket("127.0.0.1", std::to_string(server->port()), base::SystemClock().Monotonic() + 60s).value();
    ScriptedServer::Say(inward, std::string("\x05\x00\x00\x03\x01x\x00\x01", 8));
    PassOn(inward, outward);
  });
  client::ConnectionConfig config = TlsClientConfig(server->port());
  config.proxy_url = fmt::format("socks5://user:pass@127.0.0.1:{}", proxy.port());
  {
    auto client = NewHttpClient(config).value();
    const auto refused = client->GetRaw("/x");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("the proxy wants another login than proxy-url gives"), std::string::npos)
        << refused.error().message();
    EXPECT_TRUE(client->GetRaw("/x"));
  }
  script.join();
  EXPECT_EQ(greeting, std::string("\x05\x02\x00\x02", 4));
  EXPECT_EQ(login, std::string("\x01\x04user\x04pass", 11));
  EXPECT_EQ(request.substr(0, 8), std::string("\x05\x01\x00\x01\x7f\x00\x00\x01", 8));
}

TEST(HttpClientTest, SaysThatNobodyListens) {
  int port = 0;
  {
    ScriptedServer gone;
    port = gone.port();
  }
  const auto answer = NewHttpClient(TlsClientConfig(port)).value()->GetRaw("/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnavailable);
  EXPECT_EQ(answer.error().message(), fmt::format("cannot connect to https://127.0.0.1:{}: Connection refused", port));
}

TEST(HttpClientTest, NeverSaysCredentials) {
  client::ConnectionConfig config;
  config.server = "https://user:hunter2@host:1/p?token=abc";
  config.token = "hunter3";
  EXPECT_EQ(NewHttpClient(config).value()->Describe(), "https://host:1/p");
  config.server = "https://user:hunter2@ho st";
  EXPECT_EQ(NewHttpClient(config).error().message().find("hunter"), std::string::npos);
  for (std::string_view bad : {"", "ftp://x", "https://", "https://host:99999999/"}) {
    config.server = bad;
    EXPECT_EQ(NewHttpClient(config).error().code(), Code::kBadRequest) << bad;
  }
}

/// Gathers what a watch delivers.
struct WatchLog {
  std::mutex mutex;
  std::vector<std::string> lines;
  client::WatchHandler handler = [this](base::Result<WatchEvent> event) {
    std::lock_guard lock(mutex);
    lines.push_back(
        event ? fmt::format("{} {}", static_cast<int>(event->type), base::FindString(event->object, {"metadata", "name"}))
              : fmt::format("{}: {}", base::Reason(event.error().code()), event.error().message()));
  };
  std::vector<std::string> Get() {
    std::lock_guard lock(mutex);
    return lines;
  }
};

std::string EventLine(std::string_view type, std::string_view name) {
  return fmt::format(R"({{"type":"{}","object":{{"kind":"Pod","metadata":{{"name":"{}"}}}}}})", type, name) + "\n";
}

/// A server whose streams the test writes to.
struct WatchServer {
  std::mutex mutex;
  std::vector<std::shared_ptr<ResponseStream>> streams;
  std::atomic<int> closed{0};
  std::string query;
  LambdaHandler handler{[this](HttpRequest request, std::unique_ptr<Responder> responder) {
    auto stream = responder->StartStream(200, "application/json", {});
    stream->OnClosed([this] { ++closed; });
    std::lock_guard lock(mutex);
    query = request.query;
    streams.push_back(std::move(stream));
  }};
  std::unique_ptr<HttpServer> server = HttpServer::Start(TlsServerOptions(), handler).value();
  std::unique_ptr<Client> client = NewHttpClient(TlsClientConfig(server->port())).value();

  std::shared_ptr<ResponseStream> Stream(size_t index) {
    EXPECT_TRUE(Eventually([&] {
      std::lock_guard lock(mutex);
      return streams.size() > index;
    }));
    std::lock_guard lock(mutex);
    return streams[index];
  }
};

TEST(HttpWatchTest, DeliversEventsInOrderHoweverTheyAreCut) {
  WatchServer server;
  WatchLog log;
  client::WatchOptions options;
  options.resource_version = "5";
  auto watch = server.client->NewWatch(PodsResource(), options, log.handler).value();
  auto stream = server.Stream(0);
  EXPECT_TRUE(server.query.starts_with("watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds="))
      << server.query;
  options.send_initial_events = true;
  const auto whole = server.client->NewWatch(PodsResource(), options, log.handler).value();
  server.Stream(1);
  EXPECT_NE(server.query.find("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"), std::string::npos) << server.query;
  const std::string text =
      EventLine("ADDED", "a") + EventLine("MODIFIED", "b") + EventLine("DELETED", "c") + EventLine("BOOKMARK", "d");
  for (char c : text) ASSERT_TRUE(stream->Write(std::make_shared<const std::string>(1, c)));
  const std::vector<std::string> expected = {"0 a", "1 b", "2 c", "3 d"};
  EXPECT_TRUE(Eventually([&] { return log.Get() == expected; }));
  stream->Close();
  EXPECT_TRUE(Eventually([&] { return log.Get().size() == 5; }));
  EXPECT_EQ(log.Get().back(), "ServiceUnavailable: the watch ended");
}

TEST(HttpWatchTest, EndsWithTheErrorOfAnErrorEvent) {
  WatchServer server;
  WatchLog log;
  auto watch = server.client->NewWatch(PodsResource(), {}, log.handler).value();
  const std::string error = R"({"type":"ERROR","object":{"kind":"Status","message":"too old","reason":"Expired","code":410}})";
  server.Stream(0)->Write(
      std::make_shared<const std::string>(EventLine("ADDED", "a") + error + "\n" + EventLine("ADDED", "late")));
  const std::vector<std::string> expected = {"0 a", "Expired: too old"};
  EXPECT_TRUE(Eventually([&] { return log.Get().size() >= 2; }));
  EXPECT_TRUE(Eventually([&] { return server.closed == 1; }));
  EXPECT_EQ(log.Get(), expected);
}

TEST(HttpWatchTest, ReturnsTheErrorOfARefusedWatch) {
  LambdaHandler handler(
      [](HttpRequest, std::unique_ptr<Responder> responder) { responder->Send(StatusResponse(410, "Expired", "too old")); });
  auto server = HttpServer::Start({}, handler).value();
  auto client = NewHttpClient(PlainClientConfig(server->port())).value();
  const auto watch = client->NewWatch(PodsResource(), {}, [](base::Result<WatchEvent>) { FAIL(); });
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code(), Code::kExpired);
}

TEST(HttpWatchTest, CallsNothingAfterItsDestruction) {
  WatchServer server;
  for (int round = 0; round < 30; ++round) {
    auto alive = std::make_shared<std::atomic<bool>>(true);
    std::atomic<int> calls{0};
    auto watch = server.client
                     ->NewWatch(PodsResource(), {},
                                [alive, &calls](base::Result<WatchEvent>) {
                                  EXPECT_TRUE(*alive);
                                  ++calls;
                                })
                     .value();
    auto stream = server.Stream(static_cast<size_t>(round));
    const auto line = std::make_shared<const std::string>(EventLine("ADDED", "a"));
    for (int i = 0; i < 200; ++i) stream->Write(line);
    if (round % 2 == 0) {
      EXPECT_TRUE(Eventually([&] { return calls > 0; }));
    }
    watch.reset();
    *alive = false;
  }
  EXPECT_TRUE(Eventually([&] { return server.closed == 30; }));
}

TEST(HttpWatchTest, MayBeDestroyedByItsOwnHandler) {
  WatchServer server;
  std::mutex mutex;
  std::unique_ptr<client::Watch> watch;
  std::atomic<int> calls{0};
  {
    std::lock_guard lock(mutex);
    watch = server.client
                ->NewWatch(PodsResource(), {},
                           [&](base::Result<WatchEvent>) {
                             ++calls;
                             std::lock_guard inner(mutex);
                             watch.reset();
                           })
                .value();
  }
  server.Stream(0)->Write(std::make_shared<const std::string>(EventLine("ADDED", "a") + EventLine("ADDED", "b")));
  EXPECT_TRUE(Eventually([&] { return server.closed == 1; }));
  EXPECT_EQ(calls, 1);
}

TEST(HttpWatchTest, EndsAfterTooLongASilence) {
  ScriptedServer server;
  const client::ConnectionConfig config = PlainClientConfig(server.port());
  auto connection =
      client::HttpConnection::Open(client::ParseEndpoint(config).value(), nullptr, base::SystemClock().Monotonic() + 60s)
          .value();
  const client::UniqueFd other = server.Accept();
  WatchLog log;
  auto watch = client::StartHttpWatch(std::move(connection), std::make_unique<client::HttpResponseReader>(1 << 20),
                                      base::Duration(50ms), 1 << 20, log.handler);
  EXPECT_TRUE(Eventually([&] { return log.Get().size() == 1; }));
  EXPECT_EQ(log.Get().front(), "ServiceUnavailable: the watch has been silent for too long");
}

TEST(HttpWatchTest, EndsWhenTheServerStops) {
  WatchServer server;
  WatchLog log;
  auto watch = server.client->NewWatch(PodsResource(), {}, log.handler).value();
  server.Stream(0);
  server.server.reset();
  EXPECT_TRUE(Eventually([&] { return log.Get().size() == 1; }));
  EXPECT_TRUE(log.Get().front().starts_with("ServiceUnavailable: "));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::http_client_test
