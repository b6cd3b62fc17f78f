// ResourceQuotas, enforced and kept: a write that would exceed one is refused (403), however many come at once, and what a
// quota's namespace uses is written to its status.
//
// A namespace with quotas has books (quota_ledger.h) that follow the kinds that its quotas bound. A write is promised what it
// takes before it is committed, under the books' lock; the promise ends when the books have heard of the object, or the write
// has failed. So an acknowledged write never exceeds a quota that was there when it was let in. Another server on the same
// store has books of its own: what both let in within the same moment may exceed a quota together.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

#include "base/executor.h"
#include "embedded/apiserver/access/store_follower.h"
#include "embedded/apiserver/admission/quota_ledger.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

class Api;
struct Call;

/// Thread-safe once it has been started. A write in a namespace without quotas costs it one atomic where no namespace has any,
/// else a look into a map.
class Quotas {
 private:
  struct Namespace;

 public:
  /// What a write may take. Given back when it is destroyed, unless the write was carried out.
  class Ticket {
   public:
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    /// The write has that revision. Once.
    void Written(store::Revision revision);

   private:
    friend class Quotas;
    Ticket() = default;
    std::shared_ptr<Namespace> ns_;
    QuotaLedger::PromisePointer promise_;
    bool written_ = false;
  };
  using TicketPointer = std::shared_ptr<Ticket>;

  /// The api must outlive it.
  explicit Quotas(Api& api);
  ~Quotas();

  /// Once.
  base::Status Start();
  bool current() const { return follower_ != nullptr && follower_->current(); }

  /// Lets a new object (`old`: null), or one that changes, in; kForbidden when a quota does not allow it. Null where nothing is
  /// promised: no quota counts it, or it is only tried (dry run). May read the store where reads block.
  base::Result<TicketPointer> Admit(const Call& call, const base::Json& object, const base::Json* old);

 private:
  void Put(const store::KeyValue& item);
  void Remove(const std::string& key);
  std::shared_ptr<Namespace> Find(const std::string& ns);
  // Has the books follow all that the namespace's quotas bound.
  base::Status Open(const std::shared_ptr<Namespace>& books);
  void Follow(const std::shared_ptr<Namespace>& books, const ServedPointer& served);
  // Soon the statuses of the namespace's quotas are written where they are not right.
  void WriteSoon(const std::string& ns);
  void WriteStatuses();
  base::Status WriteStatusesOf(const std::string& ns);
  void WriteStatus(const std::string& ns, const base::Json& quota, const kube::Amounts& used, const kube::Amounts& hard);

  Api& api_;
  const ServedPointer served_;
  std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<Namespace>> namespaces_;  // guarded by mutex_, like retired_
  std::vector<std::shared_ptr<Namespace>> retired_;               // without quotas; not to be destroyed in a handler
  std::atomic<bool> any_ = false;
  const std::shared_ptr<base::Strand> strand_;  // null without an executor: no statuses are written
  std::mutex dirty_mutex_;
  std::set<std::string> dirty_;
  std::atomic<bool> waiting_ = false;
  // Of the strand.
  base::Timer timer_;
  std::map<std::string, base::Timer> expiries_;  // by namespace
  std::unique_ptr<StoreFollower> follower_;
};

}  // namespace evenkeel::embedded::apiserver
