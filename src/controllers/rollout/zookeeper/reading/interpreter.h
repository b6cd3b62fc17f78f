// What Karmada asks about the kind ZooKeeper: its resource interpreter webhook (config.karmada.io/v1alpha1), answered. Pure.
//
//   InterpretReplica     spec.replicas, and what one server requests
//   ReviseReplica        0 for a ZooKeeper that an ensemble owns: only its cluster's override says how many there are, so a
//                        change of the schedule moves nobody; any other gets what is asked for
//   Retain               a member's spec.paused, unless the template has one
//   InterpretStatus      the fields of a member's status that a rollout looks at
//   AggregateStatus      sums of these for the template
//   InterpretHealth      the newest generation is observed, and all servers are ready
//   InterpretDependency  Secrets and ConfigMaps that the spec names
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// As Karmada's own webhooks: what is larger is refused.
inline constexpr size_t kInterpreterBodyMax = 1 << 20;

/// A request's headers and body in, the body of the answer out; the HTTP status is 200 always, errors are in the answer's
/// status. The content type has to be exactly application/json.
std::string AnswerInterpreter(std::string_view content_type, std::string_view body);

/// The `response` for a `request`.
base::Json Interpret(const base::Json& request);

/// RFC 6902: adds, removes and replaces that turn `from` into `to`; lists are replaced as a whole. Empty when they are equal.
base::JsonArray DiffJsonPatch(const base::Json& from, const base::Json& to);

}  // namespace evenkeel::controllers::rollout::zookeeper
