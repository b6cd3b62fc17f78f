#include "embedded/federation/policies/definitions.h"

#include "client/definitions.h"
#include "kube/manifest.h"

namespace evenkeel::embedded::federation {

const std::vector<base::Json>& Definitions() {
  static const std::vector<base::Json> definitions = [] {
    std::vector<base::Json> all;
    auto parsed = kube::ParseManifests(kDefinitionsYaml, "crds.yaml");
    EVENKEEL_CHECK(parsed);
    for (kube::ManifestObject& item : *parsed) all.push_back(std::move(item.object));
    return all;
  }();
  return definitions;
}

const base::Json& ClusterDefinition() { return Definitions().front(); }

base::Status InstallDefinitions(client::Client& client) {
  for (const base::Json& definition : Definitions()) EVENKEEL_TRY(client::InstallDefinition(client, definition));
  return {};
}

}  // namespace evenkeel::embedded::federation
