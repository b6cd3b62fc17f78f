// What must hold in every simulated fleet, whatever goes wrong. A checker sees each write as the API servers answer it and the
// fleet once per virtual second, and says when something is broken. Others add theirs in checkers.h.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/checkers/tenure_book.h"

namespace evenkeel::sim {

/// A process that has not ended, as a checker may see it.
struct ReplicaView {
  std::string user, host;
  bool paused = false;
  bool stopping = false;
  bool healthy = false;              ///< says so itself
  int64_t plan_epoch = 0;            ///< that it has applied
  std::set<std::string> assigned{};  ///< members it is to look after
  std::set<std::string> owned{};     ///< members whose fence is open now by its own clock
};

struct Condition {
  bool gone = false;      ///< has ended, is about to, or is paused; otherwise it runs
  base::Instant since{};  ///< when it went, or since when nothing has been wrong with it: now, if something is
};

/// The fleet as an outsider with eyes everywhere sees it.
class FleetView {
 public:
  virtual ~FleetView() = default;
  virtual base::Instant now() const = 0;
  /// By user.
  virtual const std::vector<ReplicaView>& Replicas() const = 0;
  /// Members that are registered with the hub, with the instant since when.
  virtual const std::map<std::string, base::Instant>& Registered() const = 0;
  /// Whether that process, which may have ended, could look after the member: whether it runs and is neither paused nor
  /// stopping, and nothing is wrong with hub, member and the network in between.
  virtual Condition ConditionOf(const std::string& user, const std::string& member) const = 0;
  /// Since when an API server is up and answers as fast as usual; now, if it does not.
  virtual base::Instant HealthySince(const std::string& api) const = 0;
  /// Who is to look after the member by the last plan, and who wrote that; "" for nobody, and without plans.
  virtual std::string PlannedOwner(const std::string& member) const = 0;
  virtual std::string Leader() const = 0;
  /// When last any process began, ended, was paused or continued, or something was wrong between one and the hub; now while all
  /// of them are paused.
  virtual base::Instant UnrestUntil() const = 0;
  virtual const TenureBook& tenures() const = 0;
  /// Of the replicas' options.
  virtual base::Duration lease_duration() const = 0;
  virtual base::Duration lease_margin() const = 0;
  /// How long it may take, once nothing is wrong, until somebody else is to own the member of a replica that is gone.
  virtual base::Duration reassignment_bound() const = 0;
  virtual int64_t moves_per_minute() const = 0;
};

/// Moves that a fleet is allowed this seldom may go on long after it has converged; above, they must be over by then.
inline constexpr int64_t kFewMovesPerMinute = 30;

/// Whether that user of an API server is a replica rather than a part of the cluster itself.
bool IsReplica(const std::string& user);

/// What kind of write it is, for reports: "hub update leases", "member create configmaps".
std::string KindOf(const ApiWrite& write);

class Checker {
 public:
  virtual ~Checker() = default;
  virtual std::string_view name() const = 0;
  /// `change` and the view's tenures are as of after the write.
  virtual void OnWrite(const ApiWrite& /*write*/, const LeaseChange& /*change*/) {}
  virtual void OnStored(const std::string& /*api*/, const embedded::store::Event& /*event*/) {}
  virtual void OnSecond() {}
  /// All faults have ended for good; then: the fleet must have converged by now and be quiet from now on.
  virtual void OnHealed() {}
  virtual void OnConverged() {}
  virtual void AtEnd() {}

  /// Before all else. `violated` may be called at any time with one line for people.
  void Attach(const FleetView& view, std::function<void(std::string)> violated) {
    view_ = &view;
    violated_ = std::move(violated);
  }

 protected:
  const FleetView& view() const { return *view_; }
  void Violated(std::string what) const { violated_(std::move(what)); }

 private:
  const FleetView* view_ = nullptr;
  std::function<void(std::string)> violated_;
};

}  // namespace evenkeel::sim
