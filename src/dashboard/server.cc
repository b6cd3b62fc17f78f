#include "dashboard/server.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/address.hpp>

#include "base/log.h"
#include "dashboard/access/sessions.h"
#include "dashboard/access/token.h"
#include "dashboard/actions/actions.h"
#include "dashboard/http_reply.h"
#include "dashboard/object_reader.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::dashboard {
namespace {

namespace apiserver = embedded::apiserver;
using apiserver::HttpRequest;
using apiserver::HttpResponse;
using apiserver::Responder;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using Query = apiserver::Query;
using SharedResponder = std::shared_ptr<Responder>;

constexpr std::string_view kCookie = "evenkeel_session";
/// Tokens of Kubernetes have up to a few thousand bytes.
constexpr size_t kTokenMax = 8192;

/// Answers by a stream once there is something to say.
class StreamFollower final : public Follower, public std::enable_shared_from_this<StreamFollower> {
 public:
  /// `may`: whether whoever looks still may.
  StreamFollower(Feed& feed, std::unique_ptr<Responder> responder, std::shared_ptr<std::atomic<int>> streams,
                 std::function<bool()> may)
      : feed_(feed), responder_(std::move(responder)), streams_(std::move(streams)), may_(std::move(may)) {}
  ~StreamFollower() override { --*streams_; }

  void Refuse(const base::Error& error) override {
    if (responder_ != nullptr) std::exchange(responder_, nullptr)->Send(Failure(error));
    if (stream_ != nullptr) stream_->Close();
  }

  bool Send(const std::shared_ptr<const std::string>& event) override {
    if (responder_ != nullptr) {
      stream_ = std::exchange(responder_, nullptr)->StartStream(200, "text/event-stream", Guards(kNotKept));
      stream_->OnClosed([weak = weak_from_this(), &feed = feed_] {
        if (auto self = weak.lock()) feed.Unfollow(self);
      });
    }
    if (may_()) return stream_->Write(event);
    stream_->Close();
    return false;
  }

 private:
  Feed& feed_;
  std::unique_ptr<Responder> responder_;
  std::shared_ptr<apiserver::ResponseStream> stream_;
  const std::shared_ptr<std::atomic<int>> streams_;
  const std::function<bool()> may_;
};

/// Counts one that waits for a cluster, for as long as it lives.
class Waiting {
 public:
  explicit Waiting(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) { ++*count_; }
  ~Waiting() { --*count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  const std::shared_ptr<std::atomic<int>> count_;
};

/// What a request comes with, once it is known who asks.
struct Asked {
  Identity who;
  std::string session;  ///< the cookie's; "": by a bearer token
  SharedResponder responder;
  std::shared_ptr<Waiting> waiting;  ///< ends when the answer is there

  void Answer(const base::Result<Json>& answer) const {
    responder->Send(answer ? JsonReply(200, *answer) : Failure(answer.error()));
  }
};

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(Feed& f, ServerOptions o) : feed(f), options(std::move(o)), sessions(options.now) {}

  Feed& feed;
  const ServerOptions options;
  Sessions sessions;
  const std::shared_ptr<std::atomic<int>> streams = std::make_shared<std::atomic<int>>(0);
  const std::shared_ptr<std::atomic<int>> waiting = std::make_shared<std::atomic<int>>(0);

  bool HostAllowed(const HttpRequest& request) const {
    const std::string host = HostOf(request);
    if (host == "localhost") return true;
    boost::system::error_code not_numeric;
    boost::asio::ip::make_address(host, not_numeric);
    return !not_numeric || std::ranges::find(options.host_names, host) != options.host_names.end();
  }

  /// Of one of the dashboard's own.
  std::optional<Identity> HolderOf(std::string_view token) const {
    const bool all = SameToken(token, options.token), read = SameToken(token, options.read_token);
    if (all) return TokenHolder();
    if (read) return ReadTokenHolder();
    return std::nullopt;
  }

  std::optional<Identity> WhoAsks(const HttpRequest& request) {
    const std::string header = HeaderOf(request, "authorization");
    constexpr std::string_view kBearer = "Bearer ";
    if (header.starts_with(kBearer)) return HolderOf(header.substr(kBearer.size()));
    return sessions.Find(CookieOf(request, kCookie));
  }

  std::string Cookie(const std::string& id, std::string_view more) const {
    return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}{}", kCookie, id, options.encrypted ? "; Secure" : "", more);
  }

  /// Nullptr: too many wait, and it has been answered.
  std::shared_ptr<Waiting> Wait(Responder& responder) const {
    if (*waiting < kQuestionsMax) return std::make_shared<Waiting>(waiting);
    responder.Send(Message(503, fmt::format("{} requests wait for clusters, which is the most: try again", kQuestionsMax)));
    return nullptr;
  }

