// Writes down what a report of a run shows (fleet_samples.h), by looking at what checkers see: nothing of the run depends on
// it.
#pragma once

#include <map>
#include <string>

#include "sim/checkers/balancer_checkers.h"
#include "sim/world/fleet_samples.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

class RunRecorder final : public BalancerChecker {
 public:
  using BalancerChecker::BalancerChecker;
  std::string_view name() const override { return "recorder"; }

  /// Its voters are in the samples, too. It must outlive the recorder.
  void Watch(const ZooKeeperModel& ensemble) { ensemble_ = &ensemble; }
  /// The run begins now.
  void Begin();
  void OnSecond() override;
  /// The run is over; once.
  Recording Take();

 protected:
  void OnMovement(const Begun& begun) override;

 private:
  base::Duration SinceStart() const { return view().now() - begun_; }
  /// Who looks after each member, by their own clocks.
  std::map<std::string, const ReplicaView*> Owners() const;
  void SeeOwner(const std::string& member, const ReplicaView* owner);
  std::string WhyNoLonger(const std::string& member, const std::string& user) const;
  void Sample();
  ClusterSample SampleOf(const std::string& name);

  const ZooKeeperModel* ensemble_ = nullptr;
  base::Instant begun_{};
  std::map<std::string, std::string> users_;  ///< who looked after each member last, by member
  Recording recording_;
};

}  // namespace evenkeel::sim
