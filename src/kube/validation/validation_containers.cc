// Rules of containers (kubernetes@1.36:pkg/apis/core/validation, validateContainerCommon and what it calls).
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;

void HttpGet(const Json& action, const FieldPath& path, Causes& causes) {
  for (const Json& header : List(action, "httpHeaders")) {
    const std::string_view name = Text(header, "name");
    const bool good = !name.empty() && std::ranges::all_of(name, [](char c) { return base::IsAlphanumeric(c) || c == '-'; });
    if (good) continue;
    causes.push_back(InvalidText(path.Field("httpHeaders"), name,
                                 "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
                                 "regex used for validation is '[-A-Za-z0-9]+')"));
  }
}

/// exec, httpGet, tcpSocket, grpc, sleep: exactly one.
void Handler(const Json& handler, int64_t grace_seconds, const FieldPath& path, Causes& causes) {
  int count = 0;
  for (const char* name : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    const Json* one = Member(handler, name);
    if (one == nullptr) continue;
    const FieldPath here = path.Field(name);
    if (++count > 1) {
      causes.push_back(ForbiddenValue(here, "may not specify more than 1 handler type"));
      continue;
    }
    if (std::string_view(name) == "exec" && List(*one, "command").empty())
      causes.push_back(RequiredValue(here.Field("command")));
    if (std::string_view(name) == "httpGet") HttpGet(*one, here, causes);
    const int64_t seconds = Number(*one, "seconds");
    if (std::string_view(name) == "sleep" && grace_seconds >= 0 && (seconds < 0 || seconds > grace_seconds)) {
      causes.push_back(InvalidValue(
          here, seconds,
          "must be non-negative and less than terminationGracePeriodSeconds (" + std::to_string(grace_seconds) + ")"));
    }
    if (const Json* port = Member(*one, "port")) {
      PortOrName(*port, here.Field("port"), causes);
    } else if (std::string_view(name) != "exec" && std::string_view(name) != "sleep") {
      causes.push_back(InvalidValue(here.Field("port"), 0, "must be between 1 and 65535, inclusive"));
    }
  }
  if (count == 0) causes.push_back(RequiredValue(path, "must specify a handler type"));
}

void Probe(std::string_view name, const Json& probe, int64_t grace_seconds, const FieldPath& path, Causes& causes) {
  Handler(probe, grace_seconds, path, causes);
  const FieldPath grace = path.Field("terminationGracePeriodSeconds");
  if (const Json* seconds = Member(probe, "terminationGracePeriodSeconds")) {
    if (Number(probe, "terminationGracePeriodSeconds") <= 0) {
      causes.push_back(InvalidValue(grace, *seconds, "must be greater than 0"));
    }
    if (name == "readinessProbe") causes.push_back(InvalidValue(grace, *seconds, "must not be set for readinessProbes"));
  }
  if (name != "readinessProbe" && Number(probe, "successThreshold", 1) != 1) {
    causes.push_back(InvalidValue(path.Field("successThreshold"), *Member(probe, "successThreshold"), "must be 1"));
  }
}

/// Probes and hooks, which containers have that go on running.
void Watched(const Json& container, bool goes_on, int64_t grace_seconds, const FieldPath& path, Causes& causes) {
  for (const char* name : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    const Json* present = Member(container, name);
    if (present == nullptr || !present->is_object()) continue;
    const FieldPath here = path.Field(name);
    if (!goes_on) {
      causes.push_back(ForbiddenValue(here, "may not be set for init containers without restartPolicy=Always"));
    } else if (name != std::string_view("lifecycle")) {
      Probe(name, *present, grace_seconds, here, causes);
    } else {
      for (const char* hook : {"postStart", "preStop"}) {
        if (const Json* handler = Member(*present, hook)) Handler(*handler, grace_seconds, here.Field(hook), causes);
      }
    }
  }
}

