// The books of one namespace that has ResourceQuotas: what its objects take, and what is promised to writes that are on their
// way. Counts exactly, whatever comes first: a write's promise ends when its object has been counted.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "embedded/apiserver/admission/quota_rules.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

/// Not thread-safe. Objects belong to books of their kind, which are named by the kinds' prefixes in the store.
class QuotaLedger {
 public:
  struct Promise {
    std::string book;
    QuotaCharge next, before;     // of the object as it is to be, and as it was
    store::Revision written = 0;  // 0: not yet
  };
  using PromisePointer = std::list<Promise>::iterator;

  void SetQuota(const std::string& name, QuotaBounds quota);
  void RemoveQuota(const std::string& name);
  bool empty() const { return quotas_.empty(); }
  /// The names that all quotas bound.
  std::set<std::string> BoundNames() const;

  void Put(const std::string& book, const std::string& key, QuotaCharge charge);
  void Remove(const std::string& book, const std::string& key);
  /// All changes of the book up to that revision have been told: promises of writes up to there end.
  void SetSeen(const std::string& book, store::Revision revision);
  /// Takes out what should have been gone by now.
  void Expire(base::Time now);
  /// When Expire has something to do next.
  std::optional<base::Time> NextExpiry() const;

  /// Why the quotas do not allow the object, in upstream's words; "" when they do. `pod`: the object where it is a pod that is
  /// being made.
  std::string Refusal(const QuotaCharge& next, const QuotaCharge& before, const base::Json* pod) const;
  /// What a write that is allowed takes counts from now on.
  PromisePointer Add(std::string book, QuotaCharge next, QuotaCharge before);
  void Cancel(PromisePointer promise);
  void Keep(PromisePointer promise, store::Revision written);

  /// What is used of what the quota bounds, of objects that there are. Names that nobody counts are left out.
  kube::Amounts Used(const std::string& quota) const;
  const QuotaBounds* Find(const std::string& quota) const;

 private:
  struct Quota {
    QuotaBounds bounds;
    kube::Amounts used, promised;
  };
  struct Book {
    std::map<std::string, QuotaCharge> charges;  // by key
    store::Revision seen = 0;
  };
  using Expiries = std::set<std::tuple<base::Time, std::string, std::string>>;

  void Count(const QuotaCharge& charge, bool more);
  void CountPromise(const Promise& promise, bool more);
  void Recount();

  std::map<std::string, Quota> quotas_;
  std::map<std::string, Book> books_;
  std::list<Promise> promises_;
  Expiries expiries_;  // until, book, key
};

}  // namespace evenkeel::embedded::apiserver
