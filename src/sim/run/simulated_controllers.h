// What runs on each member of a simulated fleet: a replica's own controllers (controllers/controllers.h), and a writer of the
// simulator's.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/rollout/zookeeper/spec/forms.h"
#include "controllers/runtime/member.h"
#include "providers/provider.h"
#include "sim/checkers/checkers.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

/// What controllers are made from, once per process.
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

/// The names that scenario files use: those of controllers/controllers.h, of which "scheduler" binds all pods here instead of
/// the member's own, and "writer".
std::set<std::string> SimulatedControllerNames();

/// @param names  of SimulatedControllerNames
std::vector<controllers::runtime::MemberControllerFactory> NewSimulatedControllers(const ControllerContext& context,
                                                                                   const std::vector<std::string>& names);

}  // namespace evenkeel::sim
