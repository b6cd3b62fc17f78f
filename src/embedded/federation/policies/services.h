// Services of other clusters, as Karmada has them: the EndpointSlices of what a member exports are collected into Works that
// are never dispatched, come out of them on the hub under other names, and belong to a derived Service there, which goes with
// them to the members that import it. Pure.
//
//   member: Service web, ServiceExport web, EndpointSlice web-x      (label kubernetes.io/service-name: web)
//   hub:    Work karmada-es-m1/web-x-...                             collected, suspended
//           EndpointSlice imported-m1-web-x                          (label kubernetes.io/service-name: derived-web)
//           ServiceImport web  ->  Service derived-web
//   importing members: Service derived-web, EndpointSlice imported-m1-web-x
#pragma once

#include <string>

#include "base/json.h"
#include "kube/resource.h"

namespace evenkeel::embedded::federation {

inline constexpr char kServiceNameLabel[] = "kubernetes.io/service-name";
inline constexpr char kSliceManagedBy[] = "endpointslice.kubernetes.io/managed-by";
inline constexpr char kImportedBy[] = "endpointslice-controller.karmada.io";
inline constexpr char kCollectedFinalizer[] = "karmada.io/endpointslice-controller";
inline constexpr char kWorkId[] = "work.karmada.io/permanent-id";

/// Whether a member's slice is its own, and not one that has come from the hub.
bool IsOwnSlice(const base::Json& slice);
/// Of a collected Work: the key of the Service in its member; "": it is another Work.
std::string ServiceOfCollected(const base::Json& work);
/// The Work that carries a member's slice to the hub.
base::Json CollectedWork(const base::Json& slice, const std::string& cluster);
/// The hub's slice of a collected Work. kBadRequest: it has none in it, or is in no cluster's namespace.
base::Result<base::Json> ImportedSlice(const base::Json& work);

/// The Service that stands for an import on the hub and in the members that import it; null for a headless one, whose servers
/// have to be known by names of their own.
base::Json DerivedService(const base::Json& service_import);

}  // namespace evenkeel::embedded::federation
