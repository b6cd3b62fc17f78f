// A CRD's schema and two objects, all from outside: the input is JSON texts with newlines between them. What the API server
// makes of an object is a form that stays as it is, and what has not changed is let pass.
#include <cstddef>
#include <cstdint>

#include "kube/schema/schema.h"

namespace {

using evenkeel::base::Json;

void BringToForm(Json& object, const evenkeel::kube::Schema& schema) {
  evenkeel::kube::Prune(object, schema, nullptr);
  evenkeel::kube::ApplyDefaults(object, schema);
  evenkeel::kube::Normalize(object, schema);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto next = [&text] {
    const size_t end = text.find('\n');
    auto json = base::ParseJson(text.substr(0, end), "input");
    text = end == text.npos ? "{}" : text.substr(end + 1);
    return json;
  };
  const auto open_api = next();
  if (!open_api) return 0;
  kube::SchemaSet set;
  const auto schema = kube::SchemaFromOpenApi(*open_api, set);
  if (!schema) {
    kube::SchemaOfStored(*open_api, set);  // what an earlier program may have stored
    return 0;
  }
  auto object = next();
  auto old = next();
  if (!object || !old) return 0;
  BringToForm(*object, **schema);
  BringToForm(*old, **schema);
  Json again = *object;
  std::vector<std::string> unknown;
  kube::Prune(again, **schema, &unknown);
  EVENKEEL_CHECK(unknown.empty());
  BringToForm(again, **schema);
  EVENKEEL_CHECK(again == *object);
  EVENKEEL_CHECK(kube::Validate(*object, **schema, "", &again).empty());
  const auto causes = kube::Validate(*object, **schema);
  if (causes.empty()) EVENKEEL_CHECK(kube::Validate(*object, **schema, "", &*old).empty());
  return 0;
}
