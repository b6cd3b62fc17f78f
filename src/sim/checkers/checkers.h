// The checkers of every simulation, by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/checkers/checker.h"

namespace evenkeel::sim {

/// "one-writer": at every instant at most one process may write to a member, and only it does.
///  - No two processes have an open fence for the same member.
///  - A write by a replica takes effect only while it holds the member's Lease, and states the tenure's epoch.
///  - Epochs grow from tenure to tenure, and no tenure begins while another process still has its fence open.
///  - Only the holder renews or frees the Lease.
class OneWriterChecker final : public Checker {
 public:
  /// @param epochs  false: writes need not state one (SimulationOptions::states_epochs)
  explicit OneWriterChecker(bool epochs = true) : epochs_(epochs) {}
  std::string_view name() const override { return "one-writer"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
  void OnSecond() override;

 private:
  void CheckLease(const ApiWrite& write, const LeaseChange& change);
  const bool epochs_;
  std::map<std::string, int64_t> greatest_epoch_;  ///< by member
};

/// "no-orphan": a member without an owner gets one within a bound, once nothing is wrong any more with those who are to see to
/// it: whom the plan names, and the leader, who must name another if that one is gone.
class NoOrphanChecker final : public Checker {
 public:
  std::string_view name() const override { return "no-orphan"; }
  void OnSecond() override;

  /// How long that may take: the new owner must have watched the Lease of the one before run out.
  base::Duration Bound() const;
  /// How long it may take until the plan no longer counts on a process that is gone: as long as its own Lease on the hub lasts,
  /// and some time to write and to apply the plan. If the leader is gone, so long from when there was peace among the others,
  /// who are to follow it.
  base::Duration PlanBound() const;
  /// The longest that any registered member was without an owner.
  base::Duration longest() const { return longest_; }

 private:
  base::Instant ExcusedUntil(const std::string& user, const std::string& member) const;

  struct Orphan {
    base::Instant since{};    ///< was owned last
    base::Instant excused{};  ///< something was wrong until then
  };
  std::map<std::string, Orphan> members_;
  base::Duration longest_{};
};

/// "revisions": the revisions of each store grow without gaps, also over restarts of the API server.
class RevisionsChecker final : public Checker {
 public:
  std::string_view name() const override { return "revisions"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 private:
  std::map<std::string, embedded::store::Revision> last_;
};

/// "no-older": nobody is told of an older version of an object after a newer one. Fed by probes in every process (probe.h).
class NoOlderChecker final : public Checker {
 public:
  std::string_view name() const override { return "no-older"; }
  /// An informer of `who` tells of that version of an object ("secrets evenkeel/member-1").
  void Delivered(const std::string& who, const std::string& object, const std::string& uid, const std::string& version);
  /// The process has ended; a new informer starts from nothing.
  void Forget(const std::string& who);

 private:
  std::map<std::string, std::map<std::string, std::pair<std::string, std::string>>> newest_;  ///< uid and version
};

/// "quiet": once the fleet has converged after the last fault, nobody has anything to write but renewals of Leases. Once
/// the plan may still follow the loads, as they are measured, in several plans where moves are spread; and where few moves are
/// allowed per minute, those that are still due are made, at that pace, and told of.
class QuietChecker final : public Checker {
 public:
  /// Writes by replicas that are no sign of unrest.
  static constexpr double kWritesPerMinuteMax = 5;
  /// What a move brings with it: Events of both owners, and their reports once they have begun and once they have ended.
  static constexpr int64_t kWritesPerMove = 8;
  /// Plans that follow the same loads.
  static constexpr base::Duration kFollowing = std::chrono::seconds(2);

  std::string_view name() const override { return "quiet"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
  void OnConverged() override;
  void AtEnd() override;

 private:
  /// A plan, everybody's report that it has been applied, and what its moves bring.
  int64_t WritesFor(int64_t plans, int64_t moves) const;

  std::optional<base::Instant> since_;
  std::optional<base::Instant> followed_;  ///< since when
  int64_t plans_ = 0, moves_ = 0, following_writes_ = 0;
  std::map<std::string, int64_t> writes_;  ///< by KindOf
};

/// "writes": the test workload (writer_controller.h) loses no write that was acknowledged, and its author changes only when the
/// owner does.
class WritesChecker final : public Checker {
 public:
  std::string_view name() const override { return "writes"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
  /// The author has been told that its counter is stored.
  void Acknowledged(const std::string& member, const std::string& author, int64_t counter);

 private:
  struct State {
    int64_t counter = 0;
    int64_t acknowledged = 0;
    std::string author;
    int64_t tenure = 0;                     ///< number, when the author last wrote
    std::map<int64_t, std::string> recent;  ///< author by counter
  };
  std::map<std::string, State> states_;  ///< by member
};

/// Names of all checkers, in the order in which NewCheckers makes them.
const std::vector<std::string>& CheckerNames();

}  // namespace evenkeel::sim
