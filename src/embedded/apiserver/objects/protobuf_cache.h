// Protocol buffers of stored objects, kept from one list to the next: JSON only has to be copied for a list, these have to be
// made.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/requests/http.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {

/// Bounded in bytes: what is full takes up nothing more until objects that it knows have changed or are gone, so that a list
/// that is larger than it finds a part of itself every time. Thread-safe.
class ProtobufCache {
 public:
  explicit ProtobufCache(size_t bytes_max = 192u << 20) : bytes_max_(bytes_max) {}

  /// The items as `make` has made them, now or before. Its first error ends it.
  base::Result<std::vector<Chunk>> Find(const kube::Schema& schema, std::span<const Stored> items,
                                        const std::function<base::Result<std::string>(const Stored&)>& make);
  size_t bytes() const;

 private:
  struct Key {
    const std::string* bytes;  // of the stored object, which the entry holds weakly, so that its address is nobody else's
    store::Revision revision;
    const kube::Schema* schema;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::weak_ptr<const std::string> stored;
    Chunk made;
  };
  void Keep(const Key& key, Entry entry);
  void DropTheGone();

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, Entry, KeyHash> entries_;
  size_t bytes_ = 0;
  size_t refused_ = 0;  // since DropTheGone
};

}  // namespace evenkeel::embedded::apiserver