  /// Goes on, on a strand that may wait, where the hub says that they may.
  void IfAllowed(const Asked& asked, const Question& what, std::function<void()> next) {
    feed.WithHub([asked, what, gate = options.gate, next = std::move(next)](client::Client&) {
      if (const auto allowed = gate->Allow(asked.who, what); !allowed) return asked.responder->Send(Failure(allowed.error()));
      next();
    });
  }

  /// Goes on with a client of the member, or of the hub where that is "".
  void WithCluster(const Asked& asked, const std::string& cluster, std::function<void(client::Client&)> use) {
    if (cluster.empty()) return feed.WithHub(std::move(use));
    feed.WithMember(cluster, [asked, use = std::move(use)](base::Result<std::unique_ptr<client::Client>> member) {
      if (!member) return asked.responder->Send(Failure(member.error()));
      use(**member);
    });
  }

  void Login(const HttpRequest& request, std::unique_ptr<Responder> responder);
  HttpResponse Welcome(const Identity& who, const std::string& remote);
  HttpResponse Page(const HttpRequest& request) const;
  void Api(const HttpRequest& request, std::unique_ptr<Responder> responder);
  void Get(const HttpRequest& request, const Query& query, Asked asked);
  void Post(const HttpRequest& request, Asked asked);
  void Stream(const HttpRequest& request, const Query& query, std::unique_ptr<Responder> responder);
  void Session(const Asked& asked, const std::string& cluster);
  void ListSessions(const Asked& asked);
  void RevokeSession(const Asked& asked, const std::string& body, const std::string& remote);
  void Object(const Asked& asked, const Query& query);
  void Logs(const Asked& asked, const Query& query);
  void History(const Asked& asked, const Query& query);
  void Act(const Asked& asked, const std::string& body, const std::string& remote);
};

HttpResponse Server::State::Welcome(const Identity& who, const std::string& remote) {
  const std::string id = sessions.Open(who, remote);
  base::log::Info("somebody logged in to the dashboard",
                  {{"user", who.user}, {"session", Sessions::HandleOf(id)}, {"from", remote}});
  HttpResponse response = JsonReply(200, JsonObject{{"user", who.user}});
  response.headers.emplace_back("Set-Cookie", Cookie(id, ""));
  return response;
}

void Server::State::Login(const HttpRequest& request, std::unique_ptr<Responder> responder) {
  // Looking at the form changes nothing; the page sends what is in the address.
  if (request.method == "GET") {
    HttpRequest page = request;
    page.path = "/";
    return responder->Send(Page(page));
  }
  if (request.method != "POST") return responder->Send(Message(405, "GET or POST"));
  if (HeaderOf(request, "x-evenkeel") != "1") return responder->Send(Message(403, "the header X-Evenkeel: 1 is missing"));
  const auto form = Query::Parse(request.body);
  if (!form) return responder->Send(Failure(form.error()));
  std::string token = form->Get("token");
  // A link that somebody put together by hand has its + as it is, which in a query is a space; no token has one.
  std::ranges::replace(token, ' ', '+');
  if (token.empty()) return responder->Send(Message(400, "token: it is missing"));
  if (token.size() > kTokenMax) return responder->Send(Message(400, fmt::format("token: longer than {} bytes", kTokenMax)));
  if (const auto holder = HolderOf(token)) return responder->Send(Welcome(*holder, request.remote));
  auto wait = Wait(*responder);
  if (wait == nullptr) return;
  feed.WithHub([this, self = shared_from_this(), token, wait, remote = request.remote,
                responder = SharedResponder(std::move(responder))](client::Client&) {
    const auto who = options.gate->WhoIs(token);
    const auto allowed = who ? options.gate->Allow(*who, MayLook()) : base::Status(base::Fail(who.error()));
    responder->Send(allowed ? Welcome(*who, remote) : Failure(allowed.error()));
  });
}

HttpResponse Server::State::Page(const HttpRequest& request) const {
  if (request.method != "GET") return Message(405, "only GET");
  const std::string path = request.path == "/" ? "/index.html" : request.path;
  const auto file = std::ranges::find(options.page, path, &PageAsset::path);
  if (file != options.page.end()) {
    const bool named_by_content = path.starts_with("/assets/");
    return Reply(200, std::string(file->content_type), std::string(file->content), named_by_content ? kKeptForever : kNotKept);
  }
  if (options.page.empty() && path == "/index.html")
    return Message(404, "this program was built without the page: there is /api");
  return Message(404, "there is nothing here");
}

