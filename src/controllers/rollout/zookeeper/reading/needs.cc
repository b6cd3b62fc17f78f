#include "controllers/rollout/zookeeper/reading/needs.h"

#include <algorithm>

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

constexpr const char *kSecret = "Secret", *kConfigMap = "ConfigMap", *kServiceAccount = "ServiceAccount";

void Add(Needs& needs, const char* kind, const Json& json, std::initializer_list<std::string_view> path) {
  if (const std::string_view name = FindString(json, path); !name.empty()) needs.emplace(kind, name);
}

void AddOfContainer(Needs& needs, const Json& container) {
  for (const Json& variable : FindArray(container, {"env"})) {
    Add(needs, kSecret, variable, {"valueFrom", "secretKeyRef", "name"});
    Add(needs, kConfigMap, variable, {"valueFrom", "configMapKeyRef", "name"});
  }
  for (const Json& source : FindArray(container, {"envFrom"})) {
    Add(needs, kSecret, source, {"secretRef", "name"});
    Add(needs, kConfigMap, source, {"configMapRef", "name"});
  }
}

void AddOfPod(Needs& needs, const Json& pod) {
  for (const Json& secret : FindArray(pod, {"imagePullSecrets"})) Add(needs, kSecret, secret, {"name"});
  for (const Json& volume : FindArray(pod, {"volumes"})) {
    Add(needs, kSecret, volume, {"secret", "secretName"});
    Add(needs, kConfigMap, volume, {"configMap", "name"});
    for (const Json& source : FindArray(volume, {"projected", "sources"})) {
      Add(needs, kSecret, source, {"secret", "name"});
      Add(needs, kConfigMap, source, {"configMap", "name"});
    }
  }
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : FindArray(pod, {list})) AddOfContainer(needs, container);
  }
  // Every namespace has one that is called default.
  if (FindString(pod, {"serviceAccountName"}) != "default") Add(needs, kServiceAccount, pod, {"serviceAccountName"});
}

}  // namespace

Needs NeedsOf(const Json& spec) {
  Needs needs;
  for (const std::string& secret : base::FindTexts(spec, {"image", "pullSecrets"})) needs.emplace(kSecret, secret);
  Add(needs, kSecret, spec, {"tls", "quorumSecret"});
  Add(needs, kSecret, spec, {"tls", "clientSecret"});
  if (const Json* pod = base::Find(spec, {"podTemplate", "spec"})) AddOfPod(needs, *pod);
  return needs;
}

std::string ToText(const Needs& needs) {
  std::string text;
  for (const auto& [kind, name] : needs) text += (text.empty() ? "" : " ") + kind + "/" + name;
  return text;
}

Needs ParseNeeds(std::string_view text) {
  Needs needs;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t slash = word.find('/');
    if (slash == std::string_view::npos || slash + 1 == word.size()) continue;
    const std::string_view kind = word.substr(0, slash);
    if (kind == kSecret || kind == kConfigMap || kind == kServiceAccount) needs.emplace(kind, word.substr(slash + 1));
  }
  return needs;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
