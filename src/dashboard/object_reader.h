// One object of a cluster for a person: its YAML, its events, and what its containers wrote. Nothing that holds secrets is
// among the kinds.
#pragma once

#include <string>

#include "base/json.h"
#include "client/client.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::dashboard {

struct ObjectRequest {
  std::string cluster;  ///< "": the hub
  kube::Resource kind;
  std::string ns, name;
  /// Of ?cluster=&kind=&namespace=&name=. kBadRequest in one sentence.
  static base::Result<ObjectRequest> Parse(const embedded::apiserver::Query& query);
};

struct LogsRequest {
  std::string cluster, ns, pod, container;  ///< container "": the pod's only one, or its first
  int64_t lines = 500;
  bool previous = false;
  static base::Result<LogsRequest> Parse(const embedded::apiserver::Query& query);
};

inline constexpr int64_t kLogLinesMax = 5000;
inline constexpr int64_t kLogBytesMax = 1 << 20;
/// Of one object, the latest.
inline constexpr size_t kObjectEventsMax = 200;

/// {"kind", "namespace", "name", "uid", "yaml", "containers": [names], "events": [...], "eventsUnread"}
base::Result<base::Json> ReadObject(client::Client& client, const ObjectRequest& request);
/// {"container", "text"}: the latest lines, of at most kLogBytesMax.
base::Result<base::Json> ReadLogs(client::Client& client, const LogsRequest& request);

}  // namespace evenkeel::dashboard
