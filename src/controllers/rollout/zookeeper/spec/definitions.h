// The kinds of an ensemble (evenkeel.dev/v1alpha1), as an API serves them.
#pragma once

#include "base/json.h"
#include "controllers/rollout/zookeeper/spec/forms.h"
#include "kube/resource.h"

namespace evenkeel::controllers::rollout::zookeeper {

const kube::Resource& MultiClusterZooKeepers();
/// Of the template on the hub and its copies in the members.
const kube::Resource& ZooKeepers();

/// The CustomResourceDefinition of MultiClusterZooKeeper: schema, status subresource, printer columns. What a schema cannot say
/// DecodeSpec checks.
base::Json MultiClusterZooKeeperDefinition(const Forms& forms = {});
/// The same of ZooKeeper (member/desired_member.h).
base::Json ZooKeeperDefinition(const Forms& forms = {});
/// Of what these definitions say of "spec" or "status", as an OpenAPI schema.
const base::Json& SchemaOf(const kube::Resource& kind, const char* part);

}  // namespace evenkeel::controllers::rollout::zookeeper
