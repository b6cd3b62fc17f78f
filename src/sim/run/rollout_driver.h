// A ZooKeeper ensemble over the members of a simulated fleet (scenario_parts.h), whoever uses it, and what goes wrong with its
// servers. The user changes image and configuration, adds and removes one voter or two, moves one to another member, pauses,
// and now and then brings an image that does not start. A client writes numbers all the time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "sim/run/scenario.h"
#include "sim/world/fleet.h"
#include "sim/world/zookeeper_model.h"
#include "sim/world/zookeeper_runtime.h"

namespace evenkeel::sim {

class RolloutDriver {
 public:
  using Record = std::function<void(const std::string& party, const std::string& event, const std::string& detail)>;
  using Acknowledged = std::function<void(int64_t value)>;

  /// `fleet` and `scenario` outlive this; the scenario has an ensemble.
  RolloutDriver(Fleet& fleet, const Scenario& scenario, base::Random random, Record record);
  ~RolloutDriver();

  /// Makes the ensemble, and lets the client write from now on. The hub is up.
  base::Status Begin(Acknowledged acknowledged);
  /// When somebody does something next.
  base::Instant next() const { return next_; }
  /// Does what is due, if the hub is up.
  void Step();
  /// The user wants another image, one that starts.
  void Upgrade();
  /// What the user wants is what can be, is not paused, and changes no more, unless a change has failed: it is tried again.
  void Stop();
  /// Once for each change of a store, in order.
  void See(const std::string& api, const embedded::store::Event& event);

  ZooKeeperModel& model() { return model_; }
  /// For the pods of a member.
  embedded::nodeagent::ContainerRuntime* RuntimeOf(const std::string& member);
  /// The member's API server is about to crash: pods run on. `loses_servers`: they do not.
  void BeforeCrash(const std::string& member, bool loses_servers);
  /// One of the servers is killed; its pod, "" when none runs.
  std::string CrashServer(base::Random& random);
  /// Somebody deletes one of the ensemble's objects on the hub; which, "" when that was not possible.
  std::string DeleteByHand(base::Random& random);
  /// Sets or removes a taint NoExecute of a member's Cluster. False: that was not possible.
  bool Taint(const std::string& member, bool on);
  /// Whether Karmada has the member; the fleet does in any case. False: that was not possible.
  bool SetJoined(const std::string& member, bool joined);
  /// "" when everything is as the user wants it; otherwise what is missing.
  std::string WhyNotConverged() const;

 private:
  /// What the user wants.
  struct Wanted {
    std::map<std::string, int64_t> shares;  ///< voters by member
    int tag = 1;
    bool broken = false;  ///< the image does not start
    int limit = 10;       ///< some setting
    bool paused = false, allow_degraded = false, rollback = false;
  };

  int64_t Total() const;
  std::string SomeMember();
  std::string SomeCluster();
  void Draw();
  std::string Change();
  std::string ChangeVoters();
  void Add(int64_t count);
  void RemoveOne();
  base::Json Spec() const;
  base::Status Apply();
  void Plan();
  void KeepWriting();
  void TellOfRecord();
  /// How the servers are, and what their operators say.
  std::string Reports() const;

  Fleet& fleet_;
  const Scenario& scenario_;
  const EnsembleScenario& settings_;
  base::Random random_;
  const Record record_;
  ZooKeeperModel model_;
  std::map<std::string, std::unique_ptr<ZooKeeperRuntime>> runtimes_;
  const std::shared_ptr<base::Strand> strand_;
  base::Timer writing_;
  int64_t written_ = 0;
  Acknowledged acknowledged_;
  Wanted wanted_;
  bool stopped_ = false;
  bool unsaid_ = false;  ///< the hub has not been told
  base::Instant next_ = base::Instant::max();
  std::string told_;
  embedded::store::Value ensemble_;                           ///< as the hub has it
  std::map<std::string, embedded::store::Value> zookeepers_;  ///< by member
};

}  // namespace evenkeel::sim
