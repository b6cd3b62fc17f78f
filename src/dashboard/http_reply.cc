#include "dashboard/http_reply.h"

#include <algorithm>

#include "base/text.h"

namespace evenkeel::dashboard {
namespace {

/// No script, style, picture or request but from here, and in nobody's frame.
constexpr std::string_view kPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

}  // namespace

using base::Json;
using base::JsonObject;
using embedded::apiserver::HttpHeaders;
using embedded::apiserver::HttpRequest;
using embedded::apiserver::HttpResponse;

HttpHeaders Guards(std::string_view caching) {
  return {{"Content-Security-Policy", std::string(kPolicy)},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Frame-Options", "DENY"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", std::string(caching)}};
}

HttpResponse Reply(int status, std::string content_type, std::string body, std::string_view caching) {
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

// Of "a=b; c=d".
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

// "name", "name:80", "1.2.3.4:80", "[::1]:80" -> the part before the port, without brackets, in lower case.
std::string HostOf(const HttpRequest& request) {
  const std::string host = base::Lower(HeaderOf(request, "host"));
  if (const size_t end = host.find(']'); host.starts_with('[')) return end == host.npos ? "" : host.substr(1, end - 1);
  return host.substr(0, host.rfind(':'));
}

}  // namespace evenkeel::dashboard
