#include "client/event_recorder.h"

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/hash.h"
#include "base/log.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Duration;
using base::Instant;
using namespace std::chrono_literals;

// client-go's numbers (tools/record).
constexpr size_t kCorrelatorEntriesMax = 4096;
constexpr size_t kSimilarMax = 10;
constexpr Duration kSimilarInterval = 10min;
constexpr double kBurst = 25;
constexpr Duration kRefill = 5min;
// Some MB at most; more means that the API is away, and then the oldest tell best how it began.
constexpr size_t kWaitingMax = 1000;
constexpr size_t kMessageBytesMax = 1024;
constexpr int kNameAttempts = 3;
// What is remembered of events that do not come again. Events that are counted up are expected for as long as servers keep
// them.
constexpr Duration kOnceKept = 10min;
constexpr Duration kCountedKept = 1h;
constexpr Duration kForgetInterval = 1min;

// A map that forgets what was used longest ago. Keys are hashes, since texts would take most of its room.
template <typename T>
class EventLru {
 public:
  // The entry, made if need be.
  T& Use(uint64_t key) {
    const auto found = index_.find(key);
    if (found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return entries_.front().second;
    }
    entries_.emplace_front(key, T{});
    index_[key] = entries_.begin();
    if (entries_.size() > kCorrelatorEntriesMax) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  // Entries that are as good as new ones. O(entries).
  template <typename Predicate>
  void Forget(const Predicate& is_idle) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (!is_idle(entry->second)) {
        ++entry;
        continue;
      }
      index_.erase(entry->first);
      entry = entries_.erase(entry);
    }
  }

 private:
  std::list<std::pair<uint64_t, T>> entries_;
  std::unordered_map<uint64_t, typename std::list<std::pair<uint64_t, T>>::iterator> index_;
};

struct PendingEvent {
  std::string object_key;  ///< the object and its version and kind, as one text
  Json involved;
  std::string ns, name, type, reason, message;
  base::Time time;
};

struct SimilarEvents {
  std::set<uint64_t> messages;  ///< hashes
  Instant last{};

  bool IsIdle(Instant now) const { return now - last > kSimilarInterval; }
};

struct WrittenEvent {
  std::string name, uid;  ///< on the server; "" when there is none that could be counted up
  int64_t count = 0;
  base::Time first{};
  Instant last{};

  bool IsIdle(Instant now) const { return now - last > (count > 1 ? kCountedKept : kOnceKept); }
};

struct EventBucket {
  double tokens = kBurst;
  std::optional<Instant> last;

  double TokensAt(Instant now) const {
    if (!last) return tokens;
    return std::min(kBurst, tokens + std::chrono::duration<double>(now - *last) / std::chrono::duration<double>(kRefill));
  }
  bool IsIdle(Instant now) const { return TokensAt(now) >= kBurst; }
};

std::string JoinEventKey(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (std::string_view part : parts) {
    key += part;
    key += '\0';
  }
  return key;
}

// At most kMessageBytesMax bytes, and no half character at the end.
std::string CutMessage(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  message.resize(end);
  return message;
}

}  // namespace

struct EventRecorder::State : std::enable_shared_from_this<EventRecorder::State> {
  State(Client& c, std::shared_ptr<base::Strand> s, base::Clock& k, base::Random r, std::string comp, std::string h)
      : client(c), strand(std::move(s)), clock(k), component(std::move(comp)), host(std::move(h)), random(std::move(r)) {}

  Client& client;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  const std::string component;
  const std::string host;

  std::mutex mutex;  ///< what Record shares with the strand
  bool stopped = false;
  std::deque<PendingEvent> waiting;
  uint64_t dropped = 0;

  std::mutex writing;  ///< held while the client is in use, so that the recorder's end can wait for it

  // On the strand only.
  base::Random random;
  EventLru<SimilarEvents> similar;
  EventLru<WrittenEvent> written;
  EventLru<EventBucket> buckets;
  Instant forgotten{};
  int64_t last_stamp = 0;

