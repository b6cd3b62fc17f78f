#include "embedded/apiserver/objects/list_options.h"

#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr std::string_view kMatch = "resourceVersionMatch";
constexpr std::string_view kExact = "Exact";
constexpr std::string_view kNotOlderThan = "NotOlderThan";

base::Cause Forbidden(std::string_view field, std::string_view why) {
  return {.reason = "FieldValueForbidden", .message = "Forbidden: " + std::string(why), .field = std::string(field)};
}

base::Cause NotSupported(const std::string& match, std::string_view supported) {
  return {.reason = "FieldValueNotSupported",
          .message = "Unsupported value: \"" + match + "\": supported values: " + std::string(supported),
          .field = std::string(kMatch)};
}

base::Status Judge(std::vector<base::Cause> causes) {
  if (causes.empty()) return {};
  return base::Fail(InvalidError(NamedKind("meta.k8s.io", "ListOptions", ""), "", std::move(causes)));
}

}  // namespace

base::Status CheckListOptions(const ListQuery& query) {
  std::vector<base::Cause> causes;
  const std::string& match = query.resource_version_match;
  if (!match.empty()) {
    if (query.resource_version.empty()) {
      causes.push_back(Forbidden(kMatch, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (!query.continue_token.empty()) {
      causes.push_back(Forbidden(kMatch, "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match != kExact && match != kNotOlderThan) {
      causes.push_back(NotSupported(match, "\"Exact\", \"NotOlderThan\", \"\""));
    }
    if (match == kExact && query.resource_version == "0") {
      causes.push_back(Forbidden(kMatch, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
  }
  if (query.has_send_initial_events) {
    causes.push_back(Forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return Judge(std::move(causes));
}

base::Status CheckWatchOptions(const WatchQuery& query) {
  std::vector<base::Cause> causes;
  const std::string& match = query.resource_version_match;
  if (query.send_initial_events && match != kNotOlderThan) {
    causes.push_back(Forbidden(kMatch, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (!match.empty()) {
    if (!query.send_initial_events) {
      causes.push_back(Forbidden(kMatch, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
    }
    if (match != kNotOlderThan) causes.push_back(NotSupported(match, "\"NotOlderThan\""));
    if (!query.continue_token.empty()) {
      causes.push_back(Forbidden(kMatch, "resourceVersionMatch is forbidden when continue is provided"));
    }
  }
  return Judge(std::move(causes));
}

}  // namespace evenkeel::embedded::apiserver
