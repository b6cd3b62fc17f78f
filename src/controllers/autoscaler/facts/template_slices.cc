#include "controllers/autoscaler/facts/template_slices.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "kube/forms/defaulting.h"
#include "kube/object.h"
#include "kube/validation/validation.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

using Pool = std::pair<std::string, std::string>;  ///< driver, name

Pool PoolOf(const Json& spec) {
  return {std::string(FindString(spec, {"driver"})), std::string(FindString(spec, {"pool", "name"}))};
}

}  // namespace

std::vector<Json> SlicesOfTemplate(const Json& template_node, std::string_view node) {
  std::vector<Json> slices;
  std::map<Pool, int64_t> counts;
  std::map<std::string, int64_t> of_driver, named;
  for (const Json& given : base::FindArray(template_node, {"resourceSlices"})) {
    if (!given.is_object() || slices.size() >= kNodeSlicesMax) continue;
    Json spec = given;
    spec.get_object()["nodeName"] = node;
    if (FindString(spec, {"pool", "name"}).empty()) base::Ensure(spec, {"pool", "name"}) = node;
    ++counts[PoolOf(spec)];
    ++of_driver[PoolOf(spec).first];
    slices.push_back(JsonObject{{"apiVersion", "resource.k8s.io/v1"}, {"kind", "ResourceSlice"}, {"spec", std::move(spec)}});
  }
  for (Json& slice : slices) {
    const Pool pool = PoolOf(slice.at("spec"));
    base::Ensure(slice, {"spec", "pool", "generation"}) = 1;
    base::Ensure(slice, {"spec", "pool", "resourceSliceCount"}) = counts[pool];
    std::string name = std::string(node) + "-" + pool.first;
    if (of_driver[pool.first] > 1) name += "-" + std::to_string(named[pool.first]++);
    base::Ensure(slice, {"metadata", "name"}) = base::Lower(name);
    kube::ApplyKindDefaults(kube::resources::ResourceSlices(), slice);
  }
  return slices;
}

DevicePools CompletePools(const scheduling::NodeSlices& slices) {
  DevicePools pools;
  for (const scheduling::LocalPool& pool : scheduling::LocalPools(slices)) {
    if (pool.complete) ++pools[pool.name.driver];
  }
  return pools;
}

std::string DriverNames(const DevicePools& pools) {
  std::string names;
  for (const auto& [driver, count] : pools) names += (names.empty() ? "" : ",") + driver;
  return names;
}

DevicePools PoolsOfTemplate(const Json& template_node) {
  std::set<Pool> seen;
  DevicePools pools;
  for (const Json& slice : base::FindArray(template_node, {"resourceSlices"})) {
    if (slice.is_object() && seen.insert(PoolOf(slice)).second) ++pools[PoolOf(slice).first];
  }
  return pools;
}

bool HasPools(const DevicePools& there, const DevicePools& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const auto found = there.find(entry.first);
    return found != there.end() && found->second >= entry.second;
  });
}

base::Status CheckTemplateSlices(const base::Field& list) {
  if (!list) return {};
  EVENKEEL_TRY(list.ForEach([](const base::Field& slice) { return slice.IsObject(); }));
  const JsonArray& given = list.value().get_array();
  if (given.size() > kNodeSlicesMax) return list.Wrong("more than " + std::to_string(kNodeSlicesMax) + " slices");
  std::set<std::string> devices;
  size_t place = 0;
  for (const Json& slice : SlicesOfTemplate(JsonObject{{"resourceSlices", given}}, "node")) {
    const base::Field entry = list.Item(place++);
    std::vector<base::Cause> causes = kube::ValidateObject(kube::resources::ResourceSlices(), slice);
    // The name is made of the driver's: if that is wrong, it is to be told of.
    std::ranges::stable_partition(causes, [](const base::Cause& cause) { return cause.field.starts_with("spec"); });
    for (const base::Cause& cause : causes) {
      const bool deeper = cause.field.starts_with("spec.");
      return entry.Wrong((deeper ? cause.field.substr(5) + ": " : std::string()) + cause.message);
    }
    const Pool pool = PoolOf(slice.at("spec"));
    for (const Json& device : base::FindArray(slice, {"spec", "devices"})) {
      const std::string name(FindString(device, {"name"}));
      if (devices.insert(pool.first + "/" + pool.second + "/" + name).second) continue;
      return entry.Wrong("device \"" + name + "\" is in the pool already");
    }
  }
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
