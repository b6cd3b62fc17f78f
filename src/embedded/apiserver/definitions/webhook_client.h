// How webhooks are asked: those that admit writes and those that convert custom resources.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::apiserver {

struct WebhookPost {
  std::string url, ca_pem;
  std::string body;  ///< JSON
  base::Duration timeout{};
  std::string
      address{};  ///< "HOST:PORT" to connect to instead of what the URL names, whom its certificate must name all the same
};
/// Answers the body of a 200; anything else is an error. Blocks.
using WebhookPoster = std::function<base::Result<std::string>(const WebhookPost& post)>;
/// Over HTTPS, one connection per question.
base::Result<std::string> PostToWebhook(const WebhookPost& post);

/// "HOST:PORT" of an endpoint of the service's port that something listens on; "" where there is none. May block.
using ServiceAddress = std::function<std::string(const std::string& ns, const std::string& name, int64_t port)>;

/// Where one is.
struct WebhookAddress {
  std::string url, ca_pem;
  std::string service_ns, service_name;  ///< empty: `url` is asked
  int64_t service_port = 443;

  bool by_service() const { return !service_name.empty(); }
};
/// As its clientConfig says. A bundle of certificates that cannot be read makes the question fail, with a message about them.
WebhookAddress WebhookAddressOf(const base::Json& client_config);

}  // namespace evenkeel::embedded::apiserver
