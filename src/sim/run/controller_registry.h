// What can run on each member of a simulated fleet, by the names that scenario files use. A controller adds itself here.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/rollout/zookeeper/spec/forms.h"
#include "controllers/runtime/member.h"
#include "providers/provider.h"
#include "sim/checkers/checkers.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

/// What a controller's factory is made from, once per process.
struct ControllerContext {
  std::string user;  ///< the process
  base::Random random;
  base::Clock& clock;  ///< its own
  WritesChecker& writes;
  const controllers::autoscaler::Options& autoscaler;
  /// What the autoscaler of a member asks for nodes, through a client of that member.
  std::function<std::unique_ptr<providers::Provider>(const std::string& member, client::Client& client)> cloud;
  /// Nodes of other members by provider id (controllers/autoscaler/member/member_autoscaler.h); absent: there are none to look
  /// for.
  std::function<base::Result<std::map<std::string, std::string>>(const std::string& member)> nodes_elsewhere;
  /// How it talks to the ZooKeeper servers of a member; null without an ensemble.
  std::function<std::unique_ptr<zookeeper::Probe>()> probe;
  controllers::rollout::zookeeper::Forms forms;  ///< of this version of the program
};
using ControllerMaker = std::function<controllers::runtime::MemberControllerFactory(const ControllerContext&)>;

/// "autoscaler", "balancer", "scheduler" (of all pods, instead of the member's own), "writer", "zookeeper".
const std::map<std::string, ControllerMaker>& SimulatedControllers();

}  // namespace evenkeel::sim