void Ports(const Json& container, const FieldPath& path, Causes& causes) {
  const FieldPath ports = path.Field("ports");
  Names names;
  size_t index = 0;
  for (const Json& port : List(container, "ports")) {
    const FieldPath here = ports.Index(index++);
    if (Number(port, "containerPort") == 0) {
      causes.push_back(RequiredValue(here.Field("containerPort")));
    } else {
      Port(*Member(port, "containerPort"), here.Field("containerPort"), causes);
    }
    if (Number(port, "hostPort") != 0) Port(*Member(port, "hostPort"), here.Field("hostPort"), causes);
    const std::string_view name = Text(port, "name");
    if (name.empty()) continue;
    if (std::string problem = CheckPortName(name); !problem.empty()) {
      causes.push_back(InvalidText(here.Field("name"), name, problem));
    } else if (!names.emplace(name).second) {
      causes.push_back(DuplicateText(here.Field("name"), name));
    }
  }
}

/// What a variable may take from its pod.
bool IsFieldOfPod(std::string_view path) {
  static const std::set<std::string_view> kFields{"metadata.name",      "metadata.namespace",   "metadata.uid",
                                                  "metadata.labels",    "metadata.annotations", "spec.nodeName",
                                                  "spec.restartPolicy", "status.phase",         "spec.serviceAccountName",
                                                  "spec.schedulerName", "status.hostIP",        "status.hostIPs",
                                                  "status.podIP",       "status.podIPs"};
  const size_t bracket = path.find("['");
  return kFields.contains(path) || (bracket != path.npos && path.ends_with("']") && path.starts_with("metadata.") &&
                                    kFields.contains(path.substr(0, bracket)));
}

void KeyOfObject(const Json& reference, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(reference, "name"), key = Text(reference, "key");
  if (std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
    causes.push_back(InvalidText(path.Field("name"), name, problem));
  }
  if (std::string problem = CheckConfigKey(key); !problem.empty() && !key.empty()) {
    causes.push_back(InvalidText(path.Field("key"), key, problem));
  }
}

