// What must hold of the rollouts of a simulated ensemble, whatever goes wrong. They look at the servers themselves
// (zookeeper_model.h) and at what the stores hold, by rules of their own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "sim/checkers/checker.h"
#include "sim/checkers/rollout_book.h"

namespace evenkeel::sim {

/// "quorum": nothing that Evenkeel does leaves fewer voters than a majority. A pod is deleted, or the members change, only
/// while a majority of the voters stays; those that faults took away count when that could be known, those that were deleted
/// count always.
class QuorumChecker final : public Checker, public ZooKeeperObserver {
 public:
  /// @param known_after  how long after a fault it could be known to whatever is still under way.
  QuorumChecker(RolloutBook* book, base::Duration known_after) : book_(*book), known_after_(known_after) {}
  std::string_view name() const override { return "quorum"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;
  void OnMembers(const ZooKeeperMembers& members) override;

 private:
  /// `more`: of these voters another one goes; 0: none.
  void Check(const std::set<int64_t>& voters, int64_t more, const std::string& what);
  RolloutBook& book_;
  const base::Duration known_after_;
};

/// "one-deploying": at most one cluster is deploying, as the status says it, and as it is: no server is stopped in one cluster
/// while one that was stopped in another is not back.
class OneDeployingChecker final : public Checker {
 public:
  explicit OneDeployingChecker(RolloutBook* book) : book_(*book) {}
  std::string_view name() const override { return "one-deploying"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 private:
  RolloutBook& book_;
};

/// "asked": no server is stopped by a change of the program alone, which writes down otherwise what is asked: none that was
/// made from what its copy still asks for, none for an order that was not given in turn, and none that is to be held. No
/// definition goes back to an older form.
class AskedChecker final : public Checker {
 public:
  /// @param known_after  how long after a change it could be known to whatever is still under way.
  AskedChecker(RolloutBook* book, base::Duration known_after) : book_(*book), known_after_(known_after) {}
  std::string_view name() const override { return "asked"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 private:
  /// Each with the instant from which on it was in force.
  using History = std::vector<std::pair<base::Instant, std::string>>;
  /// What was at some time `within` before `until`.
  static std::set<std::string> InForce(const History& history, base::Instant until, base::Duration within);
  void SeeEnsemble(const embedded::store::Event& event);
  void SeeMember(const std::string& member, const embedded::store::Event& event);
  void SeeDefinition(const std::string& api, const embedded::store::Event& event);
  void CheckStop(const embedded::store::Event& event);

  RolloutBook& book_;
  const base::Duration known_after_;
  std::set<std::pair<std::string, std::string>> given_;  ///< members, and orders that they were given in their turn
  std::map<std::string, History> asked_;                 ///< by member: what its copy asks servers to be
  std::map<std::string, History> orders_;                ///< by member: what its copy carries
  std::map<std::string, History> holds_;                 ///< by member: whether its copy is to stop nothing that serves
  std::map<std::pair<std::string, std::string>, base::Instant> written_down_;  ///< by member and a pod's revision: first
};

/// "records": every status that is written has well-formed records. Each cluster of `order` is there once and in exactly one of
/// completed, deploying and pending; pending keeps the order, in which one pending cluster at a time may change its place; only
/// the last record is under way; what is final stays as it is until it is forgotten, the oldest first; and one record at most
/// comes at a time.
class RecordsChecker final : public Checker {
 public:
  std::string_view name() const override { return "records"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 private:
  void Check(const base::JsonArray& records);
  base::JsonArray before_;
};

/// "acknowledged": no write that a client was told of is missing under a later leader.
class AcknowledgedChecker final : public Checker, public ZooKeeperObserver {
 public:
  std::string_view name() const override { return "acknowledged"; }
  void Acknowledged(int64_t value) { values_.insert(value); }
  void OnLeading(const ZooKeeperServerView& leader, int64_t epoch, const ZooKeeperDisk& disk) override;
  size_t count() const { return values_.size(); }

 private:
  std::set<int64_t> values_;
};

/// "one-leader": whoever commits is the only one: no two leaders of an epoch, and none after one of a later epoch.
class OneLeaderChecker final : public Checker, public ZooKeeperObserver {
 public:
  std::string_view name() const override { return "one-leader"; }
  void OnCommitted(const ZooKeeperServerView& leader, int64_t epoch) override;

 private:
  int64_t epoch_ = 0;
  uint64_t leader_ = 0;
  std::string name_;
};

/// Names of these, in the order above.
const std::vector<std::string>& RolloutCheckerNames();

}  // namespace evenkeel::sim
