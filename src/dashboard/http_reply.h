// Answers of the dashboard's server: each forbids what the page does not need.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::dashboard {

inline constexpr std::string_view kNotKept = "no-store";
inline constexpr std::string_view kKeptForever = "public, max-age=31536000, immutable";

/// `caching`: the value of Cache-Control.
embedded::apiserver::HttpHeaders Guards(std::string_view caching);
embedded::apiserver::HttpResponse Reply(int status, std::string content_type, std::string body,
                                        std::string_view caching = kNotKept);
embedded::apiserver::HttpResponse JsonReply(int status, const base::Json& body);
/// {"message"}
embedded::apiserver::HttpResponse Message(int status, std::string_view message);
embedded::apiserver::HttpResponse Failure(const base::Error& error);

/// "": it has none.
std::string HeaderOf(const embedded::apiserver::HttpRequest& request, const std::string& name);
std::string CookieOf(const embedded::apiserver::HttpRequest& request, std::string_view name);
/// The host that is asked for, without port and brackets, in lower case.
std::string HostOf(const embedded::apiserver::HttpRequest& request);

}  // namespace evenkeel::dashboard