void EnvironmentSource(const Json& variable, const Json& source, const FieldPath& path, Causes& causes) {
  static const std::set<std::string_view> kFields{
      "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
      "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
  int count = 0;
  for (const char* name : {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}) {
    count += Has(source, name);
  }
  if (const Json* field = Member(source, "fieldRef")) FieldOfPod(*field, kFields, path.Field("fieldRef"), causes);
  if (const Json* resource = Member(source, "resourceFieldRef")) {
    ResourceOfContainer(*resource, false, path.Field("resourceFieldRef"), causes);
  }
  for (const char* name : {"configMapKeyRef", "secretKeyRef"}) {
    if (const Json* reference = Member(source, name)) KeyOfObject(*reference, path.Field(name), causes);
  }
  if (count == 0) {
    causes.push_back(
        InvalidText(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"));
  } else if (!Text(variable, "value").empty()) {
    causes.push_back(InvalidText(path, "", "may not be specified when `value` is not empty"));
  } else if (count > 1) {
    causes.push_back(InvalidText(path, "", "may not have more than one field specified at a time"));
  }
}

void Environment(const Json& container, const FieldPath& path, Causes& causes) {
  const FieldPath variables = path.Field("env");
  size_t index = 0;
  for (const Json& variable : List(container, "env")) {
    const FieldPath here = variables.Index(index++);
    const std::string_view name = Text(variable, "name");
    if (std::string problem = CheckEnvName(name); !problem.empty() && !name.empty()) {
      causes.push_back(InvalidText(here.Field("name"), name, problem));
    }
    if (const Json* source = Member(variable, "valueFrom"))
      EnvironmentSource(variable, *source, here.Field("valueFrom"), causes);
  }
  const FieldPath sources = path.Field("envFrom");
  index = 0;
  for (const Json& source : List(container, "envFrom")) {
    const FieldPath here = sources.Index(index++);
    const std::string_view prefix = Text(source, "prefix");
    if (std::string problem = CheckEnvName(prefix); !problem.empty() && !prefix.empty()) {
      causes.push_back(InvalidText(here.Field("prefix"), prefix, problem));
    }
    int count = 0;
    for (const char* kind : {"configMapRef", "secretRef"}) {
      const Json* reference = Member(source, kind);
      if (reference == nullptr) continue;
      ++count;
      const std::string_view name = Text(*reference, "name");
      const FieldPath reference_path = here.Field(kind);
      if (name.empty()) {
        causes.push_back(RequiredValue(reference_path.Field("name")));
      } else if (std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
        causes.push_back(InvalidText(reference_path.Field("name"), name, problem));
      }
    }
    // Of the list, not of its entry, as upstream.
    if (count == 0) causes.push_back(InvalidText(sources, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (count > 1) causes.push_back(InvalidText(sources, "", "may not have more than one field specified at a time"));
  }
}

/// Upstream names the list here, not its entry.
void Propagation(const Json& container, const Json& mount, const FieldPath& mounts, Causes& causes) {
  const std::string_view propagation = Text(mount, "mountPropagation");
  if (Has(mount, "mountPropagation")) {
    const FieldPath here = mounts.Field("mountPropagation");
    if (propagation != "Bidirectional" && propagation != "HostToContainer" && propagation != "None") {
      causes.push_back(UnsupportedText(here, propagation, {"Bidirectional", "HostToContainer", "None"}));
    }
    const Json* context = Member(container, "securityContext");
    if (propagation == "Bidirectional" && (context == nullptr || !Flag(*context, "privileged"))) {
      causes.push_back(ForbiddenValue(here, "Bidirectional mount propagation is available only to privileged containers"));
    }
  }
  if (!Has(mount, "recursiveReadOnly")) return;
  const std::string_view recursive = Text(mount, "recursiveReadOnly");
  const FieldPath here = mounts.Field("recursiveReadOnly");
  if (recursive == "Enabled" || recursive == "IfPossible") {
    if (!Flag(mount, "readOnly")) causes.push_back(ForbiddenValue(here, "may only be specified when readOnly is true"));
    if (!propagation.empty() && propagation != "None") {
      causes.push_back(ForbiddenValue(here, "may only be specified when mountPropagation is None or not specified"));
    }
  } else if (recursive != "Disabled") {
    causes.push_back(UnsupportedText(here, recursive, {"Disabled", "Enabled", "IfPossible"}));
  }
}

/// Volumes by name.
using VolumeSources = std::map<std::string_view, const Json*>;

void Mounts(const Json& container, const VolumeSources& volumes, const FieldPath& path, Causes& causes) {
  const FieldPath mounts = path.Field("volumeMounts");
  std::set<std::string_view> paths;
  size_t index = 0;
  for (const Json& mount : List(container, "volumeMounts")) {
    const FieldPath here = mounts.Index(index++);
    const std::string_view name = Text(mount, "name");
    if (!name.empty() && !volumes.contains(name)) causes.push_back(NotFoundValue(here.Field("name"), name));
    const std::string_view where = Text(mount, "mountPath");
    if (!where.empty() && !paths.insert(where).second) {
      causes.push_back(InvalidText(here.Field("mountPath"), where, "must be unique"));
    }
    for (const Json& device : List(container, "volumeDevices")) {
      if (!name.empty() && Text(device, "name") == name) {
        causes.push_back(InvalidText(here.Field("name"), name, "must not already exist in volumeDevices"));
      }
      if (!where.empty() && Text(device, "devicePath") == where) {
        causes.push_back(InvalidText(here.Field("mountPath"), where, "must not already exist as a path in volumeDevices"));
      }
    }
    DescendingPath(Text(mount, "subPath"), mounts.Field("subPath"), causes);
    const std::string_view expression = Text(mount, "subPathExpr");
    if (!expression.empty() && !Text(mount, "subPath").empty()) {
      causes.push_back(InvalidText(here.Field("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive"));
    }
    DescendingPath(expression, mounts.Field("subPathExpr"), causes);
    Propagation(container, mount, mounts, causes);
  }
}

void Devices(const Json& container, const VolumeSources& volumes, const FieldPath& path, Causes& causes) {
  const FieldPath devices = path.Field("volumeDevices");
  std::set<std::string_view> names, paths;
  size_t index = 0;
  for (const Json& device : List(container, "volumeDevices")) {
    const FieldPath here = devices.Index(index++);
    const std::string_view name = Text(device, "name"), where = Text(device, "devicePath");
    if (!name.empty() && !names.insert(name).second) {
      causes.push_back(InvalidText(here.Field("name"), name, "must be unique"));
    }
    const auto volume = volumes.find(name);
    if (volume == volumes.end()) {
      if (!name.empty()) causes.push_back(NotFoundValue(here.Field("name"), name));
    } else if (!Has(*volume->second, "persistentVolumeClaim") && !Has(*volume->second, "ephemeral")) {
      causes.push_back(InvalidText(here.Field("name"), name,
                                   "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"));
    }
    if (!where.empty() && !paths.insert(where).second) {
      causes.push_back(InvalidText(here.Field("devicePath"), where, "must be unique"));
    }
  }
}

/// Among containers that run at the same time.
void HostPorts(const Json& container, std::set<std::string>& taken, const FieldPath& path, Causes& causes) {
  const FieldPath ports = path.Field("ports");
  size_t index = 0;
  for (const Json& port : List(container, "ports")) {
    const FieldPath here = ports.Index(index++);
    if (Number(port, "hostPort") == 0) continue;
    std::string address(Text(port, "protocol"));
    address += "/" + std::string(Text(port, "hostIP")) + "/" + std::to_string(Number(port, "hostPort"));
    if (!taken.insert(address).second) causes.push_back(DuplicateText(here.Field("hostPort"), address));
  }
}

void ContainerName(const Json& container, Names& names, const FieldPath& path, Causes& causes) {
  const std::string_view name = Text(container, "name");
  if (name.empty()) return;  // the schema tells
  if (std::string problem = CheckDnsLabel(name); !problem.empty()) {
    causes.push_back(InvalidText(path.Field("name"), name, problem));
  } else if (!names.emplace(name).second) {
    causes.push_back(DuplicateText(path.Field("name"), name));
  }
}

void ContainerImage(const Json& container, const FieldPath& path, Causes& causes) {
  const std::string_view image = Text(container, "image");
  if (image.empty()) {
    causes.push_back(RequiredValue(path.Field("image")));
  } else if (image.front() == ' ' || image.back() == ' ') {
    causes.push_back(InvalidText(path.Field("image"), image, "must not have leading or trailing whitespace"));
  }
}

void ContainersIn(const Json& spec, std::string_view list, const VolumeSources& volumes, Names& names, const FieldPath& path,
                  Causes& causes) {
  const FieldPath containers = path.Field(list);
  const int64_t grace_seconds = Number(spec, "terminationGracePeriodSeconds", -1);
  const bool host_users = !Has(spec, "hostUsers") || Flag(spec, "hostUsers");
  const bool init = list == "initContainers";
  std::set<std::string> host_ports;
  size_t index = 0;
  for (const Json& container : List(spec, list)) {
    const FieldPath here = containers.Index(index++);
    ContainerName(container, names, here, causes);
    ContainerImage(container, here, causes);
    const std::string_view restart = Text(container, "restartPolicy");
    if (!restart.empty() && !init) {
      causes.push_back(ForbiddenValue(here.Field("restartPolicy"), "may not be set for non-init containers"));
    } else if (!restart.empty() && restart != "Always") {
      causes.push_back(UnsupportedText(here.Field("restartPolicy"), restart, {"Always"}));
    }
    Ports(container, here, causes);
    Environment(container, here, causes);
    Mounts(container, volumes, here, causes);
    Devices(container, volumes, here, causes);
    Watched(container, !init || restart == "Always", grace_seconds, here, causes);
    if (const Json* resources = Member(container, "resources")) ContainerResources(*resources, here.Field("resources"), causes);
    if (const Json* context = Member(container, "securityContext")) {
      ContainerSecurity(*context, host_users, here.Field("securityContext"), causes);
    }
    if (init) host_ports.clear();  // they run one after the other
    HostPorts(container, host_ports, here, causes);
  }
}

}  // namespace

void FieldOfPod(const Json& reference, const std::set<std::string_view>& paths, const FieldPath& path, Causes& causes) {
  const std::string_view version = Text(reference, "apiVersion"), where = Text(reference, "fieldPath");
  if (where.empty()) return;  // the schema tells
  const FieldPath here = path.Field("fieldPath");
  if (!version.empty() && version != "v1") {
    causes.push_back(InvalidText(here, where, "error converting fieldPath: unsupported pod version: " + std::string(version)));
    return;
  }
  if (!IsFieldOfPod(where)) {
    causes.push_back(InvalidText(here, where, "error converting fieldPath: field label not supported: " + std::string(where)));
    return;
  }
  if (const size_t bracket = where.find("['"); bracket != where.npos) {
    std::string key(where.substr(bracket + 2, where.size() - bracket - 4));
    if (where.starts_with("metadata.annotations")) {
      key = base::Lower(key);
    }
    if (std::string problem = CheckQualifiedName(key); !problem.empty()) causes.push_back(InvalidText(path, key, problem));
  } else if (!paths.contains(where)) {
    causes.push_back(UnsupportedText(here, where, {paths.begin(), paths.end()}));
  }
}

void ResourceOfContainer(const Json& reference, bool named, const FieldPath& path, Causes& causes) {
  static const std::set<std::string_view> kResources{"limits.cpu",   "limits.memory",   "limits.ephemeral-storage",
                                                     "requests.cpu", "requests.memory", "requests.ephemeral-storage"};
  static const std::set<std::string_view> kSizes{"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                                 "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  const std::string_view resource = Text(reference, "resource");
  const bool huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
  if (named && Text(reference, "containerName").empty()) {
    causes.push_back(RequiredValue(path.Field("containerName")));
  } else if (!resource.empty() && !kResources.contains(resource) && !huge) {
    causes.push_back(UnsupportedText(path.Field("resource"), resource, {kResources.begin(), kResources.end()}));
  }
  const Json* divisor = Member(reference, "divisor");
  const auto amount = divisor == nullptr ? base::Result<Quantity>(Quantity()) : Quantity::FromJson(*divisor);
  if (!amount || amount->IsZero()) return;
  const std::string text = amount->ToString();
  const std::string sizes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the ";
  std::string problem;
  if (resource.ends_with(".cpu")) {
    if (text != "1" && text != "1m") problem = "1m and 1 are supported with the cpu resource";
  } else if (!kSizes.contains(text) && (huge || kResources.contains(resource))) {
    problem = sizes + (huge                            ? "hugepages resource"
                       : resource.ends_with(".memory") ? "memory resource"
                                                       : "local ephemeral storage resource");
  }
  if (!problem.empty()) {
    causes.push_back(InvalidText(path.Field("divisor"), resource, "only divisor's values " + problem));
  }
}

/// Relative, and never out of the directory that it is relative to.
void DescendingPath(std::string_view below, const FieldPath& path, Causes& causes) {
  if (below.starts_with('/')) causes.push_back(InvalidText(path, below, "must be a relative path"));
  if (below == ".." || below.starts_with("../") || below.find("/../") != below.npos || below.ends_with("/..")) {
    causes.push_back(InvalidText(path, below, "must not contain '..'"));
  }
}

void Containers(const Json& spec, const FieldPath& path, Causes& causes) {
  VolumeSources volumes;
  for (const Json& volume : List(spec, "volumes")) volumes.emplace(Text(volume, "name"), &volume);
  Names names;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    ContainersIn(spec, list, volumes, names, path, causes);
  }
}

}  // namespace evenkeel::kube::validation
