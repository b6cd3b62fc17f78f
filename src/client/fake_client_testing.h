// An API for tests of what stands above Client: a few kinds in memory, with versions, conflicts, paged lists and watches, and
// faults on demand. For tests only; whatever depends on validation, admission or patches uses the embedded API server instead.
//
// Single-threaded, for virtual time: watch handlers are called from within the write.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/forwarding_client.h"

namespace evenkeel::client {

/// What several FakeClients talk to.
class FakeApi {
 public:
  struct Event {
    uint64_t version;
    std::string plural;
    WatchEvent::Type type;
    Json object;
  };
  struct Watcher {
    std::string plural, ns;
    WatchHandler handler;
    const void* owner = nullptr;  ///< the client
  };

  uint64_t version = 100;
  std::map<std::string, std::map<std::string, Json>> objects;  ///< by plural, then key
  std::vector<Event> history;
  uint64_t compacted = 0;  ///< watches from before it are expired
  uint64_t next_uid = 1;
  std::map<uint64_t, std::shared_ptr<Watcher>> watchers;
  uint64_t next_watcher = 1;

  /// Stores the object as a write would, without a client.
  Json Put(const Resource& resource, Json object) {
    auto& stored = objects[resource.plural];
    const std::string key = kube::KeyOf(object);
    const auto old = stored.find(key);
    const bool present = old != stored.end();
    base::Ensure(object, {"apiVersion"}) = resource.ApiVersion();
    base::Ensure(object, {"kind"}) = resource.kind;
    if (kube::UidOf(object).empty()) {
      base::Ensure(object, {"metadata", "uid"}) =
          present ? std::string(kube::UidOf(old->second)) : "uid-" + std::to_string(next_uid++);
    }
    base::Ensure(object, {"metadata", "resourceVersion"}) = std::to_string(++version);
    if (resource.plural == "customresourcedefinitions" && base::Find(object, {"status"}) == nullptr) {
      base::Ensure(object, {"status", "conditions"}) = base::JsonArray{{{"type", "Established"}, {"status", "True"}}};
    }
    stored[key] = object;
    Notify({version, resource.plural, present ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded, object});
    return object;
  }

  bool Remove(const Resource& resource, const std::string& key, bool silently = false) {
    auto& stored = objects[resource.plural];
    const auto found = stored.find(key);
    if (found == stored.end()) return false;
    Json object = found->second;
    stored.erase(found);
    base::Ensure(object, {"metadata", "resourceVersion"}) = std::to_string(++version);
    if (!silently) Notify({version, resource.plural, WatchEvent::Type::kDeleted, object});
    return true;
  }

  /// A bookmark at the present version to all watchers.
  void Bookmark() {
    const Json object = {{"metadata", {{"resourceVersion", std::to_string(version)}}}};
    for (const auto& watcher : Present()) watcher->handler(WatchEvent{WatchEvent::Type::kBookmark, object});
  }

  /// An event as it is, whatever the state says: for tests of what comes out of order.
  void Send(WatchEvent::Type type, const Json& object) {
    for (const auto& watcher : Present()) watcher->handler(WatchEvent{type, object});
  }

  /// Ends all watches (of one client, if given) with an error.
  void EndWatches(const base::Error& error, const void* owner = nullptr) {
    const auto all = watchers;
    for (const auto& [id, watcher] : all) {
      if (owner != nullptr && watcher->owner != owner) continue;
      watchers.erase(id);
      watcher->handler(std::unexpected(error));
    }
  }

  /// Forgets history: older watches and lists are expired.
  void Compact() { compacted = version; }

 private:
  std::vector<std::shared_ptr<Watcher>> Present() const {
    std::vector<std::shared_ptr<Watcher>> present;
    for (const auto& [id, watcher] : watchers) present.push_back(watcher);
    return present;
  }

  void Notify(const Event& event) {
    history.push_back(event);
    for (const auto& watcher : Present()) {
      if (watcher->plural != event.plural || (!watcher->ns.empty() && watcher->ns != kube::NamespaceOf(event.object))) continue;
      watcher->handler(WatchEvent{event.type, event.object});
    }
  }
};

class FakeClient final : public Client {
 public:
  explicit FakeClient(std::shared_ptr<FakeApi> api = std::make_shared<FakeApi>()) : api_(std::move(api)) {}

  FakeApi& api() { return *api_; }

