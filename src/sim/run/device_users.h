// People and drivers around the devices of simulated members: makes pods claim devices in all ways that there are, and what
// goes wrong with devices and claims while others read and write them (device_samples.h).
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "sim/run/scenario.h"
#include "sim/world/fleet.h"

namespace evenkeel::sim {

/// All calls but the first two leave a member whose API is down alone; those that answer say what was done, "" for nothing.
class DeviceUsers {
 public:
  /// Both outlive this.
  DeviceUsers(Fleet& fleet, const Scenario& scenario, base::Random random);

  /// Makes the classes, templates and shared claims, if pods claim devices in this scenario.
  base::Status BeginMember(ApiServer& server);
  /// Makes the pods of such a spec claim devices, or leaves them alone, as the share in the scenario draws.
  void Claim(base::JsonObject& pod_spec);

  /// Deletes some claim, whoever uses it. It stays until its pods have ended.
  std::string DeleteClaim(const std::string& member);
  /// Makes the shared claims again that are gone. False: the API is down.
  bool RestoreClaims(const std::string& member);
  /// Writes to some claim, slice or waiting pod what means nothing, so that others who write to it have a conflict.
  std::string Edit(const std::string& member);
  /// Gives some device a taint, or takes all taints of the slice away again.
  std::string Taint(const std::string& member);
  bool Untaint(const std::string& member, const std::string& slice);
  /// Deletes all slices of some node, and answers them.
  std::vector<base::Json> TakeSlices(const std::string& member);
  /// Makes them again with the next generation, unless their node is gone. False: it could not; to be tried again.
  bool BringSlices(const std::string& member, const std::vector<base::Json>& slices);
  /// Takes some node away for good; its group gets another one.
  std::string LoseNode(const std::string& member);

 private:
  ApiServer* Up(const std::string& member) const;
  /// One of those that there are; nullopt for none.
  std::optional<base::Json> Some(ApiServer& server, const kube::Resource& resource);

  Fleet& fleet_;
  const double share_;
  base::Random random_;
  int edits_ = 0;
};

}  // namespace evenkeel::sim
