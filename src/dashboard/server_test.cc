#include "dashboard/server.h"

#include "dashboard/access/sessions.h"
#include "dashboard/access/token.h"
#include "dashboard/server_testing.h"

namespace evenkeel::dashboard::server_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

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
  EXPECT_EQ(Ask("GET", "/api/session", {{"cookie", std::string("evenkeel_session=") + kAdmin}})->status, 401)
      << "a token is no session";
  EXPECT_EQ(Ask("GET", "/api/nothing", Bearer(kAdmin))->status, 404);
  EXPECT_EQ(Ask("POST", "/api/session", Bearer(kAdmin))->status, 403) << "without the header";
  EXPECT_EQ(Ask("DELETE", "/api/session", Bearer(kAdmin))->status, 405);
}

TEST_F(ServerTest, ALoginIsASessionAndNotTheToken) {
  const auto login = Ask("POST", "/login", Ours(), std::string("token=") + kAdmin);
  EXPECT_EQ(login->status, 200);
  const std::string cookie = login->headers["Set-Cookie"];
  EXPECT_TRUE(cookie.starts_with("evenkeel_session=")) << cookie;
  EXPECT_TRUE(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict")) << cookie;
  EXPECT_FALSE(cookie.contains(kAdmin));
  EXPECT_EQ(Ask("GET", "/api/view?view=names", LoggedIn(kReader))->status, 200);
  EXPECT_EQ(Ask("POST", "/login", {}, std::string("token=") + kAdmin)->status, 403) << "another site's form";
  EXPECT_EQ(Ask("POST", "/login", Ours(), "token=wrong")->status, 401);
  EXPECT_EQ(Ask("POST", "/login", Ours(), "")->status, 400);
  EXPECT_EQ(Ask("POST", "/login", Ours(), "token=%zz")->status, 400);
  EXPECT_EQ(Ask("POST", "/login", Ours(), "token=" + std::string(9000, 'a'))->status, 400);
  EXPECT_EQ(Ask("DELETE", "/login")->status, 405);
}

TEST_F(ServerTest, ALinkIsAFormAndChangesNothing) {
  const auto form = Ask("GET", std::string("/login?token=") + kAdmin);
  EXPECT_EQ(form->status, 200);
  EXPECT_EQ(form->body, "<p>");
  EXPECT_FALSE(form->headers.contains("Set-Cookie"));
}

TEST_F(ServerTest, ALoginWithATokenOfBase64) {
  const auto path = LoginPath(kOddReader);
  EXPECT_EQ(path, "login?token=01%2B23%2F45%2B6789abc%3D%3D");
  Start(kOddReader);
  for (const std::string& body : {path.substr(path.find('?') + 1), std::string("token=") + kOddReader}) {
    EXPECT_EQ(Ask("POST", "/login", Ours(), body)->status, 200) << body;
  }
}

TEST_F(ServerTest, ALoginWithATokenOfTheHub) {
  const Headers ann = LoggedIn("kubernetes-token-of-ann");
  const Json session = Parsed(Ask("GET", "/api/session", ann)->body);
  EXPECT_EQ(base::FindString(session, {"user"}), "ann");
  EXPECT_TRUE(base::FindBool(session, {"may", "approve"}));
  EXPECT_EQ(gate->asked.front(), "ann get members.dashboard.evenkeel.dev") << "whether she may look";
  gate->away = true;
  EXPECT_EQ(Ask("POST", "/login", Ours(), "token=kubernetes-token-of-ann")->status, 503);
  const Json unknown = Parsed(Ask("GET", "/api/session", ann)->body);
  EXPECT_FALSE(base::FindBool(unknown, {"may", "approve"}, true)) << "what cannot be asked is refused";
  EXPECT_NE(base::FindString(unknown, {"unknown"}), "");
}

TEST_F(ServerTest, ASessionEndsByLoggingOutByTimeAndByRevoking) {
  const Headers admin = LoggedIn(kAdmin), reader = LoggedIn(kReader);
  const auto stream = Ask("GET", "/api/stream?view=fleet", reader);
  EXPECT_EQ(stream->status, 200);
  const Json listed = Parsed(Ask("GET", "/api/sessions", admin)->body);
  ASSERT_EQ(base::FindArray(listed, {"sessions"}).size(), 2U);
  EXPECT_FALSE(base::ToText(listed).contains(reader.at("cookie").substr(17))) << "whoever sees the list cannot use it";
  std::string handle;
  for (const Json& row : base::FindArray(listed, {"sessions"})) {
    if (!base::FindBool(row, {"own"})) handle = base::FindString(row, {"handle"});
  }
  const std::string body = base::ToText(JsonObject{{"revoke", handle}});
  EXPECT_EQ(Ask("GET", "/api/sessions", reader)->status, 403);
  EXPECT_EQ(Ask("POST", "/api/sessions", reader, body)->status, 403);
  EXPECT_EQ(Ask("POST", "/api/sessions", admin, "{}")->status, 400);
  EXPECT_EQ(Ask("POST", "/api/sessions", admin, body)->status, 200);
  EXPECT_EQ(Ask("POST", "/api/sessions", admin, body)->status, 404);
  EXPECT_EQ(Ask("GET", "/api/view?view=names", reader)->status, 401);
  executor.RunFor(20s);
  EXPECT_TRUE(stream->stream->closed) << "what is open ends, too";
  EXPECT_EQ(Ask("POST", "/api/logout", admin)->status, 200);
  EXPECT_EQ(Ask("GET", "/api/view?view=names", admin)->status, 401);
  const Headers idle = LoggedIn(kReader);
  executor.RunFor(kSessionIdle + 1s);
  EXPECT_EQ(Ask("GET", "/api/view?view=names", idle)->status, 401);
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

TEST_F(ServerTest, ThingsAreFoundInAllMembersOrInOne) {
  members["member-2"]->Put(kube::resources::Pods(), PodObject("checkout-7", "n1"));
  const auto names = [this](const std::string& target) {
    const auto reply = Ask("GET", "/api/find?" + target, Bearer(kReader));
    EXPECT_EQ(reply->status, 200) << reply->body;
    std::string text;
    for (const Json& row : base::FindArray(Parsed(reply->body), {"found"})) {
      text += std::string(base::FindString(row, {"cluster"})) + "/" + std::string(base::FindString(row, {"name"})) + " ";
    }
    return text;
  };
  EXPECT_EQ(names("text=CHECKOUT"), "member-2/default/checkout-7 ");
  EXPECT_EQ(names("text=web%20default"), "member-1/default/web member-2/default/web ");
  EXPECT_EQ(names("text=n1&kind=Node"), "member-1/n1 member-2/n1 ");
  EXPECT_EQ(names("text=gener&kind=NodeGroup"), "member-1/general member-2/general ");
  EXPECT_EQ(names("cluster=member-2&kind=Pod"), "member-2/default/checkout-7 member-2/default/web ");
  EXPECT_EQ(names("cluster=member-2&kind=Pod&limit=1"), "member-2/default/checkout-7 ");
  EXPECT_EQ(names("cluster=member-2&kind=Pod&node=n9"), "");
  EXPECT_EQ(names("cluster=member-1&kind=Pod&state=Running"), "member-1/default/web ");
  EXPECT_EQ(base::FindInt(Parsed(Ask("GET", "/api/find?cluster=member-2&kind=Pod&limit=1", Bearer(kReader))->body), {"total"}),
            2);
  for (const char* bad :
       {"text=", "text=a&kind=Secret", "text=a&limit=0", "text=a&limit=501", "text=a&cluster=..", "limit=x&text=a"}) {
    EXPECT_EQ(Ask("GET", std::string("/api/find?") + bad, Bearer(kReader))->status, 400) << bad;
  }
  EXPECT_EQ(Ask("GET", "/api/find?text=" + std::string(300, 'a'), Bearer(kReader))->status, 400);
  EXPECT_EQ(Ask("GET", "/api/find?cluster=nobody", Bearer(kReader))->status, 404);
}

TEST_F(ServerTest, AMemberThatCannotBeAskedIsNamed) {
  unreachable = "member-2";
  const auto reply = Ask("GET", "/api/find?text=web", Bearer(kReader));
  executor.RunFor(5s);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(base::FindArray(Parsed(reply->body), {"missing"}), JsonArray{"member-2"}) << reply->body;
}

TEST_F(ServerTest, AnObjectComesWithItsYamlAndEvents) {
  client::FakeApi& api = *members["member-1"];
  api.Put(kube::resources::Events(), Parsed(R"({"metadata": {"name": "e1", "namespace": "default"}, "reason": "Pulled",
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}, "lastTimestamp": "2024-12-15T01:00:00Z"})"));
  const auto reply = Ask("GET", "/api/object?cluster=member-1&kind=Pod&namespace=default&name=web", Bearer(kReader));
  EXPECT_EQ(reply->status, 200) << reply->body;
  const Json object = Parsed(reply->body);
  EXPECT_TRUE(base::FindString(object, {"yaml"}).contains("nodeName: n1"));
  ASSERT_EQ(base::FindArray(object, {"events"}).size(), 1U);
  EXPECT_EQ(base::FindArray(object, {"containers"}), JsonArray{"main"});
  for (const char* bad :
       {"cluster=member-1&kind=Secret&namespace=default&name=a", "cluster=member-1&kind=Pod&name=web",
        "cluster=member-1&kind=Node&namespace=a&name=n1", "cluster=member-1&kind=Node", "kind=Node&name=a/b"}) {
    EXPECT_EQ(Ask("GET", std::string("/api/object?") + bad, Bearer(kReader))->status, 400) << bad;
  }
  EXPECT_EQ(Ask("GET", "/api/object?cluster=member-1&kind=Node&name=n9", Bearer(kReader))->status, 404);
  for (const char* bad : {"cluster=member-1&namespace=default", "cluster=member-1&namespace=default&pod=a&lines=0",
                          "cluster=member-1&namespace=default&pod=a&container=b%26follow=true"}) {
    EXPECT_EQ(Ask("GET", std::string("/api/logs?") + bad, Bearer(kAdmin))->status, 400) << bad;
  }
  EXPECT_EQ(Ask("GET", "/api/logs?cluster=member-1&namespace=default&pod=web", Bearer(kReader))->status, 403);
}

}  // namespace
}  // namespace evenkeel::dashboard::server_test