  /// The next `times` calls of that verb ("get", "list", "watch", "create", "update", "patch", "delete"; "" for any) fail.
  void FailNext(std::string verb, base::Error error, int times = 1) {
    for (int i = 0; i < times; ++i) faults_.push_back({verb, error});
  }
  /// While cut off, all calls fail with kUnavailable, and the client's watches end.
  void CutOff(bool off) {
    cut_off_ = off;
    if (off) api_->EndWatches(base::Error(base::Code::kUnavailable, "connection reset"), this);
  }
  /// Called before each write is carried out, e.g. to write in between.
  std::function<void(std::string_view verb, const Json& object)> before_write;
  std::function<void(const ListOptions& options)> before_list;
  /// Kinds that this API does not serve, "policy/v1 poddisruptionbudgets".
  std::set<std::string> unserved;
  /// A watch may begin with all that there is.
  bool streams_lists = false;
  ListLimits limits;
  /// ... and then never says so.
  bool ends_initial_events = true;
  /// What each object of a list, and each event, counts as.
  size_t bytes_each = 0;
  /// The last page of a list names the first one as the next, by ever longer tokens.
  bool endless_lists = false;
  /// "VERB PLURAL [detail]" of each call, in order.
  std::vector<std::string> calls;
  int Count(std::string_view prefix) const {
    return static_cast<int>(std::ranges::count_if(calls, [&](const std::string& call) { return call.starts_with(prefix); }));
  }

  Result<Json> Get(const Resource& resource, std::string_view ns, std::string_view name, std::string_view = "") override {
    EVENKEEL_TRY(Begin("get", resource, JoinKey(ns, name)));
    const auto& stored = api_->objects[resource.plural];
    const auto found = stored.find(JoinKey(ns, name));
    if (found == stored.end()) return NotFound(resource, name);
    return found->second;
  }

