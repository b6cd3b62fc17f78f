// The two webhooks as they are asked over HTTP: which path, how, with what. Pure.
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::controllers::rollout::zookeeper {

inline constexpr char kInterpreterPath[] = "/interpreter";
inline constexpr char kAdmissionPath[] = "/admission";

struct WebhookRequest {
  std::string_view method;
  std::string_view path;  ///< without the query, which API servers use for their time-outs
  std::string_view content_type, body;
};

struct WebhookAnswer {
  int http_status = 200;
  std::string_view content_type = "application/json";
  std::string_view allow;  ///< the header of that name; "": none
  std::string body;
};

/// POSTs to kInterpreterPath (interpreter.h) and kAdmissionPath (admission.h). Karmada looks for an error in the answer of the
/// interpreter, so what is wrong with a body has HTTP status 200 there; another method is 405, another path 404.
WebhookAnswer AnswerWebhook(const WebhookRequest& request);

}  // namespace evenkeel::controllers::rollout::zookeeper
