// What a controller has done and not yet seen in its cache: while something is missing the cache is stale, and counting from it
// would create or delete twice.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/time.h"

namespace evenkeel::embedded::workloads {

/// Belongs to one strand.
class Expectations {
 public:
  /// A write that was seen neither as done nor as undone after this long is forgotten: the watch may have skipped it.
  static constexpr base::Duration kTimeout = std::chrono::minutes(5);

  explicit Expectations(base::Clock& clock) : clock_(clock) {}

  void Created(const std::string& owner, const std::string& uid) { Add(owner, "+" + uid); }
  void Deleted(const std::string& owner, const std::string& uid) { Add(owner, "-" + uid); }
  /// The cache shows the object (again): it was created.
  void SawCreated(const std::string& owner, const std::string& uid) { Remove(owner, "+" + uid); }
  /// The cache shows it deleted, or being deleted.
  void SawDeleted(const std::string& owner, const std::string& uid) {
    Remove(owner, "-" + uid);
    Remove(owner, "+" + uid);
  }
  void Forget(const std::string& owner) { pending_.erase(owner); }

  /// Whether the cache shows all that was written for that owner.
  bool Satisfied(const std::string& owner) const {
    auto found = pending_.find(owner);
    return found == pending_.end() || found->second.writes.empty() || clock_.Monotonic() - found->second.since > kTimeout;
  }

 private:
  struct Pending {
    std::set<std::string> writes;
    base::Instant since;
  };
  void Add(const std::string& owner, std::string write) {
    Pending& pending = pending_[owner];
    pending.since = clock_.Monotonic();
    pending.writes.insert(std::move(write));
  }
  void Remove(const std::string& owner, const std::string& write) {
    auto found = pending_.find(owner);
    if (found == pending_.end()) return;
    found->second.writes.erase(write);
    if (found->second.writes.empty()) pending_.erase(found);
  }
  base::Clock& clock_;
  std::map<std::string, Pending> pending_;
};

}  // namespace evenkeel::embedded::workloads
