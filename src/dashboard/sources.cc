#include "dashboard/sources.h"

#include "controllers/rollout/zookeeper/spec/definitions.h"

namespace evenkeel::dashboard {

namespace zookeeper = controllers::rollout::zookeeper;

SourceFactory FactoryOf(Topic topic, const std::string& cluster, const controllers::distribution::Options& distribution,
                        const controllers::autoscaler::Options& autoscaler) {
  switch (topic) {
    case Topic::kFleet:
      return [distribution](SourceContext c) { return NewFleetSource(std::move(c), distribution); };
    case Topic::kSummary:
      return NewSummarySource;
    case Topic::kCluster:
      return [autoscaler](SourceContext c) { return NewClusterSource(std::move(c), autoscaler); };
    case Topic::kBalance:
      return NewBalanceSource;
    case Topic::kEnsembles:
      return [](SourceContext c) { return NewObjectSource(std::move(c), zookeeper::MultiClusterZooKeepers(), "ensemble"); };
    case Topic::kServers:
      return [](SourceContext c) { return NewObjectSource(std::move(c), zookeeper::ZooKeepers(), "servers"); };
    case Topic::kEvents:
      return [name = cluster.empty() ? std::string("hub") : cluster](SourceContext c) {
        return NewEventSource(std::move(c), name);
      };
  }
  return nullptr;
}

}  // namespace evenkeel::dashboard
