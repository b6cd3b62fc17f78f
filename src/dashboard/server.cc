#include "dashboard/server.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <mutex>

#include "base/log.h"
#include "dashboard/approval.h"
#include "dashboard/token.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::dashboard {
namespace {

namespace apiserver = embedded::apiserver;
using apiserver::HttpRequest;
using apiserver::HttpResponse;
using apiserver::Responder;
using base::Json;
using base::JsonObject;
using Query = apiserver::Query;

constexpr std::string_view kCookie = "evenkeel_token";
constexpr size_t kApproveBytesMax = 4096;
/// No script, style, picture or request but from here, and in nobody's frame.
constexpr std::string_view kPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

constexpr std::string_view kNotKept = "no-store";
constexpr std::string_view kKeptForever = "public, max-age=31536000, immutable";

enum class Rights { kNone, kRead, kWrite };

/// `caching`: the value of Cache-Control.
apiserver::HttpHeaders Guards(std::string_view caching) {
  return {{"Content-Security-Policy", std::string(kPolicy)},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Frame-Options", "DENY"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", std::string(caching)}};
}

HttpResponse Reply(int status, std::string content_type, std::string body, std::string_view caching = kNotKept) {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.headers = Guards(caching);
  response.body.push_back(std::make_shared<const std::string>(std::move(body)));
  return response;
}

HttpResponse JsonReply(int status, const Json& body) { return Reply(status, "application/json", base::ToText(body) + "\n"); }

HttpResponse Message(int status, std::string_view message) { return JsonReply(status, JsonObject{{"message", message}}); }

HttpResponse Failure(const base::Error& error) { return Message(base::HttpStatus(error.code()), error.message()); }

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

/// Of "a=b; c=d".
std::string CookieOf(const HttpRequest& request, std::string_view name) {
  const std::string header = HeaderOf(request, "cookie");
  std::string_view rest = header;
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(";,");
    std::string_view part = rest.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) return std::string(part.substr(name.size() + 1));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return "";
}

/// "name", "name:80", "1.2.3.4:80", "[::1]:80" -> the part before the port, without brackets, in lower case.
std::string HostWithoutPort(std::string host) {
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (const size_t end = host.find(']'); host.starts_with('[')) return end == host.npos ? "" : host.substr(1, end - 1);
  return host.substr(0, host.rfind(':'));
}

/// Answers by a stream once there is something to say.
class StreamFollower final : public Follower, public std::enable_shared_from_this<StreamFollower> {
 public:
  StreamFollower(Feed& feed, std::unique_ptr<Responder> responder, std::shared_ptr<std::atomic<int>> streams)
      : feed_(feed), responder_(std::move(responder)), streams_(std::move(streams)) {}
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
    return stream_->Write(event);
  }

 private:
  Feed& feed_;
  std::unique_ptr<Responder> responder_;
  std::shared_ptr<apiserver::ResponseStream> stream_;
  const std::shared_ptr<std::atomic<int>> streams_;
};

}  // namespace

struct Server::State {
  Feed& feed;
  const ServerOptions options;
  const std::shared_ptr<std::atomic<int>> streams = std::make_shared<std::atomic<int>>(0);

  bool HostAllowed(const HttpRequest& request) const {
    const std::string host = HostWithoutPort(HeaderOf(request, "host"));
    if (host == "localhost") return true;
    boost::system::error_code not_numeric;
    boost::asio::ip::make_address(host, not_numeric);
    return !not_numeric || std::ranges::find(options.host_names, host) != options.host_names.end();
  }

  Rights RightsOfToken(std::string_view token) const {
    const bool write = SameToken(token, options.token), read = SameToken(token, options.read_token);
    return write ? Rights::kWrite : read ? Rights::kRead : Rights::kNone;
  }

  Rights RightsOf(const HttpRequest& request) const {
    const std::string header = HeaderOf(request, "authorization");
    constexpr std::string_view kBearer = "Bearer ";
    if (header.starts_with(kBearer)) return RightsOfToken(header.substr(kBearer.size()));
    return RightsOfToken(CookieOf(request, kCookie));
  }

  HttpResponse Login(const HttpRequest& request) const;
  HttpResponse Page(const HttpRequest& request) const;
  void Api(const HttpRequest& request, std::unique_ptr<Responder> responder);
  void View(const HttpRequest& request, std::unique_ptr<Responder> responder, bool stream);
  void Approve(const HttpRequest& request, Rights rights, std::unique_ptr<Responder> responder);
};

