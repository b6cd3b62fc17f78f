// Talking to a Kubernetes API. Two bodies: HTTP (http_client.h: any real cluster) and in-process (embedded/apiserver: the
// embedded fleet, tests and the simulator). Nothing that uses a Client knows which.
//
// Calls block the strand they are made on, carry their own time-out and may be made from any thread. A write conflict
// (kConflict) is not a failure: read again and decide again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/object.h"
#include "kube/resource.h"

namespace evenkeel::client {

using base::Json;
using base::Result;
using base::Status;
using kube::Resource;
using namespace std::chrono_literals;

struct ListOptions {
  std::string ns{};  ///< empty: all namespaces
  std::string label_selector{};
  std::string field_selector{};
  int64_t limit = 0;  ///< 0: no paging
  std::string continue_token{};
  std::string resource_version{};        ///< "" most recent, "0" any
  std::string resource_version_match{};  ///< "", "NotOlderThan", "Exact"
};

struct ListPage {
  std::vector<Json> items;
  std::string resource_version;
  std::string continue_token;  ///< empty: this was the last page
  int64_t remaining = 0;
  size_t bytes = 0;  ///< of the answer; 0 where it was none
};

/// What a whole list may come to: an API that answers without end must not take its reader along. Far more than Kubernetes
/// holds (its limit is 150,000 pods).
struct ListLimits {
  size_t pages = 10'000;
  size_t objects = 1'000'000;
  size_t bytes = 1u << 30;
};

struct ListSize {
  size_t objects = 0;
  size_t bytes = 0;  ///< of JSON, as it came
};

/// kTooLarge: "answers too much: ...".
Status CheckSize(const ListLimits& limits, const ListSize& size);

/// Counts what a list has come to.
class ListBudget {
 public:
  explicit ListBudget(const ListLimits& limits = {}) : limits_(limits) {}
  /// A page, or one object of a stream, which has no `continue_token`. kTooLarge: "answers too much: ...", also where a page
  /// names itself as the next one.
  Status Add(size_t objects, size_t bytes, std::string_view continue_token);
  void Reset() { *this = ListBudget(limits_); }
  const ListSize& size() const { return size_; }

 private:
  ListLimits limits_;
  size_t pages_ = 0;
  ListSize size_;
  std::string continue_token_;
};

struct WriteOptions {
  std::string subresource{};    ///< "", "status", "scale"
  std::string field_manager{};  ///< default: the client's user agent
  bool dry_run = false;
};

enum class PatchType { kMerge, kJson, kStrategic, kApply };

struct PatchOptions {
  std::string subresource{};
  std::string field_manager{};  ///< required for kApply
  bool force = false;           ///< kApply: take over conflicting fields
  bool dry_run = false;
};

struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds{};
  std::string propagation_policy{};  ///< "", "Orphan", "Background", "Foreground"
  std::string uid{};                 ///< precondition, if not empty
  std::string resource_version{};    ///< precondition, if not empty
  bool dry_run = false;
};

struct WatchOptions {
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};  ///< events after this one
  bool bookmarks = true;
  /// Begin with all objects as they are at `resource_version` or later ("": the most recent), each kAdded, and a bookmark for
  /// which IsInitialEnd holds. Only where StreamsLists().
  bool send_initial_events = false;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  Json object;
  size_t bytes = 0;  ///< as it came; 0 where it did not come as bytes
};

/// Gets an object of a list that is not kept: it lives until the call returns, so a copy needs memory of its own
/// (`Json(object, {})`).
using ObjectVisitor = std::function<void(const Json& object)>;

/// Gets each event in order, from one thread at a time, not the caller's strand: post to it. The last call has an error:
/// kExpired (list again), or kUnavailable when the stream ended (watch again from the last resource version).
using WatchHandler = std::function<void(Result<WatchEvent>)>;

/// An open watch. Destroying it stops it: no call of the handler runs or comes after, unless destroyed from within it.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// Whether a write that ended with this error may have been carried out, or may be yet: nobody knows who heard of no answer.
constexpr bool MayHaveTakenEffect(base::Code code) {
  return code == base::Code::kTimeout || code == base::Code::kUnavailable || code == base::Code::kInternal;
}

