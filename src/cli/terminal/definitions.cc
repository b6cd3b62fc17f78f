#include "cli/terminal/definitions.h"

#include "base/yaml.h"
#include "controllers/balancer/kinds.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"

namespace evenkeel::cli {

base::Status PrintDefinitions(const std::string& where, std::ostream& out) {
  namespace balancer = controllers::balancer;
  namespace distribution = controllers::distribution;
  namespace zookeeper = controllers::rollout::zookeeper;
  std::vector<base::Json> definitions;
  if (where == "hub") {
    definitions = {distribution::ShardPlanDefinition(), distribution::ShardReplicaDefinition(),
                   zookeeper::MultiClusterZooKeeperDefinition(), zookeeper::ZooKeeperDefinition()};
  } else if (where == "member") {
    definitions = {balancer::BalancingPolicyDefinition(), balancer::BalancingPlanDefinition(),
                   zookeeper::ZooKeeperDefinition()};
  } else {
    return base::Fail(base::Code::kBadRequest, "--print-definitions: \"" + where + "\" is neither hub nor member");
  }
  for (const base::Json& definition : definitions) out << "---\n" << base::ToYaml(definition);
  return {};
}

}  // namespace evenkeel::cli
