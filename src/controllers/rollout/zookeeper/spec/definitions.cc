#include "controllers/rollout/zookeeper/spec/definitions.h"

#include <map>

#include "client/definitions.h"
#include "kube/own_kinds.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonObject;

/// Of what servers are made from (desired_servers.h): an ensemble's template says it as its ZooKeepers do.
constexpr const char* kServersProperties[] = {"image", "config", "ports", "storage", "tls", "podTemplate", "paused"};

/// Defaults in a template would change what its clusters run wherever they change.
void EraseDefaults(Json& schema) {
  base::Erase(schema, {"default"});
  for (const char* below : {"items", "additionalProperties"}) {
    if (Json* item = base::Find(schema, {below})) EraseDefaults(*item);
  }
  if (Json* properties = base::Find(schema, {"properties"})) {
    for (auto& [name, property] : properties->as_object()) EraseDefaults(property);
  }
}

Json& PartOf(Json& definition, const char* part) {
  Json& version = base::Find(definition, {"spec", "versions"})->as_array()[0];
  return *base::Find(version, {"schema", "openAPIV3Schema", "properties", part});
}

void Number(const Forms& forms, Json& definition) {
  base::Ensure(definition, {"metadata", "annotations", client::kDefinitionNumber}) = std::to_string(forms.definitions);
}

}  // namespace

const kube::Resource& MultiClusterZooKeepers() { return kube::OwnKind("multiclusterzookeepers"); }
const kube::Resource& ZooKeepers() { return kube::OwnKind("zookeepers"); }

Json MultiClusterZooKeeperDefinition(const Forms& forms) {
  Json definition = kube::OwnDefinition("multiclusterzookeepers"), servers = kube::OwnDefinition("zookeepers");
  JsonObject properties;
  for (const char* name : kServersProperties) properties[name] = *base::Find(PartOf(servers, "spec"), {"properties", name});
  Json body = JsonObject{{"type", "object"},
                         {"x-kubernetes-preserve-unknown-fields", true},
                         {"description", "Body of the ZooKeeper in each member, without what differs from cluster to cluster."},
                         {"properties", std::move(properties)}};
  EraseDefaults(body);
  base::Ensure(PartOf(definition, "spec"), {"properties", "template"}) = std::move(body);
  Number(forms, definition);
  return definition;
}

Json ZooKeeperDefinition(const Forms& forms) {
  Json definition = kube::OwnDefinition("zookeepers");
  Number(forms, definition);
  return definition;
}

const Json& SchemaOf(const kube::Resource& kind, const char* part) {
  static const auto schemas = [] {
    std::map<std::pair<std::string, std::string>, Json> made;
    for (Json definition : {MultiClusterZooKeeperDefinition(), ZooKeeperDefinition()}) {
      const std::string of(base::FindString(definition, {"spec", "names", "kind"}));
      for (const char* one : {"spec", "status"}) made[{of, one}] = PartOf(definition, one);
    }
    return made;
  }();
  return schemas.at({kind.kind, part});
}

}  // namespace evenkeel::controllers::rollout::zookeeper
