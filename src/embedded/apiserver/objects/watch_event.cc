#include "embedded/apiserver/objects/watch_event.h"

#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {

kube::Labels StoredLabels(std::string_view bytes) {
  kube::Labels labels;
  RawFields(RawFind(bytes, {"metadata", "labels"}), [&](std::string_view key, std::string_view value) {
    labels.emplace(key, RawText(value));
    return true;
  });
  return labels;
}

SharedEvent::SharedEvent(store::Event event) {
  deleted_ = event.type == store::Event::Type::kDelete;
  previous_.bytes = event.previous;
  object_.bytes = deleted_ ? event.previous : event.current.value;
  object_.older = deleted_;
  object_.revision = event.current.mod_revision > 0 ? event.current.mod_revision : event.revision;
}

SharedEvent::SharedEvent(const store::Event& event, const Stored& current, const Stored& previous) : SharedEvent(event) {
  previous_.bytes = previous.bytes;
  previous_.as_asked = previous.as_asked;
  object_.bytes = deleted_ ? previous.bytes : current.bytes;
  object_.as_asked = deleted_ ? previous.as_asked : current.as_asked;
}

const kube::Labels& SharedEvent::object_labels() {
  std::lock_guard lock(mutex_);
  if (!labels_) labels_ = StoredLabels(*object_.bytes);
  return *labels_;
}

const kube::Labels& SharedEvent::previous_labels() {
  std::lock_guard lock(mutex_);
  if (!previous_labels_) previous_labels_ = previous_.bytes == nullptr ? kube::Labels() : StoredLabels(*previous_.bytes);
  return *previous_labels_;
}

Chunk SharedEvent::Encoded(const std::string& key, const std::function<std::string()>& make) {
  std::lock_guard lock(mutex_);
  Chunk& chunk = encoded_[key];
  if (chunk == nullptr) chunk = std::make_shared<const std::string>(make());
  return chunk;
}

std::shared_ptr<SharedEvent> EventCache::Share(const store::Event& event, base::Instant now) {
  std::lock_guard lock(mutex_);
  std::weak_ptr<SharedEvent>& slot = events_[event.revision];
  if (auto shared = slot.lock()) return shared;
  auto made = std::make_shared<SharedEvent>(event);
  slot = made;
  recent_.push_back({made, now});
  while (recent_.size() > kEventsMax || recent_.front().since < now - kAgeMax) {
    events_.erase(recent_.front().event->revision());
    recent_.pop_front();
  }
  return made;
}

}  // namespace evenkeel::embedded::apiserver
