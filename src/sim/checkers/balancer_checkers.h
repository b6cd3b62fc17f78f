// What must hold of the balancers of a simulated fleet, whatever goes wrong. A movement is an eviction by a replica of a pod
// that a BalancingPlan of the member names; each checker looks at movements and at what the stores held then (member_book.h),
// by rules of its own.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/checkers/checker.h"
#include "sim/checkers/member_book.h"
#include "sim/world/scenario_parts.h"

namespace evenkeel::sim {

/// What the checkers below share: they hear of movements that begin.
class BalancerChecker : public Checker {
 public:
  BalancerChecker(const MemberBook* book, const BalancingScenario* limits) : book_(*book), limits_(*limits) {}
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;

 protected:
  struct Begun {
    const std::string& member;
    std::string by, plan, pod;
    MemberBook::Movement movement;
    int64_t milli_cores = 0, bytes = 0;  ///< that the pod requests
  };
  virtual void OnMovement(const Begun& /*begun*/) {}

  const MemberBook& book_;
  const BalancingScenario& limits_;
};

/// "room": no pod comes to a node that cannot hold it beside those that are there, as far as requests say, and pods.
class RoomChecker final : public BalancerChecker {
 public:
  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "room"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 private:
  std::map<std::string, std::string> seen_;  ///< node by pod's uid
};

/// "throttles": no more movements in any window than the policy allows.
class ThrottlesChecker final : public BalancerChecker {
 public:
  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "throttles"; }
  /// That were begun, in all members.
  int64_t movements() const { return movements_; }

 protected:
  void OnMovement(const Begun& begun) override;

 private:
  int64_t movements_ = 0;
  std::map<std::string, std::deque<base::Instant>> recent_;  ///< by member
};

/// "no-way-back": no pod is moved to a node that one of its owner's was moved away from within ten minutes, unless the load has
/// changed since: somebody wants more or fewer pods, one has ended by itself, a node has come, gone or been marked.
class NoWayBackChecker final : public BalancerChecker {
 public:
  static constexpr base::Duration kWindow = std::chrono::minutes(10);

  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "no-way-back"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

 protected:
  void OnMovement(const Begun& begun) override;

 private:
  struct Past {
    base::Instant at{};
    MemberBook::Movement movement;
  };
  std::map<std::string, std::vector<Past>> past_;  ///< by member, since its load changed last
  std::map<std::string, std::string> load_;        ///< what of each object says how much load there is, by API and key
};

/// "energy": no plan is made that raises the energy.
class EnergyChecker final : public BalancerChecker {
 public:
  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "energy"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
};

/// "together": balancer and autoscaler do not fight. Nothing is moved to a node that is about to be removed, and no node group
/// grows while all that waits for a node is what was moved away, unless the node that it was moved to has failed or gone since,
/// or other pods have taken its place there before the mover could know. In the place of a moved pod comes the first of its
/// owner that is seen after it.
class TogetherChecker final : public BalancerChecker {
 public:
  /// A replica knows of a pod on a node that late, if nothing is wrong with it; otherwise so late.
  static constexpr base::Duration kKnownAfter = std::chrono::seconds(10), kKnownLate = std::chrono::minutes(2);

  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "together"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;

 protected:
  void OnMovement(const Begun& begun) override;

 private:
  void OnGroup(const ApiWrite& write);
  struct Owed {
    std::string owner;
    std::string to;  ///< node
    base::Instant since{};
    int64_t pods = 0;                    ///< of the owner, with the one that was moved
    int64_t milli_cores = 0, bytes = 0;  ///< that the moved pod requested
    base::Instant known{};               ///< pods that have been on a node since are known to the mover
    bool taken = false;                  ///< when the movement began, others had the place
    std::string replacement{};           ///< uid of the pod that came in its place; "" before
  };
  /// Whether it would have room where it was moved to, but for pods that the mover could not know of.
  bool IsTaken(const MemberBook::Member& member, const Owed& owed) const;
  /// Of a member, those whose replacements may still come.
  std::vector<Owed>& Moved(const std::string& member);
  std::map<std::string, std::vector<Owed>> moved_;  ///< by member
};

/// Names of these, in the order above.
const std::vector<std::string>& BalancerCheckerNames();

}  // namespace evenkeel::sim
