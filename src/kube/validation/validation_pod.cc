// Rules of pods and of what pods are made of.
#include <set>

#include "kube/amounts.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

using Names = std::set<std::string, std::less<>>;

void Resources(const Json& resources, const FieldPath& path, Causes& causes) {
  const JsonObject& limits = Fields(resources, "limits");
  const JsonObject& requests = Fields(resources, "requests");
  NonNegativeAmounts(limits, path.Field("limits"), causes);
  NonNegativeAmounts(requests, path.Field("requests"), causes);
  for (const auto& [name, amount] : requests) {
    const Json* limit = limits.if_contains(name);
    if (limit == nullptr || !limit->is_string() || !amount.is_string() || *limit == amount) continue;
    const auto request_amount = Quantity::Parse(std::string_view(amount.get_string()));
    const auto limit_amount = Quantity::Parse(std::string_view(limit->get_string()));
    if (!request_amount || !limit_amount || !(*limit_amount < *request_amount)) continue;
    causes.push_back(InvalidValue(path.Field("requests"), amount,
                                  "must be less than or equal to " + std::string(name) + " limit of " +
                                      std::string(std::string_view(limit->get_string()))));
  }
}

/// What a pod asks for as a whole: no less than its containers request together, and no container is limited to more.
void PodResources(const Json& spec, const Json& resources, const FieldPath& path, Causes& causes) {
  const FieldPath here = path.Field("resources");
  Resources(resources, here, causes);
  if (!List(resources, "claims").empty()) {
    causes.push_back(ForbiddenValue(here.Field("claims"), "claims may not be set for Resources at pod-level"));
  }
  for (const char* which : {"limits", "requests"}) {
    for (const auto& amount : Fields(resources, which)) {
      if (IsPodLevelResourceName(amount.key())) continue;
      causes.push_back(UnsupportedText(here.Field(which).Key(amount.key()), amount.key(), {"cpu", "hugepages-", "memory"}));
    }
  }
  Json parts = spec;
  parts.get_object().erase("resources");
  const Amounts requests = AmountsOf(Member(resources, "requests")), limits = AmountsOf(Member(resources, "limits"));
  for (const auto& [name, amount] : PodRequests(JsonObject{{"spec", std::move(parts)}}, PodOverhead::kLeftOut)) {
    const Quantity* whole = FindAmount(requests, name);
    if (whole == nullptr || !IsPodLevelResourceName(name) || amount <= *whole) continue;
    causes.push_back(InvalidText(here.Field("requests").Key(name), whole->ToString(),
                                 "must be greater than or equal to aggregate container requests of " + amount.ToString()));
  }
  const JsonArray& containers = List(spec, "containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    for (const auto& [name, amount] : AmountsOf(base::Find(containers[i], {"resources", "limits"}))) {
      const Quantity* whole = FindAmount(limits, name);
      if (whole == nullptr || !IsPodLevelResourceName(name) || amount <= *whole) continue;
      causes.push_back(InvalidText(path.Field("containers").Index(i).Field("resources").Field("limits").Key(name),
                                   amount.ToString(), "must be less than or equal to pod limits of " + whole->ToString()));
    }
  }
}

/// exec, httpGet, tcpSocket, grpc, sleep: exactly one.
void Handler(const Json& handler, const FieldPath& path, Causes& causes) {
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
    if (const Json* port = Member(*one, "port")) {
      PortOrName(*port, here.Field("port"), causes);
    } else if (std::string_view(name) != "exec" && std::string_view(name) != "sleep") {
      causes.push_back(InvalidValue(here.Field("port"), 0, "must be between 1 and 65535, inclusive"));
    }
  }
  if (count == 0) causes.push_back(RequiredValue(path, "must specify a handler type"));
}

