// One write on its way to many watchers. The first watcher that needs the parsed object, or one of its encodings, makes it; the
// others share it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/requests/http.h"
#include "embedded/store/store.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver {

/// Thread-safe.
class SharedEvent {
 public:
  explicit SharedEvent(store::Event event);
  /// Of a kind that a webhook converts: what is there now and what was there before as they are asked for.
  SharedEvent(const store::Event& event, const Stored& current, const Stored& previous);

  /// The object to show: the new version, or for a delete the last one with the delete's revision.
  const Stored& object() const { return object_; }
  /// What was there before, null bytes when it was created.
  const Stored& previous() const { return previous_; }
  bool deleted() const { return deleted_; }
  store::Revision revision() const { return object_.revision; }
  /// The object to show when the change made it leave a selection: the version before, at this revision.
  Stored Left() const {
    return {.bytes = previous_.bytes, .revision = object_.revision, .older = true, .as_asked = previous_.as_asked};
  }

  const kube::Labels& object_labels();
  const kube::Labels& previous_labels();

  /// The text under `key`, made by `make` on the first request.
  Chunk Encoded(const std::string& key, const std::function<std::string()>& make);

 private:
  Stored object_, previous_;
  bool deleted_ = false;
  std::mutex mutex_;
  std::optional<kube::Labels> labels_, previous_labels_;
  std::map<std::string, Chunk> encoded_;
};

/// The labels of stored bytes, reading only metadata.
kube::Labels StoredLabels(std::string_view bytes);

/// The events of the last revisions and moments, so that all watchers of one write share one SharedEvent: they hear of it one
/// right after the other. Bounded: a watcher that replays older history makes its own.
class EventCache {
 public:
  static constexpr size_t kEventsMax = 512;
  static constexpr base::Duration kAgeMax = std::chrono::seconds(5);
  std::shared_ptr<SharedEvent> Share(const store::Event& event, base::Instant now);

 private:
  struct Recent {
    std::shared_ptr<SharedEvent> event;
    base::Instant since{};
  };
  std::mutex mutex_;
  std::map<store::Revision, std::weak_ptr<SharedEvent>> events_;
  std::deque<Recent> recent_;
};

}  // namespace evenkeel::embedded::apiserver
