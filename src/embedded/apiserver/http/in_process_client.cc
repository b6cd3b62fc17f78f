#include <condition_variable>

#include "base/log.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/in_process_raw.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Fail;

// Waits for a write that may become durable on another thread.
class Waiter {
 public:
  Done Callback() {
    return [state = state_](Result<Answer> answer) {
      std::lock_guard lock(state->mutex);
      state->answer = std::move(answer);
      state->ready.notify_all();
    };
  }
  Result<Answer> Wait() {
    std::unique_lock lock(state_->mutex);
    state_->ready.wait(lock, [this] { return state_->answer.has_value(); });
    return *std::move(state_->answer);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable ready;
    std::optional<Result<Answer>> answer;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class InProcessWatch : public client::Watch {
 public:
  explicit InProcessWatch(std::unique_ptr<store::Watch> watch) : watch_(std::move(watch)) {}

 private:
  std::unique_ptr<store::Watch> watch_;
};

class InProcessClient : public client::Client {
 public:
  InProcessClient(Api& api, UserInfo user, int64_t epoch) : api_(api), user_(std::move(user)), epoch_(epoch) {}

  Result<Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                   std::string_view subresource) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, ns, name, subresource));
    if (subresource == "scale") return api_.GetScale(call);
    EVENKEEL_ASSIGN(const Stored stored, api_.Get(call));
    return DecodeObject(*call.served, stored);
  }

  Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, options.ns, "", ""));
    EVENKEEL_ASSIGN(const ListAnswer answer, api_.List(call, {.label_selector = options.label_selector,
                                                              .field_selector = options.field_selector,
                                                              .limit = options.limit,
                                                              .continue_token = options.continue_token,
                                                              .resource_version = options.resource_version,
                                                              .resource_version_match = options.resource_version_match}));
    client::ListPage page;
    page.items.reserve(answer.items.size());
    for (const Stored& stored : answer.items) {
      if (auto object = DecodeObject(*call.served, stored)) page.items.push_back(*std::move(object));
    }
    page.resource_version = std::to_string(answer.revision);
    page.continue_token = answer.continue_token;
    page.remaining = answer.remaining.value_or(0);
    return page;
  }

  Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, kube::NamespaceOf(object), kube::NameOf(object), options.subresource));
    Fill(call, options.field_manager, options.dry_run);
    return Finish(call, [&](Done done) { api_.Create(call, object, std::move(done)); });
  }

  Result<Json> Update(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, kube::NamespaceOf(object), kube::NameOf(object), options.subresource));
    Fill(call, options.field_manager, options.dry_run);
    return Finish(call, [&](Done done) { api_.Update(call, object, std::move(done)); });
  }

  Result<Json> Patch(const kube::Resource& resource, std::string_view ns, std::string_view name, client::PatchType type,
                     const Json& patch, const client::PatchOptions& options) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, ns, name, options.subresource));
    Fill(call, options.field_manager, options.dry_run);
    if (type == client::PatchType::kApply) call.field_manager = options.field_manager;
    call.force = options.force;
    return Finish(call, [&](Done done) { api_.Patch(call, {type, patch}, std::move(done)); });
  }

  Result<Json> Delete(const kube::Resource& resource, std::string_view ns, std::string_view name,
                      const client::DeleteOptions& options) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, ns, name, ""));
    call.dry_run = options.dry_run;
    DeleteRequest request{.grace_seconds = options.grace_period_seconds,
                          .propagation = options.propagation_policy,
                          .uid = options.uid,
                          .resource_version = options.resource_version};
    return Finish(call, [&](Done done) { api_.Delete(call, request, std::move(done)); });
  }

  Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    EVENKEEL_ASSIGN(Call call, MakeCall(resource, ns, name, subresource));
    return Finish(call, [&](Done done) { api_.Post(call, body, std::move(done)); });
  }

  Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                  client::WatchHandler handler) override {
    EVENKEEL_ASSIGN(const Call call, MakeCall(resource, options.ns, "", ""));
    WatchQuery query{.label_selector = options.label_selector,
                     .field_selector = options.field_selector,
                     .resource_version = options.resource_version};
    auto watch = api_.Watch(
        call, query,
        [served = call.served, handler = std::move(handler), bookmarks = options.bookmarks, clock = api_.options().clock,
         next = base::Instant{}](EventType type, const std::shared_ptr<SharedEvent>& event, store::Revision revision,
                                 const base::Error* error) mutable {
          if ((type == EventType::kProgress || type == EventType::kInitialEnd) && error == nullptr) {
            if (!bookmarks || clock->Monotonic() < next) return;
            next = clock->Monotonic() + kBookmarkInterval;
            handler(Bookmark(*served, revision));
          } else {
            Deliver(*served, handler, type, event, error);
          }
        });
    if (!watch) return Fail(watch.error());
    return std::make_unique<InProcessWatch>(*std::move(watch));
  }

  Result<std::string> GetRaw(std::string_view path) override { return GetRawInProcess(api_, user_, path); }

  std::string Describe() const override { return "in-process " + api_.options().name; }

 private:
  // Far enough apart that bookmarks are rare, near enough that a watcher of a quiet kind never falls behind a compaction.
  static constexpr base::Duration kBookmarkInterval = std::chrono::minutes(1);

  static client::WatchEvent Bookmark(const Served& served, store::Revision revision) {
    return {.type = client::WatchEvent::Type::kBookmark,
            .object = base::JsonObject{{"apiVersion", served.resource.ApiVersion()},
                                       {"kind", served.resource.kind},
                                       {"metadata", base::JsonObject{{"resourceVersion", std::to_string(revision)}}}}};
  }

  static void Deliver(const Served& served, const client::WatchHandler& handler, EventType type,
                      const std::shared_ptr<SharedEvent>& event, const base::Error* error) {
    if (error != nullptr) return handler(Fail(*error));
    client::WatchEvent out;
    const bool left = type == EventType::kDeleted && !event->deleted();
    out.type = type == EventType::kAdded      ? client::WatchEvent::Type::kAdded
               : type == EventType::kModified ? client::WatchEvent::Type::kModified
                                              : client::WatchEvent::Type::kDeleted;
    auto object = DecodeObject(served, left ? event->Left() : event->object());
    if (!object) return;
    out.object = *std::move(object);
    handler(std::move(out));
  }

  Result<Call> MakeCall(const kube::Resource& resource, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
    Call call{.served = api_.resources().Find(resource.group, resource.version, resource.plural),
              .ns = resource.namespaced ? std::string(ns) : "",
              .name = std::string(name),
              .subresource = std::string(subresource),
              .user = user_,
              .field_manager = "",
              .epoch = epoch_};
    if (call.served == nullptr) return Fail(NoSuchResourceError());
    return call;
  }

  void Fill(Call& call, const std::string& field_manager, bool dry_run) {
    call.field_manager = field_manager.empty() ? user_.name : field_manager;
    call.dry_run = dry_run;
  }

  template <typename Start>
  Result<Json> Finish(const Call& call, Start start) {
    Waiter waiter;
    start(waiter.Callback());
    EVENKEEL_ASSIGN(Answer answer, waiter.Wait());
    for (const std::string& warning : answer.warnings) {
      base::log::Warn("the API warns",
                      {{"resource", call.served->resource.QualifiedPlural()}, {"name", call.name}, {"warning", warning}});
    }
    if (answer.other) return *std::move(answer.other);
    return DecodeObject(*call.served, answer.object);
  }

  Api& api_;
  const UserInfo user_;
  const int64_t epoch_;
};

}  // namespace

std::unique_ptr<client::Client> NewInProcessClient(Api& api, UserInfo user, int64_t epoch) {
  return std::make_unique<InProcessClient>(api, std::move(user), epoch);
}

}  // namespace evenkeel::embedded::apiserver
