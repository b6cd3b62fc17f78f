// The dashboard over HTTP: the page's files, a login, and the views as JSON and as streams of server-sent events.
//
//   GET  /login                          the page, which has a form, and takes a token from ?token=
//   POST /login                          token=T: opens a session, whose id is the cookie evenkeel_session
//   POST /api/logout                     ends it
//   GET  /api/session[?cluster=C]        {"user", "may": {"approve": ...}, "version", "fleet"}
//   GET  /api/view?view=V                the view's document
//   GET  /api/stream?view=V              text/event-stream: `document`, then `patch` (RFC 7386), and `ping`
//   GET  /api/find?text=T[&cluster=...]  what there is in members (find.h)
//   GET  /api/object?...                 one object with its YAML and events (object_reader.h)
//   GET  /api/logs?...                   what a pod's container wrote
//   GET  /api/history?from=T&...         what is kept of the last days (history/history_file.h)
//   GET  /api/sessions                   who is logged in
//   POST /api/sessions                   {"revoke": HANDLE}
//   POST /api/actions                    what would happen, or it (actions/action_request.h)
//
// What is below /api needs a session or one of the dashboard's own tokens as a bearer token, and what changes anything the
// header X-Evenkeel: 1, which no other site's form can send. The hub's RBAC says what each may do (access/identity.h); with the
// dashboard's own tokens people may look also while the hub does not answer. Requests for a host name that nobody has allowed
// are refused, so that no other site's name can be made to point here.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dashboard/access/gate.h"
#include "dashboard/feed.h"
#include "dashboard/history/history_file.h"
#include "dashboard/page_assets.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::dashboard {

struct ServerOptions {
  std::string token;                     ///< the administrator's
  std::string read_token;                ///< a viewer's; "": there is none
  std::shared_ptr<Gate> gate;            ///< lives as long as the feed
  std::shared_ptr<HistoryFile> history;  ///< null: none is kept
  std::function<base::Time()> now;
  bool encrypted = false;               ///< people reach it by https: cookies are for that alone
  std::vector<std::string> host_names;  ///< allowed besides localhost and numeric addresses
  std::string version, fleet;
  std::span<const PageAsset> page;  ///< empty: there is none
};

/// The most streams at a time.
inline constexpr int kStreamsMax = 200;
/// The most other requests that wait for a cluster at a time.
inline constexpr int kQuestionsMax = 64;

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