void Server::State::Api(const HttpRequest& request, std::unique_ptr<Responder> responder) {
  const auto who = WhoAsks(request);
  if (!who) return responder->Send(Message(401, "log in first: see /login"));
  const auto query = Query::Parse(request.query);
  if (!query) return responder->Send(Failure(query.error()));
  if (request.path == "/api/stream" && request.method == "GET") return Stream(request, *query, std::move(responder));
  if (request.method != "GET" && request.method != "POST") return responder->Send(Message(405, "GET or POST"));
  if (request.method == "POST" && HeaderOf(request, "x-evenkeel") != "1") {
    return responder->Send(Message(403, "the header X-Evenkeel: 1 is missing"));
  }
  auto wait = Wait(*responder);
  if (wait == nullptr) return;
  Asked asked{.who = *who,
              .session = HeaderOf(request, "authorization").empty() ? CookieOf(request, kCookie) : "",
              .responder = std::move(responder),
              .waiting = std::move(wait)};
  request.method == "GET" ? Get(request, *query, std::move(asked)) : Post(request, std::move(asked));
}

void Server::State::Get(const HttpRequest& request, const Query& query, Asked asked) {
  const std::string& path = request.path;
  if (path == "/api/session") {
    const std::string cluster = query.Get("cluster");
    if (!cluster.empty() && !IsPlainName(cluster))
      return asked.responder->Send(Message(400, "cluster: not the name of a member"));
    return Session(asked, cluster);
  }
  if (path == "/api/view") return feed.Read(query.Get("view"), [asked](const auto& document) { asked.Answer(document); });
  if (path == "/api/find") {
    auto wanted = FindRequest::Parse(query);
    if (!wanted) return asked.responder->Send(Failure(wanted.error()));
    return feed.Find(*std::move(wanted), [asked](const base::Result<Found>& found) {
      asked.Answer(found ? base::Result<Json>(found->ToJson()) : base::Fail(found.error()));
    });
  }
  if (path == "/api/history") return History(asked, query);
  if (path == "/api/object") return Object(asked, query);
  if (path == "/api/logs") return Logs(asked, query);
  if (path == "/api/sessions") return ListSessions(asked);
  const bool to_post = path == "/api/actions" || path == "/api/logout";
  asked.responder->Send(
      to_post ? Message(405, "only POST")
              : Message(404, "there are /api/session, view, stream, find, history, object, logs, sessions and actions"));
}

void Server::State::Post(const HttpRequest& request, Asked asked) {
  if (request.path == "/api/actions") return Act(asked, request.body, request.remote);
  if (request.path == "/api/sessions") return RevokeSession(asked, request.body, request.remote);
  if (request.path == "/api/logout") {
    sessions.Close(asked.session);
    HttpResponse response = Message(200, "logged out");
    response.headers.emplace_back("Set-Cookie", Cookie("", "; Max-Age=0"));
    return asked.responder->Send(std::move(response));
  }
  asked.responder->Send(Message(405, "only GET"));
}

void Server::State::Stream(const HttpRequest& request, const Query& query, std::unique_ptr<Responder> responder) {
  if (streams->fetch_add(1) >= kStreamsMax) {
    --*streams;
    return responder->Send(Message(503, fmt::format("{} streams are open, which is the most", kStreamsMax)));
  }
  const bool bearer = !HeaderOf(request, "authorization").empty();
  const auto may = [this, self = shared_from_this(), bearer, id = CookieOf(request, kCookie)] {
    return bearer || sessions.Find(id).has_value();
  };
  feed.Follow(query.Get("view"), std::make_shared<StreamFollower>(feed, std::move(responder), streams, may));
}

void Server::State::Session(const Asked& asked, const std::string& cluster) {
  feed.WithHub([this, self = shared_from_this(), asked, cluster](client::Client&) {
    JsonObject may;
    std::string unknown;
    const auto ask = [&](const char* name, const Question& what) {
      // Once the hub has not said, it is not asked for each of the others.
      const auto allowed =
          unknown.empty() ? options.gate->Allow(asked.who, what) : base::Status(base::Fail(base::Code::kUnavailable, ""));
      if (!allowed && unknown.empty() && allowed.error().code() != base::Code::kForbidden) unknown = allowed.error().message();
      may[name] = allowed.has_value();
    };
    for (const char* verb : {"logs", "cordon", "drain", "scale", "approve"}) ask(verb, MayOnMember(verb, cluster));
    ask("pause", MayOnRollout("pause"));
    ask("sessions", MayOnSessions("list"));
    asked.responder->Send(JsonReply(200, JsonObject{{"user", asked.who.user},
                                                    {"may", std::move(may)},
                                                    {"unknown", unknown},
                                                    {"version", options.version},
                                                    {"fleet", options.fleet}}));
  });
}

void Server::State::ListSessions(const Asked& asked) {
  IfAllowed(asked, MayOnSessions("list"), [this, self = shared_from_this(), asked] {
    JsonArray rows;
    const std::string own = asked.session.empty() ? "" : Sessions::HandleOf(asked.session);
    for (const Sessions::Row& row : sessions.List()) {
      rows.push_back(JsonObject{{"handle", row.handle},
                                {"user", row.who.user},
                                {"from", row.remote},
                                {"opened", base::FormatTime(row.opened)},
                                {"used", base::FormatTime(row.used)},
                                {"own", row.handle == own}});
    }
    asked.responder->Send(JsonReply(200, JsonObject{{"sessions", std::move(rows)}}));
  });
}