  Result<ListPage> List(const Resource& resource, const ListOptions& options) override {
    EVENKEEL_TRY(Begin("list", resource,
                       "rv=" + options.resource_version + " match=" + options.resource_version_match +
                           (options.continue_token.empty() ? "" : " continue=" + options.continue_token)));
    if (before_list) before_list(options);
    size_t from = 0;
    uint64_t version = api_->version;
    if (!options.continue_token.empty()) {
      const size_t slash = options.continue_token.find('/');
      version = std::stoull(options.continue_token.substr(0, slash));
      from = std::stoull(options.continue_token.substr(slash + 1));
    }
    if (version < api_->compacted) return base::Fail(base::Code::kExpired, "the continue token has expired");
    ListPage page;
    page.resource_version = std::to_string(version);
    size_t index = 0;
    for (const auto& [key, object] : api_->objects[resource.plural]) {
      if (!options.ns.empty() && kube::NamespaceOf(object) != options.ns) continue;
      if (index++ < from) continue;
      if (options.limit > 0 && page.items.size() == static_cast<size_t>(options.limit)) {
        page.continue_token = std::to_string(version) + "/" + std::to_string(index - 1);
        break;
      }
      page.items.push_back(object);
    }
    if (endless_lists && page.continue_token.empty()) {
      const size_t slash = options.continue_token.find('/');
      const size_t zeros = slash == std::string::npos ? 0 : options.continue_token.size() - slash - 1;
      page.continue_token = std::to_string(version) + "/" + std::string(zeros + 1, '0');
    }
    page.bytes = page.items.size() * bytes_each;
    return page;
  }

  Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& = {}) override {
    EVENKEEL_TRY(Begin("create", resource, kube::KeyOf(object)));
    if (before_write) before_write("create", object);
    if (api_->objects[resource.plural].contains(kube::KeyOf(object))) {
      return base::Fail(base::Code::kAlreadyExists, resource.plural + " \"" + kube::KeyOf(object) + "\" already exists");
    }
    return api_->Put(resource, object);
  }

  Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& = {}) override {
    EVENKEEL_TRY(Begin("update", resource, kube::KeyOf(object)));
    if (before_write) before_write("update", object);
    const auto& stored = api_->objects[resource.plural];
    const auto found = stored.find(kube::KeyOf(object));
    if (found == stored.end()) return NotFound(resource, kube::NameOf(object));
    const std::string_view version = kube::ResourceVersionOf(object);
    if (!version.empty() && version != kube::ResourceVersionOf(found->second)) {
      return base::Fail(base::Code::kConflict, "the object has been modified");
    }
    return api_->Put(resource, object);
  }

  /// Merge patches only, whatever `type` says.
  Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType, const Json& patch,
                     const PatchOptions& = {}) override {
    EVENKEEL_TRY(Begin("patch", resource, JoinKey(ns, name)));
    if (before_write) before_write("patch", patch);
    const auto& stored = api_->objects[resource.plural];
    const auto found = stored.find(JoinKey(ns, name));
    if (found == stored.end()) return NotFound(resource, name);
    Json object = found->second;
    base::ApplyMergePatch(object, patch);
    return api_->Put(resource, object);
  }

  Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options = {}) override {
    EVENKEEL_TRY(Begin("delete", resource, JoinKey(ns, name)));
    const auto& stored = api_->objects[resource.plural];
    const auto found = stored.find(JoinKey(ns, name));
    const auto differs = [](const std::string& wanted, std::string_view present) {
      return !wanted.empty() && wanted != present;
    };
    if (found != stored.end() && (differs(options.uid, kube::UidOf(found->second)) ||
                                  differs(options.resource_version, kube::ResourceVersionOf(found->second)))) {
      return base::Fail(base::Code::kConflict, "the object is not the one that was meant");
    }
    if (!api_->Remove(resource, JoinKey(ns, name))) return NotFound(resource, name);
    return Json(base::JsonObject{{"status", "Success"}});
  }

  Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    EVENKEEL_TRY(Begin("post", resource, JoinKey(ns, name) + " " + std::string(subresource)));
    return body;
  }

  Result<std::unique_ptr<Watch>> NewWatch(const Resource& resource, const WatchOptions& options,
                                          WatchHandler handler) override {
    EVENKEEL_TRY(Begin("watch", resource, (options.send_initial_events ? "initial rv=" : "rv=") + options.resource_version));
    if (bytes_each > 0) {
      handler = [bytes = bytes_each, handler = std::move(handler)](Result<WatchEvent> event) {
        if (event) event->bytes = bytes;
        handler(std::move(event));
      };
    }
    if (options.send_initial_events) SendInitialEvents(resource, options, handler);
    const uint64_t from = options.send_initial_events ? api_->version : std::stoull(options.resource_version);
    if (from < api_->compacted) return base::Fail(base::Code::kExpired, "too old resource version");
    for (const FakeApi::Event& event : api_->history) {
      if (event.version > from && event.plural == resource.plural) handler(WatchEvent{event.type, event.object});
    }
    const uint64_t id = api_->next_watcher++;
    api_->watchers[id] =
        std::make_shared<FakeApi::Watcher>(FakeApi::Watcher{resource.plural, options.ns, std::move(handler), this});
    return std::make_unique<FakeWatch>(api_, id);
  }

  bool StreamsLists() override { return streams_lists; }
  ListLimits Limits() const override { return limits; }
  Result<std::string> GetRaw(std::string_view path) override {
    calls.push_back("raw " + std::string(path));
    return std::string("ok");
  }
  std::string Describe() const override { return "fake"; }

 private:
  struct Fault {
    std::string verb;
    base::Error error;
  };
  class FakeWatch final : public Watch {
   public:
    FakeWatch(std::shared_ptr<FakeApi> api, uint64_t id) : api_(std::move(api)), id_(id) {}
    ~FakeWatch() override { api_->watchers.erase(id_); }

   private:
    const std::shared_ptr<FakeApi> api_;
    const uint64_t id_;
  };

  void SendInitialEvents(const Resource& resource, const WatchOptions& options, const WatchHandler& handler) const {
    for (const auto& [key, object] : api_->objects[resource.plural]) {
      if (options.ns.empty() || options.ns == kube::NamespaceOf(object)) handler(WatchEvent{WatchEvent::Type::kAdded, object});
    }
    if (!ends_initial_events) return;
    const Json end = base::JsonObject{
        {"metadata", base::JsonObject{{"resourceVersion", std::to_string(api_->version)},
                                      {"annotations", base::JsonObject{{"k8s.io/initial-events-end", "true"}}}}}};
    handler(WatchEvent{WatchEvent::Type::kBookmark, end});
  }

  Status Begin(const std::string& verb, const Resource& resource, const std::string& detail) {
    calls.push_back(verb + " " + resource.plural + " " + detail);
    if (cut_off_) return base::Fail(base::Code::kUnavailable, "connection refused");
    if (unserved.contains(resource.ApiVersion() + " " + resource.plural)) {
      return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
    }
    const auto fault = std::ranges::find_if(faults_, [&](const Fault& f) { return f.verb.empty() || f.verb == verb; });
    if (fault == faults_.end()) return {};
    const base::Error error = fault->error;
    faults_.erase(fault);
    return base::Fail(error);
  }
  static std::unexpected<base::Error> NotFound(const Resource& resource, std::string_view name) {
    return base::Fail(base::Code::kNotFound, resource.QualifiedPlural() + " \"" + std::string(name) + "\" not found");
  }
  static std::string JoinKey(std::string_view ns, std::string_view name) {
    return ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name);
  }

  const std::shared_ptr<FakeApi> api_;
  std::deque<Fault> faults_;
  bool cut_off_ = false;
};

/// A double that is a FakeClient but for what it overrides.
class ChangedFakeClient : public ForwardingClient {
 public:
  explicit ChangedFakeClient(std::shared_ptr<FakeApi> api = std::make_shared<FakeApi>())
      : ChangedFakeClient(std::make_unique<FakeClient>(std::move(api))) {}

  FakeClient& fake;

 private:
  explicit ChangedFakeClient(std::unique_ptr<FakeClient> own) : ForwardingClient(*own), fake(*own), own_(std::move(own)) {}

  const std::unique_ptr<FakeClient> own_;
};

}  // namespace evenkeel::client
