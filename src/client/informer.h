// A local copy of one kind, kept current: list, then watch from there, or one watch that begins with the list where the server
// has that; bookmarks move the resume point; 410 lists again; errors back off (800 ms doubling to 30 s, with jitter, as
// client-go). Never puts an older object over a newer one.
//
// An informer lives on one strand: its cache, its handlers and Stop belong to that strand, so the code that reads it needs no
// locks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"

namespace evenkeel::client {

struct InformerOptions {
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
  base::Duration backoff_max = std::chrono::seconds(30);  ///< between tries while the API fails; up to as much again is random
  bool name_kind = false;  ///< items of lists get the apiVersion and kind that they lack (events have them)
};

/// What an Informer keeps of an object that only passes through it (AddRawHandler): enough to tell versions apart.
struct PassingObject {
  struct Meta {
    std::string uid, resource_version;
    uint32_t bytes = 0;
  };
  Meta meta;
  static PassingObject Decode(const Json& json) {
    return {{std::string(kube::UidOf(json)), std::string(kube::ResourceVersionOf(json))}};
  }
};

/// How well a local copy follows its API.
struct ReflectorHealth {
  bool synced = false;                    ///< the first list has been delivered
  std::optional<base::Error> last_error;  ///< since the last success; nullopt when all is well
  std::optional<base::Instant> failing_since;
  base::Instant last_contact{};  ///< when the API last answered; before that, when the reflector was made
};

/// The untyped part: list-watch loop, resume, backoff. Delivers raw JSON on its strand.
///
/// Lists what is most recent the first time, later at least what was seen last: by a watch that begins with it, where
/// Client::StreamsLists; where the server refuses that, or sends nothing for 10 s before it is complete, for good in pages of
/// 500, one task each. A watch is resumed after the last event or bookmark; it is opened anew every 5 to 10 minutes so that a
/// dead connection cannot go unnoticed. Watches are opened at most once a second. At most 10000 events wait for the strand: a
/// watch that is further ahead is closed and resumed from what has been delivered, with back-off (kTooLarge) when that happens
/// again within a minute; those that a watch begins with are not counted. No more than 64 MiB of events wait, and both a list
/// and what is held after it stay within Client::Limits(): beyond that it has failed (kTooLarge), what is held is held as it
/// is, and it is listed again with back-off.
class Reflector {
 public:
  struct Sink {
    /// Replaces everything, also when an item is older than what was there: the reflector has made sure that the list is not
    /// stale (a server restored from a backup counts from an older version again). Called on the strand.
    /// `bytes_each`: of one as it came, on average.
    std::function<void(std::vector<Json> items, size_t bytes_each)> replace;
    std::function<void(WatchEvent::Type type, Json&& object, size_t bytes)> event;
    /// What is held after all of them.
    std::function<ListSize()> held;
  };
  Reflector(Client& client, const Resource& resource, InformerOptions options, std::shared_ptr<base::Strand> strand,
            base::Clock& clock, base::Random random, Sink sink);
  /// Stops; must run on the strand, or after the strand is closed. Not from within the sink.
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();
  /// Closes the watch and delivers nothing more. For good.
  void Stop();
  /// Whether the first list has been delivered.
  bool synced() const;
  /// The last failure to list or watch since the last success; nullopt when all is well. Contact is when the API last answered.
  std::optional<base::Error> last_error() const;
  base::Instant last_contact() const;
  ReflectorHealth health() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Cache of T, decoded once per version by T::Decode(const Json&) (see kube::Object and the views in kube/types.h). T::meta has
/// uid, resource_version, and bytes, which is the informer's.
template <typename T>
class Informer {
 public:
  using Pointer = std::shared_ptr<const T>;
  /// before null: added; after null: deleted; both: changed. An object that was deleted and made again (another uid) is
  /// told as deleted and added. Called on the strand, after the cache has changed. Must not destroy the informer.
  using Handler = std::function<void(const Pointer& before, const Pointer& after)>;
  /// The object as it came; null: it has gone. Good for the time of the call. After the Handlers.
  using RawHandler = std::function<void(const std::string& key, const Json* object)>;

