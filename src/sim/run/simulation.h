// One seed of a scenario: a fleet whose replicas are processes, with faults from the seed, checkers that look on, and at the
// end a healed fleet that has to converge and to fall quiet. After FoundationDB's simulation and TigerBeetle's VOPR.
//
// Single-threaded and without state outside of itself: several may run at the same time on threads of their own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/rollout/zookeeper/spec/forms.h"
#include "sim/checkers/autoscaler_checkers.h"
#include "sim/checkers/balancer_checkers.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/device_checkers.h"
#include "sim/checkers/instance_checkers.h"
#include "sim/checkers/plan_book.h"
#include "sim/checkers/rollout_checkers.h"
#include "sim/report/report.h"
#include "sim/report/run_recorder.h"
#include "sim/run/event_driver.h"
#include "sim/run/faults.h"
#include "sim/run/rollout_driver.h"
#include "sim/run/scenario.h"
#include "sim/run/workload_driver.h"
#include "sim/world/fleet.h"
#include "sim/world/replica.h"
#include "sim/world/shared_cloud.h"

namespace evenkeel::sim {

struct SimulationOptions {
  uint64_t seed = 1;
  bool timeline = false;
  bool record = false;  ///< for a report with pictures (report_data.h), which needs the timeline, too
  /// Told once per virtual second how far it is, if given.
  std::function<void(base::Duration since_start)> on_second{};
  /// False breaks the replicas on purpose: their writes name no epoch, for the test that this is found out.
  bool states_epochs = true;
  /// False breaks them on purpose, too: no autoscaler asks whose node an instance is.
  bool asks_elsewhere = true;
  /// What autoscalers take the answers of their clouds for, likewise.
  std::function<void(providers::NodeGroups& groups)> misread{};
};

/// What the replicas of one seed are given: the scenario's options, or hostile ones.
controllers::distribution::Options DrawOptions(const Scenario& scenario, base::Random random);

class Simulation final : private FleetView, private ApiObserver {
 public:
  Simulation(const Scenario& scenario, SimulationOptions options);
  ~Simulation() override;

  /// Runs to the end, or to the first second in which a checker fails. Once.
  SimulationReport Run();

  // For faults (faults.h), between steps.

  const Scenario& scenario() const { return scenario_; }
  Fleet& fleet() { return fleet_; }
  /// Does that much later, between steps. What is still ahead when the fleet is healed happens then.
  void After(base::Duration delay, base::Task recovery);
  /// Hosts of running replicas that are not about to stop, sorted.
  std::vector<std::string> Hosts() const;
  /// Starts replicas until there are as many as there should be, the first ones on `host`, if given and free.
  void FillUp(const std::string& host = "");
  void Kill(const std::string& host);
  void Stop(const std::string& host);
  /// Until `duration` has passed. Also from within a step.
  void Pause(Process& process, base::Duration duration);
  Process& ProcessOf(const std::string& host) { return replicas_.at(host)->process(); }
  /// `loses_servers`: those of the ensemble that run there end, too.
  void CrashApi(const std::string& api, bool silent, bool loses_servers = false);
  void StartApi(const std::string& api);
  void Register(const std::string& member);
  void Unregister(const std::string& member);
  void SwitchNode(const std::string& member, const std::string& node, bool on);
  /// What starts there from now on is of the other version of the program; which.
  std::string ChangeVersion(const std::string& host);
  WorkloadDriver& workload() { return workload_; }
  /// Null without an ensemble.
  RolloutDriver* rollout() { return rollout_.get(); }
  int wanted() const { return wanted_; }
  void SetWanted(int replicas) { wanted_ = replicas; }
  /// Puts an event of the scenario into the timeline.
  void Happens(const std::string& text) { Record("fleet", "event", text); }
  /// Counts a fault and puts it into the timeline.
  void Struck(const std::string& kind, const std::string& party, const std::string& detail = "");

 private:
  // FleetView
  base::Instant now() const override { return fleet_clock_.Monotonic(); }
  const std::vector<ReplicaView>& Replicas() const override;
  const std::map<std::string, base::Instant>& Registered() const override { return registered_; }
  Condition ConditionOf(const std::string& user, const std::string& member) const override;
  base::Instant HealthySince(const std::string& api) const override { return fleet_.network().HealthySince(api); }
  std::string PlannedOwner(const std::string& member) const override { return plans_.OwnerOf(member); }
  std::string Leader() const override { return plans_.leader(); }
  base::Instant UnrestUntil() const override;
  const TenureBook& tenures() const override { return tenures_; }
  base::Duration lease_duration() const override { return distribution_.lease_duration; }
  base::Duration lease_margin() const override { return distribution_.lease_margin; }
  base::Duration reassignment_bound() const override;
  int64_t moves_per_minute() const override { return distribution_.moves_per_minute; }
  // ApiObserver
  void OnWrite(const ApiWrite& write) override;
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