void Server::State::RevokeSession(const Asked& asked, const std::string& body, const std::string& remote) {
  if (body.size() > kActionBytesMax) {
    return asked.responder->Send(Message(413, fmt::format("the body is larger than {} bytes", kActionBytesMax)));
  }
  const auto json = base::ParseJson(body, "request body");
  const std::string handle(json ? base::FindString(*json, {"revoke"}) : "");
  if (!IsPlainName(handle))
    return asked.responder->Send(Message(400, "request body: revoke: the handle of a session is missing"));
  IfAllowed(asked, MayOnSessions("delete"), [this, self = shared_from_this(), asked, handle, remote] {
    if (!sessions.Revoke(handle)) return asked.responder->Send(Message(404, "there is no such session any more"));
    base::log::Info("a session of the dashboard was revoked", {{"session", handle}, {"by", asked.who.user}, {"from", remote}});
    asked.responder->Send(Message(200, "the session has ended"));
  });
}

void Server::State::Object(const Asked& asked, const Query& query) {
  const auto wanted = ObjectRequest::Parse(query);
  if (!wanted) return asked.responder->Send(Failure(wanted.error()));
  const Question what =
      wanted->cluster.empty() ? MayOnRollout("get", wanted->ns, wanted->name) : MayOnMember("get", wanted->cluster);
  IfAllowed(asked, what, [this, self = shared_from_this(), asked, wanted = *wanted] {
    WithCluster(asked, wanted.cluster, [asked, wanted](client::Client& client) { asked.Answer(ReadObject(client, wanted)); });
  });
}

void Server::State::Logs(const Asked& asked, const Query& query) {
  const auto wanted = LogsRequest::Parse(query);
  if (!wanted) return asked.responder->Send(Failure(wanted.error()));
  IfAllowed(asked, MayOnMember("logs", wanted->cluster), [this, self = shared_from_this(), asked, wanted = *wanted] {
    WithCluster(asked, wanted.cluster, [asked, wanted](client::Client& client) { asked.Answer(ReadLogs(client, wanted)); });
  });
}

void Server::State::History(const Asked& asked, const Query& query) {
  const auto wanted = HistoryRequest::Parse(query, options.now());
  if (!wanted) return asked.responder->Send(Failure(wanted.error()));
  if (options.history == nullptr) return asked.responder->Send(JsonReply(200, JsonObject{{"kept", false}}));
  // On a strand that may wait, here for the disk.
  feed.WithHub([asked, wanted = *wanted, history = options.history](client::Client&) { asked.Answer(history->Read(wanted)); });
}

void Server::State::Act(const Asked& asked, const std::string& body, const std::string& remote) {
  const auto wanted = ActionRequest::Parse(body);
  if (!wanted) return asked.responder->Send(Failure(wanted.error()));
  IfAllowed(asked, wanted->Asks(), [this, self = shared_from_this(), asked, remote, wanted = *wanted] {
    WithCluster(asked, wanted.on_hub() ? "" : wanted.cluster, [this, self, asked, remote, wanted](client::Client& client) {
      const ActionContext context{.client = client, .user = asked.who.user, .now = options.now()};
      if (wanted.dry_run) return asked.Answer(PreviewAction(context, wanted));
      const auto done = CarryOutAction(context, wanted);
      base::log::Info(done ? "somebody acted on the dashboard" : "somebody tried to act on the dashboard",
                      {{"action", Name(wanted.kind)},
                       {"cluster", wanted.on_hub() ? "hub" : wanted.cluster},
                       {"name", wanted.ns.empty() ? wanted.name : wanted.ns + "/" + wanted.name},
                       {"by", asked.who.user},
                       {"from", remote},
                       {"answer", done ? base::FindString(*done, {"message"}) : std::string_view(done.error().message())}});
      asked.Answer(done);
    });
  });
}

Server::Server(Feed& feed, ServerOptions options) : state_(std::make_shared<State>(feed, std::move(options))) {}

Server::~Server() = default;

void Server::Handle(HttpRequest request, std::unique_ptr<Responder> responder) {
  if (!state_->HostAllowed(request)) {
    return responder->Send(Message(421, "this host name is not allowed: use a numeric address, or --dashboard-host"));
  }
  if (request.path == "/login") return state_->Login(request, std::move(responder));
  if (request.path == "/api" || request.path.starts_with("/api/")) return state_->Api(request, std::move(responder));
  responder->Send(state_->Page(request));
}

}  // namespace evenkeel::dashboard