HttpResponse Server::State::Login(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "POST") return Message(405, "GET or POST");
  const auto form = Query::Parse(request.method == "POST" ? request.body : request.query);
  if (!form) return Failure(form.error());
  std::string token = form->Get("token");
  // A link that somebody put together by hand has its + as it is, which in a query is a space; no token has one.
  std::ranges::replace(token, ' ', '+');
  if (RightsOfToken(token) == Rights::kNone) {
    return Message(401, "this is not a token of this dashboard: open the link that evenkeel printed when it started");
  }
  HttpResponse response = Reply(303, "text/plain; charset=utf-8", "welcome\n");
  response.headers.emplace_back("Location", "/");
  response.headers.emplace_back("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kCookie, token));
  return response;
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
  const Rights rights = RightsOf(request);
  if (rights == Rights::kNone) return responder->Send(Message(401, "a token is needed: see /login"));
  if (request.path == "/api/approve") {
    if (request.method != "POST") return responder->Send(Message(405, "only POST"));
    return Approve(request, rights, std::move(responder));
  }
  if (request.method != "GET") return responder->Send(Message(405, "only GET"));
  if (request.path == "/api/session") {
    return responder->Send(JsonReply(
        200, JsonObject{{"mayWrite", rights == Rights::kWrite}, {"version", options.version}, {"fleet", options.fleet}}));
  }
  const bool stream = request.path == "/api/stream";
  if (stream || request.path == "/api/view") return View(request, std::move(responder), stream);
  responder->Send(Message(404, "there are /api/session, /api/view, /api/stream and /api/approve"));
}

void Server::State::View(const HttpRequest& request, std::unique_ptr<Responder> responder, bool stream) {
  const auto query = Query::Parse(request.query);
  if (!query) return responder->Send(Failure(query.error()));
  const std::string view = query->Get("view");
  if (stream) {
    if (streams->fetch_add(1) >= kStreamsMax) {
      --*streams;
      return responder->Send(Message(503, fmt::format("{} streams are open, which is the most", kStreamsMax)));
    }
    return feed.Follow(view, std::make_shared<StreamFollower>(feed, std::move(responder), streams));
  }
  feed.Read(view, [responder = std::shared_ptr<Responder>(std::move(responder))](const base::Result<Json>& document) {
    responder->Send(document ? JsonReply(200, *document) : Failure(document.error()));
  });
}

void Server::State::Approve(const HttpRequest& request, Rights rights, std::unique_ptr<Responder> responder) {
  if (HeaderOf(request, "x-evenkeel") != "1") return responder->Send(Message(403, "the header X-Evenkeel: 1 is missing"));
  if (rights != Rights::kWrite) return responder->Send(Message(403, "this token may only look"));
  if (request.body.size() > kApproveBytesMax) {
    return responder->Send(Message(413, fmt::format("the body is larger than {} bytes", kApproveBytesMax)));
  }
  const auto wanted = ApprovalRequest::Parse(request.body);
  if (!wanted) return responder->Send(Failure(wanted.error()));
  const auto answer = [responder = std::shared_ptr<Responder>(std::move(responder)), wanted = *wanted,
                       remote = request.remote](base::Result<std::unique_ptr<client::Client>> member) {
    if (!member) return responder->Send(Failure(member.error()));
    if (const auto approved = ApprovePlan(**member, wanted); !approved) return responder->Send(Failure(approved.error()));
    base::log::Info("a balancing plan was approved",
                    {{"cluster", wanted.cluster}, {"plan", wanted.plan}, {"hash", wanted.hash}, {"by", remote}});
    responder->Send(Message(200, fmt::format("BalancingPlan {} of {} is approved", wanted.plan, wanted.cluster)));
  };
  feed.WithMember(wanted->cluster, answer);
}

Server::Server(Feed& feed, ServerOptions options) : state_(std::make_shared<State>(feed, std::move(options))) {}

Server::~Server() = default;

void Server::Handle(HttpRequest request, std::unique_ptr<Responder> responder) {
  if (!state_->HostAllowed(request)) {
    return responder->Send(Message(421, "this host name is not allowed: use a numeric address, or --dashboard-host"));
  }
  if (request.path == "/login") return responder->Send(state_->Login(request));
  if (request.path == "/api" || request.path.starts_with("/api/")) return state_->Api(request, std::move(responder));
  responder->Send(state_->Page(request));
}

}  // namespace evenkeel::dashboard
