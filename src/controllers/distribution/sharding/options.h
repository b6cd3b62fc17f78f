// Settings of the distribution controller: Argo CD's flags and environment variables under their own names, and one switch per
// upstream quirk (docs/COMPATIBILITY.md tells what each does).
// Follows: argo-cd@3.6 cmd/argocd-application-controller/commands/argocd_application_controller.go
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "controllers/distribution/sharding/sharding.h"

namespace evenkeel::controllers::distribution {

/// Upstream behaviour that Evenkeel mends unless it is asked for, or keeps unless it is switched off. Defaults are Evenkeel's.
struct Quirks {
  bool frozen_replicas = false;                   ///< the number of replicas is read once, at start
  bool negative_shard_orphans = false;            ///< a cluster pinned to a negative shard has no owner
  bool no_release = false;                        ///< a replica that ends leaves its claim to expire
  bool keeps_clusters_without_heartbeat = false;  ///< a replica that cannot write its heartbeat goes on
  bool broken_mapping_fails = false;              ///< a ConfigMap that cannot be read is left to people
  bool single_replica_skips_claim = false;        ///< with one replica everybody holds shard 0
  bool conflict_forgets_shard = false;            ///< a write conflict at start turns an explicit shard into "any"
  bool claims_four_times = false;                 ///< four claim calls at start even if the first succeeds
  bool healthy_before_first_claim = false;        ///< ready although no heartbeat has been written yet
  bool applications_by_bare_name = true;          ///< applications of one name in different namespaces count once
  bool vnode_collisions = true;                   ///< consistent-hashing's coinciding virtual nodes from 12 shards on
};

/// Applies "name" (on) and "no-name" (off), e.g. {"frozen-replicas", "no-vnode-collisions"}, and "all" / "none". kBadRequest
/// names what it does not know and lists the choices.
base::Status ApplyQuirks(const std::vector<std::string>& names, Quirks& quirks);
/// All quirks with their values, for help texts and documentation: {"frozen-replicas", false}.
std::vector<std::pair<std::string, bool>> ListQuirks(const Quirks& quirks);

enum class Mode {
  kCoordinated,  ///< Evenkeel's own: one plan, measured weights
  kCompatible,   ///< Argo CD's claims and sharding methods
};

struct Options {
  Mode mode = Mode::kCoordinated;
  std::string ns = "evenkeel";                          ///< of the cluster Secrets, the shard ConfigMap and the Deployment
  std::string controller_name = "evenkeel-controller";  ///< the Deployment whose replicas are the shards
  std::string host_name;                                ///< of this replica: the name in the claims
  std::string fleet;                                    ///< ApiIdentity of the hub, as soon as it is known
  Method method = Method::kLegacy;
  bool dynamic = false;
  std::optional<int64_t> static_replicas;  ///< static mode: number of shards
  int64_t shard = -1;                      ///< explicit shard of this replica; -1: none
  base::Duration heartbeat = std::chrono::seconds(10);
  /// What else all replicas must have been told alike, by the name of the flag: compared, not read.
  std::map<std::string, std::string> settings{};
  bool in_cluster = false;  ///< the hub itself takes part, as in Argo CD
  Quirks quirks;
  /// Of a member's Lease `evenkeel-owner` (owner_lease.h), both modes.
  base::Duration lease_duration = std::chrono::seconds(15);
  base::Duration lease_margin = std::chrono::seconds(3);
  /// Of this replica's own Lease on the hub: silent for so long, its members are given to others (coordinated mode).
  base::Duration replica_lease_duration = std::chrono::seconds(8);
  /// Moves for balance (coordinated mode).
  int64_t moves_per_minute = 10;
  /// How long Stop waits for successors to ask before it lets go anyway, and for running calls to end.
  base::Duration handover = std::chrono::seconds(5);
};

/// "coordinated", "compatible"; kBadRequest names the choices.
base::Result<Mode> ParseMode(std::string_view name);
std::string_view ModeName(Mode mode);
/// kBadRequest when a --sharding-method does not go with the mode: weighted is coordinated, Argo CD's are compatible. "": none
/// was given, which goes with both.
base::Status CheckMethod(Mode mode, std::string_view method);

/// Reads the environment into `options`: EVENKEEL_SHARDING_MODE (without it, whoever sets any of Argo CD's variables below gets
/// compatible mode), ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION, ARGOCD_CONTROLLER_HEARTBEAT_TIME,
/// ARGOCD_CONTROLLER_REPLICAS, ARGOCD_CONTROLLER_SHARD, ARGOCD_CONTROLLER_SHARDING_ALGORITHM,
/// ARGOCD_APPLICATION_CONTROLLER_NAME. A value out of range or not understood leaves the default, never the
/// nearest bound.
/// @return  one warning per such value, for the log and an Event.
std::vector<std::string> ReadEnvironment(const std::function<const char*(const char*)>& get, Options& options);

/// The shard of a StatefulSet pod by its ordinal, when none is given: "example-shard-3" -> 3, no number -> 0. Beyond the
/// replicas: 0; equal to them: accepted (such a replica idles).
/// @param warnings  gets a line where a value was replaced.
int64_t StaticShard(int64_t replicas, int64_t asked, std::string_view host_name, std::vector<std::string>& warnings);

}  // namespace evenkeel::controllers::distribution
