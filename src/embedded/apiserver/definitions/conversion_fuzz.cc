// Whatever a webhook that converts answers: an error, or the objects that were given with other fields, labels and annotations.
#include <cstddef>
#include <cstdint>

#include "embedded/apiserver/definitions/conversion.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  using namespace evenkeel::embedded::apiserver;
  const std::string answer(reinterpret_cast<const char*>(data), size);
  const std::vector<base::Json> objects = {
      *base::ParseJson(R"({"apiVersion":"a.b/v1","kind":"K","metadata":{"name":"n","uid":"u","labels":{"a":"b"}}})", "given")};
  for (const char* version : {"v1", "v1beta1"}) {
    Conversion conversion;
    conversion.review_version = version;
    const auto converted = AskToConvert(
        conversion, [&](const WebhookPost&) -> base::Result<std::string> { return answer; }, nullptr, "1", objects, "a.b/v2",
        false);
    if (!converted) continue;
    EVENKEEL_CHECK(converted->size() == 1);
    const base::Json& one = converted->front();
    EVENKEEL_CHECK(base::FindString(one, {"apiVersion"}) == "a.b/v2" && base::FindString(one, {"kind"}) == "K");
    EVENKEEL_CHECK(base::FindObject(one, {"metadata"}).at("uid") == "u");
    for (const char* field : {"labels", "annotations"}) {
      for (const auto& [key, value] : base::FindObject(one, {"metadata", field})) EVENKEEL_CHECK(value.is_string());
    }
  }
  return 0;
}
