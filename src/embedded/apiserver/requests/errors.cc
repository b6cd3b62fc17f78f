#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

base::ErrorDetails DetailsFor(const kube::Resource& resource, std::string_view name) {
  return {.name = std::string(name), .group = resource.group, .kind = resource.plural, .uid = {}, .causes = {}};
}

std::string Quoted(const kube::Resource& resource, std::string_view name) {
  return resource.QualifiedPlural() + " \"" + std::string(name) + "\"";
}

}  // namespace

base::Error NotFoundError(const kube::Resource& resource, std::string_view name) {
  return {base::Code::kNotFound, Quoted(resource, name) + " not found", DetailsFor(resource, name)};
}

base::Error AlreadyExistsError(const kube::Resource& resource, std::string_view name) {
  return {base::Code::kAlreadyExists, Quoted(resource, name) + " already exists", DetailsFor(resource, name)};
}

base::Error ConflictError(const kube::Resource& resource, std::string_view name, std::string_view why) {
  return {base::Code::kConflict, "Operation cannot be fulfilled on " + Quoted(resource, name) + ": " + std::string(why),
          DetailsFor(resource, name)};
}

base::Error StaleError(const kube::Resource& resource, std::string_view name) {
  return ConflictError(resource, name,
                       "the object has been modified; please apply your changes to the latest version and try again");
}

base::Error ForbiddenError(const kube::Resource& resource, std::string_view name, std::string_view why,
                           std::vector<base::Cause> causes) {
  base::ErrorDetails details = DetailsFor(resource, name);
  details.causes = std::move(causes);
  const std::string what = name.empty() ? resource.QualifiedPlural() : Quoted(resource, name);
  return {base::Code::kForbidden, what + " is forbidden: " + std::string(why), std::move(details)};
}

base::Error InvalidError(const kube::Resource& resource, std::string_view name, std::vector<base::Cause> causes) {
  std::string kind = resource.kind;
  if (!resource.group.empty()) kind += "." + resource.group;
  std::string text;
  // Equal lines are said once.
  std::vector<std::string> seen;
  for (const base::Cause& cause : causes) {
    std::string line = cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
    if (std::ranges::find(seen, line) == seen.end()) seen.push_back(std::move(line));
  }
  for (const std::string& line : seen) text += (text.empty() ? "" : ", ") + line;
  if (seen.size() > 1) text = "[" + text + "]";
  base::ErrorDetails details = DetailsFor(resource, name);
  details.kind = resource.kind;
  details.causes = std::move(causes);
  return {base::Code::kInvalid, kind + " \"" + std::string(name) + "\" is invalid: " + text, std::move(details)};
}

base::Error MethodNotAllowedError() {
  return {base::Code::kMethodNotAllowed, "the server does not allow this method on the requested resource", {}};
}

base::Error NoSuchResourceError() { return {base::Code::kNotFound, "the server could not find the requested resource", {}}; }

kube::Resource NamedKind(const std::string& group, std::string_view kind, std::string_view plural) {
  return kube::MakeResource(group.empty() ? "v1" : group + "/v1", kind, plural);
}

base::Json StatusOf(const base::Error& error) {
  base::JsonObject status{{"kind", "Status"},    {"apiVersion", "v1"},         {"metadata", base::JsonObject()},
                          {"status", "Failure"}, {"message", error.message()}, {"reason", base::Reason(error.code())}};
  const base::ErrorDetails* details = error.details();
  if (details != nullptr && details->unspecified) {
    status.erase("reason");
  } else if (details != nullptr) {
    base::JsonObject json;
    if (!details->name.empty()) json["name"] = details->name;
    if (!details->group.empty()) json["group"] = details->group;
    if (!details->kind.empty()) json["kind"] = details->kind;
    if (!details->uid.empty()) json["uid"] = details->uid;
    if (!details->causes.empty()) {
      base::JsonArray causes;
      for (const base::Cause& cause : details->causes) {
        base::JsonObject entry{{"reason", cause.reason}, {"message", cause.message}};
        if (!cause.field.empty()) entry["field"] = cause.field;
        causes.push_back(std::move(entry));
      }
      json["causes"] = std::move(causes);
    }
    if (details->retry_after_seconds > 0) json["retryAfterSeconds"] = details->retry_after_seconds;
    status["details"] = std::move(json);
  }
  status["code"] = base::HttpStatus(error.code());
  return status;
}

base::Json SuccessStatus(const kube::Resource& resource, std::string_view name, std::string_view uid) {
  base::JsonObject details{{"name", name}};
  if (!resource.group.empty()) details["group"] = resource.group;
  details["kind"] = resource.plural;
  if (!uid.empty()) details["uid"] = uid;
  return base::JsonObject{{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"metadata", base::JsonObject()},
                          {"status", "Success"},
                          {"details", std::move(details)}};
}

}  // namespace evenkeel::embedded::apiserver
