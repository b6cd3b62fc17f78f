// What the hub knows of built-in kinds without asking anybody: Deployment, StatefulSet, ReplicaSet, DaemonSet, Job, Pod,
// Service, ServiceImport. Pure.
// Follows: karmada@1.16 pkg/resourceinterpreter/default/native
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"

namespace evenkeel::embedded::federation {

/// How many replicas an object asks for, and what each needs.
struct ReplicaDemand {
  int64_t replicas = 0;
  base::Json requirements;  ///< spec.replicaRequirements of a binding; null: none are known
};

/// Nullopt for kinds that have no replicas to divide.
std::optional<ReplicaDemand> NativeReplicas(const base::Json& object);
/// Sets the number; false where the kind has none.
bool NativeRevise(base::Json& object, int64_t replicas);
/// Takes over into `desired` what the member's API server and controllers have set in `observed`.
void NativeRetain(base::Json& desired, const base::Json& observed);
/// What has to be where the object is.
base::JsonArray NativeDependencies(const base::Json& object);
/// What of the status is sent to the hub.
base::Json NativeStatus(const base::Json& observed);
/// Whether the member's copy does what it should; nullopt where nothing is known of the kind.
std::optional<bool> NativeHealth(const base::Json& observed);
/// The template's status from what members report ({"clusterName", "status", ...}); nullopt where it stays as it is.
std::optional<base::Json> NativeAggregate(const base::Json& object, const base::JsonArray& items);

}  // namespace evenkeel::embedded::federation
