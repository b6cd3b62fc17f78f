// What is asked of the API and what it answers, as values: api/api.h carries them out, http/ reads them off requests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "embedded/access/user_info.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/watch_event.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

using access::UserInfo;
using base::Json;
using base::Result;
using base::Status;

struct CallOrigin;  // access/audit.h

enum class FieldValidation { kIgnore, kWarn, kStrict };

/// What a request is about and how it wants to be carried out.
struct Call {
  ServedPointer served;
  std::string ns, name, subresource;
  UserInfo user;
  std::string field_manager;
  bool dry_run = false;
  bool force = false;  ///< server-side apply: take over conflicting fields
  FieldValidation field_validation = FieldValidation::kIgnore;
  /// What the body repeats, as it is told of: `duplicate field "spec.replicas"`. The last one counts.
  std::vector<std::string> repeated_keys{};
  /// Of the tenure in which the caller writes (client/fenced_client.h); 0: none stated. A write of an epoch that is over fails
  /// with kForbidden.
  int64_t epoch = 0;
  /// Webhooks are not asked: it is part of a write about which they have been, or of the server's own housekeeping.
  bool unasked = false;
  std::shared_ptr<const CallOrigin> origin = nullptr;  ///< for audits; null: in-process
};

/// What a write came to: an object, or (scale, Status) another JSON.
struct Answer {
  Stored object;
  std::optional<Json> other;
  int http_status = 200;
  std::vector<std::string> warnings;
};
using Done = std::function<void(Result<Answer>)>;

struct ListQuery {
  std::string label_selector, field_selector;
  int64_t limit = 0;
  std::string continue_token;
  std::string resource_version, resource_version_match;
  bool has_send_initial_events = false;  ///< refused: only a watch may say it
};

struct ListAnswer {
  std::vector<Stored> items;
  store::Revision revision = 0;
  std::string continue_token;
  std::optional<int64_t> remaining;
};

/// metadata of the list: resourceVersion, and where more is left continue and remainingItemCount.
base::JsonObject ListMetadata(const ListAnswer& answer);

struct DeleteRequest {
  std::optional<int64_t> grace_seconds;
  std::string propagation;  ///< "", "Orphan", "Background", "Foreground"
  std::string uid, resource_version;
};

struct WatchQuery {
  std::string label_selector, field_selector;
  std::string resource_version, resource_version_match{};
  /// Whether what exists comes first, as ADDED events; unset: where resource_version is "" or "0".
  std::optional<bool> send_initial_events = std::nullopt;
  std::string continue_token{};  ///< means nothing here, and is refused beside a match
};

enum class EventType { kAdded, kModified, kDeleted, kProgress, kInitialEnd };
/// One event in order. kProgress and kInitialEnd have no event, only a revision up to which all has been delivered; kInitialEnd
/// comes once, behind what existed, where that was asked for. The last call has an error.
using EventHandler = std::function<void(EventType type, const std::shared_ptr<SharedEvent>& event, store::Revision revision,
                                        const base::Error* error)>;

struct PatchBody {
  client::PatchType type = client::PatchType::kMerge;
  Json value;
};

}  // namespace evenkeel::embedded::apiserver
