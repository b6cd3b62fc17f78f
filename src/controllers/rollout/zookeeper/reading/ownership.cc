#include "controllers/rollout/zookeeper/reading/ownership.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/zookeeper/reading/needs.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindString;
using base::Json;

using Names = std::set<std::pair<std::string, std::string>>;

/// Kinds and names of what the ensemble writes.
Names NamesOf(const EnsembleSpec& spec, const Identities& identities) {
  Names names;
  const auto add = [&](const Json& object) { names.emplace(FindString(object, {"kind"}), kube::NameOf(object)); };
  for (const Json& object : RenderServiceExports(spec)) add(object);
  for (const Json& object : RenderPropagationPolicies(spec, {}, {})) add(object);
  for (const auto& [cluster, identity] : identities) names.emplace("OverridePolicy", OverrideName(spec, cluster));
  for (const auto& [cluster, share] : spec.shares) names.emplace("OverridePolicy", OverrideName(spec, cluster));
  return names;
}

std::string Describe(const Json& object, const EnsembleSpec& spec) {
  const std::string what = fmt::format("{} {}", FindString(object, {"kind"}), kube::NameOf(object));
  const std::string_view owner = OwnerOf(object);
  if (!owner.empty()) return fmt::format("{} belongs to MultiClusterZooKeeper {}", what, owner);
  return fmt::format(
      "{} is there already and does not belong to this MultiClusterZooKeeper: delete it, choose another name, "
      "or hand it over by the label {}: {}",
      what, kOwnerLabel, spec.name);
}

}  // namespace

std::string_view OwnerOf(const Json& object) { return FindString(object, {"metadata", "labels", kOwnerLabel}); }

bool Belongs(const Json& object, std::string_view ensemble, bool begun) {
  const std::string_view owner = OwnerOf(object);
  return owner == ensemble || (begun && owner.empty());
}

std::string FindTaken(const EnsembleSpec& spec, const Identities& identities, const FleetObjects& objects, bool begun) {
  if (objects.zookeeper != nullptr && !Belongs(*objects.zookeeper, spec.name, begun)) return Describe(*objects.zookeeper, spec);
  const Names names = NamesOf(spec, identities);
  for (const Json* child : objects.children) {
    const bool needed = names.contains({std::string(FindString(*child, {"kind"})), std::string(kube::NameOf(*child))});
    if (needed && !Belongs(*child, spec.name, begun)) return Describe(*child, spec);
  }
  return "";
}

}  // namespace evenkeel::controllers::rollout::zookeeper
