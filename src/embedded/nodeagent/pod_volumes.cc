#include <algorithm>
#include <set>

#include "embedded/nodeagent/container_environment.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Fail;
using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

bool IsSafeRelativePath(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return true;
}

base::Status AddFile(std::string_view path, std::string content, int64_t mode, std::vector<VolumeFile>& files) {
  if (!IsSafeRelativePath(path)) return Fail(Code::kInvalid, fmt::format("\"{}\" is not a path inside the volume", path));
  files.push_back({std::string(path), std::move(content), static_cast<unsigned>(mode & 0777)});
  return {};
}

// A ConfigMap or Secret as files, all keys or the items named.
base::Status AddData(const Json& spec, std::string_view kind, std::string_view name, int64_t mode,
                     const ConfigurationSource& source, std::vector<VolumeFile>& files) {
  const bool optional = base::FindBool(spec, {"optional"});
  auto object = source.lookup(kind, name);
  if (!object) {
    if (object.error().code() != Code::kNotFound) return Fail(object.error());
    if (optional) return {};
    return Fail(Code::kNotFound, fmt::format("{} \"{}\" not found", kind, name));
  }
  const base::JsonArray& items = FindArray(spec, {"items"});
  if (items.empty()) {
    for (const auto& [key, value] : object->data) EVENKEEL_TRY(AddFile(key, value, mode, files));
    return {};
  }
  for (const Json& item : items) {
    const auto found = object->data.find(std::string(FindString(item, {"key"})));
    if (found == object->data.end()) {
      if (optional) continue;
      return Fail(Code::kNotFound, fmt::format("{} references non-existent {} key: {}", kind, kind, FindString(item, {"key"})));
    }
    EVENKEEL_TRY(AddFile(FindString(item, {"path"}), found->second, FindInt(item, {"mode"}, mode), files));
  }
  return {};
}

base::Status AddDownward(const Json& spec, int64_t mode, const ConfigurationSource& source, std::vector<VolumeFile>& files) {
  for (const Json& item : FindArray(spec, {"items"})) {
    std::string value;
    if (const Json* field = Find(item, {"fieldRef"})) {
      EVENKEEL_ASSIGN(value, FieldValue(FindString(*field, {"fieldPath"}), source));
    } else if (const Json* resource = Find(item, {"resourceFieldRef"})) {
      EVENKEEL_ASSIGN(value, ResourceFieldValue(*resource, "", source));
    }
    EVENKEEL_TRY(AddFile(FindString(item, {"path"}), value, FindInt(item, {"mode"}, mode), files));
  }
  return {};
}

base::Status AddProjected(const Json& projected, int64_t mode, const ConfigurationSource& source,
                          std::vector<VolumeFile>& files) {
  for (const Json& part : FindArray(projected, {"sources"})) {
    if (const Json* map = Find(part, {"configMap"})) {
      EVENKEEL_TRY(AddData(*map, "configmap", FindString(*map, {"name"}), mode, source, files));
    } else if (const Json* secret = Find(part, {"secret"})) {
      EVENKEEL_TRY(AddData(*secret, "secret", FindString(*secret, {"name"}), mode, source, files));
    } else if (const Json* downward = Find(part, {"downwardAPI"})) {
      EVENKEEL_TRY(AddDownward(*downward, mode, source, files));
    } else {
      return Fail(Code::kInvalid, "only configMap, secret and downwardAPI sources can be projected");
    }
  }
  return {};
}

base::Result<Volume> ResolveVolume(const Json& spec, const ConfigurationSource& source) {
  Volume volume;
  volume.name = FindString(spec, {"name"});
  if (const Json* map = Find(spec, {"configMap"})) {
    EVENKEEL_TRY(
        AddData(*map, "configmap", FindString(*map, {"name"}), FindInt(*map, {"defaultMode"}, 0644), source, volume.files));
  } else if (const Json* secret = Find(spec, {"secret"})) {
    EVENKEEL_TRY(AddData(*secret, "secret", FindString(*secret, {"secretName"}), FindInt(*secret, {"defaultMode"}, 0644),
                         source, volume.files));
  } else if (const Json* downward = Find(spec, {"downwardAPI"})) {
    EVENKEEL_TRY(AddDownward(*downward, FindInt(*downward, {"defaultMode"}, 0644), source, volume.files));
  } else if (const Json* projected = Find(spec, {"projected"})) {
    EVENKEEL_TRY(AddProjected(*projected, FindInt(*projected, {"defaultMode"}, 0644), source, volume.files));
  } else if (const Json* claim = Find(spec, {"persistentVolumeClaim"})) {
    volume.kind = Volume::Kind::kClaim;
    volume.claim = FindString(*claim, {"claimName"});
  } else if (Find(spec, {"emptyDir"}) != nullptr || spec.as_object().size() == 1) {
    volume.kind = Volume::Kind::kEmptyDir;
  } else {
    return Fail(
        Code::kInvalid,
        "a local process can mount configMap, secret, downwardAPI, projected, emptyDir and persistentVolumeClaim volumes only");
  }
  return volume;
}

}  // namespace

base::Result<std::vector<Volume>> ResolveVolumes(const ConfigurationSource& source) {
  std::set<std::string_view> mounted;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const Json& container : FindArray(source.pod, {"spec", list})) {
      for (const Json& mount : FindArray(container, {"volumeMounts"})) mounted.insert(FindString(mount, {"name"}));
    }
  }
  std::vector<Volume> volumes;
  for (const Json& spec : FindArray(source.pod, {"spec", "volumes"})) {
    if (!spec.is_object() || !mounted.contains(FindString(spec, {"name"}))) continue;
    auto volume = ResolveVolume(spec, source);
    if (!volume) {
      return Fail(volume.error().Wrap(fmt::format("MountVolume.SetUp failed for volume \"{}\"", FindString(spec, {"name"}))));
    }
    volumes.push_back(*std::move(volume));
  }
  return volumes;
}

std::vector<std::string> VolumeReferences(const Json& pod) {
  std::set<std::string> names;
  const auto add = [&](const Json& spec, std::string_view secret_key) {
    if (const Json* map = Find(spec, {"configMap"})) names.insert(fmt::format("configmap/{}", FindString(*map, {"name"})));
    if (const Json* secret = Find(spec, {"secret"})) names.insert(fmt::format("secret/{}", FindString(*secret, {secret_key})));
  };
  for (const Json& spec : FindArray(pod, {"spec", "volumes"})) {
    add(spec, "secretName");
    for (const Json& part : FindArray(spec, {"projected", "sources"})) add(part, "name");
  }
  return {names.begin(), names.end()};
}

}  // namespace evenkeel::embedded::nodeagent
