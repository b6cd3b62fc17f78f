// The autoscaler of one member cluster, alive: reads the member through informers, runs the loop (run_once.h) on the member's
// strand and carries out what it says: calls of the provider, deletions of nodes (node_deletions.h), marks on nodes, events,
// metrics, the status ConfigMap `cluster-autoscaler-status` and its own memory (state_store.h).
//
// Nothing is decided before all kinds have been listed and the memory of the predecessor has been read. Then a loop runs every
// --scan-interval, and with --frequent-loops-enabled at once after one that has begun something and when a scheduler gives up
// on a pod. A provider that fails is asked again after the interval, doubling up to 2 minutes. An idle loop writes nothing but
// the status, when it has changed or is a minute old.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/expanders/grpc_expander.h"
#include "controllers/autoscaler/member/autoscaler_metrics.h"
#include "controllers/autoscaler/options/options.h"
#include "controllers/runtime/member.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

struct MemberAutoscalerContext {
  Options options;
  /// What holds for one member, by name, instead of `options`; without a provider it has no autoscaler. Absent: `options`.
  std::function<base::Result<Options>(const std::string& member)> options_of{};
  /// Called once per member, on its strand, again after an error; `pods` is for --expander=grpc.
  std::function<base::Result<ExpanderChain>(const Options& options, PodSource pods)> expanders;
  /// Who makes the member's nodes. Called on the member's strand, again after an error.
  std::function<base::Result<std::unique_ptr<providers::Provider>>(runtime::Member&, const Options& options)> provider;
  /// By spec.providerID, which members but this one have nodes. Called on the member's strand, at most once a minute; absent:
  /// there is no other member.
  std::function<base::Result<std::map<std::string, std::string>>(const std::string& member)> nodes_elsewhere{};
  base::Clock& clock;
  base::Random random;
  std::shared_ptr<AutoscalerMetrics> metrics;
  std::string host;  ///< for events: which replica
};

runtime::MemberControllerFactory NewMemberAutoscaler(MemberAutoscalerContext context);

}  // namespace evenkeel::controllers::autoscaler
