#include "cli/terminal/definitions.h"

#include "base/input/yaml.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/own_kinds.h"

namespace evenkeel::cli {

base::Status PrintDefinitions(const std::string& where, std::ostream& out) {
  namespace zookeeper = controllers::rollout::zookeeper;
  std::vector<base::Json> definitions;
  if (where == "hub") {
    definitions = {kube::OwnDefinition("shardplans"), kube::OwnDefinition("shardreplicas"),
                   zookeeper::MultiClusterZooKeeperDefinition(), zookeeper::ZooKeeperDefinition()};
  } else if (where == "member") {
    definitions = {kube::OwnDefinition("balancingpolicies"), kube::OwnDefinition("balancingplans"),
                   zookeeper::ZooKeeperDefinition()};
  } else {
    return base::Fail(base::Code::kBadRequest, "--print-definitions: \"" + where + "\" is neither hub nor member");
  }
  for (const base::Json& definition : definitions) out << "---\n" << base::ToYaml(definition);
  return {};
}

}  // namespace evenkeel::cli
