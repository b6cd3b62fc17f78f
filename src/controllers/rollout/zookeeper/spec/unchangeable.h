// What of a spec stays as it is while servers run by it. Servers know each other by the lines of their list, and look up an
// id's address only when they are started: with another one in some of them the ensemble would fall apart, and `reconfig`
// counts ids. Volumes are made from claims that a StatefulSet does not let anybody change.
#pragma once

#include "base/result.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Before the spec's stride and mode become the state's. kBadRequest (WrongField) names the field that has to be put back, and
/// the other way to what is wanted, where there is one.
base::Status CheckUnchangeable(const kube::ManifestObject& object, const EnsembleSpec& spec, const EnsembleState& state);

}  // namespace evenkeel::controllers::rollout::zookeeper
