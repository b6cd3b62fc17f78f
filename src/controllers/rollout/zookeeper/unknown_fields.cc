#include "controllers/rollout/zookeeper/unknown_fields.h"

#include <spdlog/fmt/fmt.h>

#include "base/nearest_name.h"
#include "base/utf8.h"
#include "controllers/rollout/zookeeper/definitions.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::Json;

constexpr size_t kFieldsMax = 20;

void Collect(const Json& value, const Json& schema, const std::string& at, std::vector<UnknownField>& unknown) {
  if (unknown.size() >= kFieldsMax) return;
  if (value.is_array()) {
    const Json* items = Find(schema, {"items"});
    size_t index = 0;
    for (const Json& item : value.get_array()) {
      if (items != nullptr) Collect(item, *items, fmt::format("{}[{}]", at, index), unknown);
      ++index;
    }
    return;
  }
  const base::JsonObject& known = base::FindObject(schema, {"properties"});
  if (!value.is_object() || known.empty()) return;
  std::vector<std::string_view> names;
  for (const auto& [name, property] : known) names.emplace_back(name);
  for (const auto& [name, field] : value.get_object()) {
    const std::string path = at + "." + base::OneLine(name);
    if (const Json* property = base::Find(known, name)) {
      Collect(field, *property, path, unknown);
    } else if (unknown.size() < kFieldsMax) {
      unknown.push_back({path, "unknown field" + base::NearestNameHint(name, names)});
    }
  }
}

const Json& SpecSchema() {
  static const Json schema = [] {
    const Json definition = MultiClusterZooKeeperDefinition();
    const Json& version = base::FindArray(definition, {"spec", "versions"}).front();
    return Json(*Find(version, {"schema", "openAPIV3Schema", "properties", "spec"}), {});
  }();
  return schema;
}

}  // namespace

std::vector<UnknownField> FindUnknownFields(const Json& ensemble) {
  std::vector<UnknownField> unknown;
  if (const Json* spec = Find(ensemble, {"spec"})) Collect(*spec, SpecSchema(), "spec", unknown);
  return unknown;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
