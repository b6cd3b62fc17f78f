#include "controllers/rollout/zookeeper/reading/render.h"

#include <algorithm>

#include "client/definitions.h"
#include "controllers/rollout/zookeeper/reading/copies.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kPolicyApi = "policy.karmada.io/v1alpha1";
constexpr const char* kServicesApi = "multicluster.x-k8s.io/v1alpha1";

Json Child(const EnsembleSpec& spec, std::string_view api_version, std::string_view kind, std::string_view name) {
  return JsonObject{
      {"apiVersion", api_version},
      {"kind", kind},
      {"metadata", JsonObject{{"name", name}, {"namespace", spec.ns}, {"labels", JsonObject{{kOwnerLabel, spec.name}}}}}};
}

Json Selector(const EnsembleSpec& spec, std::string_view api_version, std::string_view kind, std::string_view name) {
  return JsonObject{{"apiVersion", api_version}, {"kind", kind}, {"namespace", spec.ns}, {"name", name}};
}

int64_t Weight(const EnsembleSpec& spec, const std::string& cluster) {
  const auto found = spec.shares.find(cluster);
  return found == spec.shares.end() ? 1 : found->second;
}

/// The first that fits a taint counts. Karmada's own webhook adds the last two with a limit of minutes where they are missing.
JsonArray OwnTolerations() {
  JsonArray tolerations{JsonObject{{"operator", "Exists"}, {"effect", "NoExecute"}}};
  for (const char* key : {"cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"}) {
    tolerations.push_back(JsonObject{{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}});
  }
  return tolerations;
}

/// With whatever limit.
bool IsOwn(const Json& toleration) {
  if (base::FindString(toleration, {"key"}) == kAttemptAnnotation) return true;
  const JsonArray own = OwnTolerations();
  return std::ranges::any_of(own, [&](const Json& one) {
    return std::ranges::all_of(
        std::initializer_list<const char*>{"key", "operator", "effect", "value"},
        [&](const char* field) { return base::FindString(one, {field}) == base::FindString(toleration, {field}); });
  });
}

}  // namespace

Needs NeedsInForce(const EnsembleSpec& spec, const EnsembleState& state) {
  Needs needs = NeedsOf(spec.body);
  for (const Revision* revision : state.InForce()) needs.merge(NeedsOf(revision->body));
  return needs;
}

Json RenderZooKeeper(const EnsembleSpec& spec, const std::set<std::string>& clusters, const Needs& needs) {
  Json object = Child(spec, ZooKeepers().ApiVersion(), ZooKeepers().kind, spec.name);
  Json body(spec.body, {});
  int64_t total = 0;
  for (const std::string& cluster : clusters) total += Weight(spec, cluster);
  body.as_object()["replicas"] = total;
  object.as_object()["spec"] = std::move(body);
  if (!needs.empty()) base::Ensure(object, {"metadata", "annotations", kNeedsAnnotation}) = ToText(needs);
  return object;
}

std::vector<Json> RenderServiceExports(const EnsembleSpec& spec) {
  if (spec.naming.mode != NamingMode::kClusterset) return {};
  return {Child(spec, kServicesApi, "ServiceExport", HeadlessService(spec.name)),
          Child(spec, kServicesApi, "ServiceExport", ClientService(spec.name))};
}

std::vector<Json> RenderPropagationPolicies(const EnsembleSpec& spec, const std::set<std::string>& clusters,
                                            const Needs& needs) {
  JsonArray weights;
  for (const std::string& cluster : clusters) {
    weights.push_back(JsonObject{{"targetCluster", JsonObject{{"clusterNames", JsonArray{Json(cluster)}}}},
                                 {"weight", Weight(spec, cluster)}});
  }
  Json servers = Child(spec, kPolicyApi, "PropagationPolicy", ServersPolicyName(spec));
  servers.as_object()["spec"] = JsonObject{
      {"resourceSelectors", JsonArray{Selector(spec, ZooKeepers().ApiVersion(), ZooKeepers().kind, spec.name)}},
      {"conflictResolution", "Abort"},
      {kKeepsField, true},
      {"placement", JsonObject{{"clusterAffinity", JsonObject{{"clusterNames", base::ToJsonArray(clusters)}}},
                               {"replicaScheduling",
                                JsonObject{{"replicaSchedulingType", "Divided"},
                                           {"replicaDivisionPreference", "Weighted"},
                                           {"weightPreference", JsonObject{{"staticWeightList", std::move(weights)}}}}}}}};
  if (!needs.empty()) base::Ensure(servers, {"spec", "propagateDeps"}) = true;
  if (spec.naming.mode != NamingMode::kClusterset) return {std::move(servers)};
  JsonArray exports;
  for (const Json& object : RenderServiceExports(spec)) {
    exports.push_back(Selector(spec, kServicesApi, "ServiceExport", base::FindString(object, {"metadata", "name"})));
  }
  Json services = Child(spec, kPolicyApi, "PropagationPolicy", spec.name + "-svc");
  services.as_object()["spec"] =
      JsonObject{{"resourceSelectors", std::move(exports)},
                 {"conflictResolution", "Abort"},
                 {"placement", JsonObject{{"clusterAffinity", JsonObject{{"clusterNames", base::ToJsonArray(clusters)}}}}}};
  return {std::move(services), std::move(servers)};
}

