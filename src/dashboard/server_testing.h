// A server in front of the fleet of dashboard_testing.h, asked without a socket, and a gate that knows a few people.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dashboard/dashboard_testing.h"
#include "dashboard/server.h"

namespace evenkeel::dashboard::testing {

namespace apiserver = embedded::apiserver;

inline constexpr const char* kAdmin = "0123456789abcdef-admin";
inline constexpr const char* kReader = "0123456789abcdef-reader";
/// As base64 makes them.
inline constexpr const char* kOddReader = "01+23/45+6789abc==";

class KeepingStream final : public apiserver::ResponseStream {
 public:
  bool Write(apiserver::Chunk chunk) override {
    if (closed) return false;
    text += *chunk;
    return true;
  }
  void Close() override { closed = true; }
  void OnClosed(std::function<void()> callback) override { on_closed = std::move(callback); }

  std::string text;
  bool closed = false;
  std::function<void()> on_closed;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string content_type, body;
  std::shared_ptr<KeepingStream> stream;
};

class KeepingResponder final : public apiserver::Responder {
 public:
  explicit KeepingResponder(std::shared_ptr<Reply> reply) : reply_(std::move(reply)) {}
  void Send(apiserver::HttpResponse response) override {
    EXPECT_EQ(reply_->status, 0) << "answered twice";
    reply_->status = response.status;
    reply_->content_type = response.content_type;
    for (const auto& [name, value] : response.headers) reply_->headers[name] = value;
    for (const auto& chunk : response.body) reply_->body += *chunk;
  }
  std::shared_ptr<apiserver::ResponseStream> StartStream(int status, std::string content_type,
                                                         apiserver::HttpHeaders headers) override {
    reply_->status = status;
    reply_->content_type = std::move(content_type);
    for (const auto& [name, value] : headers) reply_->headers[name] = value;
    return reply_->stream = std::make_shared<KeepingStream>();
  }

 private:
  const std::shared_ptr<Reply> reply_;
};

/// Allows what the test says; "VERB RESOURCE" of whom.
class KnownGate final : public Gate {
 public:
  base::Status Allow(const Identity& who, const Question& what) override {
    asked.push_back(who.user + " " + what.ToText());
    if (away) return base::Fail(base::Code::kUnavailable, "refused, because the hub does not say");
    const std::string& group = who.groups.front();
    const bool admin = group == "evenkeel:dashboard-admins" || (who.user == "ann" && what.verb != "delete");
    if (admin || what.verb == "get" || (who.user == "bob" && what.verb == "logs")) return {};
    return base::Fail(base::Code::kForbidden, who.user + " may not " + what.ToText());
  }
  base::Result<Identity> WhoIs(std::string_view token) override {
    if (away) return base::Fail(base::Code::kUnavailable, "the hub does not say whose token it is");
    if (token == "kubernetes-token-of-ann") return Identity{.user = "ann", .groups = {"people"}, .uid = ""};
    return base::Fail(base::Code::kUnauthorized, "this is neither a token of the dashboard nor one that the hub accepts");
  }

  bool away = false;
  std::vector<std::string> asked;
};

class ServerTest : public FleetFixture {
 protected:
  std::shared_ptr<HistoryFile> history;
  const std::shared_ptr<KnownGate> gate = std::make_shared<KnownGate>();

  ServerTest() { Start(kReader); }

  void Start(const std::string& reader) {
    ServerOptions options;
    options.token = kAdmin;
    options.read_token = reader;
    options.gate = gate;
    options.history = history;
    options.now = [this] { return executor.clock().Now(); };
    options.host_names = {"fleet.example.org"};
    options.version = "1.2.3";
    options.fleet = "hub";
    options.page = page;
    server = std::make_unique<Server>(*feed, std::move(options));
  }

  using Headers = std::map<std::string, std::string>;
  std::shared_ptr<Reply> Ask(const std::string& method, const std::string& target, Headers headers = {},
                             const std::string& body = "") {
    apiserver::HttpRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (target.contains('?')) request.query = target.substr(target.find('?') + 1);
    request.headers = std::move(headers);
    request.headers.try_emplace("host", "127.0.0.1:8083");
    request.body = body;
    auto reply = std::make_shared<Reply>();
    server->Handle(std::move(request), std::make_unique<KeepingResponder>(reply));
    executor.RunFor(500ms);
    return reply;
  }
  static Headers Bearer(const std::string& token) { return {{"authorization", "Bearer " + token}}; }
  int StatusAtHost(const std::string& host) { return Ask("GET", "/", {{"host", host}})->status; }

  const std::vector<PageAsset> page = {{"/assets/index-1.js", "text/javascript", "let a"}, {"/index.html", "text/html", "<p>"}};
  std::unique_ptr<Server> server;
  static const Headers& Ours() {
    static const Headers kOurs{{"x-evenkeel", "1"}};
    return kOurs;
  }
  /// The headers of a browser that has logged in.
  Headers LoggedIn(const std::string& token) {
    const auto login = Ask("POST", "/login", Ours(), "token=" + token);
    EXPECT_EQ(login->status, 200) << login->body;
    const std::string cookie = login->headers["Set-Cookie"];
    return {{"cookie", cookie.substr(0, cookie.find(';'))}, {"x-evenkeel", "1"}};
  }
  std::shared_ptr<Reply> Act(Headers headers, const Json& body) {
    headers["x-evenkeel"] = "1";
    return Ask("POST", "/api/actions", std::move(headers), base::ToText(body));
  }
};

}  // namespace evenkeel::dashboard::testing
