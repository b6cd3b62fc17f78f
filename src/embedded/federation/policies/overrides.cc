#include "embedded/federation/policies/overrides.h"

#include <algorithm>
#include <tuple>

#include "base/input/yaml.h"
#include "embedded/federation/policies/selectors.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// Where a kind that the overriders know has its containers; null for others.
JsonArray* ContainersOf(Json& object) {
  const std::string_view kind = FindString(object, {"kind"});
  Json* containers = nullptr;
  if (kind == "Pod") {
    containers = base::Find(object, {"spec", "containers"});
  } else if (kind == "Deployment" || kind == "ReplicaSet" || kind == "DaemonSet" || kind == "StatefulSet" || kind == "Job") {
    containers = base::Find(object, {"spec", "template", "spec", "containers"});
  }
  return containers == nullptr ? nullptr : containers->if_array();
}

std::string Changed(std::string_view op, std::string_view present, std::string_view value) {
  if (op == "remove") return "";
  if (op == "replace") return std::string(value);
  return std::string(present) + std::string(value);
}

std::string OverriddenImage(std::string_view image, const Json& overrider) {
  ImageName name = ImageName::Parse(image);
  const std::string_view component = FindString(overrider, {"component"});
  const std::string_view op = FindString(overrider, {"operator"});
  const std::string_view value = FindString(overrider, {"value"});
  if (component == "Registry") name.registry = Changed(op, name.registry, value);
  if (component == "Repository") name.repository = Changed(op, name.repository, value);
  if (component == "Tag") {
    const std::string changed = Changed(op, name.digest.empty() ? name.tag : name.digest, value);
    name.tag.clear();
    name.digest.clear();
    (changed.starts_with("sha256:") ? name.digest : name.tag) = changed;
  }
  if (name.repository.starts_with('/')) name.repository.erase(0, 1);
  return name.ToString();
}

/// The value that a JSON pointer names; null when it is not there.
Json* AtPointer(Json& object, std::string_view pointer) {
  boost::system::error_code failed;
  Json* found = object.find_pointer(pointer, failed);
  return failed ? nullptr : found;
}

base::Status OverrideImage(Json& object, const Json& overrider) {
  if (const std::string path(FindString(overrider, {"predicate", "path"})); !path.empty()) {
    Json* image = AtPointer(object, path);
    if (image == nullptr || !image->is_string())
      return base::Fail(base::Code::kInvalid, "imageOverrider: " + path + " is not a string of the object");
    *image = OverriddenImage(std::string(image->get_string()), overrider);
    return {};
  }
  JsonArray* containers = ContainersOf(object);
  if (containers == nullptr) return {};
  for (Json& container : *containers) {
    const std::string image(FindString(container, {"image"}));
    if (!image.empty()) container.get_object()["image"] = OverriddenImage(image, overrider);
  }
  return {};
}

void OverrideWords(Json& object, const Json& overrider, const char* field) {
  JsonArray* containers = ContainersOf(object);
  if (containers == nullptr) return;
  const bool add = FindString(overrider, {"operator"}) == "add";
  const auto& values = FindArray(overrider, {"value"});
  for (Json& container : *containers) {
    if (!container.is_object() || FindString(container, {"name"}) != FindString(overrider, {"containerName"})) continue;
    JsonArray words = FindArray(container, {field});
    if (add) words.insert(words.end(), values.begin(), values.end());
    if (!add) {
      JsonArray kept;
      for (const Json& word : words) {
        if (std::ranges::find(values, word) == values.end()) kept.push_back(word);
      }
      words = std::move(kept);
    }
    if (!words.empty() || container.get_object().contains(field)) container.get_object()[field] = std::move(words);
  }
}

void OverrideMap(Json& object, const Json& overrider, const char* field) {
  const auto& values = FindObject(overrider, {"value"});
  const std::string_view op = FindString(overrider, {"operator"});
  if (values.empty() || (op != "add" && Find(object, {"metadata", field}) == nullptr)) return;
  Json& target = base::Ensure(object, {"metadata", field});
  if (!target.is_object()) target = JsonObject{};
  JsonObject& map = target.get_object();
  for (const auto& [key, value] : values) {
    if (op == "remove") map.erase(key);
    if (op == "add" || (op == "replace" && map.contains(key))) map[key] = value;
  }
}

/// One RFC 6902 patch of all entries.
Json PatchOf(const JsonArray& entries, const char* path) {
  JsonArray patch;
  for (const Json& entry : entries) {
    JsonObject operation{{"op", FindString(entry, {"operator"})}, {"path", FindString(entry, {path})}};
    if (const Json* value = Find(entry, {"value"}); value != nullptr && FindString(entry, {"operator"}) != "remove")
      operation["value"] = *value;
    patch.push_back(std::move(operation));
  }
  return patch;
}

