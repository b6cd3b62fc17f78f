// HTTP in front of Api: paths, content negotiation, discovery, OpenAPI, Tables, watches as streams, Status objects for errors.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/request_queue.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

struct ApiHandlerOptions {
  /// Bookmarks and time-outs of watches run on a strand of it; null: watches have neither.
  base::Executor* executor = nullptr;
  std::string git_version = "v1.36.0+evenkeel";
  base::Duration bookmark_interval = base::Duration(std::chrono::seconds(60));
  base::Duration watch_timeout = base::Duration(std::chrono::minutes(40));  ///< of a watch that names none
  size_t body_bytes_max = 3u << 20;
  /// Requests run on strands of it (request_queue.h): all but those that cost next to nothing. Its threads wait for nobody but
  /// the store, so it is best one of their own. Null: requests run where they come in.
  base::Executor* workers = nullptr;
  RequestQueueOptions queue = {};
};

/// Carries out what the roles and bindings of the api allow HttpRequest::user (system:anonymous where nobody is named), or whom
/// its headers impersonate. Thread-safe. Destroy it after the server that calls it.
class ApiHandler : public HttpHandler {
 public:
  ApiHandler(Api& api, ApiHandlerOptions options);
  ~ApiHandler() override;
  std::optional<HttpResponse> Admit(HttpRequest& head) override;
  void Handle(HttpRequest request, std::unique_ptr<Responder> responder) override;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace evenkeel::embedded::apiserver