  template <typename Made, typename... Arguments>
  Made& AddChecker(Arguments... arguments);
  void AddMemberCheckers();
  void AddDeviceCheckers();
  void AddRolloutCheckers();
  base::Status Begin();
  void RunUntil(base::Instant end, bool faults);
  bool RunUntilConverged();
  base::Duration HealBound() const;
  bool Converged() const;
  void EverySecond();
  bool KeepsMemberBook() const;
  void Heal();
  void EndOlder();
  void Launch(const std::string& host);
  controllers::rollout::zookeeper::Forms FormsOf(const std::string& host);
  std::function<std::unique_ptr<zookeeper::Probe>()> ProbeFor(Replica& replica);
  std::unique_ptr<providers::Provider> CloudFor(const std::string& member, client::Client& client);
  base::Result<std::map<std::string, std::string>> NodesElsewhere(Replica& replica, const std::string& member) const;
  void Remove(const std::string& host);
  void SeeTenure(const ApiWrite& write, const LeaseChange& change);
  void SeePlan(const std::string& leader);
  void Record(const std::string& party, const std::string& event, const std::string& detail = "");
  base::Duration SinceStart() const { return now() - begun_; }

  const Scenario scenario_;
  const SimulationOptions options_;
  Fleet fleet_;
  base::Clock& fleet_clock_;
  base::Random random_;
  const controllers::distribution::Options distribution_;
  const controllers::autoscaler::Options autoscaler_;
  const ReplicaContext context_;
  SimulationReport report_;
  base::Instant begun_{};

  mutable std::pair<base::Instant, uint64_t> views_of_{};
  mutable std::vector<ReplicaView> views_;
  TenureBook tenures_;
  PlanBook plans_;
  MemberBook members_;  ///< kept only with autoscalers or balancers, and for a recording
  DeviceBook devices_;  ///< kept only where pods claim devices
  void CountChecks() { report_.checks += static_cast<int64_t>(checkers_.size()); }

  std::vector<std::unique_ptr<Checker>> checkers_;
  WritesChecker* writes_ = nullptr;
  NoOlderChecker* no_older_ = nullptr;
  NoOrphanChecker* no_orphan_ = nullptr;
  ThrottlesChecker* throttles_ = nullptr;        ///< with balancers
  AcknowledgedChecker* acknowledged_ = nullptr;  ///< with an ensemble
  RunRecorder* recorder_ = nullptr;              ///< if asked for

  std::map<std::string, std::unique_ptr<Replica>> replicas_;  ///< by host
  std::map<std::string, base::Instant> usable_since_;         ///< by user: runs and is not paused
  std::map<std::string, base::Instant> gone_since_;           ///< by user: paused, stopping or ended
  base::Instant process_changed_{};                           ///< one began, ended, was paused or continued
  std::map<std::string, base::Instant> registered_;
  std::map<std::string, base::Instant> free_since_;  ///< members without a tenure that counts
  std::multimap<base::Instant, base::Task> recoveries_;
  std::vector<std::pair<std::string, std::string>> exited_;  ///< hosts and users of processes that have come to their end
  int64_t most_waiting_ = 0;                                 ///< moves for balance that a plan held back, since the last fault
  base::Instant unsettled_{};                                ///< when loads were last disturbed, or a plan followed them
  int64_t evictions_ = 0;
  int wanted_ = 0;
  int launched_ = 0;
  controllers::rollout::zookeeper::Forms
      newer_;  ///< of the newer of two versions of the program; both have the same without version-change
  std::map<std::string, bool> is_newer_;  ///< by host
  bool all_newer_ = false;
  std::unique_ptr<RolloutDriver> rollout_;
  std::unique_ptr<RolloutBook> rollout_book_;
  WorkloadDriver workload_;
  FaultInjector faults_;
  std::unique_ptr<SharedCloud> cloud_;    ///< with the fault cloud-shared
  OwnNodesChecker* own_nodes_ = nullptr;  ///< with autoscalers
  EventDriver events_;
};

}  // namespace evenkeel::sim
