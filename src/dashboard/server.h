// The dashboard over HTTP: the page's files, a login, and the views as JSON and as streams of server-sent events.
//
//   GET  /login?token=T, POST /login     sets the cookie evenkeel_token and leads to /
//   GET  /api/session                    {"mayWrite", "version", "fleet"}
//   GET  /api/view?view=V                the view's document
//   GET  /api/stream?view=V              text/event-stream: `document`, then `patch` (RFC 7386), and `ping`
//   POST /api/approve                    {"cluster", "plan", "uid", "hash"}; with the header X-Evenkeel: 1
//
// What is below /api needs a token, as the cookie or as a bearer token; only the administrator's may approve. Requests for a
// host name that nobody has allowed are refused, so that no other site's name can be made to point here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dashboard/feed.h"
#include "dashboard/page_assets.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::dashboard {

struct ServerOptions {
  std::string token;                    ///< the administrator's
  std::string read_token;               ///< may only look; "": there is none
  std::vector<std::string> host_names;  ///< allowed besides localhost and numeric addresses
  std::string version, fleet;
  std::span<const PageAsset> page;  ///< empty: there is none
};

/// The most streams at a time.
inline constexpr int kStreamsMax = 200;

/// Thread-safe. Destroy it after the HttpServer that calls it, and before the feed.
class Server final : public embedded::apiserver::HttpHandler {
 public:
  Server(Feed& feed, ServerOptions options);
  ~Server() override;
  void Handle(embedded::apiserver::HttpRequest request, std::unique_ptr<embedded::apiserver::Responder> responder) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::dashboard
