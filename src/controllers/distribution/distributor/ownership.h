// The members that this replica owns, is to own or stands by for, in both modes of distribution. Decides nothing: whoever knows
// what is wanted says so (Follow), and the members' fences decide when it becomes true.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "controllers/distribution/distributor/tenancy.h"

namespace evenkeel::controllers::distribution {

class Ownership {
 public:
  /// `changed` is called on the own strand when some report has changed in more than its load.
  Ownership(TenancyContext context, base::Random random, std::function<void()> changed);
  /// Ends without a word: the members' Leases run out. Blocks for the running calls.
  ~Ownership();

  // From any thread; nothing here calls an API, so nothing waits for one.

  /// What is wanted from now on, by server. Members that are not among it are let go at once, for the reason `why`; one whose
  /// desired role is kNone is only kept if it is held. `applied` is called on the own strand when all desired roles have been
  /// passed on.
  void Follow(std::map<std::string, Wanted> wanted, std::string why, std::function<void()> applied = {});
  /// As Follow of nothing, or, with `wait`, of the same members with nothing desired but a successor, and at most `limit`
  /// long of nothing. `done` is called once nothing is held any more, after a second `limit` at the latest.
  void HandOver(bool wait, base::Duration limit, std::function<void()> done);
  /// There is nobody left to hand over to. Without effect but while HandOver waits.
  void StopWaiting();

  std::vector<TenancyReport> Reports() const;
  /// Names of the clusters whose fence is open.
  std::vector<std::string> Owned() const;
  /// Names of the clusters that are wanted as owner.
  std::vector<std::string> Assigned() const;

 private:
  void Apply(std::map<std::string, Wanted> wanted, const std::string& why);
  void Open(Wanted wanted);
  void Reconnect(Wanted wanted);
  void LetGoOfAll(bool wait);
  void LetGoWithin(base::Duration limit);
  void Forget();
  void CheckHandedOver();
  void Changed();

  const TenancyContext context_;
  const base::Random random_;
  const std::function<void()> changed_;
  const std::shared_ptr<base::Strand> strand_;

  // On the strand.
  std::map<std::string, Wanted> reconnecting_;  ///< to be opened when the one before has ended
  bool change_posted_ = false;
  bool handing_over_ = false;
  std::function<void()> handed_over_;
  std::optional<base::Duration> limit_;  ///< while HandOver waits for successors
  base::Timer limit_timer_, forget_timer_;

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Tenancy>> tenancies_;  ///< by server; changed on the strand only
};

}  // namespace evenkeel::controllers::distribution
