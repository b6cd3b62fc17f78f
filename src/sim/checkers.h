// The checkers of every simulation, by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checker.h"

namespace evenkeel::sim {

/// "one-writer": at every instant at most one process may write to a member, and only it does.
///  - No two processes have an open fence for the same member.
///  - A write by a replica takes effect only while it holds the member's Lease, and states the tenure's epoch.
///  - Epochs grow from tenure to tenure, and no tenure begins while another process still has its fence open.
///  - Only the holder renews or frees the Lease.
class OneWriterChecker final : public Checker {
 public:
  std::string_view name() const override { return "one-writer"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
  void OnSecond() override;

 private:
  void CheckLease(const ApiWrite& write, const LeaseChange& change);
  std::map<std::string, int64_t> greatest_epoch_;  ///< by member
};

/// "no-orphan": a member that a replica could look after is looked after again within a bound: by then everybody who might have
/// held it has been given up (the Lease has run out, the hub has noticed that its replica is gone).
class NoOrphanChecker final : public Checker {
 public:
  std::string_view name() const override { return "no-orphan"; }
  void OnSecond() override;

  /// How long that may take once a healthy replica can reach hub and member.
  base::Duration Bound() const;
  /// The longest that any registered member was without an owner.
  base::Duration longest() const { return longest_; }

 private:
  std::map<std::string, base::Instant> owned_until_;
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

/// "quiet": once the fleet has converged after the last fault, nobody has anything to write but renewals of Leases.
class QuietChecker final : public Checker {
 public:
  /// Writes by replicas that are no sign of unrest.
  static constexpr double kWritesPerMinuteMax = 5;

  std::string_view name() const override { return "quiet"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
  void OnConverged() override;
  void AtEnd() override;

 private:
  std::optional<base::Instant> since_;
  std::map<std::string, int64_t> writes_;  ///< "API VERB PLURAL"
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