  void Push(PendingEvent event) {
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      if (waiting.size() >= kWaitingMax) {
        if (++dropped == 1)
          base::log::Warn("too many events are waiting to be written, dropping new ones", {{"component", component}});
        return;
      }
      waiting.push_back(std::move(event));
    }
    strand->Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->WriteOne();
    });
  }

  void WriteOne() {
    const std::lock_guard in_use(writing);
    std::optional<PendingEvent> event;
    {
      const std::lock_guard lock(mutex);
      if (stopped || waiting.empty()) return;
      event = std::move(waiting.front());
      waiting.pop_front();
    }
    Write(*std::move(event));
  }

  // Folds the event into "(combined from similar events)" when there are many that differ in their message only. Returns the
  // key under which its count goes on.
  uint64_t Fold(PendingEvent& event, Instant now) {
    const std::string group = JoinEventKey({event.object_key, event.type, event.reason});
    const uint64_t group_key = base::Fnv1a64(group);
    SimilarEvents& seen = similar.Use(group_key);
    if (seen.IsIdle(now)) seen.messages.clear();
    seen.last = now;
    seen.messages.insert(base::Fnv1a64(event.message));
    if (seen.messages.size() < kSimilarMax) return base::Fnv1a64(JoinEventKey({group, event.message}));
    // As many as make the next one fold again; which ones they are does not matter.
    seen.messages.erase(seen.messages.begin());
    event.message = CutMessage("(combined from similar events): " + event.message);
    return group_key;
  }

  bool TakeToken(const std::string& object_key, Instant now) {
    EventBucket& bucket = buckets.Use(base::Fnv1a64(object_key));
    bucket.tokens = bucket.TokensAt(now);
    bucket.last = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  void ForgetIdle(Instant now) {
    if (now - forgotten < kForgetInterval) return;
    forgotten = now;
    const auto is_idle = [now](const auto& entry) { return entry.IsIdle(now); };
    similar.Forget(is_idle);
    written.Forget(is_idle);
    buckets.Forget(is_idle);
  }

  void Write(PendingEvent event) {
    const Instant now = clock.Monotonic();
    ForgetIdle(now);
    const std::string time = base::FormatTime(event.time);
    WrittenEvent& record = written.Use(Fold(event, now));
    ++record.count;
    if (record.count == 1) record.first = event.time;
    record.last = now;
    if (!TakeToken(event.object_key, now)) return;
    if (!record.name.empty()) {
      const Json patch = {
          {"metadata", {{"uid", record.uid}}}, {"count", record.count}, {"lastTimestamp", time}, {"message", event.message}};
      const auto patched = client.Patch(kube::resources::Events(), event.ns, record.name, PatchType::kMerge, patch);
      if (patched) return;
      // Events expire on the server after an hour or so, and another may have come by its name: then it is a new one.
      const Code code = patched.error().code();
      if (code != Code::kNotFound && code != Code::kConflict) return Report(event, patched.error());
    }
    Create(event, record, time);
  }

  void Create(const PendingEvent& event, WrittenEvent& record, const std::string& time) {
    Json object = kube::NewObject(kube::resources::Events(), event.ns, "");
    base::Ensure(object, {"involvedObject"}) = event.involved;
    base::Ensure(object, {"reason"}) = event.reason;
    base::Ensure(object, {"message"}) = event.message;
    base::Ensure(object, {"source"}) = {{"component", component}, {"host", host}};
    base::Ensure(object, {"firstTimestamp"}) = base::FormatTime(record.first);
    base::Ensure(object, {"lastTimestamp"}) = time;
    base::Ensure(object, {"count"}) = record.count;
    base::Ensure(object, {"type"}) = event.type;
    base::Ensure(object, {"reportingComponent"}) = component;
    base::Ensure(object, {"reportingInstance"}) = host;
    for (int attempt = 1;; ++attempt) {
      const std::string name = NewName(event);
      base::Ensure(object, {"metadata", "name"}) = name;
      const auto created = client.Create(kube::resources::Events(), object);
      if (created) {
        record.name = name;
        record.uid = kube::UidOf(*created);
        return;
      }
      // Another replica told of the same object at the same nanosecond.
      if (created.error().code() == Code::kAlreadyExists && attempt < kNameAttempts) {
        last_stamp += random.Between(int64_t{1}, int64_t{1000000});
        continue;
      }
      record.name.clear();
      return Report(event, created.error());
    }
  }

  std::string NewName(const PendingEvent& event) {
    last_stamp = std::max(last_stamp + 1, event.time.time_since_epoch().count());
    const std::string suffix = fmt::format(".{:x}", last_stamp);
    return event.name.substr(0, 253 - suffix.size()) + suffix;
  }

  void Report(const PendingEvent& event, const base::Error& error) {
    base::log::Warn(
        "cannot write an event",
        {{"object", event.ns + "/" + event.name}, {"reason", event.reason}, {"message", event.message}, {"error", error}});
  }
};

EventRecorder::EventRecorder(Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                             std::string component, std::string host)
    : state_(std::make_shared<State>(client, std::move(strand), clock, std::move(random), std::move(component),
                                     std::move(host))) {}

EventRecorder::~EventRecorder() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
  }
  const std::lock_guard last_write(state_->writing);
}

void EventRecorder::Normal(const Json& about, std::string_view reason, std::string_view message) {
  Record(about, "Normal", reason, message);
}

void EventRecorder::Warning(const Json& about, std::string_view reason, std::string_view message) {
  Record(about, "Warning", reason, message);
}

uint64_t EventRecorder::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

void EventRecorder::Record(const Json& about, std::string_view type, std::string_view reason, std::string_view message) {
  const std::string_view api_version = base::FindString(about, {"apiVersion"});
  const std::string_view kind = base::FindString(about, {"kind"});
  const std::string_view ns = kube::NamespaceOf(about);
  const std::string_view name = kube::NameOf(about);
  const std::string_view uid = kube::UidOf(about);
  PendingEvent event;
  event.object_key = JoinEventKey({api_version, kind, ns, name, uid});
  base::JsonObject involved = {{"apiVersion", api_version}, {"kind", kind}, {"name", name}};
  if (!ns.empty()) involved["namespace"] = ns;
  if (!uid.empty()) involved["uid"] = uid;
  if (const auto version = kube::ResourceVersionOf(about); !version.empty()) involved["resourceVersion"] = version;
  event.involved = std::move(involved);
  event.ns = ns.empty() ? "default" : ns;
  event.name = name;
  event.type = type;
  event.reason = reason;
  event.message = CutMessage(std::string(message));
  event.time = state_->clock.Now();
  state_->Push(std::move(event));
}

}  // namespace evenkeel::client
