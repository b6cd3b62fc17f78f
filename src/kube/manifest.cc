#include "kube/manifest.h"

#include <algorithm>
#include <iterator>

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "kube/object.h"

namespace evenkeel::kube {
namespace {

base::Status AddObjects(base::Json value, const std::string& where, std::vector<ManifestObject>& objects) {
  if (!value.is_object())
    return base::Fail(base::Code::kBadRequest,
                      where + ": not a Kubernetes object: expected a mapping with apiVersion and kind");
  const std::string kind(base::FindString(value, {"kind"}));
  if (base::FindString(value, {"apiVersion"}).empty() || kind.empty()) {
    return base::Fail(base::Code::kBadRequest, where + ": apiVersion or kind is missing");
  }
  base::Json* items = base::Find(value, {"items"});
  if (kind.ends_with("List") && items != nullptr) {
    if (!items->is_array()) return base::Fail(base::Code::kBadRequest, where + ": items of the " + kind + " is not a list");
    size_t index = 0;
    for (base::Json& item : items->get_array()) {
      // Typed lists of the API leave apiVersion and kind of their items out.
      if (item.is_object() && kind != "List") {
        base::JsonObject& object = item.get_object();
        if (!object.contains("apiVersion")) object["apiVersion"] = base::FindString(value, {"apiVersion"});
        if (!object.contains("kind")) object["kind"] = kind.substr(0, kind.size() - 4);
      }
      EVENKEEL_TRY(AddObjects(std::move(item), where + " items[" + std::to_string(index++) + "]", objects));
    }
    return {};
  }
  if (base::FindString(value, {"metadata", "name"}).empty()) {
    return base::Fail(base::Code::kBadRequest, where + ": " + kind + " without metadata.name");
  }
  objects.push_back({std::move(value), where});
  return {};
}

}  // namespace

base::Result<std::vector<ManifestObject>> ParseManifests(std::string_view text, std::string_view source,
                                                         std::vector<std::string>* warnings) {
  const auto duplicates = warnings == nullptr ? base::YamlDuplicates::kRefused : base::YamlDuplicates::kLastCounts;
  EVENKEEL_ASSIGN(std::vector<base::YamlDocument> documents, base::ParseYaml(text, source, duplicates));
  std::vector<ManifestObject> objects;
  for (base::YamlDocument& document : documents) {
    if (warnings != nullptr) std::ranges::move(document.warnings, std::back_inserter(*warnings));
    EVENKEEL_TRY(AddObjects(std::move(document.value), std::string(source) + ":" + std::to_string(document.line), objects));
  }
  return objects;
}

base::Result<std::vector<ManifestObject>> ReadManifests(const std::vector<std::string>& files,
                                                        std::vector<std::string>* warnings) {
  std::vector<ManifestObject> all;
  for (const std::string& file : files) {
    const auto text = base::ReadFile(file);
    if (!text) return base::Fail(base::Code::kBadRequest, text.error().message());
    EVENKEEL_ASSIGN(std::vector<ManifestObject> objects,
                    ParseManifests(*text, file == "-" ? "standard input" : file, warnings));
    std::move(objects.begin(), objects.end(), std::back_inserter(all));
  }
  return all;
}

base::Field FieldsOf(const ManifestObject& object) {
  return {&object.object, (object.where.empty() ? "" : object.where + ": ") +
                              std::string(base::FindString(object.object, {"kind"})) + " " + KeyOf(object.object)};
}

}  // namespace evenkeel::kube
