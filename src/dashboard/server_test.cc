#include "dashboard/server.h"

#include <set>

#include "controllers/balancer/kinds.h"
#include "dashboard/approval.h"
#include "dashboard/dashboard_testing.h"
#include "dashboard/token.h"

namespace evenkeel::dashboard::server_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
namespace apiserver = embedded::apiserver;
namespace on_member = controllers::balancer;

constexpr const char* kAdmin = "0123456789abcdef-admin";
constexpr const char* kReader = "0123456789abcdef-reader";
/// As base64 makes them.
constexpr const char* kOddReader = "01+23/45+6789abc==";

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

class ServerTest : public FleetFixture {
 protected:
  ServerTest() { Start(kReader); }

  void Start(const std::string& reader) {
    ServerOptions options;
    options.token = kAdmin;
    options.read_token = reader;
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
};

TEST_F(ServerTest, ThePageAndItsFiles) {
  const auto index = Ask("GET", "/");
  EXPECT_EQ(index->status, 200);
  EXPECT_EQ(index->body, "<p>");
  EXPECT_EQ(index->headers["Cache-Control"], "no-store");
  EXPECT_TRUE(index->headers["Content-Security-Policy"].starts_with("default-src 'self'"));
  EXPECT_FALSE(index->headers["Content-Security-Policy"].contains("unsafe"));
  EXPECT_EQ(index->headers["X-Content-Type-Options"], "nosniff");
  EXPECT_EQ(index->headers["Referrer-Policy"], "no-referrer");
  EXPECT_EQ(index->headers["X-Frame-Options"], "DENY");
  EXPECT_EQ(Ask("GET", "/assets/index-1.js")->headers["Cache-Control"], "public, max-age=31536000, immutable");
  EXPECT_EQ(Ask("GET", "/assets/../index.html")->status, 404);
  EXPECT_EQ(Ask("POST", "/")->status, 405);
}

TEST_F(ServerTest, OnlyNamesThatAreAllowed) {
  for (const char* host : {"127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:80", "10.1.2.3", "fleet.example.org:443"}) {
    EXPECT_EQ(StatusAtHost(host), 200) << host;
  }
  for (const char* host : {"evil.example.org", "evil.example.org:80", "127.0.0.1.evil.org", "", "[::1", "localhost.evil.org"}) {
    EXPECT_EQ(StatusAtHost(host), 421) << host;
  }
}

TEST_F(ServerTest, ApiNeedsAToken) {
  for (const char* path : {"/api/session", "/api/view?view=fleet", "/api/stream?view=fleet", "/api/nothing", "/api"}) {
    EXPECT_EQ(Ask("GET", path)->status, 401) << path;
    EXPECT_EQ(Ask("GET", path, Bearer("wrong"))->status, 401) << path;
    EXPECT_EQ(Ask("GET", path, Bearer(""))->status, 401) << path;
  }
  EXPECT_EQ(Ask("GET", "/api/session", Bearer(kAdmin))->body, R"({"mayWrite":true,"version":"1.2.3","fleet":"hub"})"
                                                              "\n");
  EXPECT_EQ(Ask("GET", "/api/session", {{"cookie", std::string("a=b; evenkeel_token=") + kReader}})->body,
            R"({"mayWrite":false,"version":"1.2.3","fleet":"hub"})"
            "\n");
  EXPECT_EQ(Ask("GET", "/api/session", {{"cookie", std::string("x_evenkeel_token=") + kAdmin}})->status, 401);
  EXPECT_EQ(Ask("GET", "/api/nothing", Bearer(kAdmin))->status, 404);
  EXPECT_EQ(Ask("POST", "/api/session", Bearer(kAdmin))->status, 405);
}

TEST_F(ServerTest, ALoginIsACookie) {
  const auto login = Ask("GET", std::string("/login?token=") + kAdmin);
  EXPECT_EQ(login->status, 303);
  EXPECT_EQ(login->headers["Location"], "/");
  EXPECT_EQ(login->headers["Set-Cookie"], std::string("evenkeel_token=") + kAdmin + "; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(Ask("POST", "/login", {}, std::string("token=") + kReader)->status, 303);
  EXPECT_EQ(Ask("GET", "/login?token=wrong")->status, 401);
  EXPECT_EQ(Ask("GET", "/login")->status, 401);
  EXPECT_EQ(Ask("GET", "/login?token=%zz")->status, 400);
  EXPECT_EQ(Ask("DELETE", "/login")->status, 405);
}

TEST_F(ServerTest, ALoginWithATokenOfBase64) {
  const auto path = LoginPath(kOddReader);
  EXPECT_EQ(path, "login?token=01%2B23%2F45%2B6789abc%3D%3D");
  Start(kOddReader);
  const std::string cookie = std::string("evenkeel_token=") + kOddReader;
  for (const std::string& target : {"/" + path, std::string("/login?token=") + kOddReader}) {
    const auto login = Ask("GET", target);
    EXPECT_EQ(login->status, 303) << target;
    EXPECT_TRUE(login->headers["Set-Cookie"].starts_with(cookie + ";")) << login->headers["Set-Cookie"];
  }
  EXPECT_EQ(Ask("POST", "/login", {}, std::string("token=") + kOddReader)->status, 303);
  EXPECT_EQ(Ask("GET", "/api/session", {{"cookie", cookie}})->status, 200);
}

TEST_F(ServerTest, AViewOnceAndAsAStream) {
  const auto view = Ask("GET", "/api/view?view=fleet", Bearer(kReader));
  EXPECT_EQ(view->status, 200);
  EXPECT_EQ(base::FindString(Parsed(view->body), {"clusters", "member-1", "owner"}), "evenkeel-a");
  EXPECT_EQ(Ask("GET", "/api/view?view=nothing", Bearer(kReader))->status, 404);
  EXPECT_EQ(Ask("GET", "/api/view?view=%zz", Bearer(kReader))->status, 400);
  EXPECT_EQ(Ask("GET", "/api/stream?view=cluster/nobody", Bearer(kReader))->status, 404);
  const auto stream = Ask("GET", "/api/stream?view=fleet", Bearer(kReader));
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(stream->content_type, "text/event-stream");
  EXPECT_EQ(stream->headers, view->headers) << "as guarded as every other answer";
  EXPECT_EQ(stream->headers["Cache-Control"], "no-store");
  EXPECT_TRUE(stream->headers["Content-Security-Policy"].starts_with("default-src 'self'"));
  EXPECT_TRUE(stream->stream->text.starts_with("event: document\ndata: {\"view\":\"fleet\""));
  members["member-1"]->Put(kube::resources::Pods(), PodObject("waits", ""));
  executor.RunFor(1s);
  EXPECT_TRUE(stream->stream->text.contains("event: patch\ndata: {\"view\":\"fleet\",\"patch\":"));
  const size_t size = stream->stream->text.size();
  stream->stream->on_closed();
  executor.RunFor(20s);
  EXPECT_EQ(stream->stream->text.size(), size);
}

TEST_F(ServerTest, ThereIsAMostOfStreams) {
  std::vector<std::shared_ptr<Reply>> streams;
  for (int i = 0; i < kStreamsMax; ++i) streams.push_back(Ask("GET", "/api/stream?view=rollouts", Bearer(kReader)));
  EXPECT_EQ(streams.back()->status, 200);
  EXPECT_EQ(Ask("GET", "/api/stream?view=rollouts", Bearer(kReader))->status, 503);
  streams.front()->stream->on_closed();
  executor.RunFor(1s);
  EXPECT_EQ(Ask("GET", "/api/stream?view=rollouts", Bearer(kReader))->status, 200);
}

class ApprovalTest : public ServerTest {
 protected:
  ApprovalTest() {
    members["member-1"]->Put(on_member::BalancingPlans(), Parsed(R"({"metadata": {"name": "plan-1", "uid": "u1"},
      "spec": {"policy": "default", "approved": false, "actions": [{"pod": "default/a", "from": "n1", "to": "n2"}]}})"));
  }
  Json& Plan() { return members["member-1"]->objects["balancingplans"]["plan-1"]; }
  std::shared_ptr<Reply> Approve(const std::string& hash, const std::string& uid = "u1", const std::string& token = kAdmin,
                                 const std::string& cluster = "member-1") {
    Headers headers = Bearer(token);
    headers["x-evenkeel"] = "1";
    return Ask("POST", "/api/approve", headers,
               base::ToText(JsonObject{{"cluster", cluster}, {"plan", "plan-1"}, {"uid", uid}, {"hash", hash}}));
  }
  bool Approved() { return base::FindBool(Plan(), {"spec", "approved"}); }
};

TEST_F(ApprovalTest, ExactlyThePlanThatWasLookedAt) {
  const std::string hash = PlanHash(Plan());
  EXPECT_EQ(Approve(hash, "u2")->status, 409);
  EXPECT_EQ(Approve("0123")->status, 409);
  EXPECT_EQ(Approve(hash, "u1", kAdmin, "nobody")->status, 404);
  Json other = Plan();
  base::Ensure(other, {"spec", "policy"}) = "other";
  members["member-1"]->Put(on_member::BalancingPlans(), other);
  EXPECT_EQ(Approve(hash)->status, 409) << "it has changed";
  EXPECT_FALSE(Approved());
  const auto approved = Approve(PlanHash(Plan()));
  EXPECT_EQ(approved->status, 200) << approved->body;
  EXPECT_TRUE(Approved());
  EXPECT_EQ(Approve(PlanHash(Plan()))->status, 200) << "the hash is not of the approval";
}

TEST_F(ApprovalTest, OnlyWhoMay) {
  const std::string hash = PlanHash(Plan());
  EXPECT_EQ(Approve(hash, "u1", kReader)->status, 403);
  EXPECT_EQ(Ask("POST", "/api/approve", Bearer(kAdmin), "{}")->status, 403) << "a form of another site sends no such header";
  EXPECT_EQ(Ask("GET", "/api/approve", Bearer(kAdmin))->status, 405);
  Headers headers = Bearer(kAdmin);
  headers["x-evenkeel"] = "1";
  for (const char* body : {"", "[]", "{", R"({"cluster": 1})", R"({"cluster": "member-1", "plan": "plan-1", "uid": "u1"})"}) {
    EXPECT_EQ(Ask("POST", "/api/approve", headers, body)->status, 400) << body;
  }
  EXPECT_EQ(Ask("POST", "/api/approve", headers, std::string(5000, ' '))->status, 413);
  EXPECT_FALSE(Approved());
}

TEST_F(ApprovalTest, NoPlanThatHasBegunOrEnded) {
  base::Ensure(Plan(), {"status", "phase"}) = "Refused";
  EXPECT_EQ(Approve(PlanHash(Plan()))->status, 409);
}

TEST(TokenTest, ATokenIsMadeOnceAndIsHardToGuess) {
  std::set<std::string> tokens;
  for (int i = 0; i < 10; ++i) tokens.insert(NewToken());
  EXPECT_EQ(tokens.size(), 10U);
  EXPECT_EQ(tokens.begin()->size(), 64U);
  EXPECT_TRUE(SameToken("abc", "abc"));
  EXPECT_FALSE(SameToken("abc", "abd"));
  EXPECT_FALSE(SameToken("", ""));
}

}  // namespace
}  // namespace evenkeel::dashboard::server_test