class Client {
 public:
  virtual ~Client() = default;

  /// Answers what the API answers: kNotFound, kForbidden, kUnavailable ... The object carries apiVersion and kind.
  virtual Result<Json> Get(const Resource& resource, std::string_view ns, std::string_view name,
                           std::string_view subresource = "") = 0;
  virtual Result<ListPage> List(const Resource& resource, const ListOptions& options) = 0;
  /// List for whoever keeps little of it: the page comes without items, which `visit` has seen. Fields that no compiled-in
  /// schema knows may be missing: the answer comes in protocol buffers where API and client have them, and takes
  /// less time and memory to read.
  virtual Result<ListPage> Visit(const Resource& resource, const ListOptions& options, const ObjectVisitor& visit);
  /// `object` says where it goes: metadata.namespace and name (or generateName). Returns it as stored.
  virtual Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& options = {}) = 0;
  /// Replaces; metadata.resourceVersion, if set, must be the current one (kConflict).
  virtual Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& options = {}) = 0;
  virtual Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type,
                             const Json& patch, const PatchOptions& options = {}) = 0;
  /// The object as it was, or a Status; with finalizers or grace it may live on with a deletionTimestamp.
  virtual Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                              const DeleteOptions& options = {}) = 0;
  /// POST to a subresource: pods/binding, pods/eviction (kTooManyRequests when a budget does not allow it).
  virtual Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                            const Json& body) = 0;
  virtual Result<std::unique_ptr<Watch>> NewWatch(const Resource& resource, const WatchOptions& options,
                                                  WatchHandler handler) = 0;
  /// Whether WatchOptions::send_initial_events may be asked for. Older servers ignore it (before Kubernetes 1.27) or refuse it
  /// with kInvalid; one that is known to ignore it answers false here. May ask the API once.
  virtual bool StreamsLists() { return false; }
  /// What a list of this API may come to, and what an Informer holds of it.
  virtual ListLimits Limits() const { return {}; }

  /// GET of a path as it is ("/version", "/api/v1/namespaces/x/pods/y/log?tailLines=5"): the body.
  virtual Result<std::string> GetRaw(std::string_view path) = 0;
  /// For messages: "https://127.0.0.1:6443", "in-process hub".
  virtual std::string Describe() const = 0;
};

/// How many objects a page of ListAll and of a Reflector holds: client-go's number.
inline constexpr int64_t kListPageSize = 500;

/// The media type of a patch's body, e.g. "application/merge-patch+json".
std::string_view ContentTypeOf(PatchType type);
/// "ADDED", "MODIFIED", "DELETED", "BOOKMARK".
std::string_view NameOf(WatchEvent::Type type);
/// Of a watch that has sent its initial events: all of them have come. Source: kubernetes@1.32
/// apimachinery/pkg/apis/meta/v1/types.go, InitialEventsAnnotationKey.
bool IsInitialEnd(const WatchEvent& event);
/// Whether resource version `a` is from before `b`. Versions are numbers that only grow in one API server; where one is not a
/// number, nothing is older than anything.
bool IsOlderVersion(std::string_view a, std::string_view b);

/// All pages, 500 at a time, within ListLimits; starts over (once) when the token expires in between. `resource_version` of the
/// result is the last page's.
Result<ListPage> ListAll(Client& client, const Resource& resource, ListOptions options = {});
/// The same with Visit. Where it starts over, objects are visited twice.
Status VisitAll(Client& client, const Resource& resource, const ObjectVisitor& visit, ListOptions options = {});

/// Get, change, Update, again on kConflict up to 5 times with short waits left out (the API server serialises). `change` edits
/// the object in place and returns false when nothing needs writing. Returns the object as stored.
Result<Json> ReadModifyWrite(Client& client, const Resource& resource, std::string_view ns, std::string_view name,
                             const std::function<Result<bool>(Json&)>& change, const WriteOptions& options = {});

}  // namespace evenkeel::client
