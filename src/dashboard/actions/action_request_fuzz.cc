// What strangers send to the dashboard: an action, or a query. No more than an error, and nothing that could be a path of its
// own.
#include <cstddef>
#include <cstdint>

#include "dashboard/actions/action_request.h"
#include "dashboard/find.h"
#include "dashboard/object_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = dashboard::ActionRequest::Parse(text)) {
    EVENKEEL_CHECK(dashboard::IsPlainName(request->name) && !request->name.contains('/'));
    EVENKEEL_CHECK(request->dry_run || !request->seen.empty());
    EVENKEEL_CHECK(!request->Asks().verb.empty());
  }
  const auto query = embedded::apiserver::Query::Parse(text);
  if (!query) return 0;
  if (const auto found = dashboard::FindRequest::Parse(*query)) EVENKEEL_CHECK(found->limit <= dashboard::kFoundMax);
  if (const auto object = dashboard::ObjectRequest::Parse(*query)) {
    EVENKEEL_CHECK(object->kind.kind != "Secret" && dashboard::IsPlainName(object->name));
  }
  if (const auto logs = dashboard::LogsRequest::Parse(*query)) EVENKEEL_CHECK(logs->lines <= dashboard::kLogLinesMax);
  return 0;
}
