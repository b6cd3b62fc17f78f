#include "sim/run/controller_registry.h"

#include "base/metrics.h"
#include "controllers/autoscaler/member/member_autoscaler.h"
#include "controllers/balancer/member_balancer.h"
#include "controllers/rollout/zookeeper/member/member_zookeeper.h"
#include "controllers/scheduler/member_scheduler.h"
#include "sim/world/writer_controller.h"

namespace evenkeel::sim {
namespace {

namespace autoscaler = controllers::autoscaler;
namespace balancer = controllers::balancer;

/// Nobody reads them.
template <typename Metrics>
struct UnreadMetrics {
  base::MetricRegistry registry;
  Metrics metrics{registry};
};
template <typename Metrics>
std::shared_ptr<Metrics> NewUnreadMetrics() {
  const auto unread = std::make_shared<UnreadMetrics<Metrics>>();
  return {unread, &unread->metrics};
}

controllers::runtime::MemberControllerFactory NewAutoscaler(const ControllerContext& context) {
  return autoscaler::NewMemberAutoscaler(
      {.options = context.autoscaler,
       .expanders = [](const autoscaler::Options& options,
                       const autoscaler::PodSource&) { return autoscaler::ExpanderChain::Make(options.expander); },
       .provider = [cloud = context.cloud](controllers::runtime::Member& member, const autoscaler::Options&)
           -> base::Result<std::unique_ptr<providers::Provider>> { return cloud(member.name(), member.client()); },
       .nodes_elsewhere = context.nodes_elsewhere,
       .clock = context.clock,
       .random = context.random.Fork("autoscaler"),
       .metrics = NewUnreadMetrics<autoscaler::AutoscalerMetrics>(),
       .host = context.user});
}

controllers::runtime::MemberControllerFactory NewBalancer(const ControllerContext& context) {
  return balancer::NewMemberBalancer({.clock = context.clock,
                                      .random = context.random.Fork("balancer"),
                                      .metrics = NewUnreadMetrics<balancer::BalancerMetrics>(),
                                      .host = context.user});
}

controllers::runtime::MemberControllerFactory NewScheduler(const ControllerContext& context) {
  namespace scheduler = controllers::scheduler;
  return scheduler::NewMemberScheduler({.options = {.names = {"", "default-scheduler", scheduler::kSchedulerName}},
                                        .clock = context.clock,
                                        .random = context.random.Fork("scheduler"),
                                        .host = context.user});
}

controllers::runtime::MemberControllerFactory NewZooKeeper(const ControllerContext& context) {
  const auto random = std::make_shared<base::Random>(context.random.Fork("passwords"));
  return zookeeper::NewMemberZooKeeper({.clock = context.clock,
                                        .random = context.random.Fork("zookeeper"),
                                        .probe = [probe = context.probe](controllers::runtime::Member&) { return probe(); },
                                        .new_password = [random] { return random->Uuid(); },
                                        .metrics = NewUnreadMetrics<zookeeper::MemberMetrics>(),
                                        .host = context.user,
                                        .forms = context.forms});
}

}  // namespace

const std::map<std::string, ControllerMaker>& SimulatedControllers() {
  static const std::map<std::string, ControllerMaker> makers = {
      {"autoscaler", NewAutoscaler},
      {"balancer", NewBalancer},
      {"scheduler", NewScheduler},
      {"writer",
       [](const ControllerContext& context) {
         return NewWriterController(
             context.user, context.random.Fork("writer"),
             [&writes = context.writes](const std::string& member, const std::string& author, int64_t counter) {
               writes.Acknowledged(member, author, counter);
             });
       }},
      {"zookeeper", NewZooKeeper},
  };
  return makers;
}

}  // namespace evenkeel::sim
