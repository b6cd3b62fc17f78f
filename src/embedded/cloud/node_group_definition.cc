#include "embedded/cloud/node_group_definition.h"

#include "client/definitions.h"
#include "kube/own_kinds.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Json;

constexpr char kGeneral[] = R"({
"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "general"},
"spec": {"minSize": 0, "maxSize": 10, "targetSize": 0, "pricePerHour": 0.192,
  "template": {"metadata": {"labels": {"node.kubernetes.io/instance-type": "general-4"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}}},
  "cloud": {"provisionDelay": "5s", "deleteDelay": "2s"}}})";

}  // namespace

const kube::Resource& NodeGroups() { return kube::OwnKind("nodegroups"); }

base::Status InstallDefinition(client::Client& client) {
  return client::InstallDefinition(client, kube::OwnDefinition("nodegroups"));
}

Json GeneralNodeGroup() { return *base::ParseJson(kGeneral, "NodeGroup general"); }

}  // namespace evenkeel::embedded::cloud
