#include "controllers/controllers.h"

#include "controllers/balancer/member_balancer.h"

namespace evenkeel::controllers {
namespace {

namespace zookeepers = rollout::zookeeper::member;
using runtime::MemberControllerFactory;

/// Lives as long as the registry that it writes to.
template <typename Metrics>
std::shared_ptr<Metrics> NewMetrics(std::shared_ptr<base::MetricRegistry> registry) {
  struct Kept {
    explicit Kept(std::shared_ptr<base::MetricRegistry> kept) : registry(std::move(kept)), metrics(*registry) {}
    std::shared_ptr<base::MetricRegistry> registry;
    Metrics metrics;
  };
  const auto kept = std::make_shared<Kept>(std::move(registry));
  return {kept, &kept->metrics};
}

/// Makes nothing: sets what is the snapshot's, for all controllers of the member, whichever run.
MemberControllerFactory SetsSnapshot(const MemberControllersContext::Autoscaler& autoscaler) {
  return [options = autoscaler.options, of = autoscaler.options_of](runtime::Member& member) {
    const auto own = of ? of(member.name()) : base::Result<autoscaler::Options>(options);
    // Flags of a member that are wrong are told by its autoscaler.
    const bool all = (own ? *own : options).negative_namespaces_match_all;
    member.feed().mirror().snapshot().SetNegativeNamespacesMatchAll(all);
    return std::unique_ptr<runtime::MemberController>();
  };
}

}  // namespace

MemberControllers NewMemberControllers(const MemberControllersContext& context,
                                       const std::set<std::string, std::less<>>& names) {
  const auto autoscaler_metrics = NewMetrics<autoscaler::AutoscalerMetrics>(context.metrics);
  const auto balancer_metrics = NewMetrics<balancer::BalancerMetrics>(context.metrics);
  const auto zookeeper_metrics = NewMetrics<zookeepers::MemberMetrics>(context.metrics);
  const std::map<std::string_view, std::function<MemberControllerFactory()>> makers = {
      {"autoscaler",
       [&] {
         return autoscaler::NewMemberAutoscaler({.options = context.autoscaler.options,
                                                 .options_of = context.autoscaler.options_of,
                                                 .expanders = context.autoscaler.expanders,
                                                 .provider = context.autoscaler.provider,
                                                 .nodes_elsewhere = context.autoscaler.nodes_elsewhere,
                                                 .clock = context.clock,
                                                 .random = context.random.Fork("autoscaler"),
                                                 .metrics = autoscaler_metrics,
                                                 .host = context.host});
       }},
      {"scheduler",
       [&] {
         return scheduler::NewMemberScheduler({.options = context.scheduler,
                                               .clock = context.clock,
                                               .random = context.random.Fork("scheduler"),
                                               .host = context.host});
       }},
      {"balancer",
       [&] {
         return balancer::NewMemberBalancer({.clock = context.clock,
                                             .random = context.random.Fork("balancer"),
                                             .metrics = balancer_metrics,
                                             .host = context.host});
       }},
      {"zookeeper",
       [&] {
         return zookeepers::NewMemberZooKeeper({.clock = context.clock,
                                                .random = context.random.Fork("zookeeper"),
                                                .probe = context.zookeeper.probe,
                                                .new_password = context.zookeeper.new_password,
                                                .metrics = zookeeper_metrics,
                                                .host = context.host,
                                                .forms = context.zookeeper.forms});
       }},
  };
  MemberControllers made;
  made.factories.push_back(SetsSnapshot(context.autoscaler));
  for (const std::string_view name : kMemberControllers) {
    if (names.contains(name)) made.factories.push_back(makers.at(name)());
  }
  made.publish_metrics = [autoscaler_metrics, balancer_metrics, zookeeper_metrics] {
    autoscaler_metrics->Publish();
    balancer_metrics->Publish();
    zookeeper_metrics->Publish();
  };
  return made;
}

}  // namespace evenkeel::controllers
