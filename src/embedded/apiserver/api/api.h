// The Kubernetes API as meaning, without HTTP: verbs on resources over a Store. http_handler.h puts HTTP in front of it,
// in_process_client.h a client::Client. Thread-safe; reads come from the store (memory), writes wait for durability through a
// callback, so a thread that serves many connections never blocks.
//
// Authorization: what a call does is not asked about here but in front (http_handler.h), since callers in this process are
// parts of it. Here is only checked that nobody writes a role or a binding that gives more than they have (access_control.h).
//
// What others finish: owner references and the finalizers orphan and foregroundDeletion belong to the garbage collector, the
// contents of a deleted namespace to the namespace controller (both in embedded/workloads), which empties it and then takes
// "kubernetes" out of spec.finalizers through the finalize subresource. The objects of a deleted CRD are deleted here.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "embedded/access/account_token.h"
#include "embedded/apiserver/access/audit.h"
#include "embedded/apiserver/access/store_follower.h"
#include "embedded/apiserver/admission/admission_webhooks.h"
#include "embedded/apiserver/api/compactor.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/call.h"
#include "embedded/apiserver/objects/selection.h"
#include "embedded/apiserver/objects/watch_event.h"
#include "embedded/apiserver/requests/http.h"
#include "embedded/apiserver/requests/log_source.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

using base::Json;
using base::Result;
using base::Status;

class AccessControl;
class AdmissionPolicies;
class EpochGate;
class EventExpiry;
class LimitRanges;
class PriorityClasses;
class Quotas;

struct ApiOptions {
  std::string name;  ///< of the cluster, for messages and metrics: "hub", "member-1"
  store::Store* store = nullptr;
  base::Clock* clock = nullptr;
  base::Random random{0};
  LogSource* logs = nullptr;   ///< who can read pods' logs; null: the log subresource answers that nobody can
  AuditSink* audit = nullptr;  ///< hears of every write; null: nobody does
  /// How webhooks are asked; empty: PostToWebhook. Not in virtual time, unless without an executor.
  WebhookPoster webhook_poster = {};
  /// Compacts the store, lets events expire and asks webhooks on strands of it. Needed where store->reads_block(): whatever
  /// reads then runs on strands of it, too, instead of the threads of the store.
  base::Executor* executor = nullptr;
  /// Makes and renews the roles and bindings that Kubernetes begins with, and keeps aggregated ClusterRoles up to date; needs
  /// an executor. Without it nobody but system:masters may do anything by HTTP, until somebody makes roles.
  bool default_policy = false;
  /// Signs tokens of ServiceAccounts; needs an executor. Without it there are none.
  std::optional<access::TokenKey> account_key = std::nullopt;
  std::string account_ca_pem = {};  ///< of the server's certificate, for Secrets with tokens
};

/// The first address of the services' range, 10.96.0.0/12: that of the Service default/kubernetes, and of no other by itself.
inline constexpr char kApiServiceAddress[] = "10.96.0.1";

class Api {
 public:
  explicit Api(ApiOptions options);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Reads the CRDs and makes the namespaces every cluster has (default, kube-system, kube-public, kube-node-lease). Once,
  /// before use.
  Status Start();

  ResourceTable& resources() { return table_; }
  const ApiOptions& options() const { return options_; }
  store::Store& store() { return *options_.store; }
  AccessControl& access() { return *access_; }
  /// Whether this server knows of the CRDs and webhooks that others on the same store may have changed.
  bool HearsOfChanges() const;

  /// Reads. They may block where store().reads_block().
  Result<Stored> Get(const Call& call);
  Result<Json> GetScale(const Call& call);
  Result<ListAnswer> List(const Call& call, const ListQuery& query);
  /// Events come on the threads of the store, in virtual time within the write that causes them. What a request says has been
  /// through CheckWatchOptions (list_options.h).
  Result<std::unique_ptr<store::Watch>> Watch(const Call& call, const WatchQuery& query, EventHandler handler);

  /// Writes: `done` is called exactly once, from any thread, when the write is durable.
  /// Create: the object may live in storage of the caller's, to which nothing refers after the call.
  void Create(Call call, Json object, Done done);
  /// Replaces; subresources status, scale and (namespaces) finalize.
  void Update(Call call, Json object, Done done);
  void Patch(Call call, PatchBody patch, Done done);
  void Delete(Call call, DeleteRequest request, Done done);
  /// Answers with a List of what was deleted or marked: no more than query.limit, and where to continue.
  void DeleteCollection(Call call, ListQuery query, DeleteRequest request, Done done);
  /// pods/binding, pods/eviction and serviceaccounts/token.
  void Post(Call call, Json body, Done done);
  /// Tells the audit sink of a write that was refused before it came to one of the above.
  void RecordRefused(const Call& call, std::string_view verb, const base::Error& error);

