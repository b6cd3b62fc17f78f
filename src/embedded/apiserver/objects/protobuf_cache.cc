#include "embedded/apiserver/objects/protobuf_cache.h"

namespace evenkeel::embedded::apiserver {
namespace {

// What an entry takes besides its text, about.
constexpr size_t kEntryBytes = 160;

}  // namespace

size_t ProtobufCache::KeyHash::operator()(const Key& key) const {
  const size_t hash = (reinterpret_cast<uintptr_t>(key.bytes) >> 4) ^ reinterpret_cast<uintptr_t>(key.schema);
  return (hash + static_cast<size_t>(key.revision)) * 0x9E3779B97F4A7C15u;
}

base::Result<std::vector<Chunk>> ProtobufCache::Find(const kube::Schema& schema, std::span<const Stored> items,
                                                     const std::function<base::Result<std::string>(const Stored&)>& make) {
  std::vector<Chunk> found(items.size());
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < items.size(); ++i) {
      const auto entry = entries_.find({items[i].bytes.get(), items[i].revision, &schema});
      if (entry != entries_.end()) found[i] = entry->second.made;
    }
  }
  std::vector<size_t> made;
  for (size_t i = 0; i < items.size(); ++i) {
    if (found[i] != nullptr) continue;
    EVENKEEL_ASSIGN(std::string text, make(items[i]));
    found[i] = std::make_shared<const std::string>(std::move(text));
    made.push_back(i);
  }
  if (made.empty()) return found;
  std::lock_guard lock(mutex_);
  for (const size_t i : made) Keep({items[i].bytes.get(), items[i].revision, &schema}, {items[i].bytes, found[i]});
  return found;
}

size_t ProtobufCache::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void ProtobufCache::Keep(const Key& key, Entry entry) {
  const size_t size = entry.made->size() + kEntryBytes;
  // Looking through all entries is worth it only when many may be gone.
  if (bytes_ + size > bytes_max_ && ++refused_ > entries_.size() / 4) DropTheGone();
  if (bytes_ + size > bytes_max_) return;
  if (entries_.emplace(key, std::move(entry)).second) bytes_ += size;
}

void ProtobufCache::DropTheGone() {
  refused_ = 0;
  std::erase_if(entries_, [this](const auto& entry) {
    if (!entry.second.stored.expired()) return false;
    bytes_ -= entry.second.made->size() + kEntryBytes;
    return true;
  });
}

}  // namespace evenkeel::embedded::apiserver
