#include "controllers/rollout/zookeeper/spec/unknown_fields.h"

#include <spdlog/fmt/fmt.h>

#include "base/input/nearest_name.h"
#include "base/utf8.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"

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

bool IsEnsemble(const Json& object) { return base::FindString(object, {"kind"}) == MultiClusterZooKeepers().kind; }

const kube::Resource& KindOf(const Json& object) { return IsEnsemble(object) ? MultiClusterZooKeepers() : ZooKeepers(); }

/// What a status says of the past binds nobody.
Json InForce(const Json& status) {
  Json kept(status, {});
  if (!kept.is_object()) return kept;
  for (const char* past : {"conditions", "recoveries"}) kept.get_object().erase(past);
  Json* records = Find(kept, {"records"});
  if (records != nullptr && records->is_array() && !records->get_array().empty()) {
    *records = base::JsonArray{Json(records->get_array().back(), {})};
  }
  return kept;
}

}  // namespace

std::vector<UnknownField> FindUnknownFields(const Json& object) {
  std::vector<UnknownField> unknown;
  if (const Json* spec = Find(object, {"spec"})) Collect(*spec, SchemaOf(KindOf(object), "spec"), "spec", unknown);
  return unknown;
}

std::string WhyTooNew(const Json& object, const Forms& forms) {
  const char* part = IsEnsemble(object) ? "status" : "spec";
  const Json* body = Find(object, {part});
  if (body == nullptr || !body->is_object()) return "";
  if (const int64_t format = base::FindInt(*body, {kFormatField}, 1); format > forms.orders) {
    return fmt::format("{}.{} is {}, and this program knows {} at most: bring it to the version that wrote this", part,
                       kFormatField, format, forms.orders);
  }
  std::vector<UnknownField> unknown;
  Collect(IsEnsemble(object) ? InForce(*body) : Json(*body, {}), SchemaOf(KindOf(object), part), part, unknown);
  if (unknown.empty()) return "";
  return fmt::format("{}: {}; if it is no slip, bring this program to the version that wrote it", unknown.front().field,
                     unknown.front().message);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
