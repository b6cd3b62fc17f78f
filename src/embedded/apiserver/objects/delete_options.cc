#include "embedded/apiserver/objects/delete_options.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::Json;

/// The value there when it has the type that `is` asks for; null when it is absent.
base::Result<const Json*> Typed(const Json& object, std::initializer_list<std::string_view> path, bool (*is)(const Json&),
                                std::string_view type) {
  const Json* value = base::Find(object, path);
  if (value == nullptr || value->is_null()) return nullptr;
  if (is(*value)) return value;
  std::string field;
  for (const std::string_view step : path) field.append(field.empty() ? "" : ".").append(step);
  return Fail(Code::kBadRequest, fmt::format("DeleteOptions: {} must be {}", field, type));
}

bool IsString(const Json& value) { return value.is_string(); }
bool IsBool(const Json& value) { return value.is_bool(); }
bool IsInteger(const Json& value) { return value.is_int64(); }
bool IsObject(const Json& value) { return value.is_object(); }
bool IsArray(const Json& value) { return value.is_array(); }

base::Status ReadText(const Json& object, std::initializer_list<std::string_view> path, std::string& into) {
  EVENKEEL_ASSIGN(const Json* value, Typed(object, path, IsString, "a string"));
  if (value != nullptr && !value->get_string().empty()) into = std::string_view(value->get_string());
  return {};
}

}  // namespace

base::Result<DeleteOptionsBody> ParseDeleteOptions(const Json& options, DeleteRequest from_query) {
  if (!options.is_object()) return Fail(Code::kBadRequest, "the body must be DeleteOptions");
  DeleteOptionsBody body{.request = std::move(from_query)};
  EVENKEEL_ASSIGN(const Json* grace, Typed(options, {"gracePeriodSeconds"}, IsInteger, "an integer"));
  if (grace != nullptr) body.request.grace_seconds = grace->get_int64();
  EVENKEEL_TRY(ReadText(options, {"propagationPolicy"}, body.request.propagation));
  EVENKEEL_ASSIGN(const Json* orphan, Typed(options, {"orphanDependents"}, IsBool, "true or false"));
  if (orphan != nullptr) body.request.propagation = orphan->get_bool() ? "Orphan" : "Background";
  EVENKEEL_TRY(Typed(options, {"preconditions"}, IsObject, "an object"));
  EVENKEEL_TRY(ReadText(options, {"preconditions", "uid"}, body.request.uid));
  EVENKEEL_TRY(ReadText(options, {"preconditions", "resourceVersion"}, body.request.resource_version));
  EVENKEEL_ASSIGN(const Json* dry_run, Typed(options, {"dryRun"}, IsArray, "an array"));
  if (dry_run == nullptr) return body;
  for (const Json& item : dry_run->get_array()) {
    if (!item.is_string() || item.get_string() != "All") {
      return Fail(Code::kBadRequest, "DeleteOptions: dryRun may only hold \"All\"");
    }
    body.dry_run = true;
  }
  return body;
}

}  // namespace evenkeel::embedded::apiserver
