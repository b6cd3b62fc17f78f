// The operator of ZooKeepers in one member cluster: keeps the objects of each as they have to be, replaces servers one by one,
// and has the ensemble take in or let go those that come or go (member_plan.h decides). Works on the member's strand; without
// a ZooKeeper it watches that kind and nothing else.
//
// All memory is in the objects: another replica goes on where this one stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "controllers/rollout/zookeeper/member/member_metrics.h"
#include "controllers/rollout/zookeeper/member/probe.h"
#include "controllers/rollout/zookeeper/spec/forms.h"
#include "controllers/runtime/member.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct MemberZooKeeperContext {
  base::Clock& clock;
  base::Random random;
  /// Of the servers that a member's pods are. Called once per member.
  std::function<std::unique_ptr<Probe>(runtime::Member&)> probe;
  std::function<std::string()> new_password;  ///< nobody can guess
  std::shared_ptr<MemberMetrics> metrics;
  std::string host;  ///< for events: which replica
  Forms forms{};     ///< in which it writes, and up to which it reads
};

runtime::MemberControllerFactory NewMemberZooKeeper(MemberZooKeeperContext context);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
