// A record of each write: for the audit log (audit_log.h), and for the simulator's checks that only owners write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// How a call came here, where that was by HTTP.
struct CallOrigin {
  std::string uri;         ///< path and query as they were sent
  std::string user_agent;  ///< "" when none was sent
  std::string address;     ///< of the sender, without port
  base::Time received{};
  std::optional<UserInfo> impersonator{};  ///< who really asked, where AuditRecord::user was impersonated
};

/// One write and its answer. In the words of audit.k8s.io/v1; nothing of the object's content.
struct AuditRecord {
  std::string id;    ///< a UUID
  std::string verb;  ///< create (also binding and eviction), update, patch, delete, deletecollection
  UserInfo user;
  CallOrigin origin;  ///< in-process: the URI that the same request would have by HTTP; no user agent or address
  std::string group, version, plural;
  std::string ns, name, subresource;
  std::string uid;               ///< of the object as answered; "" when the answer has none
  std::string resource_version;  ///< that the answer shows: of a write, the one that it made
  int64_t epoch = 0;             ///< that the caller stated; 0: none
  bool dry_run = false;
  int code = 0;        ///< HTTP status
  std::string reason;  ///< "Forbidden", "Conflict" ...; "" where the write succeeded
  base::Time answered{};
};

class AuditSink {
 public:
  virtual ~AuditSink() = default;
  /// Called once per write, from any thread, before its caller has the answer: so of two writes of which one began after the
  /// other was answered, in this order. Must not block; must not call the API.
  virtual void Record(const AuditRecord& record) = 0;
};

}  // namespace evenkeel::embedded::apiserver
