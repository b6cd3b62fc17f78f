// How servers talk to each other, and how an ensemble that runs comes from one way to another.
//
//   mode      connects with   takes          zoo.cfg
//   off       plain text      plain text
//   Accept    plain text      either         portUnification=true
//   Prefer    TLS             either         portUnification=true, sslQuorum=true
//   Require   TLS             TLS            sslQuorum=true
//
// Servers of two modes understand each other if these are the same or stand next to each other. So a template that wants TLS,
// or wants it no more, is rolled out mode by mode: each is a revision of its own, which every cluster has before the next one.
#pragma once

#include <vector>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The body that is nearest to `wanted` and whose servers understand those of all bodies `in_force`. It has tls.quorumMode
/// wherever servers use TLS among each other, and while they leave it the Secret that they have.
base::Json StepQuorumTls(const base::Json& wanted, const std::vector<const base::Json*>& in_force);

}  // namespace evenkeel::controllers::rollout::zookeeper
