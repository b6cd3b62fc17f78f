// What a container is started with, computed from its pod and the ConfigMaps and Secrets that it names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embedded/nodeagent/container_runtime.h"
#include "kube/types.h"

namespace evenkeel::embedded::nodeagent {

/// Reads a ConfigMap ("configmap") or Secret ("secret") of the pod's namespace; kNotFound when there is none.
using DataLookup = std::function<base::Result<kube::DataObject>(std::string_view kind, std::string_view name)>;

/// The objects a pod's environment and volumes are made from. `pod` is the whole object.
struct ConfigurationSource {
  const base::Json& pod;
  const PodIdentity& identity;
  const DataLookup& lookup;
  /// For resourceFieldRef of a limit that is not set: the node's allocatable amounts.
  const kube::ResourceList& allocatable;
};

/// $(NAME) becomes the variable's value, $$ becomes $; a name that is not there stays as it is written.
std::string ExpandVariables(std::string_view text, const Environment& environment);

/// `base`, then envFrom, then env in their order; a value may refer to what stands before it. Later entries of one name replace
/// earlier ones in place. Errors say what is missing as the kubelet does ("configmap \"x\" not found").
base::Result<Environment> ResolveEnvironment(const base::Json& container, const ConfigurationSource& source, Environment base);

/// The text of a downward API field ("metadata.labels['app']", "status.podIP"); kInvalid names a field that is not offered.
base::Result<std::string> FieldValue(std::string_view path, const ConfigurationSource& source);
/// "limits.cpu" of a container, in units of `divisor`, rounded up.
base::Result<std::string> ResourceFieldValue(const base::Json& reference, std::string_view container,
                                             const ConfigurationSource& source);

/// The volumes of the pod that any of its containers mounts, with their content. Optional references that are missing are
/// empty.
base::Result<std::vector<Volume>> ResolveVolumes(const ConfigurationSource& source);
/// The names of the ConfigMaps and Secrets that ResolveVolumes reads, as "configmap/NAME" and "secret/NAME", sorted.
std::vector<std::string> VolumeReferences(const base::Json& pod);

/// Command, args, environment, working directory and mounts of a container.
base::Status ConfigureContainer(const base::Json& container, const ConfigurationSource& source, Environment base,
                                ContainerStart& start);

}  // namespace evenkeel::embedded::nodeagent
