#include "sim/run/simulated_controllers.h"

#include "base/metrics.h"
#include "controllers/controllers.h"
#include "sim/world/writer_controller.h"

namespace evenkeel::sim {
namespace {

constexpr char kWriter[] = "writer";

controllers::MemberControllersContext ReplicaContextOf(const ControllerContext& context) {
  namespace autoscaler = controllers::autoscaler;
  namespace scheduler = controllers::scheduler;
  const auto random = std::make_shared<base::Random>(context.random.Fork("passwords"));
  return {.clock = context.clock,
          .random = context.random,
          .metrics = std::make_shared<base::MetricRegistry>(),
          .host = context.user,
          .autoscaler = {
              .options = context.autoscaler,
              .expanders = [](const autoscaler::Options& options,
                              const autoscaler::PodSource&) { return autoscaler::ExpanderChain::Make(options.expander); },
              .provider = [cloud = context.cloud](controllers::runtime::Member& member, const autoscaler::Options&)
                  -> base::Result<std::unique_ptr<providers::Provider>> { return cloud(member.name(), member.client()); },
              .nodes_elsewhere = context.nodes_elsewhere},
          .scheduler = {.names = {"", "default-scheduler", scheduler::kSchedulerName}},
          .zookeeper = {.probe = [probe = context.probe](controllers::runtime::Member&) { return probe(); },
                        .new_password = [random] { return random->Uuid(); },
                        .forms = context.forms}};
}

}  // namespace

std::set<std::string> SimulatedControllerNames() {
  std::set<std::string> names(controllers::kMemberControllers.begin(), controllers::kMemberControllers.end());
  names.insert(kWriter);
  return names;
}

std::vector<controllers::runtime::MemberControllerFactory> NewSimulatedControllers(const ControllerContext& context,
                                                                                   const std::vector<std::string>& names) {
  const std::set<std::string, std::less<>> chosen(names.begin(), names.end());
  auto factories = controllers::NewMemberControllers(ReplicaContextOf(context), chosen).factories;
  if (chosen.contains(kWriter)) {
    factories.insert(
        factories.begin(),
        NewWriterController(context.user, context.random.Fork("writer"),
                            [&writes = context.writes](const std::string& member, const std::string& author, int64_t counter) {
                              writes.Acknowledged(member, author, counter);
                            }));
  }
  return factories;
}

}  // namespace evenkeel::sim
