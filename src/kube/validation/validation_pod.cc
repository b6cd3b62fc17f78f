// Rules of pods and of what pods are made of.
#include <algorithm>
#include <set>

#include "kube/object.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

/// Where a volume puts one of its items. Names that begin with .. are those of the kubelet's own directories.
void ItemPath(const Json& item, const FieldPath& path, Causes& causes) {
  const std::string_view below = Text(item, "path");
  const FieldPath here = path.Field("path");
  DescendingPath(below, here, causes);
  if (below.starts_with("..") && below != ".." && !below.starts_with("../")) {
    causes.push_back(InvalidText(here, below, "must not start with '..'"));
  }
}

/// Upstream names the volume's source here, not its item.
void DownwardItem(const Json& item, const FieldPath& path, Causes& causes) {
  static const std::set<std::string_view> kFields{"metadata.annotations", "metadata.labels", "metadata.name",
                                                  "metadata.namespace", "metadata.uid"};
  const Json* field = Member(item, "fieldRef");
  const Json* resource = Member(item, "resourceFieldRef");
  if (field != nullptr) {
    FieldOfPod(*field, kFields, path.Field("fieldRef"), causes);
    if (resource != nullptr) {
      causes.push_back(InvalidText(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (resource != nullptr) {
    ResourceOfContainer(*resource, true, path.Field("resourceFieldRef"), causes);
  } else {
    causes.push_back(RequiredValue(path, "one of fieldRef and resourceFieldRef is required"));
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
    for (const Json& item : List(*content, "items")) {
      ItemPath(item, items.Index(index++), causes);
      if (source == std::string_view("downwardAPI")) DownwardItem(item, here, causes);
    }
  }
  for (const char* source : {"serviceAccountToken", "clusterTrustBundle"}) {
    if (const Json* content = Member(sources, source)) ItemPath(*content, path.Field(source), causes);
  }
}

/// Paths of all that a projected volume gathers, which may not meet.
void ProjectedPaths(const JsonArray& sources, const FieldPath& path, Causes& causes) {
  std::set<std::string_view> taken;
  const auto take = [&](const Json& item, std::string_view shown) {
    const std::string_view where = Text(item, "path");
    if (where.empty() || taken.insert(where).second) return;
    causes.push_back(InvalidText(path, shown, "conflicting duplicate paths"));
  };
  for (const Json& source : sources) {
    for (const char* kind : {"secret", "configMap", "downwardAPI"}) {
      const Json* content = Member(source, kind);
      if (content == nullptr) continue;
      for (const Json& item : List(*content, "items")) {
        take(item, kind == std::string_view("downwardAPI") ? Text(item, "path") : Text(*content, "name"));
      }
    }
    for (const char* kind : {"serviceAccountToken", "clusterTrustBundle"}) {
      if (const Json* content = Member(source, kind)) take(*content, Text(*content, "path"));
    }
  }
}

void Projected(const Json& projected, const FieldPath& path, Causes& causes) {
  constexpr int64_t kSecondsMin = 600, kSecondsMax = int64_t{1} << 32;
  const FieldPath gathered = path.Field("sources");
  const JsonArray& sources = List(projected, "sources");
  for (size_t i = 0; i < sources.size(); ++i) {
    const FieldPath here = gathered.Index(i);
    SourceItems(sources[i], here, causes);
    const Json* token = Member(sources[i], "serviceAccountToken");
    const Json* seconds = token == nullptr ? nullptr : Member(*token, "expirationSeconds");
    if (seconds == nullptr) continue;
    const FieldPath seconds_path = here.Field("serviceAccountToken");
    if (const int64_t number = Number(*token, "expirationSeconds"); number < kSecondsMin) {
      causes.push_back(
          InvalidValue(seconds_path.Field("expirationSeconds"), *seconds, "may not specify a duration less than 10 minutes"));
    } else if (number > kSecondsMax) {
      causes.push_back(InvalidValue(seconds_path.Field("expirationSeconds"), *seconds,
                                    "may not specify a duration larger than 2^32 seconds"));
    }
  }
  ProjectedPaths(sources, path, causes);
}

void VolumeSource(const Json& volume, const FieldPath& path, Causes& causes) {
  int sources = 0;
  for (const auto& [key, value] : volume.get_object()) {
    if (key != "name" && !value.is_null() && ++sources > 1) {
      causes.push_back(ForbiddenValue(path.Field(key), "may not specify more than 1 volume type"));
    }
  }
  if (sources == 0) causes.push_back(RequiredValue(path, "must specify a volume type"));
  if (const Json* map = Member(volume, "configMap"); map != nullptr && Text(*map, "name").empty()) {
    causes.push_back(RequiredValue(path.Field("configMap").Field("name")));
  }
  if (const Json* secret = Member(volume, "secret"); secret != nullptr && Text(*secret, "secretName").empty()) {
    causes.push_back(RequiredValue(path.Field("secret").Field("secretName")));
  }
  if (const Json* directory = Member(volume, "emptyDir");
      directory != nullptr && Text(*directory, "sizeLimit").starts_with('-')) {
    causes.push_back(
        ForbiddenValue(path.Field("emptyDir").Field("sizeLimit"), "SizeLimit field must be a valid resource quantity"));
  }
  if (const Json* host = Member(volume, "hostPath")) HostPath(*host, path.Field("hostPath"), causes);
  SourceItems(volume, path, causes);
  if (const Json* projected = Member(volume, "projected")) Projected(*projected, path.Field("projected"), causes);
}

void Volumes(const Json& spec, const FieldPath& path, Causes& causes) {
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
    if (volume.is_object()) VolumeSource(volume, here, causes);
  }
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

void AffinityTerm(const Json& term, const FieldPath& path, Causes& causes) {
  if (const Json* selector = Member(term, "labelSelector")) LabelSelector(*selector, path.Field("labelSelector"), causes);
  for (const Json& one : List(term, "namespaces")) {
    const std::string_view name = one.is_string() ? std::string_view(one.get_string()) : "";
    // Upstream's path has no number.
    if (std::string problem = CheckDnsLabel(name); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("namespace"), name, problem));
    }
  }
  const std::string_view key = Text(term, "topologyKey");
  if (std::string problem = CheckQualifiedName(key); !problem.empty() && !key.empty()) {
    causes.push_back(InvalidText(path.Field("topologyKey"), key, problem));
  }
}

void PodAffinity(const Json& affinity, const FieldPath& path, Causes& causes) {
  const FieldPath required = path.Field("requiredDuringSchedulingIgnoredDuringExecution");
  size_t index = 0;
  for (const Json& term : List(affinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
    AffinityTerm(term, required.Index(index++), causes);
  }
  const FieldPath preferred = path.Field("preferredDuringSchedulingIgnoredDuringExecution");
  index = 0;
  for (const Json& weighted : List(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
    const FieldPath here = preferred.Index(index++);
    if (const Json* term = Member(weighted, "podAffinityTerm")) AffinityTerm(*term, here.Field("podAffinityTerm"), causes);
  }
}

void NodeCondition(const Json& condition, bool required, const FieldPath& path, Causes& causes) {
  const std::string_view operation = Text(condition, "operator"), key = Text(condition, "key");
  const JsonArray& values = List(condition, "values");
  const FieldPath values_path = path.Field("values");
  if (operation == "In" || operation == "NotIn") {
    if (values.empty()) causes.push_back(RequiredValue(values_path, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operation == "Exists" || operation == "DoesNotExist") {
    if (!values.empty()) {
      causes.push_back(ForbiddenValue(values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if ((operation == "Gt" || operation == "Lt") && values.size() != 1) {
    causes.push_back(RequiredValue(values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  }
  if (std::string problem = CheckQualifiedName(key); !problem.empty() && !key.empty()) {
    causes.push_back(InvalidText(path.Field("key"), key, problem));
  }
  if (!required) return;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values[i].is_string() ? std::string_view(values[i].get_string()) : "";
    if (std::string problem = CheckLabelValue(value); !problem.empty()) {
      causes.push_back(InvalidText(values_path.Index(i), value, problem));
    }
  }
}

void NodeField(const Json& condition, const FieldPath& path, Causes& causes) {
  const std::string_view operation = Text(condition, "operator"), key = Text(condition, "key");
  const JsonArray& values = List(condition, "values");
  const FieldPath values_path = path.Field("values");
  if (operation != "In" && operation != "NotIn") {
    causes.push_back(InvalidText(path.Field("operator"), operation, "not a valid selector operator"));
  } else if (values.size() != 1) {
    causes.push_back(
        RequiredValue(values_path, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  }
  if (key != "metadata.name") {
    causes.push_back(InvalidText(path.Field("key"), key, "not a valid field selector key"));
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values[i].is_string() ? std::string_view(values[i].get_string()) : "";
    if (std::string problem = CheckDnsSubdomain(value); !problem.empty()) {
      causes.push_back(InvalidText(values_path.Index(i), value, problem));
    }
  }
}

void NodeTerm(const Json& term, bool required, const FieldPath& path, Causes& causes) {
  const FieldPath expressions = path.Field("matchExpressions"), fields = path.Field("matchFields");
  size_t index = 0;
  for (const Json& one : List(term, "matchExpressions")) NodeCondition(one, required, expressions.Index(index++), causes);
  index = 0;
  for (const Json& one : List(term, "matchFields")) NodeField(one, fields.Index(index++), causes);
}

void NodeAffinity(const Json& affinity, const FieldPath& path, Causes& causes) {
  if (const Json* required = Member(affinity, "requiredDuringSchedulingIgnoredDuringExecution")) {
    NodeSelector(*required, path.Field("requiredDuringSchedulingIgnoredDuringExecution"), causes);
  }
  const FieldPath preferred = path.Field("preferredDuringSchedulingIgnoredDuringExecution");
  size_t index = 0;
  for (const Json& weighted : List(affinity, "preferredDuringSchedulingIgnoredDuringExecution")) {
    const FieldPath here = preferred.Index(index++);
    if (const Json* term = Member(weighted, "preference")) NodeTerm(*term, false, here.Field("preference"), causes);
  }
}

void Placement(const Json& spec, const FieldPath& path, Causes& causes) {
  Labels(Fields(spec, "nodeSelector"), path.Field("nodeSelector"), causes);
  const FieldPath affinity_path = path.Field("affinity");
  if (const Json* affinity = Member(spec, "affinity")) {
    if (const Json* nodes = Member(*affinity, "nodeAffinity")) {
      NodeAffinity(*nodes, affinity_path.Field("nodeAffinity"), causes);
    }
    for (const char* name : {"podAffinity", "podAntiAffinity"}) {
      if (const Json* one = Member(*affinity, name)) PodAffinity(*one, affinity_path.Field(name), causes);
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

void HostNetwork(const Json& spec, PodForm form, const FieldPath& path, Causes& causes) {
  if (!Flag(spec, "hostNetwork")) return;
  const JsonArray& containers = List(spec, "containers");
  const FieldPath list = path.Field("containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    const FieldPath container = list.Index(i);
    const FieldPath ports = container.Field("ports");
    size_t index = 0;
    for (const Json& port : List(containers[i], "ports")) {
      const FieldPath here = ports.Index(index++);
      const int64_t of_host = Number(port, "hostPort");
      if (of_host == Number(port, "containerPort") || (of_host == 0 && form == PodForm::kTemplate)) continue;
      causes.push_back(InvalidValue(here.Field("hostPort"), of_host, "must match `containerPort` when `hostNetwork` is true"));
    }
  }
}

/// Domains may have underscores there, and a dot at the end.
std::string CheckSearchedDomain(std::string_view domain) {
  if (domain == ".") return "";
  if (domain.ends_with('.')) domain.remove_suffix(1);
  std::string plain(domain);
  std::ranges::replace(plain, '_', 'x');
  return CheckDnsSubdomain(plain);
}

void Dns(const Json& spec, const FieldPath& path, Causes& causes) {
  constexpr size_t kNameserversMax = 3, kSearchesMax = 32, kSearchBytesMax = 2048;
  if (Text(spec, "dnsPolicy") == "None" && base::FindArray(spec, {"dnsConfig", "nameservers"}).empty()) {
    const FieldPath config = path.Field("dnsConfig");
    causes.push_back(Has(spec, "dnsConfig") ? RequiredValue(config.Field("nameservers"),
                                                            "must provide at least one DNS nameserver when `dnsPolicy` is None")
                                            : RequiredValue(config, "must provide `dnsConfig` when `dnsPolicy` is None"));
  }
  const Json* config = Member(spec, "dnsConfig");
  if (config == nullptr) return;
  const FieldPath here = path.Field("dnsConfig");
  const JsonArray& servers = List(*config, "nameservers");
  const FieldPath servers_path = here.Field("nameservers"), searches_path = here.Field("searches");
  if (servers.size() > kNameserversMax) {
    causes.push_back(InvalidValue(servers_path, servers, "must not have more than 3 nameservers"));
  }
  for (size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].is_string()) Address(servers[i].get_string(), servers_path.Index(i), causes);
  }
  const JsonArray& searches = List(*config, "searches");
  size_t bytes = searches.empty() ? 0 : searches.size() - 1;
  for (const Json& search : searches) bytes += search.is_string() ? search.get_string().size() : 0;
  if (searches.size() > kSearchesMax) {
    causes.push_back(InvalidValue(searches_path, searches, "must not have more than 32 search paths"));
  }
  if (bytes > kSearchBytesMax) {
    causes.push_back(
        InvalidValue(searches_path, searches, "must not have more than 2048 characters (including spaces) in the search list"));
  }
  for (size_t i = 0; i < searches.size(); ++i) {
    if (!searches[i].is_string()) continue;
    if (std::string problem = CheckSearchedDomain(searches[i].get_string()); !problem.empty()) {
      causes.push_back(InvalidValue(searches_path.Index(i), searches[i], problem));
    }
  }
  const FieldPath options = here.Field("options");
  size_t index = 0;
  for (const Json& option : List(*config, "options")) {
    const FieldPath one = options.Index(index++);
    if (Text(option, "name").empty()) causes.push_back(RequiredValue(one, "must not be empty"));
  }
}

void HostAliases(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath aliases = path.Field("hostAliases");
  size_t number = 0;
  for (const Json& alias : List(spec, "hostAliases")) {
    const FieldPath here = aliases.Index(number++);
    if (!Text(alias, "ip").empty()) Address(Text(alias, "ip"), here.Field("ip"), causes);
    const JsonArray& names = List(alias, "hostnames");
    const FieldPath names_path = here.Field("hostnames");
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i].is_string() ? std::string_view(names[i].get_string()) : "";
      if (std::string problem = CheckDnsSubdomain(name); !problem.empty()) {
        causes.push_back(InvalidText(names_path.Index(i), name, problem));
      }
    }
  }
}

void Gates(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath readiness = path.Field("readinessGates"), scheduling = path.Field("schedulingGates");
  size_t index = 0;
  for (const Json& gate : List(spec, "readinessGates")) {
    const FieldPath here = readiness.Index(index++);
    const std::string_view type = Text(gate, "conditionType");
    if (std::string problem = CheckQualifiedName(type); !problem.empty() && !type.empty()) {
      causes.push_back(InvalidText(here.Field("conditionType"), type, problem));
    }
  }
  Names names;
  index = 0;
  for (const Json& gate : List(spec, "schedulingGates")) {
    const FieldPath here = scheduling.Index(index++);
    const std::string_view name = Text(gate, "name");
    if (name.empty()) continue;  // the schema tells
    if (std::string problem = CheckQualifiedName(name); !problem.empty()) causes.push_back(InvalidText(here, name, problem));
    if (!names.emplace(name).second) causes.push_back(DuplicateText(here, name));
  }
}

}  // namespace

void HostPath(const Json& source, const FieldPath& path, Causes& causes) {
  static const std::set<std::string_view> kTypes{"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                                 "File", "FileOrCreate", "Socket"};
  const std::string where = "/" + std::string(Text(source, "path")) + "/";
  if (where.contains("/../")) {
    causes.push_back(InvalidText(path.Field("path"), Text(source, "path"), "must not contain '..'"));
  }
  if (const std::string_view type = Text(source, "type"); !kTypes.contains(type)) {
    causes.push_back(UnsupportedText(path.Field("type"), type, {kTypes.begin(), kTypes.end()}));
  }
}

void NodeSelector(const Json& selector, const FieldPath& path, Causes& causes) {
  const FieldPath terms = path.Field("nodeSelectorTerms");
  size_t index = 0;
  for (const Json& term : List(selector, "nodeSelectorTerms")) NodeTerm(term, true, terms.Index(index++), causes);
}

void PodSpec(const Json& spec, PodForm form, const FieldPath& path, Causes& causes) {
  Volumes(spec, path, causes);
  Containers(spec, path, causes);
  HostNetwork(spec, form, path, causes);
  Tolerations(spec, path, causes);
  Placement(spec, path, causes);
  Dns(spec, path, causes);
  HostAliases(spec, path, causes);
  Gates(spec, path, causes);
  PodSecurity(spec, path, causes);
  PodClaims(spec, path, causes);
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
  // Upstream leaves metadata out of these paths.
  if (const Json* metadata = Member(pod_template, "metadata")) {
    Labels(Fields(*metadata, "labels"), path.Field("labels"), causes);
    Annotations(Fields(*metadata, "annotations"), path.Field("annotations"), causes);
  }
  const FieldPath spec_path = path.Field("spec");
  const Json* spec = Member(pod_template, "spec");
  if (spec == nullptr) {
    const FieldPath containers = spec_path.Field("containers");
    causes.push_back(RequiredValue(containers));
    return;
  }
  PodSpec(*spec, PodForm::kTemplate, spec_path, causes);
  if (!List(*spec, "ephemeralContainers").empty()) {
    causes.push_back(
        ForbiddenValue(spec_path.Field("ephemeralContainers"), "ephemeral containers not allowed in pod template"));
  }
}

}  // namespace evenkeel::kube::validation