void Probes(const Json& container, const FieldPath& path, Causes& causes) {
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    const Json* probe = Member(container, name);
    if (probe == nullptr || !probe->is_object()) continue;
    const FieldPath here = path.Field(name);
    Handler(*probe, here, causes);
    if (std::string_view(name) != "readinessProbe" && Number(*probe, "successThreshold", 1) != 1) {
      causes.push_back(InvalidValue(here.Field("successThreshold"), *Member(*probe, "successThreshold"), "must be 1"));
    }
  }
  const Json* lifecycle = Member(container, "lifecycle");
  if (lifecycle == nullptr) return;
  const FieldPath hooks = path.Field("lifecycle");
  for (const char* name : {"postStart", "preStop"}) {
    if (const Json* hook = Member(*lifecycle, name)) Handler(*hook, hooks.Field(name), causes);
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

void EnvironmentSource(const Json& variable, const Json& source, const FieldPath& path, Causes& causes) {
  if (!Text(variable, "value").empty()) {
    causes.push_back(InvalidText(path, "", "may not be specified when `value` is not empty"));
  }
  int count = 0;
  for (const char* name : {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}) {
    count += Has(source, name);
  }
  if (const Json* field = Member(source, "fieldRef")) {
    const std::string_view where = Text(*field, "fieldPath");
    if (!where.empty() && !IsFieldOfPod(where)) {
      causes.push_back(InvalidText(path.Field("fieldRef").Field("fieldPath"), where,
                                   "error converting fieldPath: field label not supported: " + std::string(where)));
    }
  }
  if (count == 0) {
    causes.push_back(
        InvalidText(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"));
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
}

/// Relative, and never out of the directory that it is relative to.
void DescendingPath(std::string_view below, const FieldPath& path, Causes& causes) {
  if (below.starts_with('/')) causes.push_back(InvalidText(path, below, "must be a relative path"));
  if (below == ".." || below.starts_with("../") || below.find("/../") != below.npos || below.ends_with("/..")) {
    causes.push_back(InvalidText(path, below, "must not contain '..'"));
  }
}

/// Where a volume puts one of its items. Names that begin with .. are those of the kubelet's own directories.
void ItemPath(const Json& item, const FieldPath& path, Causes& causes) {
  const std::string_view below = Text(item, "path");
  const FieldPath here = path.Field("path");
  DescendingPath(below, here, causes);
  if (below.starts_with("..") && below != ".." && !below.starts_with("../")) {
    causes.push_back(InvalidText(here, below, "must not start with '..'"));
  }
}

/// The items of each source, wherever it stands: in a volume or among those that a projected one gathers.
void SourceItems(const Json& sources, const FieldPath& path, Causes& causes) {
  for (const char* source : {"configMap", "secret", "downwardAPI"}) {
    const Json* content = Member(sources, source);
    if (content == nullptr) continue;
    const FieldPath here = path.Field(source);
    const FieldPath items = here.Field("items");
    size_t index = 0;
    for (const Json& item : List(*content, "items")) ItemPath(item, items.Index(index++), causes);
  }
  for (const char* source : {"serviceAccountToken", "clusterTrustBundle"}) {
    if (const Json* content = Member(sources, source)) ItemPath(*content, path.Field(source), causes);
  }
}

void Mounts(const Json& container, const Names& volumes, const FieldPath& path, Causes& causes) {
  const FieldPath mounts = path.Field("volumeMounts");
  Names paths;
  size_t index = 0;
  for (const Json& mount : List(container, "volumeMounts")) {
    const FieldPath here = mounts.Index(index++);
    const std::string_view name = Text(mount, "name");
    if (!name.empty() && !volumes.contains(name)) causes.push_back(NotFoundValue(here.Field("name"), name));
    const std::string_view where = Text(mount, "mountPath");
    if (!where.empty() && !paths.emplace(where).second) {
      causes.push_back(InvalidText(here.Field("mountPath"), where, "must be unique"));
    }
    DescendingPath(Text(mount, "subPath"), here.Field("subPath"), causes);
  }
}

void Containers(const Json& spec, std::string_view list, const Names& volumes, Names& names, const FieldPath& path,
                Causes& causes) {
  const FieldPath containers = path.Field(list);
  size_t index = 0;
  for (const Json& container : List(spec, list)) {
    const FieldPath here = containers.Index(index++);
    const std::string_view name = Text(container, "name");
    if (!name.empty()) {
      if (std::string problem = CheckDnsLabel(name); !problem.empty()) {
        causes.push_back(InvalidText(here.Field("name"), name, problem));
      } else if (!names.emplace(name).second) {
        causes.push_back(DuplicateText(here.Field("name"), name));
      }
    }
    const std::string_view image = Text(container, "image");
    if (image.empty()) {
      causes.push_back(RequiredValue(here.Field("image")));
    } else if (image.front() == ' ' || image.back() == ' ') {
      causes.push_back(InvalidText(here.Field("image"), image, "must not have leading or trailing whitespace"));
    }
    const std::string_view restart = Text(container, "restartPolicy");
    if (!restart.empty() && list != "initContainers") {
      causes.push_back(ForbiddenValue(here.Field("restartPolicy"), "may not be set for non-init containers"));
    } else if (!restart.empty() && restart != "Always") {
      causes.push_back(UnsupportedText(here.Field("restartPolicy"), restart, {"Always"}));
    }
    Ports(container, here, causes);
    Environment(container, here, causes);
    Mounts(container, volumes, here, causes);
    Probes(container, here, causes);
    if (const Json* resources = Member(container, "resources")) Resources(*resources, here.Field("resources"), causes);
  }
}

Names Volumes(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath volumes = path.Field("volumes");
  Names names;
  size_t index = 0;
  for (const Json& volume : List(spec, "volumes")) {
    const FieldPath here = volumes.Index(index++);
    const std::string_view name = Text(volume, "name");
    if (std::string problem = CheckDnsLabel(name); !problem.empty() && !name.empty()) {
      causes.push_back(InvalidText(here.Field("name"), name, problem));
    } else if (!names.emplace(name).second) {
      causes.push_back(DuplicateText(here.Field("name"), name));
    }
    if (!volume.is_object()) continue;
    int sources = 0;
    for (const auto& [key, value] : volume.get_object()) {
      if (key != "name" && !value.is_null() && ++sources > 1) {
        causes.push_back(ForbiddenValue(here.Field(key), "may not specify more than 1 volume type"));
      }
    }
    if (sources == 0) causes.push_back(RequiredValue(here, "must specify a volume type"));
    if (const Json* map = Member(volume, "configMap"); map != nullptr && Text(*map, "name").empty()) {
      causes.push_back(RequiredValue(here.Field("configMap").Field("name")));
    }
    if (const Json* secret = Member(volume, "secret"); secret != nullptr && Text(*secret, "secretName").empty()) {
      causes.push_back(RequiredValue(here.Field("secret").Field("secretName")));
    }
    if (const Json* host = Member(volume, "hostPath")) {
      const std::string where = "/" + std::string(Text(*host, "path")) + "/";
      if (where.contains("/../")) {
        causes.push_back(InvalidText(here.Field("hostPath").Field("path"), Text(*host, "path"), "must not contain '..'"));
      }
    }
    SourceItems(volume, here, causes);
    if (const Json* projected = Member(volume, "projected")) {
      const FieldPath projection = here.Field("projected");
      const FieldPath gathered = projection.Field("sources");
      size_t number = 0;
      for (const Json& source : List(*projected, "sources")) SourceItems(source, gathered.Index(number++), causes);
    }
  }
  return names;
}

void Tolerations(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath tolerations = path.Field("tolerations");
  size_t index = 0;
  for (const Json& toleration : List(spec, "tolerations")) {
    const FieldPath here = tolerations.Index(index++);
    const std::string_view key = Text(toleration, "key");
    const std::string_view operation = Text(toleration, "operator");
    const std::string_view effect = Text(toleration, "effect");
    if (!key.empty()) {
      if (std::string problem = CheckQualifiedName(key); !problem.empty())
        causes.push_back(InvalidText(here.Field("key"), key, problem));
    } else if (operation != "Exists") {
      causes.push_back(
          InvalidText(here.Field("operator"), operation,
                      "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
    }
    if (Has(toleration, "tolerationSeconds") && effect != "NoExecute") {
      causes.push_back(InvalidText(here.Field("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (operation.empty() || operation == "Equal") {
      if (std::string problem = CheckLabelValue(Text(toleration, "value")); !problem.empty()) {
        causes.push_back(InvalidText(here.Field("operator"), Text(toleration, "value"), problem));
      }
    } else if (operation == "Exists") {
      if (!Text(toleration, "value").empty()) {
        causes.push_back(InvalidText(here.Field("operator"), operation, "value must be empty when `operator` is 'Exists'"));
      }
    } else {
      causes.push_back(UnsupportedText(here.Field("operator"), operation, {"Equal", "Exists"}));
    }
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      causes.push_back(UnsupportedText(here.Field("effect"), effect, {"NoExecute", "NoSchedule", "PreferNoSchedule"}));
    }
  }
}

void AffinityTerms(const Json& affinity, const FieldPath& path, Causes& causes) {
  const FieldPath required = path.Field("requiredDuringSchedulingIgnoredDuringExecution");
  size_t index = 0;
  for (const Json& term : List(affinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
    const FieldPath here = required.Index(index++);
    if (const Json* selector = Member(term, "labelSelector")) LabelSelector(*selector, here.Field("labelSelector"), causes);
  }
}

void Placement(const Json& spec, const FieldPath& path, Causes& causes) {
  Labels(Fields(spec, "nodeSelector"), path.Field("nodeSelector"), causes);
  const FieldPath affinity_path = path.Field("affinity");
  if (const Json* affinity = Member(spec, "affinity")) {
    for (const char* name : {"podAffinity", "podAntiAffinity"}) {
      if (const Json* one = Member(*affinity, name)) AffinityTerms(*one, affinity_path.Field(name), causes);
    }
  }
  const FieldPath constraints = path.Field("topologySpreadConstraints");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  size_t index = 0;
  for (const Json& constraint : List(spec, "topologySpreadConstraints")) {
    const FieldPath here = constraints.Index(index++);
    if (const Json* skew = Member(constraint, "maxSkew"); skew != nullptr && Number(constraint, "maxSkew") <= 0) {
      causes.push_back(InvalidValue(here.Field("maxSkew"), *skew, "must be greater than zero"));
    }
    const std::string_view key = Text(constraint, "topologyKey");
    const std::string_view action = Text(constraint, "whenUnsatisfiable");
    if (!seen.emplace(key, action).second) {
      causes.push_back(DuplicateText(here.Field("{topologyKey, whenUnsatisfiable}"),
                                     "{" + std::string(key) + ", " + std::string(action) + "}"));
    }
    if (const Json* selector = Member(constraint, "labelSelector"))
      LabelSelector(*selector, here.Field("labelSelector"), causes);
  }
}

}  // namespace

void PodSpec(const Json& spec, const FieldPath& path, Causes& causes) {
  const Names volumes = Volumes(spec, path, causes);
  Names names;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    Containers(spec, list, volumes, names, path, causes);
  }
  Tolerations(spec, path, causes);
  Placement(spec, path, causes);
  if (Text(spec, "dnsPolicy") == "None" && base::FindArray(spec, {"dnsConfig", "nameservers"}).empty()) {
    const FieldPath config = path.Field("dnsConfig");
    causes.push_back(Has(spec, "dnsConfig") ? RequiredValue(config.Field("nameservers"),
                                                            "must provide at least one DNS nameserver when `dnsPolicy` is None")
                                            : RequiredValue(config, "must provide `dnsConfig` when `dnsPolicy` is None"));
  }
  const FieldPath aliases = path.Field("hostAliases");
  size_t number = 0;
  for (const Json& alias : List(spec, "hostAliases")) {
    const FieldPath here = aliases.Index(number++);
    if (IsIpAddress(Text(alias, "ip")) || Text(alias, "ip").empty()) continue;
    causes.push_back(InvalidText(here.Field("ip"), Text(alias, "ip"), "must be valid IP address"));
  }
  if (const Json* resources = Member(spec, "resources")) PodResources(spec, *resources, path, causes);
  NonNegativeAmounts(Fields(spec, "overhead"), path.Field("overhead"), causes);
  if (const Json* seconds = Member(spec, "activeDeadlineSeconds")) {
    if (Number(spec, "activeDeadlineSeconds") < 1 || Number(spec, "activeDeadlineSeconds") > 2147483647) {
      causes.push_back(
          InvalidValue(path.Field("activeDeadlineSeconds"), *seconds, "must be between 1 and 2147483647, inclusive"));
    }
  }
  if (const Json* seconds = Member(spec, "terminationGracePeriodSeconds");
      seconds != nullptr && Number(spec, "terminationGracePeriodSeconds") < 0) {
    causes.push_back(InvalidValue(path.Field("terminationGracePeriodSeconds"), *seconds, "must be greater than or equal to 0"));
  }
  for (const char* name : {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"}) {
    const std::string_view text = Text(spec, name);
    if (text.empty()) continue;
    if (std::string problem = CheckDnsSubdomain(text); !problem.empty())
      causes.push_back(InvalidText(path.Field(name), text, problem));
  }
  for (const char* name : {"hostname", "subdomain"}) {
    const std::string_view text = Text(spec, name);
    if (text.empty()) continue;
    if (std::string problem = CheckDnsLabel(text); !problem.empty())
      causes.push_back(InvalidText(path.Field(name), text, problem));
  }
}

void PodTemplate(const Json& pod_template, const FieldPath& path, Causes& causes) {
  const FieldPath metadata_path = path.Field("metadata");
  if (const Json* metadata = Member(pod_template, "metadata")) {
    Labels(Fields(*metadata, "labels"), metadata_path.Field("labels"), causes);
    Annotations(Fields(*metadata, "annotations"), metadata_path.Field("annotations"), causes);
  }
  const FieldPath spec_path = path.Field("spec");
  const Json* spec = Member(pod_template, "spec");
  if (spec == nullptr) {
    const FieldPath containers = spec_path.Field("containers");
    causes.push_back(RequiredValue(containers));
    return;
  }
  PodSpec(*spec, spec_path, causes);
  if (!List(*spec, "ephemeralContainers").empty()) {
    causes.push_back(
        ForbiddenValue(spec_path.Field("ephemeralContainers"), "ephemeral containers not allowed in pod template"));
  }
}

}  // namespace evenkeel::kube::validation