std::string ServersPolicyName(const EnsembleSpec& spec) { return spec.name + "-zk"; }

void Complete(Json& policy, const Json* present, int64_t attempt) {
  JsonArray tolerations = OwnTolerations();
  if (present != nullptr) {
    bool known = false;
    for (const Json& toleration : base::FindArray(*present, {"spec", "placement", "clusterTolerations"})) {
      known = known || base::Equal(toleration, tolerations.front());
      if (!IsOwn(toleration)) tolerations.push_back(Json(toleration, {}));
    }
    // Karmada before 1.10 has no such field.
    if (known && base::Find(*present, {"spec", kKeepsField}) == nullptr) base::Erase(policy, {"spec", kKeepsField});
  }
  // Only another placement is scheduled anew.
  if (attempt > 0) {
    tolerations.push_back(JsonObject{
        {"key", kAttemptAnnotation}, {"operator", "Equal"}, {"value", std::to_string(attempt)}, {"effect", "NoSchedule"}});
  }
  base::Ensure(policy, {"spec", "placement", "clusterTolerations"}) = std::move(tolerations);
}

std::string OverrideName(const EnsembleSpec& spec, const std::string& cluster) { return spec.name + "-" + cluster; }

Json RenderOverride(const EnsembleSpec& spec, const EnsembleState& state, const std::string& cluster,
                    const Revision& revision) {
  const auto found = state.rollout.clusters.find(cluster);
  const ClusterRevision* given = found == state.rollout.clusters.end() ? nullptr : &found->second;
  const int64_t replicas = given == nullptr ? 0 : ShareOf(revision.shares, cluster);
  const int64_t offset = IdOffset(spec.naming, state.identities.at(cluster));
  const auto set = [](const char* path, const char* op, Json value) {
    return Json(JsonObject{{"path", path}, {"operator", op}, {"value", std::move(value)}});
  };
  // The first replaces the template's spec as a whole, so that nothing of it reaches a cluster before its turn.
  JsonArray plaintext{set("/spec", "replace", Json(revision.body, {})), set("/spec/replicas", "add", replicas),
                      set("/spec/myidOffset", "add", offset), set("/spec/servers", "add", base::ToJsonArray(revision.servers)),
                      set("/spec/rolloutRevision", "add", Json(given == nullptr ? kNoRevision : MarkOf(*given)))};
  if (!spec.uid.empty()) plaintext.push_back(set("/spec/ensemble", "add", Json(spec.uid)));
  if (state.format > 1) plaintext.push_back(set("/spec/format", "add", state.format));
  if (given != nullptr && given->held) plaintext.push_back(set("/spec/hold", "add", true));
  if (spec.naming.mode == NamingMode::kNative) plaintext.push_back(set("/spec/ordinalsStart", "add", offset));
  JsonArray leaving;
  for (const int64_t id : state.LeavingElsewhere(cluster)) leaving.push_back(id);
  if (!leaving.empty()) plaintext.push_back(set("/spec/leaving", "add", std::move(leaving)));
  if (given == nullptr && state.IsLost(cluster)) plaintext.push_back(set("/spec/abandoned", "add", true));
  Json object = Child(spec, kPolicyApi, "OverridePolicy", OverrideName(spec, cluster));
  object.as_object()["spec"] = JsonObject{
      {"resourceSelectors", JsonArray{Selector(spec, ZooKeepers().ApiVersion(), ZooKeepers().kind, spec.name)}},
      {"overrideRules", JsonArray{JsonObject{{"targetCluster", JsonObject{{"clusterNames", JsonArray{Json(cluster)}}}},
                                             {"overriders", JsonObject{{"plaintext", std::move(plaintext)}}}}}}};
  return object;
}

const Json* OverriddenBy(const Json& override_policy, std::string_view path) {
  const Json* value = nullptr;
  for (const Json& rule : base::FindArray(override_policy, {"spec", "overrideRules"})) {
    for (const Json& item : base::FindArray(rule, {"overriders", "plaintext"})) {
      if (base::FindString(item, {"path"}) == path) value = base::Find(item, {"value"});
    }
  }
  return value;
}

PlacementTurn NextPlacement(const FleetObjects& fleet, const Json* present, const Json& policy, int64_t wanted) {
  PlacementTurn turn{.replicas = wanted};
  if (fleet.zookeeper == nullptr || fleet.binding == nullptr || present == nullptr) return turn;
  const Json& placement = *base::Find(policy, {"spec", "placement"});
  const Json* seen = base::Find(*fleet.binding, {"spec", "placement"});
  const int64_t had = base::FindInt(*fleet.zookeeper, {"spec", "replicas"}, wanted);
  // Bindings of old versions do not say.
  const bool is_there = Says(*present, policy), is_seen = is_there && (seen == nullptr || client::SaysAll(*seen, placement));
  if (had > wanted && !is_seen) turn.replicas = had;
  turn.policy_waits = base::FindInt(*fleet.binding, {"spec", "replicas"}) < wanted && !is_there;
  return turn;
}

bool Says(const Json& existing, const Json& desired) {
  if (!client::SaysAll(existing, desired)) return false;
  const Json* rules = base::Find(desired, {"spec", "overrideRules"});
  return rules == nullptr || base::Equal(*base::Find(existing, {"spec", "overrideRules"}), *rules);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