  Informer(Client& client, const Resource& resource, InformerOptions options, std::shared_ptr<base::Strand> strand,
           base::Clock& clock, base::Random random)
      : api_version_(options.name_kind ? resource.ApiVersion() : ""),
        kind_(resource.kind),
        selective_(!options.label_selector.empty() || !options.field_selector.empty()),
        reflector_(client, resource, std::move(options), std::move(strand), clock, std::move(random),
                   {[this](std::vector<Json> items, size_t bytes_each) { Replace(std::move(items), bytes_each); },
                    [this](WatchEvent::Type type, Json&& object, size_t bytes) { Apply(type, std::move(object), bytes); },
                    [this] { return ListSize{.objects = cache_.size(), .bytes = held_bytes_}; }}) {}

  /// Before Start. Handlers run in the order added.
  void AddHandler(Handler handler) { handlers_.push_back(std::move(handler)); }
  void AddRawHandler(RawHandler handler) { raw_handlers_.push_back(std::move(handler)); }
  void Start() { reflector_.Start(); }
  /// The cache stays as it is.
  void Stop() { reflector_.Stop(); }

  bool synced() const { return reflector_.synced(); }
  std::optional<base::Error> last_error() const { return reflector_.last_error(); }
  base::Instant last_contact() const { return reflector_.last_contact(); }
  ReflectorHealth health() const { return reflector_.health(); }

  /// By "namespace/name"; null when absent.
  Pointer Get(const std::string& key) const {
    auto found = cache_.find(key);
    return found == cache_.end() ? nullptr : found->second;
  }
  /// In the order of the key.
  const std::map<std::string, Pointer>& items() const { return cache_; }

 private:
  void Replace(std::vector<Json> items, size_t bytes_each) {
    std::map<std::string, Pointer> gone = cache_;
    for (const Json& item : items) gone.erase(kube::KeyOf(item));
    for (const auto& [key, pointer] : gone) {
      Erase(key, pointer);
    }
    for (Json& item : items) {
      const std::string key = kube::KeyOf(item);
      Put(key, Get(key), std::move(item), bytes_each);
    }
  }

  void Apply(WatchEvent::Type type, Json&& object, size_t bytes) {
    const std::string key = kube::KeyOf(object);
    const Pointer before = Get(key);
    const bool stale = before != nullptr && IsOlderVersion(kube::ResourceVersionOf(object), before->meta.resource_version);
    if (type == WatchEvent::Type::kDeleted) {
      if (before == nullptr) return;
      // A uid never comes back, so its deletion is final whatever its version; but under a selector DELETED may just mean that
      // the object stopped matching, and then a newer version may match again.
      if (stale && (selective_ || before->meta.uid != kube::UidOf(object))) return;
      return Erase(key, before);
    }
    if (!stale) Put(key, before, std::move(object), bytes);
  }

  void Put(const std::string& key, Pointer before, Json&& object, size_t bytes) {
    const bool same_object = before != nullptr && before->meta.uid == kube::UidOf(object);
    if (same_object && before->meta.resource_version == kube::ResourceVersionOf(object)) return;
    if (before != nullptr && !same_object) {
      Erase(key, std::exchange(before, nullptr));
    }
    if (!api_version_.empty()) {
      base::Ensure(object, {"apiVersion"}) = api_version_;
      base::Ensure(object, {"kind"}) = kind_;
    }
    auto after = std::make_shared<T>(T::Decode(object));
    after->meta.bytes = static_cast<uint32_t>(bytes);
    held_bytes_ += bytes - (before == nullptr ? 0 : before->meta.bytes);
    cache_[key] = after;
    Notify(before, after);
    for (const RawHandler& handler : raw_handlers_) handler(key, &object);
  }

  void Erase(const std::string& key, const Pointer& pointer) {
    held_bytes_ -= pointer->meta.bytes;
    cache_.erase(key);
    Notify(pointer, nullptr);
    for (const RawHandler& handler : raw_handlers_) handler(key, nullptr);
  }

  void Notify(const Pointer& before, const Pointer& after) {
    for (const Handler& handler : handlers_) handler(before, after);
  }

  const std::string api_version_, kind_;  // "": objects are left as they come
  const bool selective_;
  std::map<std::string, Pointer> cache_;
  size_t held_bytes_ = 0;
  std::vector<Handler> handlers_;
  std::vector<RawHandler> raw_handlers_;
  Reflector reflector_;
};

}  // namespace evenkeel::client
