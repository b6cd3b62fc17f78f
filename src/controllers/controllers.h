// What a replica runs on each member that it owns, put together once: for `evenkeel run` and for the simulator's replicas,
// always in the order of kMemberControllers. Handlers of a member's feed are called in that order.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "controllers/autoscaler/member/member_autoscaler.h"
#include "controllers/rollout/zookeeper/member/member_zookeeper.h"
#include "controllers/runtime/member.h"
#include "controllers/scheduler/member_scheduler.h"

namespace evenkeel::controllers {

inline constexpr std::array<std::string_view, 4> kMemberControllers = {"autoscaler", "scheduler", "balancer", "zookeeper"};

/// What comes from outside, the same for all members.
struct MemberControllersContext {
  base::Clock& clock;
  base::Random random;
  std::shared_ptr<base::MetricRegistry> metrics;
  std::string host;  ///< for events: which replica
  /// As in autoscaler::MemberAutoscalerContext.
  struct Autoscaler {
    autoscaler::Options options;
    decltype(autoscaler::MemberAutoscalerContext::options_of) options_of{};
    decltype(autoscaler::MemberAutoscalerContext::expanders) expanders;
    decltype(autoscaler::MemberAutoscalerContext::provider) provider;
    decltype(autoscaler::MemberAutoscalerContext::nodes_elsewhere) nodes_elsewhere{};
  } autoscaler;
  scheduler::SchedulerOptions scheduler{};
  /// As in rollout::zookeeper::member::MemberZooKeeperContext.
  struct ZooKeeper {
    decltype(rollout::zookeeper::member::MemberZooKeeperContext::probe) probe;
    decltype(rollout::zookeeper::member::MemberZooKeeperContext::new_password) new_password;
    rollout::zookeeper::Forms forms{};
  } zookeeper;
};

struct MemberControllers {
  std::vector<runtime::MemberControllerFactory> factories;
  std::function<void()> publish_metrics;  ///< what is only computed when somebody reads it, also of controllers that are off
};

/// @param names  of kMemberControllers; others are nobody's here
MemberControllers NewMemberControllers(const MemberControllersContext& context,
                                       const std::set<std::string, std::less<>>& names);

}  // namespace evenkeel::controllers