  base::Time Now() const { return options_.clock->Now(); }
  std::string NewUid();

 private:
  // Edits the object in place; false: nothing to write.
  using Change = std::function<Result<bool>(Json& object, const Stored& current, Answer& answer)>;
  struct Modification;

 public:
  /// Runs work that may read the store: here, or on a strand where reads block.
  void Run(base::Task task);
  /// Runs work that may have objects of that kind converted: here, or on a strand where a webhook does it.
  void RunFor(const Served& served, base::Task task);

 private:
  AuditRecord NewRecord(const Call& call, std::string_view verb);
  // `done` that tells the audit sink first. The one place where writes are recorded: each public write wraps its `done` once.
  Done Audited(const Call& call, std::string_view verb, Done done);
  // Answers what needs no commit (dry runs, nothing to change), unless the call's epoch is over.
  void AnswerUnwritten(const Call& call, Answer answer, const Done& done);

  // Writes an object without a namespace that every cluster has, unless it is there; blocks until it is durable.
  Status MakeStandard(const ServedPointer& served, Json object);
  // All writes at once; blocks until they are durable.
  Status MakeDefaultPolicy();
  // Answers a review.
  void Review(Call call, Json object, Done done);
  Result<Json> ReviewStatus(const Call& call, Json& review);
  Status StartAdmission();
  void StopAdmission();
  // What the author of a webhook's configuration or a policy is warned of.
  void WarnOfAdmission(const Json& object, Answer& answer);
  AdmissionView World();
  // Follows the objects of one kind that say what is asked about writes.
  Status FollowAdmission(const char* plural, std::function<void(const Json& object)> put,
                         std::function<void(const std::string& name)> remove);

  // Of kinds that a webhook converts (api_conversion.cc); of others these do nothing but what their names say.
  struct WatchGate;
  class GatedWatch;
  // Tells of one event what is to be told.
  using EventTeller = std::function<void(const store::Event& event, const std::shared_ptr<SharedEvent>& shared)>;
  void StartConversion();
  // Blocks.
  Result<std::vector<Json>> Convert(const Served& served, const std::vector<Json>& objects, const std::string& api_version,
                                    bool list);
  Status ConvertSome(const Served& served, std::span<Stored* const> rows, std::vector<Json> objects, bool list);
  static Stored AsAsked(const Served& served, Json object, const Stored& row);
  // Brings rows to the version that is asked for. Blocks.
  Status ConvertRows(const Served& served, std::span<Stored> rows, bool list);
  // The row of an object, and what is shown of it. Blocks.
  Result<store::Value> EncodeRow(const Call& call, const Json& object, Stored& shown);
  Result<std::vector<std::shared_ptr<SharedEvent>>> ConvertEvents(const Served& served, const std::vector<store::Event>& batch);
  Result<std::unique_ptr<store::Watch>> WatchConverted(const ServedPointer& served, std::string prefix, store::Revision after,
                                                       EventTeller tell, EventHandler handler);
  // Whether webhooks or policies want to judge the write (for deletions: hear of it at all), or webhooks to change its object.
  bool Asks(const Call& call, std::string_view operation) const;
  bool Changes(const Call& call, std::string_view operation) const;
  // Where questions may be asked, which block.
  void RunAdmission(base::Task task);
  // Asks the policies and webhooks that want to judge the write, and calls `then` with their warnings or the refusal.
  // `options`: null for those of the operation's kind.
  void Admit(std::shared_ptr<const Call> call, std::string operation, Json object, Json old,
             std::move_only_function<void(Result<std::vector<std::string>>)> then, Json options = nullptr);
  // Lets webhooks change the object, which has been ingested. Whether they have. Blocks.
  Result<bool> Mutate(const Call& call, std::string_view operation, Json& object, const Json* old, Answer& answer);

