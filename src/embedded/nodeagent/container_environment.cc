#include "embedded/nodeagent/container_environment.h"

#include <algorithm>

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Fail;
using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindString;
using base::Json;

const std::string* FindVariable(const Environment& environment, std::string_view name) {
  const auto found =
      std::find_if(environment.rbegin(), environment.rend(), [&](const auto& variable) { return variable.first == name; });
  return found == environment.rend() ? nullptr : &found->second;
}

void SetVariable(Environment& environment, std::string_view name, std::string value) {
  for (auto& variable : environment) {
    if (variable.first == name) {
      variable.second = std::move(value);
      return;
    }
  }
  environment.emplace_back(name, std::move(value));
}

std::string QuoteValue(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// As the downward API writes whole maps: one key="value" per line, sorted.
std::string FormatMap(const base::JsonObject& object) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : object) {
    if (const auto* text = value.if_string()) sorted.emplace(key, *text);
  }
  std::string lines;
  for (const auto& [key, value] : sorted) lines += (lines.empty() ? "" : "\n") + key + "=" + QuoteValue(value);
  return lines;
}

const Json* FindContainer(const Json& pod, std::string_view name) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const Json& container : FindArray(pod, {"spec", list})) {
      if (FindString(container, {"name"}) == name) return &container;
    }
  }
  return nullptr;
}

base::Result<std::optional<std::string>> KeyValue(const Json& reference, std::string_view kind,
                                                  const ConfigurationSource& source) {
  const std::string_view name = FindString(reference, {"name"}), key = FindString(reference, {"key"});
  const bool optional = FindBool(reference, {"optional"});
  auto object = source.lookup(kind, name);
  if (!object) {
    if (object.error().code() == Code::kNotFound && optional) return std::nullopt;
    if (object.error().code() == Code::kNotFound) return Fail(Code::kNotFound, fmt::format("{} \"{}\" not found", kind, name));
    return Fail(object.error());
  }
  const auto found = object->data.find(std::string(key));
  if (found != object->data.end()) return found->second;
  if (optional) return std::nullopt;
  return Fail(Code::kNotFound, fmt::format("couldn't find key {} in {} {}/{}", key, kind == "secret" ? "Secret" : "ConfigMap",
                                           source.identity.ns, name));
}

base::Result<std::optional<std::string>> ValueFrom(const Json& from, std::string_view container,
                                                   const ConfigurationSource& source) {
  if (const Json* field = Find(from, {"fieldRef"})) return FieldValue(FindString(*field, {"fieldPath"}), source);
  if (const Json* resource = Find(from, {"resourceFieldRef"})) return ResourceFieldValue(*resource, container, source);
  if (const Json* map = Find(from, {"configMapKeyRef"})) return KeyValue(*map, "configmap", source);
  if (const Json* secret = Find(from, {"secretKeyRef"})) return KeyValue(*secret, "secret", source);
  return Fail(Code::kInvalid, "valueFrom needs fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef");
}

base::Status AddFrom(const Json& from, const ConfigurationSource& source, Environment& environment) {
  const bool secret = Find(from, {"secretRef"}) != nullptr;
  const Json* reference = secret ? Find(from, {"secretRef"}) : Find(from, {"configMapRef"});
  if (reference == nullptr) return {};
  const std::string_view kind = secret ? "secret" : "configmap", name = FindString(*reference, {"name"});
  auto object = source.lookup(kind, name);
  if (!object) {
    if (object.error().code() != Code::kNotFound) return Fail(object.error());
    if (FindBool(*reference, {"optional"})) return {};
    return Fail(Code::kNotFound, fmt::format("{} \"{}\" not found", kind, name));
  }
  const std::string prefix(FindString(from, {"prefix"}));
  for (const auto& [key, value] : object->data) SetVariable(environment, prefix + key, value);
  return {};
}

}  // namespace

std::string ExpandVariables(std::string_view text, const Environment& environment) {
  std::string expanded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      expanded += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      expanded += '$';
      ++i;
      continue;
    }
    const size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
    const std::string* value =
        close == std::string_view::npos ? nullptr : FindVariable(environment, text.substr(i + 2, close - i - 2));
    if (value == nullptr) {
      expanded += '$';
      continue;
    }
    expanded += *value;
    i = close;
  }
  return expanded;
}

