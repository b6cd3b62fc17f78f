#include "controllers/distribution/leases/claim.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/distribution/sharding/distribution_events.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Code;
using base::Json;

constexpr int kReleaseTries = 3;
constexpr int kFirstClaimTries = 4;

Json NewShardConfigMap(const std::string& ns, const std::vector<ShardClaim>& claims) {
  Json config_map = kube::NewObject(kube::resources::ConfigMaps(), ns, kShardConfigMap);
  base::Ensure(config_map, {"data", kShardMappingKey}) = FormatShardMapping(claims);
  return config_map;
}

std::string_view MappingOf(const Json& config_map) { return base::FindString(config_map, {"data", kShardMappingKey}); }

}  // namespace

void Claimer::See(const Json& config_map) {
  if (const auto claims = ParseShardMapping(MappingOf(config_map))) heard_.See(*claims, clock_.Monotonic());
}

base::Result<ClaimResult> Claimer::Create(const ClaimRequest& request) {
  ClaimResult first = FirstClaim(request);
  auto created = hub_.Create(kube::resources::ConfigMaps(), NewShardConfigMap(options_.ns, first.claims));
  if (created) return first;
  // Another replica was first: read what it wrote.
  if (created.error().code() == Code::kAlreadyExists) return base::Fail(Code::kConflict, created.error().message());
  return base::Fail(created.error().Wrap("create ConfigMap " + options_.ns + "/" + std::string(kShardConfigMap)));
}

base::Result<ClaimResult> Claimer::Claim(int64_t replicas, int64_t shard, std::vector<Finding>& findings) {
  ClaimRequest request{replicas, shard, options_.host_name, clock_.Now(), 3 * options_.heartbeat};
  const std::string where = "ConfigMap " + options_.ns + "/" + std::string(kShardConfigMap);
  auto config_map = hub_.Get(kube::resources::ConfigMaps(), options_.ns, kShardConfigMap);
  if (!config_map) {
    if (config_map.error().code() == Code::kNotFound) return Create(request);
    return base::Fail(config_map.error().Wrap("read " + where));
  }
  auto claims = ParseShardMapping(MappingOf(*config_map));
  std::string wrong = claims ? CheckShardMapping(*claims) : claims.error().message();
  if (!wrong.empty()) {
    if (options_.quirks.broken_mapping_fails && !claims) return base::Fail(claims.error().Wrap("read " + where));
    if (!options_.quirks.broken_mapping_fails) {
      findings.push_back({*config_map, where, events::kShardMappingRepaired.reason,
                          "data." + std::string(kShardMappingKey) + ": " + wrong +
                              ": mended, valid claims were kept; nobody needs to edit this ConfigMap"});
      claims = RepairShardMapping(claims ? *claims : std::vector<ShardClaim>{}, replicas);
    }
  }
  heard_.See(*claims, clock_.Monotonic());
  request.last_alive = heard_.LastAlive(request.now, clock_.Monotonic());
  ClaimResult result = NextClaim(*std::move(claims), request);
  base::Ensure(*config_map, {"data", kShardMappingKey}) = FormatShardMapping(result.claims);
  auto updated = hub_.Update(kube::resources::ConfigMaps(), *config_map);
  if (!updated) return base::Fail(updated.error().Wrap("write " + where));
  return result;
}

base::Result<int64_t> Claimer::ReadReplicas() {
  auto deployment = hub_.Get(kube::resources::Deployments(), options_.ns, options_.controller_name);
  if (!deployment) {
    return base::Fail(deployment.error().Wrap("(dynamic cluster distribution) failed to get app controller deployment"));
  }
  const Json* replicas = base::Find(*deployment, {"spec", "replicas"});
  if (replicas == nullptr || replicas->is_null()) {
    return base::Fail(Code::kInternal, "(dynamic cluster distribution) failed to get app controller deployment replica count");
  }
  return base::FindInt(*deployment, {"spec", "replicas"});
}

base::Result<Claimer::Start> Claimer::FirstShard(std::vector<Finding>& findings, std::vector<std::string>& warnings) {
  if (!options_.dynamic) {
    const int64_t replicas = options_.static_replicas.value_or(0);
    if (replicas > kReplicasMax) {
      return base::Fail(Code::kBadRequest,
                        fmt::format("ARGOCD_CONTROLLER_REPLICAS={}: there can be at most {} shards", replicas, kReplicasMax));
    }
    return Start{StaticShard(replicas, options_.shard, options_.host_name, warnings), replicas, "static"};
  }
  auto replicas = ReadReplicas();
  if (!replicas) return base::Fail(replicas.error());
  if (*replicas <= 1 && options_.quirks.single_replica_skips_claim) return Start{0, *replicas, "the only replica"};
  if (*replicas <= 0) return Start{-1, *replicas, "no replicas"};
  if (*replicas > kReplicasMax) {
    return base::Fail(Code::kBadRequest, fmt::format("Deployment {}/{}: spec.replicas {}: there can be at most {} shards",
                                                     options_.ns, options_.controller_name, *replicas, kReplicasMax));
  }
  int64_t asked = *replicas <= 1 ? -1 : std::max<int64_t>(options_.shard, -1);
  Start start{-1, *replicas, ""};
  for (int i = 0;; ++i) {
    auto claim = Claim(*replicas, asked, findings);
    const bool last = i + 1 == kFirstClaimTries;
    if (claim) {
      start.shard = asked = claim->shard;
      if (start.reason.empty()) start.reason = claim->reason;
      if (!options_.quirks.claims_four_times || last) return start;
    } else if (claim.error().code() != Code::kConflict || last) {
      return base::Fail(claim.error().Wrap("unable to get shard due to error updating the sharding config map"));
    } else if (options_.quirks.conflict_forgets_shard) {
      asked = -1;
    }
  }
}

base::Status Claimer::Release() {
  for (int i = 0;; ++i) {
    auto config_map = hub_.Get(kube::resources::ConfigMaps(), options_.ns, kShardConfigMap);
    if (!config_map) return base::Fail(config_map.error());
    auto claims = ParseShardMapping(MappingOf(*config_map));
    if (!claims) return {};
    auto freed = distribution::Release(*std::move(claims), options_.host_name);
    if (!freed) return {};
    base::Ensure(*config_map, {"data", kShardMappingKey}) = FormatShardMapping(*freed);
    auto updated = hub_.Update(kube::resources::ConfigMaps(), *config_map);
    if (updated) return {};
    if (updated.error().code() != Code::kConflict || i + 1 == kReleaseTries) return base::Fail(updated.error());
  }
}

}  // namespace evenkeel::controllers::distribution