  void BeginCreate(Call call, Json object, Done done);
  void BeginDelete(Call call, DeleteRequest request, Done done);
  void BeginDeleteCollection(Call call, ListQuery query, DeleteRequest request, Done done);
  void Modify(Call call, Change change, Done done);
  void ModifyStep(std::shared_ptr<Modification> state);
  void JudgeModified(std::shared_ptr<Modification> state, Json object, Json old, Stored current, Answer answer);
  void CommitModified(std::shared_ptr<Modification> state, Json object, const Json& old, Stored current, Answer answer);
  void Remove(const Call& call, Stored current, Answer answer, Done done, std::function<void()> on_conflict);
  void DeleteStep(std::shared_ptr<const Call> call, std::shared_ptr<const DeleteRequest> request, Done done, int attempt);
  void DeleteAdmitted(std::shared_ptr<const Call> call, std::shared_ptr<const DeleteRequest> request, Stored current,
                      Answer answer, Done done, int attempt);
  // `given`: what to begin again with under another name; null where the name was given.
  void CreateStep(Call call, Json object, std::shared_ptr<const Json> given, Done done, int attempt);
  void FinishCreate(Call call, Json object, std::shared_ptr<const Json> given, Answer answer, Done done, int attempt);
  void CreateGenerated(Call call, std::shared_ptr<const Json> given, Done done, int attempt);
  void CommitNew(std::shared_ptr<const Call> call, std::shared_ptr<const Json> given, Json object, Answer answer, Done done,
                 int attempt);
  void ApplyPatch(Call call, Json config, Done done);
  void UpdateScale(Call call, std::function<Status(Json& scale)> edit, Done done);
  void PostAdmitted(Call call, Json body, Done done);
  void Bind(Call call, Json body, Done done);
  void Evict(Call call, Json body, Done done);
  void TakeFromBudget(Call call, Json pod, Stored budget, DeleteRequest request, Done done);

  // Decodes as a typed server would: unknown fields out (warned of, refused), defaults in, canonical forms.
  Status Ingest(const Call& call, Json& object, Answer& answer);
  Status PrepareCreate(const Call& call, Json& object, Answer& answer);
  // What every new version of an existing object goes through: defaults, pruning, strategies, validation, managed fields.
  Status FinishUpdate(const Call& call, Json& object, const Json& old, Answer& answer, bool applied);
  // The end of a Change that has an object submitted (replaced or patched) in place of `old`.
  Result<bool> FinishSubmitted(const Call& call, Json& object, Json old, const Stored& current, Answer& answer);
  Status CheckNamespace(const Call& call);
  Status CheckSubmitted(const Call& call, Json& object, const Stored& current);

  void AfterWrite(const Served& served, const Stored& stored, const std::string& name);
  // `stored`: as it was before; `revision`: of its removal.
  void AfterRemove(const Served& served, const Stored& stored, std::string_view name, store::Revision revision);
  void DeleteCustomObjects(const std::string& crd_name);
  void FinishCustomCleanup(const std::string& crd_name);
  // Names that another CRD or built-in kind has, by cause; empty when all are free.
  std::string NamesInConflict(const Json& crd);

  std::string NewSuffix();
  // Cluster IP and node ports of a service. `old`: null for a new one.
  Status AllocateService(Json& service, const Json* old);
  void ReleaseService(const Stored& stored);
  void LoadServices();
  /// Under services_mutex_: a port of the nodes that no service has, the same for the same key where that is possible.
  int64_t FreeNodePort(const std::string& key);

  ApiOptions options_;
  ResourceTable table_;
  std::mutex random_mutex_;
  base::Random random_;
  std::mutex audit_mutex_;
  base::Random audit_random_;
  std::mutex services_mutex_;
  bool services_loaded_ = false;
  std::set<std::string> service_ips_;
  std::set<int64_t> node_ports_;
  EventCache events_;
  std::vector<std::shared_ptr<base::Strand>> strands_;
  std::atomic<size_t> next_strand_ = 0;
  std::unique_ptr<EpochGate> gate_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<StoreFollower> definitions_;
  std::unique_ptr<LimitRanges> limit_ranges_;
  std::unique_ptr<PriorityClasses> priority_classes_;
  std::unique_ptr<Quotas> quotas_;
  std::unique_ptr<AdmissionWebhooks> webhooks_;
  std::unique_ptr<AdmissionPolicies> policies_;
  std::vector<std::unique_ptr<StoreFollower>> admission_followers_;
  std::vector<std::shared_ptr<base::Strand>> admission_strands_;
  WebhookPoster webhook_poster_;
  ServiceAddress service_address_;
  std::vector<std::shared_ptr<base::Strand>> conversion_strands_;
  std::unique_ptr<Compactor> compactor_;
  std::unique_ptr<EventExpiry> event_expiry_;
};

/// A client that calls `api` directly as `user`, with no sockets or threads; in virtual time everything happens on the caller's
/// strand and watch handlers run inside the write that causes them. The api must outlive it. `epoch` is stated in every write.
std::unique_ptr<client::Client> NewInProcessClient(Api& api, UserInfo user, int64_t epoch = 0);

}  // namespace evenkeel::embedded::apiserver