base::Status OverrideField(Json& object, const Json& overrider) {
  const std::string path(FindString(overrider, {"fieldPath"}));
  Json* field = AtPointer(object, path);
  if (field == nullptr || !field->is_string())
    return base::Fail(base::Code::kInvalid, "fieldOverrider: " + path + " is not a string of the object");
  const bool yaml = !FindArray(overrider, {"yaml"}).empty();
  const std::string text(field->get_string());
  auto parsed = yaml ? base::ParseYamlDocument(text, path) : base::ParseJson(text, path);
  if (!parsed) return base::Fail(parsed.error().Wrap("fieldOverrider"));
  EVENKEEL_TRY(base::ApplyJsonPatch(*parsed, PatchOf(FindArray(overrider, {yaml ? "yaml" : "json"}), "subPath")));
  *field = yaml ? base::ToYaml(*parsed) : base::CanonicalText(*parsed);
  return {};
}

}  // namespace

ImageName ImageName::Parse(std::string_view text) {
  ImageName name;
  if (const size_t at = text.find('@'); at != text.npos) {
    name.digest = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const size_t slash = text.rfind('/');
  if (const size_t colon = text.rfind(':'); colon != text.npos && (slash == text.npos || colon > slash)) {
    name.tag = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  const size_t first = text.find('/');
  const std::string_view host = text.substr(0, first == text.npos ? 0 : first);
  if (!host.empty() && (host.find_first_of(".:") != host.npos || host == "localhost")) {
    name.registry = host;
    text = text.substr(first + 1);
  }
  name.repository = text;
  return name;
}

std::string ImageName::ToString() const {
  std::string text = registry.empty() ? repository : registry + "/" + repository;
  if (!tag.empty()) text += ":" + tag;
  if (!digest.empty()) text += "@" + digest;
  return text;
}

std::vector<MatchedOverriders> SelectOverriders(const std::vector<const Json*>& policies, const Json& object,
                                                const Json& cluster) {
  struct Candidate {
    bool namespaced;
    SelectorMatch match;
    std::string name;
    const Json* policy;
  };
  std::vector<Candidate> candidates;
  for (const Json* policy : policies) {
    const std::string_view ns = kube::NamespaceOf(*policy);
    if (!ns.empty() && ns != kube::NamespaceOf(object)) continue;
    const SelectorMatch match = MatchResources(*policy, object, true);
    if (match != SelectorMatch::kNone) candidates.push_back({!ns.empty(), match, std::string(kube::NameOf(*policy)), policy});
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.namespaced, a.match, a.name) < std::tie(b.namespaced, b.match, b.name);
  });
  std::vector<MatchedOverriders> matched;
  for (const Candidate& candidate : candidates) {
    const auto add = [&](const Json& rule) {
      const Json* overriders = Find(rule, {"overriders"});
      if (overriders != nullptr && MatchesCluster(Find(rule, {"targetCluster"}), cluster))
        matched.push_back({candidate.name, !candidate.namespaced, overriders});
    };
    const auto& rules = FindArray(*candidate.policy, {"spec", "overrideRules"});
    for (const Json& rule : rules) add(rule);
    // Before there were rules, the policy was one.
    if (rules.empty()) {
      if (const Json* spec = Find(*candidate.policy, {"spec"})) add(*spec);
    }
  }
  return matched;
}

base::Status ApplyOverriders(Json& object, const Json& overriders) {
  for (const Json& item : FindArray(overriders, {"imageOverrider"})) EVENKEEL_TRY(OverrideImage(object, item));
  for (const Json& item : FindArray(overriders, {"commandOverrider"})) OverrideWords(object, item, "command");
  for (const Json& item : FindArray(overriders, {"argsOverrider"})) OverrideWords(object, item, "args");
  for (const Json& item : FindArray(overriders, {"labelsOverrider"})) OverrideMap(object, item, "labels");
  for (const Json& item : FindArray(overriders, {"annotationsOverrider"})) OverrideMap(object, item, "annotations");
  for (const Json& item : FindArray(overriders, {"fieldOverrider"})) EVENKEEL_TRY(OverrideField(object, item));
  const auto& plaintext = FindArray(overriders, {"plaintext"});
  if (plaintext.empty()) return {};
  return base::ApplyJsonPatch(object, PatchOf(plaintext, "path"));
}

base::Status ApplyAll(Json& object, const std::vector<MatchedOverriders>& overriders) {
  for (const MatchedOverriders& item : overriders) {
    if (auto applied = ApplyOverriders(object, *item.overriders); !applied)
      return base::Fail(applied.error().Wrap("policy " + item.policy));
  }
  return {};
}

std::string AppliedOverridesText(const std::vector<MatchedOverriders>& overriders, bool cluster_wide) {
  std::vector<const MatchedOverriders*> own;
  for (const MatchedOverriders& item : overriders) {
    if (item.cluster_wide == cluster_wide) own.push_back(&item);
  }
  if (own.empty()) return "";
  std::ranges::stable_sort(own, {}, [](const MatchedOverriders* item) { return item->policy; });
  JsonArray list;
  for (const MatchedOverriders* item : own)
    list.push_back(JsonObject{{"policyName", item->policy}, {"overriders", *item->overriders}});
  return base::ToText(list);
}

}  // namespace evenkeel::embedded::federation
