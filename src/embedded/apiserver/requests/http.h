// The seam between sockets and meaning: an HttpServer (http_server.h) reads requests and writes answers, an HttpHandler decides
// them. Neither knows the other's body, so a handler is tested without a socket.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedded/access/user_info.h"

namespace evenkeel::embedded::apiserver {

using access::UserInfo;

struct HttpRequest {
  std::string method;
  std::string path;                            ///< still escaped, without the query
  std::string query;                           ///< still escaped, without "?"
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  std::string client_certificate_subject;  ///< "CN=...,O=..." of a verified client certificate, else ""
  UserInfo user;
  bool authenticated = false;            ///< whoever that is has shown who they are
  std::optional<UserInfo> impersonator;  ///< who really asks, where `user` is somebody else by headers
  bool decided = false;                  ///< whether it may be carried out has been decided: it may
  std::string remote;                    ///< "127.0.0.1:41234", for logs
};

/// Text shared with a cache or with other connections, sent without being copied.
using Chunk = std::shared_ptr<const std::string>;
/// Lists leave in pieces of about this size, so that no single buffer has to hold all of a large one.
inline constexpr size_t kAnswerChunkBytes = 1u << 20;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers;
  std::vector<Chunk> body;  ///< sent one after the other
};

/// An answer without an end: watches, followed logs. Thread-safe. Write queues and never blocks; false once the other side is
/// gone or is too slow (its queue bound, HttpServerOptions::stream_bytes_max, is full): then the stream is closed.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  virtual bool Write(Chunk chunk) = 0;
  /// As Write, for what a stream begins with, which may be as large as the answer to a list: beyond the bound.
  virtual bool WriteBeginning(Chunk chunk) { return Write(std::move(chunk)); }
  virtual void Close() = 0;
  /// Called once, from an I/O thread, when the connection is gone or Close was called; at once if that was before.
  virtual void OnClosed(std::function<void()> callback) = 0;
};

/// Answers one request, exactly once, from any thread, now or later. Destroying it unanswered sends 500.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Send(HttpResponse response) = 0;
  virtual std::shared_ptr<ResponseStream> StartStream(int status, std::string content_type, HttpHeaders headers) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Called with a request whose body has not been read yet, on an I/O thread: an answer refuses it, and the body never is.
  /// Otherwise Handle gets the same request, with what has been filled in here and its body.
  virtual std::optional<HttpResponse> Admit([[maybe_unused]] HttpRequest& head) { return std::nullopt; }
  /// Called on an I/O thread: must not block.
  virtual void Handle(HttpRequest request, std::unique_ptr<Responder> responder) = 0;
};

}  // namespace evenkeel::embedded::apiserver
