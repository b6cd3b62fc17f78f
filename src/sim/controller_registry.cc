#include "sim/controller_registry.h"

#include "base/metrics.h"
#include "controllers/autoscaler/member_autoscaler.h"
#include "embedded/cloud/cloud_provider.h"
#include "sim/writer_controller.h"

namespace evenkeel::sim {
namespace {

namespace autoscaler = controllers::autoscaler;

/// Nobody reads them.
struct UnreadMetrics {
  base::MetricRegistry registry;
  autoscaler::AutoscalerMetrics metrics{registry};
};

controllers::runtime::MemberControllerFactory NewAutoscaler(const ControllerContext& context) {
  const auto unread = std::make_shared<UnreadMetrics>();
  return autoscaler::NewMemberAutoscaler(
      {.options = context.autoscaler,
       .expanders = [names = context.autoscaler.expander](
                        const autoscaler::PodSource&) { return autoscaler::ExpanderChain::Make(names); },
       .provider = [](controllers::runtime::Member& member) -> base::Result<std::unique_ptr<providers::Provider>> {
         return embedded::cloud::NewCloudProvider(member.client());
       },
       .clock = context.clock,
       .random = context.random.Fork("autoscaler"),
       .metrics = {unread, &unread->metrics},
       .host = context.user});
}

}  // namespace

const std::map<std::string, ControllerMaker>& SimulatedControllers() {
  static const std::map<std::string, ControllerMaker> makers = {
      {"autoscaler", NewAutoscaler},
      {"writer",
       [](const ControllerContext& context) {
         return NewWriterController(
             context.user, context.random.Fork("writer"),
             [&writes = context.writes](const std::string& member, const std::string& author, int64_t counter) {
               writes.Acknowledged(member, author, counter);
             });
       }},
  };
  return makers;
}

}  // namespace evenkeel::sim
