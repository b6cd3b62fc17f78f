// Makes things go wrong in a simulation, as its seed has drawn.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/random.h"
#include "sim/network/network.h"
#include "sim/run/scenario.h"

namespace evenkeel::sim {

class Simulation;

/// Which faults are on in one seed, with their rates: those with a rate in the scenario always, each other one it names in two
/// seeds of three.
std::map<std::string, double> DrawFaults(const Scenario& scenario, base::Random random);
/// What of them befalls single calls.
NetworkConditions ConditionsOf(const std::map<std::string, double>& faults);

class FaultInjector {
 public:
  FaultInjector(Simulation& simulation, base::Random random);

  const std::map<std::string, double>& rates() const { return rates_; }
  /// Clocks of a process that starts.
  ClockFaults NewClock();
  /// When the next fault strikes; never after Heal.
  base::Instant next() const;
  void Start();
  /// Strikes what is due.
  void Strike();
  /// No more faults.
  void Heal();

 private:
  void Plan(const std::string& kind);
  void StrikeOne(std::string_view kind);
  void CrashReplica();
  void StopReplica();
  void PauseReplica();
  void ChangeVersion();
  void Scale();
  void Partition();
  void CrashApi(bool hub);
  void SlowDown();
  void JumpClock();
  void DisturbWatches(std::string_view kind);
  void RemoveCluster();
  void DisturbCloud(std::string_view kind);
  void DisturbDevices(std::string_view kind);
  void TakeDevice(const std::string& member);
  void TakeSlices(const std::string& member);
  void TaintDevice(const std::string& member);
  void DeleteClaim(const std::string& member);
  /// Once, and every second after until it answers true.
  void Restore(std::function<bool()> restored);
  void CrashServer();
  void CrashNode();
  void CutMember();
  void LoseMember();
  void DeleteByHand();
  void TaintMember();
  void Untaint(const std::string& member);
  void DeleteCluster();
  void JoinAgain(const std::string& member);
  void TakeClustersAway();
  std::string SomeMember();
  std::string SomeHost();  ///< "" when none runs
  std::string SomeApi();
  base::Duration Some(base::Duration low, base::Duration high) { return random_.Between(low, high); }

  Simulation& simulation_;
  base::Random random_;
  const std::map<std::string, double> rates_;
  std::multimap<base::Instant, std::string> due_;
};

}  // namespace evenkeel::sim
