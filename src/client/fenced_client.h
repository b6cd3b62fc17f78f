// The one place through which everything that Evenkeel writes to a member goes: a Client that refuses writes unless the fence
// is open, and that insists on preconditions, since Kubernetes has no fencing tokens and a request that was under way when its
// sender was paused may arrive after another replica has taken over.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "client/client.h"
#include "client/fence.h"

namespace evenkeel::client {

/// The request header in which a fenced client states its epoch (HttpClientOptions::headers). Evenkeel's embedded API refuses a
/// write whose epoch is older than that of the Lease `evenkeel-owner`; any other API ignores the header.
inline constexpr char kEpochHeader[] = "Evenkeel-Epoch";
/// The Lease in a member that its owner holds, its namespace there, and the annotation with the owner's epoch.
inline constexpr char kOwnerLeaseNamespace[] = "kube-system";
inline constexpr char kOwnerLease[] = "evenkeel-owner";
inline constexpr char kEpochAnnotation[] = "evenkeel.dev/epoch";

/// Reads pass. A write (also a dry run) while the fence is shut fails with kForbidden and never reaches `next`. A write without
/// a precondition fails with kBadRequest: Update needs metadata.resourceVersion; Delete a uid or resourceVersion; a merge,
/// strategic or apply patch metadata.uid or metadata.resourceVersion in its body; a JSON patch a `test` of either; pods/binding
/// metadata.uid, pods/eviction deleteOptions.preconditions; serviceaccounts/token, which changes nothing, none; a Post to
/// anything else has none to give. Create takes none. The resourceVersion "0" is no precondition: API servers take it for
/// "any".
///
/// A write that ends without an answer (kTimeout, kUnavailable, kInternal: an API server may say so after the write has taken
/// effect) is told to the fence.
/// @param next  its request time-out must be shorter than the margin that a successor waits (see OwnerLeaseOptions).
std::unique_ptr<Client> NewFencedClient(std::unique_ptr<Client> next, std::shared_ptr<Fence> fence);

/// Makes a call that changes things of the member where no Client reaches. Refused with kForbidden while the fence is shut; one
/// that ends without an answer (as above) is told to the fence. `what` is for the refusal.
base::Status FencedWrite(Fence& fence, std::string_view what, const std::function<base::Status()>& call);

}  // namespace evenkeel::client
