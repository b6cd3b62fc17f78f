// A container runtime whose containers are servers of a ZooKeeperModel: one per pod of a member cluster, started by the real
// node agent with what the pod's volumes and environment say, so that a wrong rendering does here what it would do for real.
// Takes the place of the process runtime.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "embedded/nodeagent/container_runtime.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

class ZooKeeperRuntime final : public embedded::nodeagent::ContainerRuntime {
 public:
  /// Images with this tag end as soon as they are started.
  static constexpr std::string_view kBrokenTag = "broken";

  /// `member`: the cluster's name, and its id in the servers' names. The model must outlive it.
  ZooKeeperRuntime(ZooKeeperModel& model, std::string member, base::Random random);
  ~ZooKeeperRuntime() override;

  std::string_view name() const override { return "process"; }
  bool NeedsConfiguration() const override { return true; }
  bool NeedsCommand() const override { return true; }
  bool SurvivesAgent() const override { return true; }
  base::Duration StartDelay(const embedded::nodeagent::ContainerStart& start) const override;
  base::Status SyncVolumes(const embedded::nodeagent::PodIdentity& pod,
                           const std::vector<embedded::nodeagent::Volume>& volumes) override;
  base::Result<std::unique_ptr<embedded::nodeagent::RunningContainer>> Start(
      const embedded::nodeagent::ContainerStart& start, std::shared_ptr<base::Strand> strand,
      std::function<void(embedded::nodeagent::ContainerExit)> exited) override;
  void RemovePod(const embedded::nodeagent::PodIdentity& pod) override;
  void RetainPods(const std::set<std::string>& uids) override;

  /// The agent is about to go, and servers run on until another one comes.
  void LeaveAlone();
  /// As `kill -9`. False when no such pod's server runs.
  bool Crash(const std::string& uid);
  /// All of them.
  void CrashAll();
  /// Of pods whose servers run, by uid.
  std::vector<std::string> Running() const;
  /// A PersistentVolumeClaim ("NAMESPACE/NAME") is gone, and with it what its volume holds.
  void LoseVolume(const std::string& claim) { claims_.erase(claim); }

 private:
  class Container;
  struct Process {
    ZooKeeperModel::Handle handle = 0;
    Container* container = nullptr;  ///< null: nobody looks after it
  };
  base::Result<ZooKeeperStart> Configure(const embedded::nodeagent::ContainerStart& start);
  std::shared_ptr<ZooKeeperDisk> DiskOf(const embedded::nodeagent::PodIdentity& pod);
  void End(const std::string& uid);

  ZooKeeperModel& model_;
  const std::string member_;
  const base::Random random_;
  std::map<std::string, std::vector<embedded::nodeagent::Volume>> volumes_;  ///< by the pod's uid, as the next two
  std::map<std::string, Process> processes_;
  std::map<std::string, std::shared_ptr<ZooKeeperDisk>> scratch_;
  std::map<std::string, std::shared_ptr<ZooKeeperDisk>> claims_;
  bool leaving_alone_ = false;
};

}  // namespace evenkeel::sim
