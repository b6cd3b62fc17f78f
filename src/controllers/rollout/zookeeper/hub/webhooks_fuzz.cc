// Whatever is posted to the webhooks: an answer, which is JSON where it says so, and a patch that fits the object it is for.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "controllers/rollout/zookeeper/plan/admission.h"
#include "controllers/rollout/zookeeper/reading/interpreter.h"

namespace zookeeper = evenkeel::controllers::rollout::zookeeper;
using evenkeel::base::FindString;
using evenkeel::base::Json;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto context = evenkeel::base::ParseJson(zookeeper::AnswerInterpreter("application/json", body), "answer");
  EVENKEEL_CHECK(context.has_value());
  const auto request = evenkeel::base::ParseJson(body, "request");
  if (const std::string_view patch = FindString(*context, {"response", "patch"}); request && !patch.empty()) {
    std::string text;
    EVENKEEL_CHECK(evenkeel::base::Base64Decode(patch, text));
    Json object = *evenkeel::base::Find(*request, {"request", "object"});
    EVENKEEL_CHECK(evenkeel::base::ApplyJsonPatch(object, *evenkeel::base::ParseJson(text, "patch")).has_value());
  }
  const zookeeper::AdmissionAnswer answer = zookeeper::AnswerAdmission("application/json", body);
  EVENKEEL_CHECK(answer.http_status == 400 || evenkeel::base::ParseJson(answer.body, "answer").has_value());
  return 0;
}
