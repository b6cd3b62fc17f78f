#include "controllers/rollout/zookeeper/hub/webhooks.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/zookeeper/plan/admission.h"
#include "controllers/rollout/zookeeper/reading/interpreter.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain; charset=utf-8";

}  // namespace

WebhookAnswer AnswerWebhook(const WebhookRequest& request) {
  const bool interpreter = request.path == kInterpreterPath;
  if (!interpreter && request.path != kAdmissionPath)
    return {404, kText, "", fmt::format("there are {} and {}\n", kInterpreterPath, kAdmissionPath)};
  if (request.method != "POST") return {405, kText, "POST", "only POST\n"};
  if (interpreter) return {200, kJson, "", AnswerInterpreter(request.content_type, request.body)};
  AdmissionAnswer answer = AnswerAdmission(request.content_type, request.body);
  return {answer.http_status, answer.http_status == 200 ? kJson : kText, "", std::move(answer.body)};
}

}  // namespace evenkeel::controllers::rollout::zookeeper
