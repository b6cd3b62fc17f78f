// What must hold of the autoscalers of a simulated fleet, whatever goes wrong. Each looks at the writes of replicas and at what
// the stores held then (member_book.h), by rules of its own.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/autoscaler/options/options.h"
#include "sim/checkers/checker.h"
#include "sim/checkers/member_book.h"

namespace evenkeel::sim {

/// What the checkers below share: they hear of node groups that a replica has changed.
class AutoscalerChecker : public Checker {
 public:
  AutoscalerChecker(const MemberBook* book, const controllers::autoscaler::Options* options)
      : book_(*book), options_(*options) {}
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;

 protected:
  struct GroupChange {
    const std::string& member;
    std::string group, by;
    MemberBook::Group before, after;
    std::vector<std::string> removed;  ///< nodes that are there and are to be deleted since this change
  };
  virtual void OnGroup(const GroupChange& /*change*/) {}
  virtual void OnPodRemoval(const ApiWrite& /*write*/) {}

  /// The pods that go on living on it.
  static std::vector<const MemberBook::Pod*> PodsOn(const MemberBook::Member& member, const std::string& node);

  const MemberBook& book_;
  const controllers::autoscaler::Options& options_;
};

/// "undrainable": no node is removed while it has a pod that must not be evicted: one without a controller, with local storage,
/// of kube-system without a budget, or that says so itself.
class UndrainableChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "undrainable"; }

 protected:
  void OnGroup(const GroupChange& change) override;
};

/// "budgets": neither evictions nor removals of nodes leave fewer ready pods than a PodDisruptionBudget asks for.
class BudgetsChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "budgets"; }

 protected:
  void OnGroup(const GroupChange& change) override;
  void OnPodRemoval(const ApiWrite& write) override;

 private:
  void CheckBudgets(const MemberBook::Member& member, const MemberBook::Pod& pod, const std::string& what);
};

/// "limits": a group never gets more nodes than its maximum, nor the cluster more than the flags allow.
class LimitsChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "limits"; }

 protected:
  void OnGroup(const GroupChange& change) override;
};

/// "flapping": no node is removed sooner after it has come than --scale-down-unneeded-time, whatever becomes of the demand. One
/// that took longer to come than --max-node-provision-time may have been given up before.
class FlappingChecker final : public AutoscalerChecker {
 public:
  using AutoscalerChecker::AutoscalerChecker;
  std::string_view name() const override { return "flapping"; }

 protected:
  void OnGroup(const GroupChange& change) override;
};

/// "schedulable": after the last fault no pod waits for longer than a bound for a node that a group could have, within all
/// limits. Not where one cloud has the groups of all members: what an autoscaler asks for there may become another's node.
class SchedulableChecker final : public AutoscalerChecker {
 public:
  SchedulableChecker(const MemberBook* book, const controllers::autoscaler::Options* options, bool shared = false)
      : AutoscalerChecker(book, options), shared_(shared) {}
  std::string_view name() const override { return "schedulable"; }
  void OnHealed() override { healed_ = view().now(); }
  void OnSecond() override;

  /// A member gets its owner, one attempt to make a node is still going to fail, its group is backed off, the next one
  /// succeeds.
  base::Duration Bound() const;

 private:
  bool CouldHaveNode(const MemberBook::Member& member, const MemberBook::Pod& pod) const;
  const bool shared_;
  std::optional<base::Instant> healed_;
  std::set<std::string> told_;
};

/// Names of these, in the order above.
const std::vector<std::string>& AutoscalerCheckerNames();

}  // namespace evenkeel::sim