base::Result<std::string> FieldValue(std::string_view path, const ConfigurationSource& source) {
  const Json& pod = source.pod;
  if (path == "metadata.name") return source.identity.name;
  if (path == "metadata.namespace") return source.identity.ns;
  if (path == "metadata.uid") return source.identity.uid;
  if (path == "spec.nodeName") return source.identity.node;
  if (path == "spec.serviceAccountName") return std::string(FindString(pod, {"spec", "serviceAccountName"}, "default"));
  if (path == "status.podIP" || path == "status.podIPs") return source.identity.ip;
  if (path == "status.hostIP" || path == "status.hostIPs") return source.identity.host_ip;
  for (const std::string_view map : {"labels", "annotations"}) {
    const std::string prefix = fmt::format("metadata.{}", map);
    const base::JsonObject& values = base::FindObject(pod, {"metadata", map});
    if (path == prefix) return FormatMap(values);
    if (path.starts_with(prefix + "['") && path.ends_with("']")) {
      const std::string_view key = path.substr(prefix.size() + 2, path.size() - prefix.size() - 4);
      const Json* value = base::Find(values, key);
      return std::string(value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "");
    }
  }
  return Fail(Code::kInvalid, fmt::format("field \"{}\" is not offered by the downward API", path));
}

base::Result<std::string> ResourceFieldValue(const Json& reference, std::string_view container_name,
                                             const ConfigurationSource& source) {
  const std::string_view path = FindString(reference, {"resource"});
  const std::string_view named = FindString(reference, {"containerName"}, container_name);
  const Json* container = FindContainer(source.pod, named);
  if (container == nullptr) return Fail(Code::kInvalid, fmt::format("container {} not found", named));
  const size_t dot = path.find('.');
  const std::string_view list = path.substr(0, dot);
  if (dot == std::string_view::npos || (list != "limits" && list != "requests")) {
    return Fail(Code::kInvalid, fmt::format("\"{}\" is not a resource field such as limits.cpu", path));
  }
  const std::string resource(path.substr(dot + 1));
  const kube::ResourceList amounts = kube::DecodeResourceList(Find(*container, {"resources", list}));
  int64_t amount = 0;
  if (const auto found = amounts.find(resource); found != amounts.end()) {
    amount = found->second;
  } else if (const auto whole = source.allocatable.find(resource); list == "limits" && whole != source.allocatable.end()) {
    amount = whole->second;
  }
  int64_t divisor = resource == "cpu" ? 1000 : 1;
  if (const Json* given = Find(reference, {"divisor"})) {
    const Json one = {{resource, *given}};
    const kube::ResourceList decoded = kube::DecodeResourceList(&one);
    if (const auto found = decoded.find(resource); found != decoded.end() && found->second > 0) divisor = found->second;
  }
  return std::to_string(amount / divisor + (amount % divisor > 0 ? 1 : 0));
}

base::Result<Environment> ResolveEnvironment(const Json& container, const ConfigurationSource& source,
                                             Environment environment) {
  for (const Json& from : FindArray(container, {"envFrom"})) EVENKEEL_TRY(AddFrom(from, source, environment));
  for (const Json& variable : FindArray(container, {"env"})) {
    const std::string_view name = FindString(variable, {"name"});
    const Json* from = Find(variable, {"valueFrom"});
    if (from == nullptr || from->is_null()) {
      SetVariable(environment, name, ExpandVariables(FindString(variable, {"value"}), environment));
      continue;
    }
    EVENKEEL_ASSIGN(std::optional<std::string> value, ValueFrom(*from, FindString(container, {"name"}), source));
    if (value) SetVariable(environment, name, *std::move(value));
  }
  return environment;
}

base::Status ConfigureContainer(const Json& container, const ConfigurationSource& source, Environment base,
                                ContainerStart& start) {
  EVENKEEL_ASSIGN(start.env, ResolveEnvironment(container, source, std::move(base)));
  start.command.clear();
  for (const std::string_view part : {"command", "args"}) {
    for (const std::string& word : base::FindTexts(container, {part}))
      start.command.push_back(ExpandVariables(word, start.env));
  }
  start.working_dir = FindString(container, {"workingDir"});
  start.mounts.clear();
  for (const Json& mount : FindArray(container, {"volumeMounts"})) {
    std::string sub_path(FindString(mount, {"subPath"}));
    if (const std::string_view expression = FindString(mount, {"subPathExpr"}); !expression.empty()) {
      sub_path = ExpandVariables(expression, start.env);
    }
    start.mounts.push_back({std::string(FindString(mount, {"name"})), std::string(FindString(mount, {"mountPath"})), sub_path});
  }
  return {};
}

}  // namespace evenkeel::embedded::nodeagent
