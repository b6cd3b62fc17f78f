// Pieces of the rules of pods, which stand in several files. `causes` collects what is wrong.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {

using Names = std::set<std::string, std::less<>>;

/// All containers of a pod's spec. `volumes`: that they may mount.
void Containers(const base::Json& spec, const FieldPath& path, Causes& causes);
/// Relative, and never out of the directory that it is relative to.
void DescendingPath(std::string_view below, const FieldPath& path, Causes& causes);
/// A field that is an object's, `{"apiVersion": "v1", "fieldPath": "metadata.name"}`. `paths`: those that may be named there,
/// beside single labels and annotations.
void FieldOfPod(const base::Json& reference, const std::set<std::string_view>& paths, const FieldPath& path, Causes& causes);
/// What a container takes, `{"resource": "limits.cpu", "divisor": "1m"}`. `named`: it has to say whose.
void ResourceOfContainer(const base::Json& reference, bool named, const FieldPath& path, Causes& causes);

/// The devices that a pod claims, and which of its containers use them.
void PodClaims(const base::Json& spec, const FieldPath& path, Causes& causes);
/// What a pod's status says of the claims that were made for it, where that has changed.
void PodClaimStatuses(const base::Json& pod, const base::Json& old, Causes& causes);

/// requests and limits of a container.
void ContainerResources(const base::Json& resources, const FieldPath& path, Causes& causes);
/// What a pod asks for as a whole: no less than its containers request together, and no container is limited to more.
void PodResources(const base::Json& spec, const base::Json& resources, const FieldPath& path, Causes& causes);

/// securityContext of a pod and what of its spec belongs to it, and of one of its containers.
void PodSecurity(const base::Json& spec, const FieldPath& path, Causes& causes);
void ContainerSecurity(const base::Json& context, bool host_users, const FieldPath& path, Causes& causes);

}  // namespace evenkeel::kube::validation
